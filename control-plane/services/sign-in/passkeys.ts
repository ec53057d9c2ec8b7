import { z } from 'zod'
import { listEmails } from '#control-plane/db/emails.ts'
import {
  deleteOtherSessions,
  deletePasskey,
  findRecoveryCode,
  insertPasskey,
  listPasskeys,
} from '#control-plane/db/passkeys.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Label } from '#control-plane/services/input-fields.ts'
import { requireFeature } from '#control-plane/services/require-feature.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { EmailSchema, MAX_EMAILS, viewEmail } from './emails.ts'
import {
  Browser,
  challengeSubject,
  NewPasskeyFields,
  PASSKEY_ALGORITHMS,
  proveNewPasskey,
  requireRelyingParty,
} from './passkey-proof.ts'
import { lockSignedIn, requireRecentSignIn } from './recent-sign-in.ts'
import { CHALLENGE_MS, makeNonce } from './sealed-nonce.ts'
import { requireSomeWay } from './some-way.ts'

/** Most passkeys of one user. */
const MAX_PASSKEYS = 10
const NAME_CHARS = 6

/** The options of a new passkey or of a sign-in, for the browser's own dialog. */
export const PasskeyChallengeSchema = z
  .object({
    challenge: z.string().describe('The authenticator signs the bytes of this text.'),
    rpId: z.string().describe('The host name that passkeys are bound to.'),
    user: z.string().nullable().describe('The id of the user that the passkey is for. Null to sign in.'),
    userName: z.string().nullable().describe('The name that the browser shows beside the passkey.'),
    algorithms: z.array(z.number().int()).readonly().describe('Accepted algorithms, as COSE numbers them.'),
    exclude: z.array(z.string()).readonly().describe('Credentials that the user has already.'),
    expiresAt: UnixMs,
  })
  .meta({ id: 'PasskeyChallenge', description: 'A challenge for a passkey. It is good for 5 minutes, once.' })
export type PasskeyChallenge = z.infer<typeof PasskeyChallengeSchema>

/** Makes a challenge for one browser. Nothing is stored until it is used. */
export const createPasskeyChallenge = defineOperation({
  name: 'passkey.challenge',
  summary: 'Get a challenge for a passkey',
  about: 'A cookie binds the challenge to this browser. `add` needs a session.',
  example: { purpose: 'sign_in' },
  access: 'public',
  input: z.strictObject({ browser: Browser, purpose: z.enum(['sign_up', 'sign_in', 'add']) }),
  limit: 'write',
  isAudited: false,
  idempotency: 'none',
  output: PasskeyChallengeSchema,
  run: async (ctx, actor: Actor, { browser, purpose }): Promise<PasskeyChallenge> => {
    ctx.clocks.requireTrusted()
    const { id: rpId } = requireRelyingParty(ctx)
    if (purpose === 'sign_up') await requireFeature(ctx, 'sign_ups')
    if (purpose === 'add' && actor.kind !== 'session') throw new AppError('authentication_required')
    const known = purpose === 'add' && actor.kind === 'session' ? actor.user : undefined
    const user = purpose === 'sign_in' ? null : (known ?? ctx.ids.make('usr'))
    const now = ctx.clock.now()
    const subject = challengeSubject({ purpose, user: user ?? '' }, browser)
    const held = known === undefined ? [] : await listPasskeys(ctx.db, known, MAX_PASSKEYS)
    return {
      challenge: makeNonce(ctx.settings.sessionSecret, subject, now),
      rpId,
      user,
      userName: user === null ? null : `Account ${user.slice(-NAME_CHARS)}`,
      algorithms: PASSKEY_ALGORITHMS,
      exclude: held.map(({ credentialId }) => credentialId),
      expiresAt: now + CHALLENGE_MS,
    }
  },
})

export const PasskeySchema = z
  .object({ id: z.string(), label: z.string(), createdAt: UnixMs, lastUsedAt: UnixMs.nullable() })
  .meta({ id: 'Passkey', description: 'A passkey that signs the user in.' })
export type PasskeyView = z.infer<typeof PasskeySchema>

/** Adds a passkey to the signed-in account. */
export const createPasskey = defineOperation({
  name: 'passkey.create',
  summary: 'Create another passkey of the account',
  about: `An account has at most ${MAX_PASSKEYS} passkeys.`,
  access: 'session',
  input: z.strictObject({ ...NewPasskeyFields, label: Label.default('Passkey') }),
  limit: 'write',
  idempotency: 'none',
  output: PasskeySchema,
  run: async (ctx, actor, { label, ...proof }): Promise<PasskeyView> => {
    requireRecentSignIn(ctx, actor)
    const { user } = actor
    const made = await proveNewPasskey(ctx, proof, { purpose: 'add', user })
    const id = ctx.ids.make('psk')
    const createdAt = ctx.clock.now()
    const add = async (trx: Parameters<typeof insertPasskey>[0]) => {
      await lockSignedIn(trx, actor)
      if ((await listPasskeys(trx, user, MAX_PASSKEYS)).length === MAX_PASSKEYS) {
        throw new AppError('conflict', { message: `An account has at most ${MAX_PASSKEYS} passkeys.` })
      }
      if (!(await insertPasskey(trx, { ...made, id, user, label, createdAt }))) throw taken()
    }
    await ctx.change(add, () => ({ subject: id, before: null, after: { label } }))
    return { id, label, createdAt, lastUsedAt: null }
  },
})

export function taken(): AppError {
  return new AppError('conflict', { message: 'This passkey already belongs to an account. Sign in with it.' })
}

/** Removes a passkey and ends the other sessions of its user. The last sign-in method stays. */
export const removePasskey = defineOperation({
  name: 'passkey.remove',
  summary: 'Delete a passkey of the account',
  about: 'Signs other browsers out. You cannot delete the only way into the account.',
  access: 'session',
  input: z.strictObject({ passkey: oneLine(100) }),
  limit: 'write',
  idempotency: 'none',
  output: PasskeySchema,
  run: async (ctx, actor, { passkey }): Promise<PasskeyView> => {
    requireRecentSignIn(ctx, actor)
    const { user, sessionId } = actor
    const removed = await ctx.change(
      async (trx) => {
        await lockSignedIn(trx, actor)
        const held = await listPasskeys(trx, user, MAX_PASSKEYS)
        const found = held.find(({ id }) => id === passkey)
        if (found === undefined || !isId('psk', passkey)) throw new AppError('not_found')
        await deletePasskey(trx, user, passkey)
        await requireSomeWay(ctx, trx, user)
        await deleteOtherSessions(trx, user, sessionId)
        return viewPasskey(found)
      },
      ({ label }) => ({ subject: passkey, before: { label }, after: null }),
    )
    ctx.announce('sessions', [user])
    return removed
  },
})

export const WaysInSchema = z
  .object({
    wallet: z.string().nullable(),
    passkeys: z.array(PasskeySchema).readonly(),
    emails: z.array(EmailSchema).readonly(),
    recoveryCodeAt: UnixMs.nullable().describe('When the recovery code was made. Null without one.'),
  })
  .meta({ id: 'WaysIn', description: 'The ways into the account that is signed in.' })
export type WaysIn = z.infer<typeof WaysInSchema>

/** Reads the sign-in methods of the account. */
export const readWaysIn = defineOperation({
  name: 'ways-in.read',
  summary: 'List the ways into the account',
  about: 'The wallet, the passkeys, the e-mail addresses, and whether there is a recovery code.',
  access: 'session',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: WaysInSchema,
  run: async (ctx, { user, wallet }): Promise<WaysIn> => {
    const [passkeys, emails, code] = await Promise.all([
      listPasskeys(ctx.db, user, MAX_PASSKEYS),
      listEmails(ctx.db, user, MAX_EMAILS),
      findRecoveryCode(ctx.db, user),
    ])
    const recoveryCodeAt = code?.getTime() ?? null
    return { wallet, passkeys: passkeys.map(viewPasskey), emails: emails.map(viewEmail), recoveryCodeAt }
  },
})

function viewPasskey(row: Awaited<ReturnType<typeof listPasskeys>>[number]): PasskeyView {
  const { id, label, createdAt, lastUsedAt } = row
  return { id, label, createdAt: createdAt.getTime(), lastUsedAt: lastUsedAt?.getTime() ?? null }
}
