import { putAlias, removeAlias } from '#control-plane/services/catalog/aliases.ts'
import {
  diffCatalog,
  ImportDiffSchema,
  ImportReportSchema,
  importCatalog,
} from '#control-plane/services/catalog/catalog.ts'
import { FieldChangeSchema, ModelChangeSchema } from '#control-plane/services/catalog/catalog-diff.ts'
import { ImpactSchema } from '#control-plane/services/catalog/catalog-impact.ts'
import { CatalogItem, PricingOverride } from '#control-plane/services/catalog/catalog-items.ts'
import { RejectedRowSchema } from '#control-plane/services/catalog/catalog-plan.ts'
import { PricePreviewSchema, previewPrices, putPrices } from '#control-plane/services/catalog/reference-prices.ts'
import { putFeature } from '#control-plane/services/controls/operator-controls.ts'
import { declareIncident, endIncident, updateIncident } from '#control-plane/services/incidents/declared-incidents.ts'
import { delistOffer, restoreOffer } from '#control-plane/services/offers/operator-offers.ts'
import { cancelTransfer, holdTransfer, releaseTransfer } from '#control-plane/services/payouts/operator-payouts.ts'
import { SERVICE_TIERS } from '#shared/price-list.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { objectOf } from './objects.ts'
import { Offer } from './offers.ts'
import { fieldOf } from './operation-fields.ts'
import { Feature, FeatureName } from './operator-desk.ts'
import { Alias } from './operator-market.ts'
import { TransferType } from './operator-payments.ts'
import { LIST_COST } from './page.ts'
import { Declared } from './status.ts'

/** Changes on the operators' screens. Each has a reason, a source or a note, which the audit keeps. */

const ServiceTierName = builder.enumType('ServiceTier', { values: SERVICE_TIERS })
/** The prices of a catalogue under the catalogue's own names: US dollars of one unit, as decimal texts. */
const PricingOverrideInput = inputOf('PricingOverrideInput', PricingOverride, {
  description: 'Prices that count while all conditions hold, in US dollars of one unit.',
  types: { service_tier: ServiceTierName },
})
const Pricing = inputOf('PricingInput', CatalogItem.shape.pricing, {
  types: { overrides: PricingOverrideInput.type },
  description: 'US dollars of one unit as decimal texts, named as in a catalogue.',
})
const UnitPricing = inputOf('UnitPricingInput', CatalogItem.shape.unit_pricing.unwrap(), {
  description: 'US dollars of one unit of media as decimal texts, named as in a catalogue.',
})
type StoredPrices = { readonly model: string; readonly version: string | null }
const PricesPut = builder.objectRef<StoredPrices>('PricesPut').implement({
  description: 'A new version of the prices of a model; no version when the prices are unchanged.',
  fields: (t) => ({ model: t.exposeString('model'), version: t.exposeString('version', { nullable: true }) }),
})
const Impact = objectOf('CatalogImpact', ImpactSchema, { ints: ['offers', 'sellers', 'buyers'] })
const Preview = objectOf('PricePreview', PricePreviewSchema, {
  description:
    'The changes that new prices of a model would make, and the offers, sellers and buyers that they affect. Prices are pico-USD as plain digits.',
  authScopes: { operator: true },
  types: {
    fields: objectOf('PriceFieldChange', PricePreviewSchema.shape.fields.unwrap().element),
    impact: Impact,
  },
  costs: { fields: LIST_COST },
})
const CatalogRow = builder.scalarType('CatalogRow', {
  description: 'The JSON of a model, in the shape of a list of models.',
  serialize: (row) => row,
})
/** Models and fields of a change, as the cost of a query counts them. */
const CHANGES_COST = { field: 1, multiplier: 10 }
const json = (value: unknown) => (value === null || value === undefined ? null : JSON.stringify(value))
const FieldChange = objectOf('CatalogFieldChange', FieldChangeSchema, {
  description: 'A field before and after. Values are JSON texts.',
  fields: (t) => ({
    before: t.string({ nullable: true, resolve: ({ before }) => json(before) }),
    after: t.string({ nullable: true, resolve: ({ after }) => json(after) }),
  }),
})
const ModelChange = objectOf('CatalogModelChange', ModelChangeSchema, {
  types: { kind: 'CatalogChangeKind', fields: FieldChange },
  costs: { fields: CHANGES_COST },
})
const Rejected = objectOf('RejectedCatalogRow', RejectedRowSchema, { ints: ['index'] })
const ImportDiff = objectOf('CatalogDiff', ImportDiffSchema, {
  description: 'What an import of models would change and affect, and the rows that it would refuse.',
  authScopes: { operator: true },
  ints: ['models'],
  types: { changes: ModelChange, impacts: Impact, rejected: Rejected },
  costs: { changes: CHANGES_COST, impacts: CHANGES_COST, rejected: CHANGES_COST },
})
const ImportReport = objectOf('CatalogImport', ImportReportSchema, {
  description: 'What an import of models changed.',
  ints: ['models', 'added', 'changed', 'repriced'],
  types: { rejected: Rejected },
})
type RemovedAlias = { readonly alias: string; readonly model: string }
const AliasGone = builder.objectRef<RemovedAlias>('AliasGone').implement({
  fields: (t) => ({ alias: t.exposeString('alias'), model: t.exposeString('model') }),
})

builder.queryFields((t) => ({
  catalogDiff: t.field({ type: ImportDiff, ...fieldOf(diffCatalog, { types: { models: CatalogRow } }) }),
  pricePreview: t.field({
    type: Preview,
    ...fieldOf(previewPrices, { types: { pricing: Pricing.type, unitPricing: UnitPricing.type } }),
  }),
}))

builder.mutationFields((t) => ({
  delistOffer: t.field({
    type: Offer,
    ...fieldOf(delistOffer),
  }),
  restoreOffer: t.field({
    type: Offer,
    ...fieldOf(restoreOffer),
  }),
  putFeature: t.field({ type: Feature, ...fieldOf(putFeature, { types: { name: FeatureName } }) }),
  holdTransfer: t.field({
    type: TransferType,
    ...fieldOf(holdTransfer),
  }),
  releaseTransfer: t.field({
    type: TransferType,
    ...fieldOf(releaseTransfer),
  }),
  cancelTransfer: t.field({
    type: TransferType,
    ...fieldOf(cancelTransfer),
  }),
}))

builder.mutationFields((t) => ({
  putPrices: t.field({
    type: PricesPut,
    ...fieldOf(putPrices, { types: { pricing: Pricing.type, unitPricing: UnitPricing.type } }),
  }),
  importCatalog: t.field({ type: ImportReport, ...fieldOf(importCatalog, { types: { models: CatalogRow } }) }),
  putAlias: t.field({ type: Alias, ...fieldOf(putAlias) }),
  removeAlias: t.field({ type: AliasGone, ...fieldOf(removeAlias) }),
}))

builder.mutationFields((t) => ({
  declareIncident: t.field({
    type: Declared,
    ...fieldOf(declareIncident),
  }),
  updateIncident: t.field({
    type: Declared,
    ...fieldOf(updateIncident),
  }),
  endIncident: t.field({
    type: Declared,
    ...fieldOf(endIncident),
  }),
}))
