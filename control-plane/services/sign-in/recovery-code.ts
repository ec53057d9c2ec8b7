import { createHmac, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { deleteRecoveryCode, putRecoveryCode } from '#control-plane/db/passkeys.ts'
import { findUser } from '#control-plane/db/users.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { UserId } from '#shared/ids.ts'
import { BASE_32 } from '#shared/ids.ts'
import { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'
import type { CreatedSession } from './open-session.ts'
import { CreatedSessionSchema, openSession } from './open-session.ts'
import { lockSignedIn, requireRecentSignIn } from './recent-sign-in.ts'

/** 25 characters of 5 bits: 125 bits cannot be guessed within the rate limit. */
const CODE_CHARS = 25
const GROUP = /.{5}(?=.)/g
const CODE = new RegExp(`^[${BASE_32}]{${CODE_CHARS}}$`)
const MAX_TYPED_CHARS = 100

/** A recovery code, which is shown once. */
export const RecoveryCodeSchema = z.object({ code: z.instanceof(Secret) })
export type RecoveryCode = z.infer<typeof RecoveryCodeSchema>

type CodeCtx = Pick<Ctx, 'clock' | 'settings'>

/** Replaces the recovery code of a user. */
async function renewCode(ctx: CodeCtx, trx: Trx, user: UserId): Promise<Secret> {
  const code = [...randomBytes(CODE_CHARS)].map((byte) => BASE_32[byte % BASE_32.length]).join('')
  await putRecoveryCode(trx, user, hashCode(ctx, code), ctx.clock.now())
  return new Secret(code.replace(GROUP, '$&-'))
}

function hashCode({ settings }: CodeCtx, code: string): string {
  return createHmac('sha256', settings.sessionSecret.reveal()).update(`recovery code:${code}`).digest('hex')
}

/** Makes a recovery code that replaces the former one. */
export const createRecoveryCode = defineOperation({
  name: 'recovery-code.create',
  summary: 'Create a recovery code',
  about: 'The code signs a browser in once, without a passkey or a wallet. The former code stops working.',
  example: {},
  access: 'session',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: RecoveryCodeSchema,
  run: async (ctx, actor): Promise<RecoveryCode> => {
    requireRecentSignIn(ctx, actor)
    const { user } = actor
    const code = await ctx.change(
      async (trx) => {
        await lockSignedIn(trx, actor)
        return renewCode(ctx, trx, user)
      },
      () => ({ subject: user, before: null, after: { recoveryCode: 'renewed' } }),
    )
    return { code }
  },
})

/** A session with the next recovery code, which is shown once. */
export const RecoveredSessionSchema = CreatedSessionSchema.extend({ recoveryCode: z.instanceof(Secret) })
export type RecoveredSession = CreatedSession & { readonly recoveryCode: Secret }

/** Signs a browser in with a recovery code. The code is used up, and the answer has the next one. */
export const createRecoverySession = defineOperation({
  name: 'recovery-session.create',
  summary: 'Sign a browser in with a recovery code',
  about: 'A code works once. The answer has the next one. Sets a cookie, as a sign-in does.',
  access: 'public',
  input: z.strictObject({ code: oneLine(MAX_TYPED_CHARS) }),
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: RecoveredSessionSchema,
  run: async (ctx, actor: Actor, input): Promise<RecoveredSession> => {
    // Failed guesses count for the network address, because they name no user.
    await ctx.count()
    const code = asTyped(input.code)
    if (!CODE.test(code)) throw refusedCode()
    const recovered = await transact(ctx.db, async (trx) => {
      const id = await deleteRecoveryCode(trx, hashCode(ctx, code))
      const user = id && (await findUser(trx, id))
      if (!user) throw refusedCode()
      const recoveryCode = await renewCode(ctx, trx, user.id)
      return { user, session: { ...(await openSession(ctx, trx, user, actor)), recoveryCode } }
    })
    ctx.announce('sessions', [recovered.user.id])
    return recovered.session
  },
})

/** Normalises a typed code: any case, spaces or dashes, and letters that look like digits. */
function asTyped(text: string): string {
  return text.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
}

function refusedCode(): AppError {
  return new AppError('invalid_signature', { message: 'This recovery code is wrong, or it was used before.' })
}
