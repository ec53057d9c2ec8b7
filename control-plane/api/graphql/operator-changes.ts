import { invoke } from '#control-plane/operation/invoke.ts'
import { putAlias, removeAlias } from '#control-plane/services/catalog/aliases.ts'
import { CatalogItem } from '#control-plane/services/catalog/catalog-items.ts'
import { putPrices } from '#control-plane/services/catalog/reference-prices.ts'
import { declareIncident, endIncident, updateIncident } from '#control-plane/services/operators/declared-incidents.ts'
import { putFeature } from '#control-plane/services/operators/operator-controls.ts'
import { delistOffer, restoreOffer } from '#control-plane/services/operators/operator-offers.ts'
import { cancelTransfer, holdTransfer, releaseTransfer } from '#control-plane/services/payouts/operator-payouts.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { Offer } from './offers.ts'
import { Feature, FeatureName } from './operator-desk.ts'
import { Alias } from './operator-market.ts'
import { TransferType } from './operator-payments.ts'
import { Declared } from './status.ts'

/** Changes that operators make on their screens. Each has a reason, a source or a note, which the audit keeps. */

/** The prices of a catalogue under the catalogue's own names: US dollars of one unit, as decimal texts. */
const Pricing = builder.inputType('PricingInput', {
  description: 'US dollars of one unit as decimal texts, named as in a catalogue.',
  fields: (t) => ({
    prompt: t.string({ required: true }),
    completion: t.string({ required: true }),
    ...Object.fromEntries(
      Object.keys(CatalogItem.shape.pricing.shape)
        .filter((name) => name !== 'prompt' && name !== 'completion')
        .map((name) => [name, t.string()]),
    ),
  }),
})
const UnitPricing = builder.inputType('UnitPricingInput', {
  description: 'US dollars of one unit of media as decimal texts, named as in a catalogue.',
  fields: (t) =>
    Object.fromEntries(Object.keys(CatalogItem.shape.unit_pricing.unwrap().shape).map((name) => [name, t.string()])),
})
type StoredPrices = { readonly model: string; readonly version: string | null }
const PricesPut = builder.objectRef<StoredPrices>('PricesPut').implement({
  description: 'A new version of the prices of a model; no version where they are those of before.',
  fields: (t) => ({ model: t.exposeString('model'), version: t.exposeString('version', { nullable: true }) }),
})
type RemovedAlias = { readonly alias: string; readonly model: string }
const AliasGone = builder.objectRef<RemovedAlias>('AliasGone').implement({
  fields: (t) => ({ alias: t.exposeString('alias'), model: t.exposeString('model') }),
})

builder.mutationFields((t) => {
  const id = t.arg.id({ required: true })
  const reason = t.arg.string({ required: true })
  return {
    delistOffer: t.field({
      type: Offer,
      description: 'Takes an offer of any seller off the market. Its seller sees the reason.',
      args: { id, reason },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, delistOffer, args, options),
    }),
    restoreOffer: t.field({
      type: Offer,
      description: 'Lets the seller of a delisted offer put it on sale again. It comes back paused.',
      args: { id, reason },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, restoreOffer, args, options),
    }),
    putFeature: t.field({
      type: Feature,
      args: { name: t.arg({ type: FeatureName, required: true }), isOn: t.arg.boolean({ required: true }), reason },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, putFeature, args, options),
    }),
    holdTransfer: t.field({
      type: TransferType,
      description: 'Takes a payout out of the line until it is released.',
      args: { id, reason },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, holdTransfer, args, options),
    }),
    releaseTransfer: t.field({
      type: TransferType,
      description: 'Lets a payout that is held go.',
      args: { id, reason },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, releaseTransfer, args, options),
    }),
    cancelTransfer: t.field({
      type: TransferType,
      description: 'Gives the money of a payout that nobody has signed back to its seller’s balance.',
      args: { id, reason },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, cancelTransfer, args, options),
    }),
  }
})

builder.mutationFields((t) => ({
  putPrices: t.field({
    type: PricesPut,
    description: 'Adds a version of the reference prices of a model, from now or from a later instant.',
    args: {
      model: t.arg.string({ required: true }),
      pricing: t.arg({ type: Pricing, required: true }),
      unitPricing: t.arg({ type: UnitPricing }),
      source: t.arg.string({ required: true }),
      effectiveAt: t.arg.float(),
    },
    resolve: (_root, { pricing, unitPricing, ...args }, { ctx, actor, options }) => {
      const units = unitPricing == null ? {} : { unitPricing: given(unitPricing) }
      return invoke(ctx, actor, putPrices, { ...given(args), pricing: given(pricing), ...units }, options)
    },
  }),
  putAlias: t.field({
    type: Alias,
    args: { alias: t.arg.string({ required: true }), model: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, putAlias, args, options),
  }),
  removeAlias: t.field({
    type: AliasGone,
    args: { alias: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, removeAlias, args, options),
  }),
}))

builder.mutationFields((t) => {
  const id = t.arg.id({ required: true })
  const note = t.arg.string({ required: true })
  const touched = { state: t.arg.string(), models: t.arg.stringList(), providers: t.arg.stringList() }
  return {
    declareIncident: t.field({
      type: Declared,
      description: 'Tells everybody of an incident. `state` is `investigating`, `identified` or `monitoring`.',
      args: { title: t.arg.string({ required: true }), note, ...touched, startedAt: t.arg.float() },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, declareIncident, given(args), options),
    }),
    updateIncident: t.field({
      type: Declared,
      description: 'Adds a note to an incident that is open, and changes the members that are given.',
      args: { id, note, title: t.arg.string(), ...touched },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, updateIncident, given(args), options),
    }),
    endIncident: t.field({
      type: Declared,
      description: 'Ends an incident with a last note. It takes no further one.',
      args: { id, note },
      resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, endIncident, args, options),
    }),
  }
})
