import { collectLines } from '#control-plane/api/collect-lines.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { BulkLine } from '#control-plane/services/offers/bulk.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import type { HealthLine } from '#control-plane/services/offers/health-log.ts'
import { HealthLineSchema, listHealthLog } from '#control-plane/services/offers/health-log.ts'
import type { ResetHealth } from '#control-plane/services/offers/reset-health.ts'
import { resetHealth } from '#control-plane/services/offers/reset-health.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import type { ConnectionTest, HealthTest } from '#control-plane/services/offers/test-provider.ts'
import { HealthTestSchema, testConnection, testHealth } from '#control-plane/services/offers/test-provider.ts'
import type { ConfigCard } from '#control-plane/services/sellers/configs.ts'
import { ConfigCardSchema, deleteConfig, listConfigs } from '#control-plane/services/sellers/configs.ts'
import type { DiscoveredModel } from '#control-plane/services/sellers/discovery.ts'
import { discoverModels } from '#control-plane/services/sellers/discovery.ts'
import type { OfferShareView } from '#control-plane/services/sellers/offer-share.ts'
import { getOfferShare } from '#control-plane/services/sellers/offer-share.ts'
import type { ModelYield, OfferYieldView } from '#control-plane/services/sellers/offer-yield.ts'
import {
  getOfferYield,
  MAX_YIELD_MODELS,
  ModelYieldSchema,
  OfferYieldSchema,
} from '#control-plane/services/sellers/offer-yield.ts'
import type { OperationView } from '#control-plane/services/sellers/seller-operations.ts'
import {
  bulkCancelOffers,
  getSellerOperation,
  OperationViewSchema,
} from '#control-plane/services/sellers/seller-operations.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { ShownUnitPriceType } from './market.ts'
import { membersOf } from './members.ts'
import { ApiFormat, Offer, OfferStatus, withKey } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

export const Operation = builder.objectRef<OperationView>('SellerOperation').implement({
  description: 'Work that goes on after its answer.',
  authScopes: { seller: true },
  fields: (t) => ({
    operationId: t.exposeID('operationId'),
    ...membersOf(t, OperationViewSchema, { ints: ['processed', 'total', 'failedCount'] }),
  }),
})

const Config = builder.objectRef<ConfigCard>('SavedConfig').implement({
  description: 'A saved provider key, of which nothing is shown.',
  authScopes: { seller: true },
  fields: (t) => membersOf(t, ConfigCardSchema),
})

const Line = builder.objectRef<HealthLine>('HealthLine').implement({
  fields: (t) => membersOf(t, HealthLineSchema, { ints: ['statusCode'] }),
})

const BulkResult = builder.objectRef<BulkLine>('BulkLine').implement({
  description: 'What became of one row.',
  fields: (t) => ({
    model: t.exposeString('model'),
    status: t.exposeString('status'),
    offerId: t.id({ nullable: true, resolve: (line) => ('offerId' in line ? line.offerId : null) }),
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
    error: t.string({ nullable: true, resolve: (test) => ('error' in test ? test.error : null) }),
    status: t.int({ nullable: true, resolve: (test) => ('status' in test ? (test.status ?? null) : null) }),
  }),
})

const ModelTest = builder.objectRef<HealthTest>('ModelHealthTest').implement({
  fields: (t) => membersOf(t, HealthTestSchema, { ints: ['latencyMs'] }),
})

const Reset = builder.objectRef<ResetHealth>('HealthReset').implement({
  fields: (t) => ({
    healthy: t.exposeBoolean('healthy'),
    status: t.expose('status', { type: OfferStatus }),
  }),
})

const PlaceInput = builder.inputType('ProviderPlaceInput', {
  description: 'A provider and a key for it: given, or a saved one named by its fingerprint.',
  fields: (t) => ({
    apiKey: t.string(),
    reuseKeyFingerprint: t.string(),
    baseUrl: t.string({ required: true }),
    apiFormat: t.field({ type: ApiFormat }),
  }),
})

const BulkRowInput = builder.inputType('BulkOfferInput', {
  fields: (t) => ({
    model: t.string({ required: true }),
    discount: t.float(),
    costMultiplier: t.float(),
    capDailyUsd: t.float(),
    label: t.string(),
    payoutAddress: t.string(),
    providerModel: t.string(),
  }),
})

const ExcludedFor = builder.objectRef<OfferShareView['excluded'][number]>('ExcludedFor').implement({
  fields: (t) => ({ reason: t.exposeString('reason'), calls: t.exposeInt('calls') }),
})

const Share = builder.objectRef<OfferShareView>('OfferShare').implement({
  description:
    'What became of an offer in the calls of the last day that considered it: the newest 20,000 of the market.',
  authScopes: { seller: true },
  fields: (t) => ({
    since: t.exposeFloat('since'),
    won: t.exposeInt('won'),
    failedOver: t.exposeInt('failedOver', { description: 'Asked in vain, and then another.' }),
    outranked: t.exposeInt('outranked', { description: 'Another stood in front, and served.' }),
    excluded: t.field({
      type: [ExcludedFor],
      description: 'Could not be used, by the reason that routing wrote down.',
      resolve: ({ excluded }) => [...excluded],
    }),
  }),
})

const YieldOfModel = builder.objectRef<ModelYield>('ModelYield').implement({
  description: 'A model of the caller in the charged calls of the last day. Amounts are whole micro-USD.',
  fields: (t) => membersOf(t, ModelYieldSchema),
})

const Yield = builder.objectRef<OfferYieldView>('OfferYield').implement({
  description:
    'The models of the caller by the money of the last day, earned and passed: from the newest 20,000 calls of the market.',
  authScopes: { seller: true },
  fields: (t) => ({
    ...membersOf(t, OfferYieldSchema),
    models: t.field({
      type: [YieldOfModel],
      complexity: { field: 1, multiplier: MAX_YIELD_MODELS },
      resolve: ({ models }) => [...models],
    }),
  }),
})

builder.queryFields((t) => ({
  sellerOperation: t.field({
    type: Operation,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, getSellerOperation, { id }, options),
  }),
  savedConfigs: t.connection({
    type: Config,
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) => {
      const { configs: items, ...page } = await invoke(ctx, actor, listConfigs, readPage(args), options)
      return toConnection({ ...page, items }, args)
    },
  }),
  offerShare: t.field({
    type: Share,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, getOfferShare, { id }, options),
  }),
  offerYield: t.field({
    type: Yield,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, getOfferYield, {}, options),
  }),
  healthLog: t.connection({
    type: Line,
    args: {
      offerId: t.arg.id(),
      since: t.arg.float(),
      until: t.arg.float(),
      sortOrder: t.arg.string(),
      workspaceId: t.arg.id(),
    },
    complexity: costOfPage,
    resolve: async (_root, { offerId, since, until, sortOrder, workspaceId, ...args }, { ctx, actor, options }) => {
      const input = { ...given({ offerId, since, until, sortOrder, workspaceId }), ...readPage(args) }
      return toConnection(await invoke(ctx, actor, listHealthLog, input, options), args)
    },
  }),
}))

builder.mutationFields((t) => ({
  bulkCreateOffers: t.field({
    type: [BulkResult],
    args: {
      place: t.arg({ type: PlaceInput, required: true }),
      offers: t.arg({ type: [BulkRowInput], required: true }),
      payoutAddress: t.arg.string(),
      label: t.arg.string(),
      idempotencyKey: t.arg.string(),
    },
    resolve: async (_root, { place, offers, idempotencyKey, ...rest }, { ctx, actor, options }) => {
      const input = { ...given(place), ...given(rest), offers: offers.map(given) }
      return collectLines((await invoke(ctx, actor, bulkCreateOffers, input, withKey(options, idempotencyKey))).lines)
    },
  }),
  bulkCancelOffers: t.field({
    type: Operation,
    args: { idempotencyKey: t.arg.string() },
    resolve: (_root, { idempotencyKey }, { ctx, actor, options }) =>
      invoke(ctx, actor, bulkCancelOffers, {}, withKey(options, idempotencyKey)),
  }),
  resetOfferHealth: t.field({
    type: Reset,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, resetHealth, { id }, options),
  }),
  rotateOfferCredential: t.field({
    type: Offer,
    args: { id: t.arg.id({ required: true }), apiKey: t.arg.string({ required: true }) },
    resolve: (_root, input, { ctx, actor, options }) => invoke(ctx, actor, rotateCredential, { ...input }, options),
  }),
  discoverModels: t.field({
    type: [Discovered],
    args: { place: t.arg({ type: PlaceInput, required: true }) },
    resolve: async (_root, { place }, { ctx, actor, options }) =>
      collectLines(await invoke(ctx, actor, discoverModels, given(place), options)),
  }),
  testConnection: t.field({
    type: Connection,
    args: { place: t.arg({ type: PlaceInput, required: true }), model: t.arg.string() },
    resolve: (_root, { place, model }, { ctx, actor, options }) =>
      invoke(ctx, actor, testConnection, { ...given(place), ...given({ model }) }, options),
  }),
  testHealth: t.field({
    type: [ModelTest],
    args: { place: t.arg({ type: PlaceInput, required: true }), models: t.arg.stringList({ required: true }) },
    resolve: async (_root, { place, models }, { ctx, actor, options }) =>
      collectLines(await invoke(ctx, actor, testHealth, { ...given(place), models }, options)),
  }),
  forgetConfig: t.field({
    type: 'ID',
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, { ctx, actor, options }) =>
      (await invoke(ctx, actor, deleteConfig, { id }, options)).id,
  }),
}))
