import { invoke } from '#control-plane/operation/invoke.ts'
import type {
  ResourceAccess,
  ResourceBuyerAnalytics,
  SellerAnalytics,
} from '#control-plane/services/lending/analytics.ts'
import { getLentAnalytics, getResourceAccess, getResourceAnalytics } from '#control-plane/services/lending/analytics.ts'
import type { DelistedView } from '#control-plane/services/lending/change.ts'
import {
  deleteLentOffer,
  deleteLentOffers,
  getLentOffer,
  listLentOffers,
  purgeLentOffer,
  updateLentOffer,
} from '#control-plane/services/lending/change.ts'
import type { KeyProbeView } from '#control-plane/services/lending/lend.ts'
import { createLentOffer, probeKey } from '#control-plane/services/lending/lend.ts'
import type { LentOfferView } from '#control-plane/services/lending/view.ts'
import { LentOfferViewSchema } from '#control-plane/services/lending/view.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

export const KeyTrait = builder.objectRef<LentOfferView['traits'][number]>('KeyTrait').implement({
  description: 'A trait that an account claims: declared by its seller, or shown by a probe.',
  fields: (t) => ({ name: t.exposeString('name'), provenance: t.exposeString('provenance') }),
})

const LentStatus = builder.enumType('KeyOfferStatus', { values: ['active', 'paused', 'delisted'] as const })
const SettableStatus = builder.enumType('SettableKeyOfferStatus', { values: ['active', 'paused'] as const })

const LentOffer = builder.objectRef<LentOfferView>('KeyOffer').implement({
  description: 'A lent provider key, of which nothing is shown.',
  authScopes: { seller: true },
  fields: (t) => ({
    ...membersOf(t, LentOfferViewSchema, {
      ints: ['consecutiveFailures', 'ratePerMinute', 'buyerSharePct'],
      without: ['status'],
    }),
    status: t.expose('status', { type: LentStatus }),
    traits: t.field({ type: [KeyTrait], resolve: ({ traits }) => [...traits] }),
  }),
})

const Probe = builder.objectRef<KeyProbeView>('KeyProbe').implement({
  fields: (t) => ({
    ok: t.exposeBoolean('ok'),
    latencyMs: t.int({ nullable: true, resolve: (probe) => (probe.ok ? probe.latencyMs : null) }),
    traits: t.stringList({ nullable: true, resolve: (probe) => (probe.ok ? [...probe.traits] : null) }),
    error: t.string({ nullable: true, resolve: (probe) => (probe.ok ? null : probe.error) }),
    status: t.int({ nullable: true, resolve: (probe) => (probe.ok ? null : probe.status) }),
  }),
})

const SoldLine = builder.objectRef<SellerAnalytics['byOffer'][number]>('KeySales').implement({
  fields: (t) => ({
    offerId: t.exposeID('offerId', { nullable: true }),
    resource: t.exposeString('resource'),
    good: t.exposeString('good', { nullable: true }),
    calls: t.exposeInt('calls'),
    earnedMicro: t.exposeFloat('earnedMicro'),
  }),
})

const RefusedLine = builder.objectRef<SellerAnalytics['refusedDemand'][number]>('RefusedKeyDemand').implement({
  fields: (t) => ({
    offerId: t.exposeID('offerId'),
    rule: t.exposeString('rule'),
    calls: t.exposeInt('calls'),
    quotedMicro: t.exposeFloat('quotedMicro'),
  }),
})

const LentDay = builder.objectRef<SellerAnalytics['daily'][number]>('KeySalesDay').implement({
  fields: (t) => ({
    day: t.exposeString('day'),
    calls: t.exposeInt('calls'),
    chargeMicro: t.exposeFloat('chargeMicro'),
    listMicro: t.exposeFloat('listMicro'),
    earnedMicro: t.exposeFloat('earnedMicro'),
  }),
})

const Analytics = builder.objectRef<SellerAnalytics>('KeyAnalytics').implement({
  description: 'Earnings of lent keys, and the demand that their own rules refused. Amounts are micro-USD.',
  authScopes: { seller: true },
  fields: (t) => ({
    range: t.exposeString('range'),
    since: t.exposeFloat('since'),
    earnedMicro: t.exposeFloat('earnedMicro'),
    calls: t.exposeInt('calls'),
    daily: t.field({ type: [LentDay], resolve: ({ daily }) => [...daily] }),
    byOffer: t.field({ type: [SoldLine], resolve: ({ byOffer }) => [...byOffer] }),
    refusedDemand: t.field({ type: [RefusedLine], resolve: ({ refusedDemand }) => [...refusedDemand] }),
  }),
})

const Access = builder.objectRef<ResourceAccess>('ResourceAccess').implement({
  description: 'Whether the caller may buy on lent keys now, and why not.',
  authScopes: { buyer: true },
  fields: (t) => ({
    canBuy: t.exposeBoolean('canBuy'),
    reasons: t.stringList({ resolve: ({ reasons }) => [...reasons] }),
    balanceMicro: t.exposeFloat('balanceMicro'),
  }),
})

const SpentLine = builder.objectRef<ResourceBuyerAnalytics['byResource'][number]>('ResourceSpending').implement({
  fields: (t) => ({
    resource: t.exposeString('resource'),
    good: t.exposeString('good', { nullable: true }),
    calls: t.exposeInt('calls'),
    spentMicro: t.exposeFloat('spentMicro'),
    savedMicro: t.exposeFloat('savedMicro'),
  }),
})

const SpentDay = builder.objectRef<ResourceBuyerAnalytics['daily'][number]>('ResourceSpendingDay').implement({
  fields: (t) => ({
    day: t.exposeString('day'),
    calls: t.exposeInt('calls'),
    chargeMicro: t.exposeFloat('chargeMicro'),
    listMicro: t.exposeFloat('listMicro'),
  }),
})

const Spending = builder.objectRef<ResourceBuyerAnalytics>('ResourceAnalytics').implement({
  description: 'Spending and savings on lent keys, in micro-USD.',
  authScopes: { buyer: true },
  fields: (t) => ({
    range: t.exposeString('range'),
    since: t.exposeFloat('since'),
    calls: t.exposeInt('calls'),
    spentMicro: t.exposeFloat('spentMicro'),
    listMicro: t.exposeFloat('listMicro'),
    savedMicro: t.exposeFloat('savedMicro'),
    daily: t.field({ type: [SpentDay], resolve: ({ daily }) => [...daily] }),
    byResource: t.field({ type: [SpentLine], resolve: ({ byResource }) => [...byResource] }),
  }),
})

const CreateInput = builder.inputType('CreateKeyOfferInput', {
  fields: (t) => ({
    resourceType: t.string({ required: true }),
    apiKey: t.string({ required: true }),
    discountPercent: t.int({ required: true }),
    ackPersistsState: t.boolean({ required: true }),
    ackProviderTerms: t.boolean({ required: true }),
    label: t.string(),
    capDailyUsd: t.float(),
    models: t.stringList(),
    methods: t.stringList(),
    paths: t.stringList(),
    ratePerMinute: t.int(),
    buyerSharePct: t.int(),
    traits: t.stringList(),
  }),
})

const UpdateInput = builder.inputType('UpdateKeyOfferInput', {
  description: 'A field that is left out stays, and null removes its value.',
  fields: (t) => ({
    discountPercent: t.int(),
    label: t.string(),
    capDailyUsd: t.float(),
    models: t.stringList(),
    methods: t.stringList(),
    paths: t.stringList(),
    ratePerMinute: t.int(),
    buyerSharePct: t.int(),
    status: t.field({ type: SettableStatus }),
  }),
})

const Gone = builder.objectRef<DelistedView>('KeyOffersGone').implement({
  description: 'The lent keys that are off the market now.',
  authScopes: { seller: true },
  fields: (t) => ({ delisted: t.exposeInt('delisted'), ids: t.idList({ resolve: ({ ids }) => [...ids] }) }),
})

builder.queryFields((t) => ({
  keyOffers: t.connection({
    type: LentOffer,
    args: { status: t.arg({ type: LentStatus }), resourceType: t.arg.string() },
    complexity: costOfPage,
    resolve: async (_root, { status, resourceType, ...args }, { ctx, actor, options }) => {
      const input = { ...given({ status, resourceType }), ...readPage(args) }
      return toConnection(await invoke(ctx, actor, listLentOffers, input, options), args)
    },
  }),
  keyOffer: t.field({
    type: LentOffer,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, getLentOffer, { id }, options),
  }),
  keyAnalytics: t.field({
    type: Analytics,
    args: { range: t.arg.string() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getLentAnalytics, given(args), options),
  }),
  resourceAccess: t.field({
    type: Access,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, getResourceAccess, {}, options),
  }),
  resourceAnalytics: t.field({
    type: Spending,
    args: { range: t.arg.string() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getResourceAnalytics, given(args), options),
  }),
}))

builder.mutationFields((t) => ({
  probeKey: t.field({
    type: Probe,
    args: { resourceId: t.arg.string({ required: true }), apiKey: t.arg.string({ required: true }) },
    resolve: (_root, input, { ctx, actor, options }) => invoke(ctx, actor, probeKey, { ...input }, options),
  }),
  createKeyOffer: t.field({
    type: LentOffer,
    args: { input: t.arg({ type: CreateInput, required: true }), idempotencyKey: t.arg.string() },
    resolve: (_root, { input, idempotencyKey }, { ctx, actor, options }) =>
      invoke(ctx, actor, createLentOffer, given(input), withKey(options, idempotencyKey)),
  }),
  updateKeyOffer: t.field({
    type: LentOffer,
    args: { id: t.arg.id({ required: true }), input: t.arg({ type: UpdateInput, required: true }) },
    resolve: (_root, { id, input }, { ctx, actor, options }) =>
      invoke(ctx, actor, updateLentOffer, { ...input, id }, options),
  }),
  deleteKeyOffer: t.field({
    type: LentOffer,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, deleteLentOffer, { id }, options),
  }),
  purgeKeyOffer: t.field({
    type: LentOffer,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, purgeLentOffer, { id }, options),
  }),
  deleteKeyOffers: t.field({
    type: Gone,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, deleteLentOffers, {}, options),
  }),
}))
