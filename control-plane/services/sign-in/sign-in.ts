import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { findKey } from '#control-plane/db/keys.ts'
import { deleteSession } from '#control-plane/db/sessions.ts'
import type { WalletUser } from '#control-plane/db/users.ts'
import { findUserByWallet } from '#control-plane/db/users.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, Label, Wallet } from '#control-plane/services/input-fields.ts'
import { publishKeysSoon } from '#control-plane/services/keys/key-store.ts'
import { NO_TERMS } from '#control-plane/services/keys/key-terms.ts'
import type { CreatedKey } from '#control-plane/services/keys/key-views.ts'
import { CreatedKeySchema, viewOfKey } from '#control-plane/services/keys/key-views.ts'
import { issueKey } from '#control-plane/services/keys/keys.ts'
import { requireFeature } from '#control-plane/services/require-feature.ts'
import { ensureUser } from '#control-plane/services/users/users.ts'
import type { CreatedSession } from './open-session.ts'
import { CreatedSessionSchema, openSession } from './open-session.ts'
import { proveCounted, SignedInput } from './prove-counted.ts'
import type { SignInMessage } from './siwe.ts'
import { makeChallenge, SignInMessageSchema, TO_SIGN_IN } from './siwe.ts'

/** Makes the message whose signature proves a wallet, if it arrives within 5 minutes. */
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
  run: async (ctx, _actor, { address }): Promise<SignInMessage> => makeChallenge(ctx, address, TO_SIGN_IN),
})

const SignInInput = SignedInput.extend({
  label: Label.nullish().transform((label) => label ?? 'Wallet sign-in'),
  expiresAt: Instant.nullish(),
})

function signInOperation(type: 'buyer' | 'seller') {
  return defineOperation({
    name: `${type}-key.sign-in`,
    summary: `Exchange a signed message for a ${type} key`,
    about: 'The signature proves the wallet. A new wallet gets its accounts. We show the key once.',
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

type UserCtx = Pick<RunCtx, 'db' | 'clock' | 'ids' | 'controls' | 'record'>

async function issueBySignature(
  ctx: Parameters<typeof proveCounted>[0] & UserCtx & Pick<RunCtx, 'publisher' | 'log'>,
  type: 'buyer' | 'seller',
  input: z.output<typeof SignInInput>,
): Promise<CreatedKey> {
  const { label, expiresAt = null } = input
  const wallet = await proveCounted(ctx, input, TO_SIGN_IN)
  const { view, secret } = await asUser(ctx, wallet, async (trx, user) => {
    const issued = await issueKey(ctx, trx, {
      type,
      user: user.id,
      label,
      expiresAt,
      terms: NO_TERMS,
      workspace: null,
    })
    const key = await findKey(trx, { user: user.id, type, workspace: null }, issued.id)
    if (key === undefined) throw new Error('a new key was not found')
    const keyView = viewOfKey(key, type)
    await ctx.record(trx, { subject: key.id, before: null, after: { ...keyView, wallet }, by: user.id })
    return { view: keyView, secret: issued.secret }
  })
  await publishKeysSoon(ctx)
  return { ...view, wallet, secret }
}

/** Runs in one transaction for the user of a wallet, which is made if it is missing. */
async function asUser<Result>(
  ctx: UserCtx,
  wallet: string,
  run: (trx: Trx, user: WalletUser) => Promise<Result>,
): Promise<Result> {
  const runAs = (user: WalletUser) => transact(ctx.db, (trx) => run(trx, user))
  const knownUser = await findUserByWallet(ctx.db, wallet)
  if (knownUser !== undefined) return runAs(knownUser)
  await requireFeature(ctx, 'sign_ups')
  try {
    return await transact(ctx.db, async (trx) => run(trx, await ensureUser(ctx, trx, wallet)))
  } catch (error) {
    // A concurrent sign-in of the same wallet made the user first.
    const rival = await findUserByWallet(ctx.db, wallet)
    if (rival === undefined) throw error
    return runAs(rival)
  }
}

/** Signs a browser in with a wallet. */
export const createSession = defineOperation({
  name: 'session.create',
  summary: 'Sign a browser in with a wallet',
  about: 'Sets a cookie for both sides of the market.',
  access: 'public',
  input: SignedInput,
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: CreatedSessionSchema,
  run: async (ctx, actor: Actor, input): Promise<CreatedSession> => {
    const wallet = await proveCounted(ctx, input, TO_SIGN_IN)
    const session = await asUser(ctx, wallet, async (trx, known) => ({
      user: known.id,
      created: await openSession(ctx, trx, known, actor),
    }))
    ctx.announce('sessions', [session.user])
    return session.created
  },
})

export const SessionOwnerSchema = z
  .object({ id: z.string(), user: z.string(), wallet: z.string().nullable() })
  .meta({ id: 'SessionOwner', description: 'The user of a session, and the wallet of the user.' })

/** Reads who is signed in. */
export const readSession = defineOperation({
  name: 'session.read',
  summary: 'Get the signed-in user',
  about: 'The user of the session, and its wallet if one is linked.',
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
