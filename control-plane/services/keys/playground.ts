import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { insertKeyChange } from '#control-plane/db/key-store.ts'
import type { KeyRow } from '#control-plane/db/keys.ts'
import { findKey, findPlaygroundKey } from '#control-plane/db/keys.ts'
import { endOldSessionSecrets, insertSessionSecret, lockSession } from '#control-plane/db/session-secrets.ts'
import { lockUser } from '#control-plane/db/users.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import { keyOwnerOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { hashApiKey, newApiKey } from '#shared/api-key.ts'
import { HOUR } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { SessionId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import { Secret } from '#shared/secret.ts'
import { publishKeysSoon } from './key-store.ts'
import { NO_TERMS } from './key-terms.ts'
import { issueKey } from './keys.ts'

/** Longest life of a secret. */
const SECRET_MS = HOUR
/** Most secrets of one session at once: its tabs. A new one ends the oldest. */
const MAX_SECRETS = 5
/** The first daily cap of the playground: 1 US dollar. The owner may change the cap, as for any key. */
const FIRST_CAP = microUsd(1_000_000n)

/** A secret for the calls of one page. */
export const PlaygroundSecretSchema = z.object({
  keyId: z.string().describe('The key that the calls are counted for.'),
  secret: z.instanceof(Secret),
  expiresAt: UnixMs,
})
export type PlaygroundSecret = z.infer<typeof PlaygroundSecretSchema>

/**
 * Opens a secret with which the page of a signed-in browser pays for calls. A session of a user pays with the user's
 * playground key, which has a daily cap and is made at the first call. A session of a key pays with that key itself, so
 * its caps, its models and its count hold as they are. The secret opens no account path. It ends with the session, with
 * the key, and within the hour. Throws `forbidden` for a key that is not a session, and `invalid_session` for a session
 * that ended meanwhile.
 */
export const openPlayground = defineOperation({
  name: 'playground.open',
  summary: 'Create a playground secret for this browser',
  about:
    'Needs a browser session, not an API key. The secret pays for calls for at most an hour, and ends at ' +
    'sign-out. A session of a key pays with that key.',
  example: {},
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: PlaygroundSecretSchema,
  run: async (ctx, actor): Promise<PlaygroundSecret> => {
    const session = sessionOf(actor)
    const { secret } = newApiKey('buyer')
    const hash = hashApiKey(secret.reveal(), ctx.settings.keyPepper)
    const opened = await ctx.change(
      async (trx) => {
        await lockUser(trx, actor.user)
        const held = await lockSession(trx, session)
        if (held === undefined) throw new AppError('invalid_session')
        const key = await keyOf(ctx, trx, actor)
        const createdAt = ctx.clock.now()
        const ends = [
          createdAt + SECRET_MS,
          held.expiresAt.getTime(),
          key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
        ]
        const expiresAt = Math.min(...ends)
        if (expiresAt <= createdAt) throw new AppError('invalid_session')
        await insertSessionSecret(trx, { hash, key: key.id, session, createdAt, expiresAt })
        await endOldSessionSecrets(trx, session, MAX_SECRETS)
        await insertKeyChange(trx, key.id)
        return { keyId: key.id, expiresAt }
      },
      ({ keyId, expiresAt }) => ({ subject: keyId, before: null, after: { session, expiresAt } }),
    )
    await publishKeysSoon(ctx)
    return { ...opened, secret }
  },
})

function sessionOf({ session, keySession }: BuyerActor): SessionId {
  const id = session ?? keySession
  if (id !== undefined) return id
  throw new AppError('forbidden', {
    message: 'Only a signed-in browser opens the playground. With a key, call the API directly.',
  })
}

/** The key that a session pays with. It throws `invalid_session` for one that has ended. */
async function keyOf(ctx: Pick<Ctx, 'clock' | 'ids' | 'settings'>, trx: Trx, actor: BuyerActor): Promise<KeyRow> {
  const owner = keyOwnerOf(actor)
  if (actor.keyId !== null) {
    const own = await findKey(trx, owner, actor.keyId)
    const isOver = own?.revokedAt != null || (own?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) <= ctx.clock.now()
    if (own === undefined || isOver) throw new AppError('invalid_session')
    return own
  }
  const former = await findPlaygroundKey(trx, owner)
  if (former !== undefined) return former
  const terms = { ...NO_TERMS, capDailyMicro: FIRST_CAP }
  const { user, workspace } = owner
  const issue = {
    type: 'buyer',
    user,
    workspace,
    label: 'Playground',
    expiresAt: null,
    terms,
    isPlayground: true,
  } as const
  await issueKey(ctx, trx, issue)
  const made = await findPlaygroundKey(trx, owner)
  if (made === undefined) throw new AppError('internal_error')
  return made
}
