import {
  getLentAnalytics,
  getResourceAccess,
  getResourceAnalytics,
  ResourceAccessSchema,
  ResourceBuyerAnalyticsSchema,
  SellerAnalyticsSchema,
} from '#control-plane/services/lending/analytics.ts'
import type { KeyProbeView } from '#control-plane/services/lending/create-lent-offer.ts'
import { createLentOffer, probeKey } from '#control-plane/services/lending/create-lent-offer.ts'
import {
  DelistedSchema,
  deleteLentOffer,
  deleteLentOffers,
  getLentOffer,
  listLentOffers,
  purgeLentOffer,
  updateLentOffer,
} from '#control-plane/services/lending/lent-offers.ts'
import { LentOfferViewSchema, LentTraitSchema } from '#control-plane/services/lending/view.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

export const KeyTrait = objectOf('KeyTrait', LentTraitSchema, {
  description: 'A trait that an account claims: declared by its seller, or shown by a probe.',
})

const Status = builder.enumType('KeyOfferStatus', { values: LentOfferViewSchema.shape.status.options })
const SettableStatus = builder.enumType('SettableKeyOfferStatus', { values: ['active', 'paused'] as const })

const LentOffer = objectOf('KeyOffer', LentOfferViewSchema, {
  description: 'A lent provider key, without the key itself.',
  authScopes: { seller: true },
  ints: ['consecutiveFailures', 'ratePerMinute', 'buyerSharePct'],
  types: { status: Status, traits: KeyTrait },
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

const { daily, byOffer, refusedDemand } = SellerAnalyticsSchema.shape

const Analytics = objectOf('KeyAnalytics', SellerAnalyticsSchema, {
  description: 'Earnings of lent keys, and the demand that the rules of the seller refused. Amounts are micro-USD.',
  authScopes: { seller: true },
  ints: ['calls'],
  types: {
    daily: objectOf('KeySalesDay', daily.unwrap().element, { ints: ['calls'] }),
    byOffer: objectOf('KeySales', byOffer.unwrap().element, { ints: ['calls'] }),
    refusedDemand: objectOf('RefusedKeyDemand', refusedDemand.unwrap().element, { ints: ['calls'] }),
  },
})

const Access = objectOf('ResourceAccess', ResourceAccessSchema, {
  description: 'Whether the caller may buy on lent keys now, and the reason if not.',
  authScopes: { buyer: true },
})

const spending = ResourceBuyerAnalyticsSchema.shape

const Spending = objectOf('ResourceAnalytics', ResourceBuyerAnalyticsSchema, {
  description: 'Spending and savings on lent keys, in micro-USD.',
  authScopes: { buyer: true },
  ints: ['calls'],
  types: {
    daily: objectOf('ResourceSpendingDay', spending.daily.unwrap().element, { ints: ['calls'] }),
    byResource: objectOf('ResourceSpending', spending.byResource.unwrap().element, { ints: ['calls'] }),
  },
})

const CreateInput = inputOf('CreateKeyOfferInput', createLentOffer.input, {
  ints: ['discountPercent', 'ratePerMinute', 'buyerSharePct'],
})

const UpdateInput = inputOf('UpdateKeyOfferInput', updateLentOffer.input, {
  description: 'A field that is left out stays, and null removes its value.',
  ints: ['discountPercent', 'ratePerMinute', 'buyerSharePct'],
  types: { status: SettableStatus },
})

const Gone = objectOf('KeyOffersGone', DelistedSchema, {
  description: 'The lent keys that are off the market now.',
  authScopes: { seller: true },
  ids: ['ids'],
  ints: ['delisted'],
})

builder.queryFields((t) => ({
  keyOffers: t.connection({ type: LentOffer, ...pageOf(listLentOffers, { types: { status: Status } }) }),
  keyOffer: t.field({ type: LentOffer, ...fieldOf(getLentOffer) }),
  keyAnalytics: t.field({ type: Analytics, ...fieldOf(getLentAnalytics) }),
  resourceAccess: t.field({ type: Access, ...fieldOf(getResourceAccess) }),
  resourceAnalytics: t.field({ type: Spending, ...fieldOf(getResourceAnalytics) }),
}))

builder.mutationFields((t) => ({
  probeKey: t.field({ type: Probe, ...fieldOf(probeKey, { texts: ['resourceId'] }) }),
  createKeyOffer: t.field({ type: LentOffer, ...fieldOf(createLentOffer, { groups: { input: CreateInput } }) }),
  updateKeyOffer: t.field({ type: LentOffer, ...fieldOf(updateLentOffer, { groups: { input: UpdateInput } }) }),
  deleteKeyOffer: t.field({ type: LentOffer, ...fieldOf(deleteLentOffer) }),
  purgeKeyOffer: t.field({ type: LentOffer, ...fieldOf(purgeLentOffer) }),
  deleteKeyOffers: t.field({ type: Gone, ...fieldOf(deleteLentOffers) }),
}))
