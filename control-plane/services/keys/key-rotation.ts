import { z } from 'zod'
import { countLiveFormerSecrets, replaceSecret } from '#control-plane/db/key-changes.ts'
import { insertKeyChange } from '#control-plane/db/key-store.ts'
import { lockUser } from '#control-plane/db/users.ts'
import { requireUnbounded } from '#control-plane/operation/admit.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { hashApiKey, newApiKey } from '#shared/api-key.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { findLivingKey } from './key-limits.ts'
import { publishKeysSoon } from './key-store.ts'
import { CreatedKeySchema, viewOfKey } from './key-views.ts'

/** Longest and default window in which the replaced secret still works. */
const MAX_WINDOW_SECONDS = (7 * DAY) / SECOND
const WINDOW_SECONDS = DAY / SECOND
/** Most former secrets of one key that work at a time. */
const MAX_FORMER_SECRETS = 5

const RotatedKeySchema = CreatedKeySchema.extend({
  /** Unix milliseconds until which the replaced secret works. */
  formerExpiresAt: UnixMs,
})
export type RotatedKey = z.infer<typeof RotatedKeySchema>

/**
 * Gives a buyer key a new secret, which is shown once. The replaced secret works for a window; 0 ends it at once. Both
 * secrets are the same key: one id, one set of limits, one count of spending, and revoking the key ends both. A key may
 * rotate itself. Throws `not_found`, `conflict` for a revoked key or too many secrets at once, and `forbidden` when a
 * bounded key would get the secret of another.
 */
export const rotateBuyerKey = defineOperation({
  name: 'buyer-key.rotate',
  summary: 'Rotate the secret of a buyer key',
  about: 'The old secret works for a window, so your apps keep running. Limits and counts stay.',
  example: { windowSeconds: 60 },
  access: 'buyer',
  input: z.strictObject({
    id: oneLine(100),
    windowSeconds: z.number().int().min(0).max(MAX_WINDOW_SECONDS).default(WINDOW_SECONDS),
  }),
  limit: 'write',
  idempotency: 'accepted',
  output: RotatedKeySchema,
  forReplay: (rotated: RotatedKey): RotatedKey => ({ ...rotated, secret: null }),
  run: async (ctx, actor, { id, windowSeconds }): Promise<RotatedKey> => {
    if (!isId('key', id)) throw new AppError('not_found')
    if (id !== actor.keyId) requireUnbounded(actor)
    const at = ctx.clock.now()
    const { secret, keyPrefix } = newApiKey('buyer')
    const hash = hashApiKey(secret.reveal(), ctx.settings.keyPepper)
    const formerUntil = at + windowSeconds * SECOND
    const change = await ctx.change(
      async (trx) => {
        await lockUser(trx, actor.user)
        const before = await findLivingKey(trx, actor, id)
        if (before.isPlayground) {
          throw new AppError('conflict', { message: 'The playground key has no secret to keep.' })
        }
        if (before.expiresAt !== null && before.expiresAt.getTime() <= at) {
          throw new AppError('conflict', { message: 'The key has expired. Change its expiry first.' })
        }
        if ((await countLiveFormerSecrets(trx, id, at)) >= MAX_FORMER_SECRETS) {
          const message = `A key has at most ${MAX_FORMER_SECRETS} former secrets at once.`
          throw new AppError('conflict', { message, detail: { limit: MAX_FORMER_SECRETS } })
        }
        await replaceSecret(trx, id, { hash, keyPrefix, at, formerUntil })
        await insertKeyChange(trx, id)
        return { before: viewOfKey(before, 'buyer'), after: viewOfKey(await findLivingKey(trx, actor, id), 'buyer') }
      },
      (change) => ({ subject: id, before: change.before, after: { ...change.after, formerExpiresAt: formerUntil } }),
    )
    await publishKeysSoon(ctx)
    return { ...change.after, wallet: actor.wallet, secret, formerExpiresAt: formerUntil }
  },
})
