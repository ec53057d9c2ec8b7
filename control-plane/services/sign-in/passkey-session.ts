import { z } from 'zod'
import { transact } from '#control-plane/db/database.ts'
import { insertPasskey, updatePasskeyUsed } from '#control-plane/db/passkeys.ts'
import { findUser, openUser } from '#control-plane/db/users.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireFeature } from '#control-plane/services/require-feature.ts'
import type { UserId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { CreatedSession } from './open-session.ts'
import { CreatedSessionSchema, openSession } from './open-session.ts'
import { NewPasskeyFields, PasskeyProofFields, proveNewPasskey, provePasskey, refused } from './passkey-proof.ts'
import { taken } from './passkeys.ts'

const UserField = z
  .string()
  .max(100)
  .refine((text): text is UserId => isId('usr', text), 'a user id must begin with usr_')

/** Opens an account with a new passkey, and signs the browser in. */
export const createPasskeyAccount = defineOperation({
  name: 'passkey-account.create',
  summary: 'Create an account with a passkey',
  about: 'The account needs a wallet only for deposits and payouts. Sets a cookie, as a sign-in does.',
  access: 'public',
  input: z.strictObject({ ...NewPasskeyFields, user: UserField }),
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: CreatedSessionSchema,
  run: async (ctx, actor: Actor, { user: id, ...proof }): Promise<CreatedSession> => {
    await ctx.count()
    await requireFeature(ctx, 'sign_ups')
    const made = await proveNewPasskey(ctx, proof, { purpose: 'sign_up', user: id })
    const createdAt = ctx.clock.now()
    const user = { id, wallet: null, buyerAccount: ctx.ids.make('acc'), sellerAccount: ctx.ids.make('acc') }
    const passkey = { ...made, id: ctx.ids.make('psk'), user: id, label: 'First passkey', createdAt }
    const session = await transact(ctx.db, async (trx) => {
      await openUser(trx, user, createdAt)
      if (!(await insertPasskey(trx, passkey))) throw taken()
      return openSession(ctx, trx, user, actor)
    })
    ctx.announce('sessions', [id])
    return session
  },
})

/** Signs a browser in with a passkey. */
export const createPasskeySession = defineOperation({
  name: 'passkey-session.create',
  summary: 'Sign a browser in with a passkey',
  about: 'The passkey names its account. Sets a cookie for both sides of the market.',
  access: 'public',
  input: z.strictObject(PasskeyProofFields),
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: CreatedSessionSchema,
  run: async (ctx, actor: Actor, proof): Promise<CreatedSession> => {
    const passkey = await provePasskey(ctx, proof).catch(async (error: unknown) => {
      await ctx.count()
      throw error
    })
    await ctx.count(passkey.user)
    const session = await transact(ctx.db, async (trx) => {
      const isForward = await updatePasskeyUsed(trx, passkey.id, passkey.newCounter, ctx.clock.now())
      const user = await findUser(trx, passkey.user)
      if (!isForward || user === undefined) throw refused()
      return openSession(ctx, trx, user, actor)
    })
    ctx.announce('sessions', [passkey.user])
    return session
  },
})
