import { collectLines } from '#control-plane/api/collect-lines.ts'
import { listProviderChoices, ProviderChoiceSchema } from '#control-plane/services/catalog/provider-choices.ts'
import type { BulkLine } from '#control-plane/services/offers/bulk.ts'
import { BulkRow, bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { ConfigCardSchema, deleteConfig, listConfigs } from '#control-plane/services/offers/configs.ts'
import type { DiscoveredModel } from '#control-plane/services/offers/discovery.ts'
import { discoverModels } from '#control-plane/services/offers/discovery.ts'
import { HealthLineSchema, listHealthLog } from '#control-plane/services/offers/health-log.ts'
import {
  getOutages,
  MAX_OUTAGE_OFFERS,
  OfferOutagesSchema,
  OngoingOutageSchema,
  OutageCauseSchema,
  OutageReportSchema,
} from '#control-plane/services/offers/offer-outages.ts'
import {
  getOfferReach,
  MAX_REACHES,
  OfferReachSchema,
  ReachSchema,
} from '#control-plane/services/offers/offer-reach.ts'
import { getOfferShare, OfferShareViewSchema } from '#control-plane/services/offers/offer-share.ts'
import {
  getOfferYield,
  MAX_YIELD_MODELS,
  ModelYieldSchema,
  OfferYieldSchema,
} from '#control-plane/services/offers/offer-yield.ts'
import { ResetHealthSchema, resetHealth } from '#control-plane/services/offers/reset-health.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import {
  bulkCancelOffers,
  getSellerOperation,
  OperationViewSchema,
} from '#control-plane/services/offers/seller-operations.ts'
import type { ConnectionTest } from '#control-plane/services/offers/test-provider.ts'
import { HealthTestSchema, testConnection, testHealth } from '#control-plane/services/offers/test-provider.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { ShownUnitPriceType } from './market.ts'
import { objectOf } from './objects.ts'
import { ApiFormat, EndpointProbe, Offer, OfferStatus } from './offers.ts'
import { fieldOf, pageOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

export const Operation = objectOf('SellerOperation', OperationViewSchema, {
  description: 'Work that continues after the answer to its request.',
  authScopes: { seller: true },
  ints: ['processed', 'total', 'failedCount'],
  fields: (t) => ({ operationId: t.exposeID('operationId') }),
})

const Config = objectOf('SavedConfig', ConfigCardSchema, {
  description: 'A saved provider key, without the key itself.',
  authScopes: { seller: true },
})

const Line = objectOf('HealthLine', HealthLineSchema, { ints: ['statusCode'] })

const BulkResult = builder.objectRef<BulkLine>('BulkLine').implement({
  description: 'The result of one row.',
  fields: (t) => ({
    model: t.exposeString('model'),
    status: t.exposeString('status'),
    offerId: t.id({ nullable: true, resolve: (line) => ('offerId' in line ? line.offerId : null) }),
    probeCostUsd: t.float({
      nullable: true,
      resolve: (line) => ('probeCostUsd' in line ? (line.probeCostUsd ?? null) : null),
    }),
    probes: t.field({
      type: [EndpointProbe],
      nullable: true,
      complexity: { field: 1 },
      resolve: (line) => ('probes' in line ? (line.probes ?? null) : null),
    }),
    error: t.string({ nullable: true, resolve: (line) => ('error' in line ? line.error : null) }),
    code: t.string({ nullable: true, resolve: (line) => ('code' in line ? line.code : null) }),
  }),
})

const Discovered = builder.objectRef<DiscoveredModel>('DiscoveredModel').implement({
  fields: (t) => ({
    model: t.exposeString('model'),
    supported: t.exposeBoolean('supported'),
    inputPer1m: t.float({ nullable: true, resolve: ({ pricing }) => pricing.inputPer1m }),
    outputPer1m: t.float({ nullable: true, resolve: ({ pricing }) => pricing.outputPer1m }),
    priceUnit: t.string({ nullable: true, resolve: ({ pricing }) => pricing.priceUnit }),
    unitPrice: t.float({ nullable: true, resolve: ({ pricing }) => pricing.unitPrice }),
    unitPrices: t.field({
      type: [ShownUnitPriceType],
      complexity: { field: 1 },
      resolve: ({ pricing }) => pricing.unitPrices,
    }),
    priceVariable: t.boolean({ resolve: ({ pricing }) => pricing.priceVariable }),
    providerModelId: t.string({ resolve: ({ metadata }) => metadata.providerModelId }),
    modelType: t.string({ nullable: true, resolve: ({ metadata }) => metadata.modelType }),
    availabilityStatus: t.string({ resolve: ({ metadata }) => metadata.availabilityStatus }),
  }),
})

const Connection = builder.objectRef<ConnectionTest>('ConnectionTest').implement({
  fields: (t) => ({
    ok: t.exposeBoolean('ok'),
    latencyMs: t.int({ nullable: true, resolve: (test) => ('latencyMs' in test ? test.latencyMs : null) }),
    probeCostUsd: t.float({ nullable: true, resolve: (test) => ('probeCostUsd' in test ? test.probeCostUsd : null) }),
    error: t.string({ nullable: true, resolve: (test) => ('error' in test ? test.error : null) }),
    status: t.int({ nullable: true, resolve: (test) => ('status' in test ? (test.status ?? null) : null) }),
  }),
})

const ModelTest = objectOf('ModelHealthTest', HealthTestSchema, {
  ints: ['latencyMs'],
  types: { probes: EndpointProbe },
  costs: { probes: { field: 1 } },
})

const Reset = objectOf('HealthReset', ResetHealthSchema, { types: { status: OfferStatus } })

const Place = inputOf('ProviderPlaceInput', discoverModels.input, {
  description: 'A provider and a key for it: given, or a saved one named by its fingerprint.',
  required: ['baseUrl'],
  types: { apiFormat: ApiFormat },
  without: ['sellerBaseUrl'],
})

const BulkRowInput = inputOf('BulkOfferInput', BulkRow, { without: ['pricingMode'] })

const ExcludedFor = objectOf('ExcludedFor', OfferShareViewSchema.shape.excluded.unwrap().element, { ints: ['calls'] })

const Share = objectOf('OfferShare', OfferShareViewSchema, {
  description:
    'The results of an offer in the calls of the last day that considered it, among the newest 20,000 calls of the market.',
  authScopes: { seller: true },
  ints: ['won', 'failedOver', 'outranked'],
  types: { excluded: ExcludedFor },
  descriptions: {
    failedOver: 'Calls that tried the offer, failed, and went on to another offer.',
    outranked: 'Calls that a better offer served.',
    excluded: 'Calls that could not use the offer, by the reason that routing recorded.',
  },
})

const YieldOfModel = objectOf('ModelYield', ModelYieldSchema, {
  description: 'A model of the caller in the charged calls of the last day. Amounts are whole micro-USD.',
})

const Yield = objectOf('OfferYield', OfferYieldSchema, {
  description:
    'The models of the caller by the money of the last day, won and lost, from the newest 20,000 calls of the market.',
  authScopes: { seller: true },
  types: { models: YieldOfModel },
  costs: { models: { field: 1, multiplier: MAX_YIELD_MODELS } },
})

const ReachAt = objectOf('Reach', ReachSchema, {
  description: 'The calls of the last day by their fate at a discount. Amounts are whole micro-USD.',
  descriptions: {
    won: 'Calls that the offer of the caller would have won.',
    shared: 'Calls that offers at the same price share.',
    lost: 'Calls that offers with a larger discount served.',
    worthMicro: 'The price of the calls won, before the fee.',
  },
})

const ReachOfModel = objectOf('OfferReach', OfferReachSchema, {
  description:
    'The calls of a model that each discount of the caller would win, from the newest 20,000 calls of the market.',
  authScopes: { seller: true },
  types: { chosen: ReachAt, curve: ReachAt },
  costs: { chosen: { field: 1 }, curve: { field: 1, multiplier: MAX_REACHES } },
})

const Choice = objectOf('ProviderChoice', ProviderChoiceSchema)

const OutagesOfOffer = objectOf('OfferOutages', OfferOutagesSchema, { ints: ['outages', 'backOffs'] })
const Ongoing = objectOf('OngoingOutage', OngoingOutageSchema, { ints: ['statusCode', 'backOffs'] })
const Cause = objectOf('OutageCause', OutageCauseSchema, { ints: ['outages'] })
const Outages = objectOf('OutageReport', OutageReportSchema, {
  authScopes: { seller: true },
  ints: ['outages', 'offers'],
  types: { causes: Cause, ongoing: Ongoing, byOffer: OutagesOfOffer },
  costs: {
    causes: { field: 1 },
    ongoing: { field: 1, multiplier: MAX_OUTAGE_OFFERS },
    byOffer: { field: 1, multiplier: MAX_OUTAGE_OFFERS },
  },
})

builder.queryFields((t) => ({
  providerChoices: t.field({ type: [Choice], complexity: LIST_COST, ...fieldOf(listProviderChoices) }),
  sellerOperation: t.field({ type: Operation, ...fieldOf(getSellerOperation) }),
  savedConfigs: t.connection({
    type: Config,
    ...pageOf(listConfigs, {}, ({ configs, ...page }) => ({ ...page, items: configs })),
  }),
  offerShare: t.field({ type: Share, ...fieldOf(getOfferShare) }),
  offerYield: t.field({ type: Yield, ...fieldOf(getOfferYield) }),
  offerReach: t.field({ type: ReachOfModel, ...fieldOf(getOfferReach) }),
  healthLog: t.connection({ type: Line, ...pageOf(listHealthLog) }),
  offerOutages: t.field({ type: Outages, ...fieldOf(getOutages) }),
}))

builder.mutationFields((t) => ({
  bulkCreateOffers: t.field({
    type: [BulkResult],
    ...fieldOf(bulkCreateOffers, { groups: { place: Place }, types: { offers: BulkRowInput.type } }, ({ lines }) =>
      collectLines(lines),
    ),
  }),
  bulkCancelOffers: t.field({ type: Operation, ...fieldOf(bulkCancelOffers) }),
  resetOfferHealth: t.field({ type: Reset, ...fieldOf(resetHealth) }),
  rotateOfferCredential: t.field({ type: Offer, ...fieldOf(rotateCredential) }),
  discoverModels: t.field({
    type: [Discovered],
    ...fieldOf(discoverModels, { groups: { place: Place } }, collectLines),
  }),
  testConnection: t.field({ type: Connection, ...fieldOf(testConnection, { groups: { place: Place } }) }),
  testHealth: t.field({ type: [ModelTest], ...fieldOf(testHealth, { groups: { place: Place } }, collectLines) }),
  forgetConfig: t.field({ type: 'ID', ...fieldOf(deleteConfig, {}, ({ id }) => id) }),
}))
