import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { findKey } from '#control-plane/db/keys.ts'
import { deleteOldSessions, deleteSession, insertSession } from '#control-plane/db/sessions.ts'
import type { User } from '#control-plane/db/users.ts'
import { findUserByWallet } from '#control-plane/db/users.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, Label, Wallet } from '#control-plane/services/fields.ts'
import { publishKeysSoon } from '#control-plane/services/keys/key-store.ts'
import { NO_TERMS } from '#control-plane/services/keys/key-terms.ts'
import type { CreatedKey } from '#control-plane/services/keys/key-views.ts'
import { CreatedKeySchema, viewOfKey } from '#control-plane/services/keys/key-views.ts'
import { issueKey } from '#control-plane/services/keys/keys.ts'
import { requireFeature } from '#control-plane/services/require-feature.ts'
import { ensureUser } from '#control-plane/services/users/users.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { Secret } from '#shared/secret.ts'
import { manyLines, oneLine } from '#shared/texts.ts'
import { endFormer } from './end-former.ts'
import { hashSessionToken, newSignInSecret, SESSION_MS } from './session-token.ts'
import type { SignedMessage, SignInMessage } from './siwe.ts'
import { makeChallenge, proveWallet, SignInMessageSchema } from './siwe.ts'

/** Most sessions of one wallet. A new one ends the oldest. */
const MAX_SESSIONS = 20
const MAX_MESSAGE_CHARS = 4_000
/** A signature of a contract wallet that is not deployed yet contains the data to deploy it. */
const MAX_SIGNATURE_CHARS = 20_000

/** Makes the message that proves a wallet when it comes back signed within 5 minutes. */
export const readChallenge = defineOperation({
  name: 'auth.challenge',
  summary: 'Get a message for a wallet to sign',
  about: 'Send the message back with its signature before it expires.',
  example: { address: '0x52908400098527886e0f7030069857d2e4169ee7' },
  access: 'public',
  input: z.strictObject({ address: Wallet }),
  limit: 'challenge',
  isAudited: false,
  countBy: ({ address }) => address,
  idempotency: 'none',
  output: SignInMessageSchema,
  run: async (ctx, _actor, { address }): Promise<SignInMessage> => makeChallenge(ctx, address),
})

const SignedInput = z.strictObject({
  message: manyLines(MAX_MESSAGE_CHARS),
  signature: oneLine(MAX_SIGNATURE_CHARS),
})
const SignInInput = SignedInput.extend({
  label: Label.nullish().transform((label) => label ?? 'Wallet sign-in'),
  expiresAt: Instant.nullish(),
})

function signInOperation(type: 'buyer' | 'seller') {
  return defineOperation({
    name: `${type}-key.sign-in`,
    summary: `Exchange a signed message for a ${type} key`,
    about: 'The signed message proves the wallet; a new wallet gets its accounts. The key is shown once.',
    access: 'public',
    input: SignInInput,
    limit: 'write',
    isCountedByRun: true,
    idempotency: 'none',
    output: CreatedKeySchema,
    run: (ctx, _actor, input): Promise<CreatedKey> => issueBySignature(ctx, type, input),
  })
}

/** Exchanges a signed challenge for a seller key, which is shown once. A new wallet gets its accounts. */
export const signInForSellerKey = signInOperation('seller')
/** Exchanges a signed challenge for a buyer key, which is shown once. A new wallet gets its accounts. */
export const signInForBuyerKey = signInOperation('buyer')

type ProveCtx = Pick<RunCtx, 'db' | 'contractWallets' | 'clock' | 'clocks' | 'settings' | 'limiter' | 'count'>
type UserCtx = Pick<RunCtx, 'db' | 'clock' | 'ids' | 'controls' | 'record'>

async function issueBySignature(
  ctx: ProveCtx & UserCtx & Pick<RunCtx, 'publisher' | 'log'>,
  type: 'buyer' | 'seller',
  input: z.output<typeof SignInInput>,
): Promise<CreatedKey> {
  const { label, expiresAt = null } = input
  const wallet = await prove(ctx, input)
  const { view, secret } = await asUser(ctx, wallet, async (trx, known) => {
    const issued = await issueKey(ctx, trx, {
      type,
      user: known.id,
      label,
      expiresAt,
      terms: NO_TERMS,
      workspace: null,
    })
    const made = await findKey(trx, { user: known.id, type, workspace: null }, issued.id)
    if (made === undefined) throw new Error('a new key was not found')
    const shown = viewOfKey(made, type)
    await ctx.record(trx, { subject: made.id, before: null, after: { ...shown, wallet }, by: known.id })
    return { view: shown, secret: issued.secret }
  })
  await publishKeysSoon(ctx)
  return { ...view, wallet, secret }
}

/**
 * Returns the wallet that the caller proves. A valid proof counts for the wallet, a failed one for the caller's network
 * address. So nobody uses up a wallet's limit by naming it.
 */
async function prove(ctx: ProveCtx, signed: SignedMessage): Promise<string> {
  const wallet = await proveWallet(ctx, signed).catch(async (error: unknown) => {
    await ctx.count()
    throw error
  })
  await ctx.count(wallet)
  return wallet
}

/** Runs in one transaction for the user of a wallet, which is made if it is missing. */
async function asUser<Result>(
  ctx: UserCtx,
  wallet: string,
  run: (trx: Trx, user: User) => Promise<Result>,
): Promise<Result> {
  const runAs = (user: User) => transact(ctx.db, (trx) => run(trx, user))
  const known = await findUserByWallet(ctx.db, wallet)
  if (known !== undefined) return runAs(known)
  await requireFeature(ctx, 'sign_ups')
  try {
    return await transact(ctx.db, async (trx) => run(trx, await ensureUser(ctx, trx, wallet)))
  } catch (error) {
    // A rival sign-in of the same wallet made the user first.
    const rival = await findUserByWallet(ctx.db, wallet)
    if (rival === undefined) throw error
    return runAs(rival)
  }
}

/** A new session. `token` is the cookie's value. Times are Unix milliseconds. */
export const CreatedSessionSchema = z.object({
  id: z.string(),
  wallet: z.string(),
  createdAt: UnixMs,
  expiresAt: UnixMs,
  token: z.instanceof(Secret),
})
export type CreatedSession = z.infer<typeof CreatedSessionSchema>

/** Signs a browser in. A session that came with the call ends, so a cookie is never older than its sign-in. */
export const createSession = defineOperation({
  name: 'session.create',
  summary: 'Sign a browser in',
  about: 'Sets a cookie that stands for the wallet on both sides of the market.',
  access: 'public',
  input: SignedInput,
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: CreatedSessionSchema,
  run: async (ctx, actor: Actor, input): Promise<CreatedSession> => {
    const wallet = await prove(ctx, input)
    const token = newSignInSecret()
    const createdAt = ctx.clock.now()
    const expiresAt = createdAt + SESSION_MS
    const id = ctx.ids.make('ses')
    const hash = hashSessionToken(token.reveal(), ctx.settings.sessionSecret)
    const user = await asUser(ctx, wallet, async (trx, known) => {
      await endFormer(trx, actor)
      await insertSession(trx, { id, hash, user: known.id, createdAt, expiresAt })
      await deleteOldSessions(trx, known.id, MAX_SESSIONS)
      await ctx.record(trx, { subject: id, before: null, after: { wallet, expiresAt }, by: known.id })
      return known
    })
    ctx.announce('sessions', [user.id])
    return { id, wallet, createdAt, expiresAt, token }
  },
})

export const SessionOwnerSchema = z
  .object({ id: z.string(), user: z.string(), wallet: z.string() })
  .meta({ id: 'SessionOwner', description: 'The user and the wallet that a session stands for.' })

/** Reads the wallet that is signed in. */
export const readSession = defineOperation({
  name: 'session.read',
  summary: 'Say who is signed in',
  about: 'The session’s wallet and the user that it belongs to.',
  access: 'session',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: SessionOwnerSchema,
  run: async (_ctx, { sessionId: id, user, wallet }) => ({ id, user, wallet }),
})

/** Signs a browser out and deletes the session. */
export const endSession = defineOperation({
  name: 'session.end',
  summary: 'Sign a browser out',
  about: 'Ends the session of the cookie.',
  example: {},
  access: 'session',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: z.object({}),
  run: async (ctx, { sessionId, user, wallet }) => {
    await ctx.change(
      (trx) => deleteSession(trx, user, sessionId),
      () => ({ subject: sessionId, before: { wallet }, after: null }),
    )
    ctx.announce('sessions', [user])
    return {}
  },
})
