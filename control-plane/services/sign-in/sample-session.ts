import { z } from 'zod'
import { transact } from '#control-plane/db/database.ts'
import { findUserByWallet } from '#control-plane/db/users.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { CreatedSession } from './open-session.ts'
import { CreatedSessionSchema, openSession } from './open-session.ts'

/** Signs a browser in as the sample buyer. Throws `not_found` outside of a development market. */
export const createSampleSession = defineOperation({
  name: 'sample-session.create',
  summary: 'Sign a browser in as the sample buyer',
  about: 'Only a development market has one. Sets a cookie, as a sign-in does.',
  example: {},
  access: 'public',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: CreatedSessionSchema,
  run: async (ctx, actor: Actor): Promise<CreatedSession> => {
    const user = await findUserByWallet(ctx.db, requireSample(ctx))
    if (user === undefined)
      throw new AppError('not_found', { message: 'The sample buyer does not exist yet. Try again in a moment.' })
    const session = await transact(ctx.db, (trx) => openSession(ctx, trx, user, actor))
    ctx.announce('sessions', [user.id])
    return session
  },
})

function requireSample({ settings }: Pick<Ctx, 'settings'>): string {
  if (settings.sampleBuyer === null) throw new AppError('not_found')
  return settings.sampleBuyer
}
