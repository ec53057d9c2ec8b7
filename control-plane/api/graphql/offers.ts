import { invoke } from '#control-plane/operation/invoke.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { listOfferFigures, OfferFiguresSchema } from '#control-plane/services/offers/offer-figures.ts'
import { getOfferSeries, OfferPointSchema, OfferSeriesSchema } from '#control-plane/services/offers/offer-series.ts'
import { EndpointProbeSchema } from '#control-plane/services/offers/probe-listing.ts'
import { getOffer, getOffers, listOffers } from '#control-plane/services/offers/read.ts'
import type { OfferView } from '#control-plane/services/offers/view.ts'
import { OfferViewSchema, stopOf } from '#control-plane/services/offers/view.ts'
import { AppError } from '#shared/errors.ts'
import { PASSES } from '#shared/members/surcharge.ts'
import { PROTOCOL_NAMES } from '#shared/protocols/index.ts'
import type { GraphQLContext } from './builder.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { ShownUnitPriceType } from './market.ts'
import { fieldsOf, objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

export const OfferStatus = builder.enumType('OfferStatus', { values: ['active', 'paused', 'inactive'] as const })
const Stop = builder.enumType('OfferStop', {
  description: 'The reason why an offer gets no calls now.',
  values: ['delisted', 'inactive', 'paused', 'backed_off', 'cap_used'] as const,
})
const SettableStatus = builder.enumType('SettableOfferStatus', { values: ['active', 'paused'] as const })
const PricingMode = builder.enumType('PricingMode', { values: ['discount', 'cost_multiplier'] as const })
const Pass = builder.enumType('Pass', {
  description: 'The name of a permission by which an offer accepts request members that cost more or are unknown.',
  values: PASSES,
})
export const ApiFormat = builder.enumType('ApiFormat', { values: PROTOCOL_NAMES })

export const EndpointProbe = objectOf('EndpointProbe', EndpointProbeSchema, { ints: ['latencyMs'] })

/** Loads the caller's own offers by id. The cache lives only for the request. */
async function loadOffers(ids: readonly string[], { ctx, actor, options }: GraphQLContext) {
  const offers = await invoke(ctx, actor, getOffers, { ids }, options)
  const byId = new Map(offers.map((offer) => [offer.id, offer]))
  return ids.map((id) => byId.get(id) ?? new AppError('not_found'))
}

export const Offer = builder.loadableNodeRef('Offer', {
  id: { resolve: (offer: OfferView) => offer.id },
  load: (ids: string[], context: GraphQLContext) => loadOffers(ids, context),
})

const ownFields = fieldsOf(OfferViewSchema, {
  ints: ['consecutiveFailures'],
  types: {
    apiFormat: ApiFormat,
    passes: Pass,
    status: OfferStatus,
    pricingMode: PricingMode,
    directUnitPrices: ShownUnitPriceType,
    effectiveUnitPrices: ShownUnitPriceType,
    probes: EndpointProbe,
  },
  costs: { directUnitPrices: { field: 1 }, effectiveUnitPrices: { field: 1 }, probes: { field: 1 } },
  without: ['id'],
})

builder.objectType(Offer, {
  description:
    'Capacity on sale. Prices per million tokens and per media unit are whole micro-USD, instants Unix milliseconds.',
  authScopes: { $any: { seller: true, operator: true } },
  fields: (t) => ({
    ...ownFields(t),
    offerId: t.exposeID('id'),
    active: t.boolean({ resolve: ({ status }) => status === 'active' }),
    priceInputPer1m: t.exposeFloat('effectiveInputPer1m', { nullable: true }),
    priceOutputPer1m: t.exposeFloat('effectiveOutputPer1m', { nullable: true }),
    mediaUnitPrice: t.exposeFloat('effectiveMediaUnitPrice', { nullable: true }),
    stoppedBy: t.field({ type: Stop, nullable: true, resolve: stopOf }),
  }),
})

const OfferFigures = objectOf('OfferFigures', OfferFiguresSchema, {
  description: 'An offer with its sales in a window. Null while calls of that time are not summed yet.',
  authScopes: { seller: true },
  ints: ['calls', 'ttftSamples'],
  types: { status: OfferStatus },
  fields: (t) => ({ offer: t.field({ type: Offer, resolve: ({ id }) => id }) }),
})

const OfferSeries = objectOf('OfferSeries', OfferSeriesSchema, {
  authScopes: { seller: true },
  description: 'Calls, earnings and latency of an offer over time.',
  types: {
    interval: 'OfferInterval',
    points: objectOf('OfferPoint', OfferPointSchema, { ints: ['calls', 'ttftSamples'] }),
  },
})

const CreateOfferInput = inputOf('CreateOfferInput', createOffer.input, {
  types: { pricingMode: PricingMode, apiFormat: ApiFormat, passes: Pass },
})

const UpdateOfferInput = inputOf('UpdateOfferInput', updateOffer.input, {
  types: { pricingMode: PricingMode, status: SettableStatus, passes: Pass },
})

builder.queryFields((t) => ({
  offers: t.connection({ type: Offer, ...pageOf(listOffers, { types: { status: OfferStatus } }) }),
  offer: t.field({ type: Offer, ...fieldOf(getOffer) }),
  offerSeries: t.field({ type: OfferSeries, ...fieldOf(getOfferSeries) }),
  offerFigures: t.connection(
    { type: OfferFigures, ...pageOf(listOfferFigures, { types: { status: OfferStatus } }, (page) => page) },
    { fields: (c) => ({ totalCount: c.int({ nullable: true, resolve: ({ totalCount }) => totalCount }) }) },
  ),
}))

builder.mutationFields((t) => ({
  createOffer: t.field({ type: Offer, ...fieldOf(createOffer, { groups: { input: CreateOfferInput } }) }),
  updateOffer: t.field({ type: Offer, ...fieldOf(updateOffer, { groups: { input: UpdateOfferInput } }) }),
  deleteOffer: t.field({ type: Offer, ...fieldOf(deleteOffer) }),
}))
