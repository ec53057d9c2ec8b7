import { invoke } from '#control-plane/operation/invoke.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { getOffer, getOffers, listOffers } from '#control-plane/services/offers/read.ts'
import type { OfferView } from '#control-plane/services/offers/view.ts'
import { OfferViewSchema, stopOf } from '#control-plane/services/offers/view.ts'
import { AppError } from '#shared/errors.ts'
import { PROTOCOL_NAMES } from '#shared/protocols/index.ts'
import type { GraphQLContext } from './builder.ts'
import { builder } from './builder.ts'
import { ShownUnitPriceType } from './market.ts'
import { membersOf } from './members.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

export const OfferStatus = builder.enumType('OfferStatus', { values: ['active', 'paused', 'inactive'] as const })
const Stop = builder.enumType('OfferStop', {
  description: 'Why no call goes to an offer now.',
  values: ['delisted', 'inactive', 'paused', 'backed_off', 'cap_used'] as const,
})
const SettableStatus = builder.enumType('SettableOfferStatus', { values: ['active', 'paused'] as const })
const PricingMode = builder.enumType('PricingMode', { values: ['discount', 'cost_multiplier'] as const })
export const ApiFormat = builder.enumType('ApiFormat', { values: PROTOCOL_NAMES })

/** Loads the caller's own offers by id. The cache lives only for the request. */
async function loadOffers(ids: readonly string[], { ctx, actor, options }: GraphQLContext) {
  const found = await invoke(ctx, actor, getOffers, { ids }, options)
  const byId = new Map(found.map((offer) => [offer.id, offer]))
  return ids.map((id) => byId.get(id) ?? new AppError('not_found'))
}

export const Offer = builder.loadableNodeRef('Offer', {
  id: { resolve: (offer: OfferView) => offer.id },
  load: (ids: string[], context: GraphQLContext) => loadOffers(ids, context),
})

builder.objectType(Offer, {
  description:
    'Capacity on sale. Prices per million tokens and per media unit are whole micro-USD, instants Unix milliseconds.',
  authScopes: { $any: { seller: true, operator: true } },
  fields: (t) => ({
    ...membersOf(t, OfferViewSchema, {
      ints: ['consecutiveFailures'],
      without: ['id', 'apiFormat', 'status', 'pricingMode'],
    }),
    apiFormat: t.expose('apiFormat', { type: ApiFormat }),
    status: t.expose('status', { type: OfferStatus }),
    pricingMode: t.expose('pricingMode', { type: PricingMode }),
    offerId: t.exposeID('id'),
    active: t.boolean({ resolve: ({ status }) => status === 'active' }),
    priceInputPer1m: t.exposeFloat('effectiveInputPer1m', { nullable: true }),
    priceOutputPer1m: t.exposeFloat('effectiveOutputPer1m', { nullable: true }),
    mediaUnitPrice: t.exposeFloat('effectiveMediaUnitPrice', { nullable: true }),
    directUnitPrices: t.field({
      type: [ShownUnitPriceType],
      complexity: { field: 1 },
      resolve: ({ directUnitPrices }) => directUnitPrices,
    }),
    effectiveUnitPrices: t.field({
      type: [ShownUnitPriceType],
      complexity: { field: 1 },
      resolve: ({ effectiveUnitPrices }) => effectiveUnitPrices,
    }),
    stoppedBy: t.field({ type: Stop, nullable: true, resolve: stopOf }),
  }),
})

const CreateOfferInput = builder.inputType('CreateOfferInput', {
  fields: (t) => ({
    model: t.string({ required: true }),
    apiKey: t.string(),
    reuseKeyFingerprint: t.string(),
    sellerBaseUrl: t.string({ required: true }),
    discount: t.float(),
    costMultiplier: t.float(),
    pricingMode: t.field({ type: PricingMode }),
    capDailyUsd: t.float(),
    payoutAddress: t.string(),
    label: t.string(),
    apiFormat: t.field({ type: ApiFormat }),
    providerModel: t.string(),
  }),
})

const UpdateOfferInput = builder.inputType('UpdateOfferInput', {
  fields: (t) => ({
    discount: t.float(),
    costMultiplier: t.float(),
    pricingMode: t.field({ type: PricingMode }),
    capDailyUsd: t.float(),
    status: t.field({ type: SettableStatus }),
    payoutAddress: t.string(),
    label: t.string(),
  }),
})

builder.queryFields((t) => ({
  offers: t.connection({
    type: Offer,
    args: { status: t.arg({ type: OfferStatus }), model: t.arg.string() },
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) => {
      const { status, model } = args
      const filter = { ...(status == null ? {} : { status }), ...(model == null ? {} : { model }) }
      return toConnection(await invoke(ctx, actor, listOffers, { ...readPage(args), ...filter }, options), args)
    },
  }),
  offer: t.field({
    type: Offer,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, getOffer, { id }, options),
  }),
}))

builder.mutationFields((t) => ({
  createOffer: t.field({
    type: Offer,
    args: { input: t.arg({ type: CreateOfferInput, required: true }), idempotencyKey: t.arg.string() },
    resolve: (_root, { input, idempotencyKey }, { ctx, actor, options }) =>
      invoke(ctx, actor, createOffer, { ...input }, withKey(options, idempotencyKey)),
  }),
  updateOffer: t.field({
    type: Offer,
    args: { id: t.arg.id({ required: true }), input: t.arg({ type: UpdateOfferInput, required: true }) },
    resolve: (_root, { id, input }, { ctx, actor, options }) =>
      invoke(ctx, actor, updateOffer, { ...input, id }, options),
  }),
  deleteOffer: t.field({
    type: Offer,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, deleteOffer, { id }, options),
  }),
}))

/** Puts the idempotency key of the call's own argument before the header's. */
export function withKey(options: GraphQLContext['options'], key: string | null | undefined): GraphQLContext['options'] {
  return key == null ? options : { ...options, idempotencyKey: key }
}
