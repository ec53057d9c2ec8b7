import { z } from 'zod'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { updateKey } from '#control-plane/db/key-changes.ts'
import { insertKeyChange } from '#control-plane/db/key-store.ts'
import type { KeyRow } from '#control-plane/db/keys.ts'
import { countActiveKeys, findKey } from '#control-plane/db/keys.ts'
import { lockUser } from '#control-plane/db/users.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import { keyOwnerOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireKnownModels } from '#control-plane/services/catalog/known-models.ts'
import { requireKnownProviders } from '#control-plane/services/catalog/known-providers.ts'
import { Instant, Label } from '#control-plane/services/input-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { KeyId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { publishKeysSoon } from './key-store.ts'
import { changeTerms, hasCap, KeyTermFields, termsOf } from './key-terms.ts'
import { seedKeyUse } from './key-use.ts'
import type { KeyView } from './key-views.ts'
import { KeyViewSchema, viewOfKey } from './key-views.ts'
import { MAX_ACTIVE_KEYS, requireFuture } from './keys.ts'

/**
 * Finds the caller's buyer key by id. Throws `not_found`, also for another owner's key, and `conflict` for a revoked
 * key.
 */
export async function findLivingKey(db: Database | Trx, actor: BuyerActor, id: string): Promise<KeyRow> {
  const key = await findKey(db, keyOwnerOf(actor), id)
  if (key === undefined) throw new AppError('not_found')
  if (key.revokedAt !== null) throw new AppError('conflict', { message: 'A revoked key cannot be changed.' })
  return key
}

const KeyPatch = z.strictObject({
  id: oneLine(100),
  label: Label.optional(),
  expiresAt: Instant.nullish(),
  isFrozen: z.boolean().optional(),
  ...KeyTermFields,
})

/**
 * Changes the limits, end and label of a buyer key, and freezes it. An absent field stays, and null removes a limit. A
 * new cap counts earlier use of the key. The data plane applies new limits within a second. Calls that run go on.
 * Throws `not_found`, `conflict` for a revoked key, `forbidden` for a bounded caller, `key_limit_reached` when an
 * expired key would come back above the limit of keys of a wallet, and `service_unavailable` while the gate cannot
 * count for a new cap.
 */
export const updateBuyerKey = defineOperation({
  name: 'buyer-key.update',
  summary: 'Update the limits of a buyer key',
  about: 'A limit that you leave out stays; null removes a limit.',
  example: { capDailyUsd: 2.5 },
  access: 'buyer-account',
  input: KeyPatch,
  limit: 'write',
  idempotency: 'none',
  output: KeyViewSchema,
  run: async (ctx, actor, input): Promise<KeyView> => {
    const { id } = input
    if (!isId('key', id)) throw new AppError('not_found')
    await requireKnownModels(ctx, input.modelsAllowed, 'modelsAllowed')
    const seed = () => seedKeyUse(ctx, { keyId: id, account: actor.account })
    const setsCap = input.capDailyUsd != null || input.capMonthlyUsd != null
    if (input.providersBlocked != null || setsCap) {
      const { providersBlocked: held } = await findLivingKey(ctx.db, actor, id)
      await requireKnownProviders(ctx.db, { names: input.providersBlocked, held, param: 'providersBlocked' })
      // The counter is seeded before the cap applies, so the cap never allows a used amount a second time.
      if (setsCap) await seed()
    }
    const change = await ctx.change(
      (trx) => changeKey(ctx, trx, actor, { ...input, id }),
      (change) => ({ subject: id, before: change.before, after: change.after }),
    )
    await publishKeysSoon(ctx)
    // A gate that was rebuilt in between has no counter for the cap. Otherwise this changes nothing.
    if (change.isCapped) {
      await seed().catch((error: unknown) => ctx.log.warn({ err: error, key: id }, 'a cap counts from the rebuild on'))
    }
    return change.after
  },
})

type Patch = z.output<typeof KeyPatch> & { readonly id: KeyId }
type Change = { readonly before: KeyView; readonly after: KeyView; readonly isCapped: boolean }

async function changeKey(ctx: Pick<Ctx, 'clock'>, trx: Trx, actor: BuyerActor, patch: Patch): Promise<Change> {
  const now = ctx.clock.now()
  await lockUser(trx, actor.user)
  const row = await findLivingKey(trx, actor, patch.id)
  if (row.isPlayground) requirePlaygroundBounds(patch)
  if (patch.expiresAt !== undefined) {
    requireFuture(patch.expiresAt, now)
    const wasOver = row.expiresAt !== null && row.expiresAt.getTime() <= now
    if (wasOver && (await countActiveKeys(trx, actor.user, 'buyer', now)) >= MAX_ACTIVE_KEYS) {
      throw new AppError('key_limit_reached', { detail: { limit: MAX_ACTIVE_KEYS } })
    }
  }
  const terms = changeTerms(termsOf(row), patch)
  const before = row.expiresAt?.getTime() ?? null
  const expiresAt = patch.expiresAt === undefined ? before : patch.expiresAt
  const frozenAt = patch.isFrozen === false ? null : (row.frozenAt?.getTime() ?? (patch.isFrozen ? now : null))
  await updateKey(trx, patch.id, { label: patch.label ?? row.label, expiresAt, frozenAt, terms })
  await insertKeyChange(trx, patch.id)
  const after = await findLivingKey(trx, actor, patch.id)
  return { before: viewOfKey(row, 'buyer'), after: viewOfKey(after, 'buyer'), isCapped: hasCap(terms) }
}

/** Throws `invalid_request` for a change that would let the playground spend without a cap, or end for good. */
function requirePlaygroundBounds({ capDailyUsd, expiresAt }: Patch): void {
  if (capDailyUsd === null) {
    throw new AppError('invalid_request', {
      message: 'The playground key must have a daily cap.',
      param: 'capDailyUsd',
    })
  }
  if (expiresAt != null) {
    throw new AppError('invalid_request', { message: 'The playground key must have no expiry.', param: 'expiresAt' })
  }
}
