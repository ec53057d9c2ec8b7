import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { LentOfferTerms, StoredLentOffer } from '#control-plane/db/lent-offers.ts'
import {
  destroyLentKey,
  findLentOffer,
  listLentOffers as listStored,
  lockAnyLentOffer,
  lockListedLentOffers,
  updateLentOffer as storeLentOffer,
} from '#control-plane/db/lent-offers.ts'
import { findResource } from '#control-plane/db/resources.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readRecord } from '#control-plane/services/catalog/resources.ts'
import { pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { lentDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { orLentTwice, readLentOffer, viewLentOffer } from './create-lent-offer.ts'
import {
  LentIdInput,
  ListLentOffersInput,
  refuseForeignFields,
  termsAfter,
  termsOf,
  UpdateLentOfferInput,
} from './input.ts'
import type { LentEvent } from './state.ts'
import { changeByLentEvent } from './state.ts'
import type { LentOfferView, LentViewCtx } from './view.ts'
import { LentOfferViewSchema, viewLentOffers } from './view.ts'

export const LentOfferPageSchema = signedPageSchema(LentOfferViewSchema)

/** Lists the caller's lent keys, newest first. */
export const listLentOffers = defineOperation({
  name: 'lent-offer.list',
  summary: 'List your lent keys',
  about: 'The lent keys of the account, with their terms and states.',
  example: { maxItems: 10 },
  access: 'seller',
  input: ListLentOffersInput,
  limit: 'read',
  idempotency: 'none',
  output: LentOfferPageSchema,
  run: async (ctx, actor, { status, resourceType, maxItems, nextToken }) => {
    const scope = { list: 'lent-offer.list', tenant: actor.account, filters: [status, resourceType] }
    const pages = pagesById(ctx, scope)
    const filter = { status, resource: resourceType, before: pages.idIn(nextToken) }
    const found = await listStored(ctx.db, actor.account, filter, maxItems + 1)
    const { items, ...next } = pages.pageOf(found, maxItems, (row) => row)
    return { ...next, items: await viewLentOffers(ctx, items) }
  },
})

/** Reads one of the caller's lent keys. Throws `not_found`, also for another seller's key. */
export const getLentOffer = defineOperation({
  name: 'lent-offer.get',
  summary: 'Get a lent key',
  about: 'One lent key of the account, with its terms and state.',
  access: 'seller',
  input: LentIdInput,
  limit: 'read',
  idempotency: 'none',
  output: LentOfferViewSchema,
  run: (ctx, actor, { id }): Promise<LentOfferView> => readLentOffer(ctx, actor.account, id),
})

/** Changes the price, cap, rules, label or state of a lent key. An absent field stays. */
export const updateLentOffer = defineOperation({
  name: 'lent-offer.update',
  summary: 'Update a lent key',
  about: 'Changes discount, cap, rules, label or status. A field that you leave out stays; null removes its value.',
  example: { discountPercent: 35 },
  access: 'seller',
  input: UpdateLentOfferInput,
  limit: 'write',
  idempotency: 'none',
  output: LentOfferViewSchema,
  run: async (ctx, actor, { id, status, ...changes }): Promise<LentOfferView> => {
    refuseForeignFields(changes)
    const event = status === undefined ? 'edit' : status === 'active' ? 'activate' : 'pause'
    return changeLentOffer(ctx, actor.account, id, async (trx, offer) => {
      const change = changeByLentEvent(offer, event)
      const resource = await findResource(trx, offer.resource)
      if (resource === undefined) throw new AppError('internal_error')
      const terms: LentOfferTerms = termsAfter(readRecord(resource), termsOf(offer), changes)
      await storeLentOffer(trx, offer.id, { ...change, terms }, ctx.clock.now())
    })
  },
})

/** Takes a lent key off the market for good. It may be listed anew; its sealed key stays for jobs under way. */
export const deleteLentOffer = defineOperation({
  name: 'lent-offer.delete',
  summary: 'Delete a lent key',
  about: 'You cannot undo this; lend the key again instead. The sealed key stays for running jobs, until you purge it.',
  example: {},
  access: 'seller',
  input: LentIdInput,
  limit: 'write',
  idempotency: 'none',
  output: LentOfferViewSchema,
  run: (ctx, actor, { id }): Promise<LentOfferView> => moveLentOffer(ctx, actor.account, id, 'remove'),
})

/** Takes a lent key off the market and destroys it. Jobs that it started can no longer be polled. */
export const purgeLentOffer = defineOperation({
  name: 'lent-offer.purge',
  summary: 'Delete a lent key and destroy its secret',
  about: 'You cannot undo this. The state of jobs that the key started can no longer be read.',
  example: {},
  access: 'seller',
  input: LentIdInput,
  limit: 'write',
  idempotency: 'none',
  output: LentOfferViewSchema,
  run: (ctx, actor, { id }): Promise<LentOfferView> => moveLentOffer(ctx, actor.account, id, 'purge'),
})

export const DelistedSchema = z.object({ delisted: z.number().int(), ids: z.array(z.string()).readonly() })

/** Takes every lent key of the caller off the market, all or none. */
export const deleteLentOffers = defineOperation({
  name: 'lent-offer.delete-all',
  summary: 'Delete every lent key',
  about: 'New calls no longer use any lent key of the account.',
  example: {},
  access: 'seller',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: DelistedSchema,
  run: async (ctx, actor) => {
    const gone = await ctx.change(
      async (trx) => {
        const offers = await lockListedLentOffers(trx, actor.account)
        const at = ctx.clock.now()
        for (const offer of offers) await storeLentOffer(trx, offer.id, changeByLentEvent(offer, 'remove'), at)
        return offers
      },
      (offers) => ({
        subject: actor.account,
        before: { ids: offers.map(({ id }) => id) },
        after: { status: 'delisted' },
      }),
    )
    await ctx.publication.publishSoon([...new Set(gone.map(({ resource }) => lentDocumentName(resource)))])
    return { delisted: gone.length, ids: gone.map(({ id }) => id) }
  },
})

const Reason = oneLine(500).trim().min(1)

/** Takes a lent key of any seller off the market. Its seller reads the reason and cannot put it back. */
export const blockLentOffer = defineOperation({
  name: 'lent-offer.block',
  summary: 'Block a lent key of any seller',
  about: 'The seller reads the reason and cannot list the key again.',
  access: 'operator',
  input: z.strictObject({ id: oneLine(100), reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: LentOfferViewSchema,
  run: (ctx, _actor, { id, reason }): Promise<LentOfferView> => moveAsOperator(ctx, id, 'block', reason),
})

/** Lets the seller of a blocked key put it back on the market. */
export const restoreLentOffer = defineOperation({
  name: 'lent-offer.restore',
  summary: 'Unblock a lent key',
  access: 'operator',
  input: z.strictObject({ id: oneLine(100), reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: LentOfferViewSchema,
  run: (ctx, _actor, { id, reason }): Promise<LentOfferView> => moveAsOperator(ctx, id, 'restore', reason),
})

type ChangeCtx = LentViewCtx & Pick<RunCtx, 'publication' | 'change'>

function moveLentOffer(ctx: ChangeCtx, seller: AccountId, id: string, event: LentEvent): Promise<LentOfferView> {
  return changeLentOffer(ctx, seller, id, async (trx, offer) => {
    const at = ctx.clock.now()
    await storeLentOffer(trx, offer.id, changeByLentEvent(offer, event), at)
    if (event === 'purge') await destroyLentKey(trx, offer.id, at)
  })
}

async function changeLentOffer(
  ctx: ChangeCtx,
  seller: AccountId,
  id: string,
  run: (trx: Trx, offer: StoredLentOffer) => Promise<void>,
): Promise<LentOfferView> {
  const known = isId('ofr', id) ? await findLentOffer(ctx.db, seller, id) : undefined
  if (known === undefined) throw new AppError('not_found')
  const before = await viewLentOffer(ctx, known)
  await orLentTwice(ctx, seller, known.fingerprint, () =>
    ctx.change(
      async (trx) => {
        const offer = await findLentOffer(trx, seller, id, true)
        if (offer === undefined) throw new AppError('not_found')
        await run(trx, offer)
        return readLentOffer({ ...ctx, db: trx }, seller, id)
      },
      (after) => ({ subject: id, before, after }),
    ),
  )
  await ctx.publication.publishSoon([lentDocumentName(known.resource)])
  return readLentOffer(ctx, seller, id)
}

async function moveAsOperator(
  ctx: ChangeCtx,
  id: string,
  event: 'block' | 'restore',
  reason: string,
): Promise<LentOfferView> {
  const moved = await ctx.change(
    async (trx) => {
      const offer = await lockAnyLentOffer(trx, id)
      if (offer === undefined) throw new AppError('not_found')
      const change = changeByLentEvent(offer, event, event === 'block' ? reason : null)
      await storeLentOffer(trx, offer.id, change, ctx.clock.now())
      return { offer, change }
    },
    ({ offer, change }) => ({
      subject: id,
      before: { status: offer.status, delistedReason: offer.delistedReason },
      after: { ...change, reason },
    }),
  )
  await ctx.publication.publishSoon([lentDocumentName(moved.offer.resource)])
  return readLentOffer(ctx, moved.offer.sellerAccount, id)
}
