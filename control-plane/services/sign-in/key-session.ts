import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { PresentedKey } from '#control-plane/db/keys.ts'
import { findKeyByHash, findPresentedKey } from '#control-plane/db/keys.ts'
import {
  deleteKeySession,
  deleteOldKeySessions,
  deleteOldSignInCodes,
  deleteSignInCode,
  insertSession,
  insertSignInCode,
} from '#control-plane/db/sessions.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { isLivingKey, requireThawed } from '#control-plane/services/keys/living-key.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { hashApiKey, isWellFormedKey } from '#shared/api-key.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { KeyId } from '#shared/ids.ts'
import { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'
import { endFormer } from './end-former.ts'
import {
  CODE_SECONDS,
  hashSessionToken,
  hashSignInCode,
  isWellFormedToken,
  newSignInSecret,
  SESSION_MS,
} from './session-token.ts'

/** Most sessions of one key. A new one ends the oldest. */
const MAX_SESSIONS = 20
/** Most unused codes of one key. A new code removes the oldest. */
const MAX_CODES = 10
const MAX_SECRET_CHARS = 200
const MIN_CODE_SECONDS = 10

const KeyProof = z
  .strictObject({ key: oneLine(MAX_SECRET_CHARS).optional(), code: oneLine(MAX_SECRET_CHARS).optional() })
  .refine(({ key, code }) => (key === undefined) !== (code === undefined), 'name a key or a code')

/** A new session. `token` is the cookie's value. Times are Unix milliseconds. */
export const CreatedKeySessionSchema = z.object({
  id: z.string(),
  keyId: z.string(),
  kind: z.enum(['buyer', 'seller', 'management']),
  createdAt: UnixMs,
  expiresAt: UnixMs,
  token: z.instanceof(Secret),
})
export type CreatedKeySession = z.infer<typeof CreatedKeySessionSchema>

/**
 * Signs a browser in with a key, or with the code of a link that the key's holder made. The session has only the rights
 * of the key. A code works once.
 */
export const createKeySession = defineOperation({
  name: 'key-session.create',
  summary: 'Sign a browser in with a key or the code of a link',
  about: 'Sets a cookie with the rights of that key only. The session ends with the key.',
  access: 'public',
  input: KeyProof,
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: CreatedKeySessionSchema,
  run: async (ctx, actor: Actor, proof): Promise<CreatedKeySession> => {
    // Failed guesses count for the network address, because they name no key.
    await ctx.count()
    const token = newSignInSecret()
    const createdAt = ctx.clock.now()
    const id = ctx.ids.make('ses')
    const hash = hashSessionToken(token.reveal(), ctx.settings.sessionSecret)
    return transact(ctx.db, async (trx) => {
      const key = proof.key === undefined ? await keyOfCode(ctx, trx, proof.code ?? '') : await keyOf(ctx, proof.key)
      requireThawed(key)
      const keyEnd = key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
      const expiresAt = Math.min(createdAt + SESSION_MS, keyEnd)
      await endFormer(trx, actor)
      await insertSession(trx, { id, hash, key: key.id, createdAt, expiresAt })
      await deleteOldKeySessions(trx, key.id, MAX_SESSIONS)
      const after = { keyId: key.id, expiresAt }
      await ctx.record(trx, { subject: id, before: null, after, by: key.user ?? key.id, keyId: key.id })
      return { id, keyId: key.id, kind: key.type, createdAt, expiresAt, token }
    })
  },
})

type ProofCtx = Pick<RunCtx, 'db' | 'clock' | 'settings'>

async function keyOf(ctx: ProofCtx, secret: string): Promise<PresentedKey> {
  if (!isWellFormedKey(secret)) throw new AppError('invalid_api_key')
  const key = await findKeyByHash(ctx.db, hashApiKey(secret, ctx.settings.keyPepper))
  if (key === undefined || !isLivingKey(key, ctx.clock.now())) throw new AppError('invalid_api_key')
  return key
}

/** Redeems a code. When its key has ended meanwhile, the code stays unredeemed, which makes no difference. */
async function keyOfCode(ctx: ProofCtx, trx: Trx, code: string): Promise<PresentedKey> {
  const now = ctx.clock.now()
  const hash = hashSignInCode(code, ctx.settings.sessionSecret)
  const id = isWellFormedToken(code) ? await deleteSignInCode(trx, hash, now) : undefined
  const key = id && (await findPresentedKey(trx, id))
  if (key && isLivingKey(key, now)) return key
  throw new AppError('invalid_session', { message: 'This sign-in link was used before, or it has expired.' })
}

/** Signs a browser out that was signed in with a key. */
export const endKeySession = defineOperation({
  name: 'key-session.end',
  summary: 'Sign a browser out of a key session',
  about: 'Ends the session. The key itself stays valid.',
  example: {},
  access: 'public',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: z.object({}),
  run: async (ctx, actor: Actor) => {
    const { keyId, keySession } = 'keySession' in actor ? actor : {}
    if (!keySession || !keyId) throw new AppError('invalid_session')
    await ctx.change(
      (trx) => deleteKeySession(trx, keyId, keySession),
      () => ({ subject: keySession, before: { keyId }, after: null }),
    )
    ctx.announce('sessions', [keyId])
    return {}
  },
})

/** The code of a sign-in link, which is shown once. `expiresAt` is Unix milliseconds. */
export const SignInCodeSchema = z.object({ code: z.instanceof(Secret), expiresAt: UnixMs })
export type SignInCode = z.infer<typeof SignInCodeSchema>

/**
 * Makes a code that signs one browser in with the key of the call. A browser cannot make one: a session passes no
 * rights on.
 */
export const createSignInCode = defineOperation({
  name: 'sign-in-code.create',
  summary: 'Create the code of a sign-in link',
  about:
    'The code belongs after `#code=` in the address of the page `/sign-in`. It signs one browser in with the calling key.',
  access: 'public',
  input: z.strictObject({
    validSeconds: z.number().int().min(MIN_CODE_SECONDS).max(CODE_SECONDS.most).default(CODE_SECONDS.standard),
  }),
  limit: 'write',
  idempotency: 'none',
  output: SignInCodeSchema,
  run: async (ctx, actor: Actor, { validSeconds }): Promise<SignInCode> => {
    const key = requireKey(actor)
    const code = newSignInSecret()
    const createdAt = ctx.clock.now()
    const expiresAt = createdAt + validSeconds * SECOND
    const hash = hashSignInCode(code.reveal(), ctx.settings.sessionSecret)
    await transact(ctx.db, async (trx) => {
      await insertSignInCode(trx, { hash, key, createdAt, expiresAt })
      await deleteOldSignInCodes(trx, key, MAX_CODES)
      await ctx.record(trx, { subject: key, before: null, after: { signInCodeUntil: expiresAt } })
    })
    return { code, expiresAt }
  },
})

function requireKey(actor: Actor): KeyId {
  if (actor.kind === 'nobody') throw new AppError('authentication_required')
  const { keyId, keySession } = { keySession: undefined, keyId: null, ...actor }
  if (keyId !== null && keySession === undefined) return keyId
  throw new AppError('forbidden', { message: 'Sign-in links are created with a key, not with a session.' })
}
