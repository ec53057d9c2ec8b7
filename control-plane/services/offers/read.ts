import { z } from 'zod'
import { findModelByName } from '#control-plane/db/catalog.ts'
import { listOffers as findOffers, listOffersById } from '#control-plane/db/offers.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { readOffer } from './create.ts'
import { ListOffersInput, OfferIdInput } from './input.ts'
import type { OfferView } from './view.ts'
import { OfferViewSchema, viewOffers } from './view.ts'

/** A page of offers, newest first. `nextToken` is null on the last page. */
export const OfferPageSchema = signedPageSchema(OfferViewSchema)
export type OfferPage = z.infer<typeof OfferPageSchema>

/**
 * Lists the caller's offers. The token of a page holds its last offer's id, so pages stay right while offers are added
 * or removed.
 */
export const listOffers = defineOperation({
  name: 'offer.list',
  summary: 'List your offers',
  about: 'The offers of the account, with their prices and states.',
  example: { maxItems: 10 },
  access: 'seller',
  input: ListOffersInput,
  limit: 'read',
  idempotency: 'none',
  output: OfferPageSchema,
  run: async (ctx, actor, input): Promise<OfferPage> => {
    const { status, nextToken, maxItems } = input
    const model = input.model === undefined ? undefined : ((await findModelByName(ctx.db, input.model)) ?? input.model)
    const pages = pagesById(ctx, { list: 'offer.list', tenant: actor.account, filters: [status, model] })
    const filter = { status, model, before: pages.idIn(nextToken) }
    const offers = await findOffers(ctx.db, actor.account, filter, maxItems + 1)
    const { items, ...next } = pages.pageOf(offers, maxItems, (row) => row)
    return { ...next, items: await viewOffers(ctx, items) }
  },
})

/** Reads one of the caller's offers. Throws `not_found`, also for another seller's offer. */
export const getOffer = defineOperation({
  name: 'offer.get',
  summary: 'Get an offer',
  about: 'One offer of the account, with its price and state.',
  access: 'seller',
  input: OfferIdInput,
  limit: 'read',
  idempotency: 'none',
  output: OfferViewSchema,
  run: async (ctx, actor, input): Promise<OfferView> => {
    if (!isId('ofr', input.id)) throw new AppError('not_found')
    return readOffer(ctx, actor.account, input.id)
  },
})

const MAX_OFFERS_AT_ONCE = 100

/** Reads the named offers that belong to the caller, in no order. Other names are left out. */
export const getOffers = defineOperation({
  name: 'offer.get-many',
  summary: 'Get several offers',
  about: 'Ids of other offers are left out.',
  access: 'seller',
  input: z.strictObject({ ids: z.array(oneLine(100)).max(MAX_OFFERS_AT_ONCE) }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(OfferViewSchema).readonly(),
  run: async (ctx, actor, input): Promise<readonly OfferView[]> => {
    const ids = input.ids.filter((id) => isId('ofr', id))
    return viewOffers(ctx, await listOffersById(ctx.db, actor.account, ids))
  },
})
