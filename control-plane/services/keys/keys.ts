import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { insertKeyChange } from '#control-plane/db/key-store.ts'
import type { KeyTerms } from '#control-plane/db/key-terms.ts'
import { countActiveKeys, findKey, insertKey, listKeys, updateKeyRevoked } from '#control-plane/db/keys.ts'
import { lockUser } from '#control-plane/db/users.ts'
import type { BuyerActor, SellerActor } from '#control-plane/operation/actor.ts'
import { keyOwnerOf } from '#control-plane/operation/actor.ts'
import { requireUnbounded } from '#control-plane/operation/admit.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireKnownModels } from '#control-plane/services/catalog/known-models.ts'
import { requireKnownProviders } from '#control-plane/services/catalog/known-providers.ts'
import { Instant, Label } from '#control-plane/services/input-fields.ts'
import { KeyViewSchema } from '#control-plane/services/keys/key-views.ts'
import { cursorOf, ListFields, NextToken, pagesById } from '#control-plane/services/page.ts'
import { hashApiKey, newApiKey } from '#shared/api-key.ts'
import { AppError } from '#shared/errors.ts'
import type { KeyId, UserId, WorkspaceId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'
import { publishKeysSoon } from './key-store.ts'
import { changeTerms, KeyTermFields, NO_TERMS } from './key-terms.ts'
import type { CreatedKey, KeyView } from './key-views.ts'
import { CreatedKeySchema, viewOfKey } from './key-views.ts'

/** Most active keys of one wallet on one side. */
export const MAX_ACTIVE_KEYS = 25

type Issue = {
  readonly type: 'buyer' | 'seller'
  readonly user: UserId
  readonly label: string
  readonly expiresAt: number | null
  readonly terms: KeyTerms
  readonly workspace: WorkspaceId | null
  readonly isPlayground?: boolean
}

/**
 * Makes a key inside the caller's transaction and returns it with its secret. Only the HMAC is stored. Throws
 * `key_limit_reached` at the 26th active key, and `invalid_request` for an end in the past.
 */
export async function issueKey(
  ctx: Pick<Ctx, 'clock' | 'ids' | 'settings'>,
  trx: Trx,
  issue: Issue,
): Promise<{ id: KeyId; secret: Secret }> {
  const now = ctx.clock.now()
  requireFuture(issue.expiresAt, now)
  await lockUser(trx, issue.user)
  const isCounted = issue.isPlayground !== true
  if (isCounted && (await countActiveKeys(trx, issue.user, issue.type, now)) >= MAX_ACTIVE_KEYS) {
    throw new AppError('key_limit_reached', { detail: { limit: MAX_ACTIVE_KEYS } })
  }
  const id = ctx.ids.make('key')
  const { secret, keyPrefix } = newApiKey(issue.type)
  const hash = hashApiKey(secret.reveal(), ctx.settings.keyPepper)
  await insertKey(trx, { ...issue, id, scope: null, hash, keyPrefix, createdAt: now })
  await insertKeyChange(trx, id)
  return { id, secret }
}

/** Throws `invalid_request` for an end in the past. */
export function requireFuture(expiresAt: number | null, now: number): void {
  if (expiresAt !== null && expiresAt <= now) {
    throw new AppError('invalid_request', { message: 'The expiry of a key must be in the future.', param: 'expiresAt' })
  }
}

const SellerKeyInput = z.strictObject({ label: Label, expiresAt: Instant.nullish() })

const BuyerKeyInput = SellerKeyInput.extend(KeyTermFields)

async function createKey(
  ctx: Pick<RunCtx, 'db' | 'publisher' | 'clock' | 'ids' | 'log' | 'settings' | 'change'>,
  actor: BuyerActor | SellerActor,
  issue: Omit<Issue, 'user' | 'workspace'>,
): Promise<CreatedKey> {
  const owner = keyOwnerOf(actor)
  const make = async (trx: Trx) => {
    const issued = await issueKey(ctx, trx, { ...issue, user: owner.user, workspace: owner.workspace })
    const row = await findKey(trx, owner, issued.id)
    if (row === undefined) throw new AppError('internal_error')
    return { view: viewOfKey(row, actor.kind), secret: issued.secret }
  }
  const { view, secret } = await ctx.change(make, (newKey) => ({
    subject: newKey.view.id,
    before: null,
    after: newKey.view,
  }))
  await publishKeysSoon(ctx)
  return { ...view, wallet: actor.wallet, secret }
}

const withoutSecret = (created: CreatedKey): CreatedKey => ({ ...created, secret: null })

/** Makes a seller key. Only the first answer has the secret. */
export const createSellerKey = defineOperation({
  name: 'seller-key.create',
  summary: 'Create a seller key',
  about: 'A wallet has at most 25 active keys a side. We show the key once.',
  example: { label: 'listing bot' },
  access: 'seller',
  input: SellerKeyInput,
  limit: 'write',
  idempotency: 'required',
  output: CreatedKeySchema,
  forReplay: withoutSecret,
  run: (ctx, actor, input) =>
    createKey(ctx, actor, { type: 'seller', label: input.label, expiresAt: input.expiresAt ?? null, terms: NO_TERMS }),
})

/** Makes a buyer key with its own terms. Only the first answer has the secret. */
export const createBuyerKey = defineOperation({
  name: 'buyer-key.create',
  summary: 'Create a buyer key',
  about: 'Leave a limit out for none. Caps are in US dollars and start anew at midnight UTC. We show the key once.',
  example: { label: 'research agent', capDailyUsd: 5, rateLimitRpm: 120, minDiscountPct: 10 },
  access: 'buyer-account',
  input: BuyerKeyInput,
  limit: 'write',
  idempotency: 'accepted',
  output: CreatedKeySchema,
  forReplay: withoutSecret,
  run: async (ctx, actor, input) => {
    await requireKnownModels(ctx, input.modelsAllowed, 'modelsAllowed')
    await requireKnownProviders(ctx.db, { names: input.providersBlocked, held: [], param: 'providersBlocked' })
    const terms = changeTerms(NO_TERMS, input)
    return createKey(ctx, actor, { type: 'buyer', label: input.label, expiresAt: input.expiresAt ?? null, terms })
  },
})

/** The keys of one side of a wallet, newest first, revoked ones included. */
export const KeyListSchema = z.object({
  keys: z.array(KeyViewSchema).readonly(),
  nextToken: NextToken,
  cursorOf: cursorOf<KeyView>(),
})
export type KeyList = z.infer<typeof KeyListSchema>
const KeyListInput = z.strictObject(ListFields)

async function listOwnKeys(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  actor: BuyerActor | SellerActor,
  { maxItems, nextToken }: z.output<typeof KeyListInput>,
): Promise<KeyList> {
  const owner = keyOwnerOf(actor)
  const pages = pagesById(ctx, { list: 'key.list', tenant: actor.account, filters: [owner] })
  const rows = await listKeys(ctx.db, owner, { before: pages.idIn(nextToken), limit: maxItems + 1 })
  const { items: keys, ...page } = pages.pageOf(rows, maxItems, (row) => viewOfKey(row, actor.kind))
  return { ...page, keys }
}

export const listSellerKeys = defineOperation({
  name: 'seller-key.list',
  summary: 'List seller keys',
  about: 'The keys with their labels, without their secrets.',
  access: 'seller',
  input: KeyListInput,
  limit: 'read',
  idempotency: 'none',
  output: KeyListSchema,
  run: (ctx, actor, input) => listOwnKeys(ctx, actor, input),
})

export const listBuyerKeys = defineOperation({
  name: 'buyer-key.list',
  summary: 'List buyer keys',
  about: 'The keys with their limits, without their secrets.',
  access: 'buyer',
  input: KeyListInput,
  limit: 'read',
  idempotency: 'none',
  output: KeyListSchema,
  run: (ctx, actor, input) => listOwnKeys(ctx, actor, input),
})

const KeyInput = z.strictObject({ id: oneLine(100) })

async function revokeKey(
  ctx: Pick<RunCtx, 'db' | 'publisher' | 'clock' | 'log' | 'change'>,
  actor: BuyerActor | SellerActor,
  id: string,
) {
  const owner = keyOwnerOf(actor)
  if (!isId('key', id)) throw new AppError('not_found')
  if (actor.kind === 'buyer' && id !== actor.keyId) requireUnbounded(actor)
  const revoke = async (trx: Trx) => {
    const before = await findKey(trx, owner, id)
    if (before === undefined) throw new AppError('not_found')
    await updateKeyRevoked(trx, id, ctx.clock.now())
    await insertKeyChange(trx, id)
    const after = await findKey(trx, owner, id)
    if (after === undefined) throw new AppError('internal_error')
    return { before: viewOfKey(before, actor.kind), after: viewOfKey(after, actor.kind) }
  }
  const { after } = await ctx.change(revoke, (change) => ({ subject: id, ...change }))
  await publishKeysSoon(ctx)
  return after
}

/** Revokes a key for good and returns it. A repeat changes nothing. */
export const revokeSellerKey = defineOperation({
  name: 'seller-key.revoke',
  summary: 'Revoke a seller key',
  about: 'The key stops working. You cannot undo this.',
  example: {},
  access: 'seller',
  input: KeyInput,
  limit: 'write',
  idempotency: 'none',
  output: KeyViewSchema,
  run: (ctx, actor, input): Promise<KeyView> => revokeKey(ctx, actor, input.id),
})

/** Revokes a buyer key. A bounded key may revoke only itself. Throws `forbidden`. */
export const revokeBuyerKey = defineOperation({
  name: 'buyer-key.revoke',
  summary: 'Revoke a buyer key',
  about: 'The key stops working. You cannot undo this.',
  example: {},
  access: 'buyer',
  input: KeyInput,
  limit: 'write',
  idempotency: 'none',
  output: KeyViewSchema,
  run: (ctx, actor, input): Promise<KeyView> => revokeKey(ctx, actor, input.id),
})
