import { z } from 'zod'
import type { LentOfferTerms, StoredLentOffer } from '#control-plane/db/lent-offers.ts'
import { Dollars, Label, PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken } from '#control-plane/services/page.ts'
import { PlainKey } from '#control-plane/services/providers/provider-key.ts'
import type { Resource } from '#shared/catalog/resources.ts'
import { TraitName } from '#shared/catalog/resources.ts'
import { LentScopeSchema } from '#shared/contract/lent-offers.ts'
import { percentToKept } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import { keptBps, microUsd } from '#shared/money.ts'
import { oneLine } from '#shared/texts.ts'

const MAX_TRAITS = 32
const MAX_CALLS_A_MINUTE = 1_000_000

export const ResourceName = oneLine(40).min(1)
const LentId = oneLine(100)

/** Whole percent off the provider's price. */
const DiscountPercent = z.number().int().min(5).max(80)

const { models: Models, methods: Methods, paths: Paths } = LentScopeSchema.shape
const Rate = z.number().int().min(1).max(MAX_CALLS_A_MINUTE)
const Share = z.number().int().min(1).max(100)

/** A key to test, and the resource that the key belongs to. */
export const ProbeKeyInput = z.strictObject({ resourceId: ResourceName, apiKey: PlainKey })

export const CreateLentOfferInput = z.strictObject({
  resourceType: ResourceName,
  apiKey: PlainKey,
  discountPercent: DiscountPercent,
  ackPersistsState: z.literal(true, 'confirm that calls leave files and jobs in the account'),
  ackProviderTerms: z.literal(true, "confirm that the provider's terms allow this use of the account"),
  label: Label.nullish(),
  capDailyUsd: Dollars.nullish(),
  models: Models.optional(),
  methods: Methods.optional(),
  paths: Paths.optional(),
  ratePerMinute: Rate.nullish(),
  buyerSharePct: Share.nullish(),
  /** Traits that the seller declares. Traits that the probe shows need not be named. */
  traits: z.array(TraitName).max(MAX_TRAITS).default([]),
  /** Refused: a listing takes one key. */
  apiSecret: z.unknown().optional(),
  /** Refused: a listing is priced by discount_percent. */
  pricingMultiplier: z.unknown().optional(),
})

/** An absent field stays, and null removes its value. */
export const UpdateLentOfferInput = z.strictObject({
  id: LentId,
  discountPercent: DiscountPercent.optional(),
  label: Label.nullish(),
  capDailyUsd: Dollars.nullish(),
  models: Models.optional(),
  methods: Methods.optional(),
  paths: Paths.optional(),
  ratePerMinute: Rate.nullish(),
  buyerSharePct: Share.nullish(),
  status: z.enum(['active', 'paused']).optional(),
  apiSecret: z.unknown().optional(),
  pricingMultiplier: z.unknown().optional(),
})

export const LentIdInput = z.strictObject({ id: LentId })

export const ListLentOffersInput = z.strictObject({
  status: z.enum(['active', 'paused', 'delisted']).optional(),
  resourceType: ResourceName.optional(),
  maxItems: PageSize,
  nextToken: PageToken.optional(),
})

type Refused = { readonly apiSecret?: unknown; readonly pricingMultiplier?: unknown }

/** Throws `api_secret_unsupported` and `pricing_multiplier_unsupported`. */
export function refuseForeignFields({ apiSecret, pricingMultiplier }: Refused): void {
  if (apiSecret !== undefined) throw new AppError('api_secret_unsupported', { param: 'apiSecret' })
  if (pricingMultiplier !== undefined) {
    throw new AppError('pricing_multiplier_unsupported', { param: 'pricingMultiplier' })
  }
}

type LentOfferEdit = Omit<z.output<typeof UpdateLentOfferInput>, 'id' | 'status' | 'apiSecret' | 'pricingMultiplier'>

/** The terms after a change. Throws `invalid_request` for rules that name things outside the record. */
export function termsAfter(record: Resource, before: LentOfferTerms, changes: LentOfferEdit): LentOfferTerms {
  const pick = <Value>(value: Value | undefined, old: Value): Value => (value === undefined ? old : value)
  const terms: LentOfferTerms = {
    keptBps: changes.discountPercent === undefined ? before.keptBps : percentToKept(changes.discountPercent),
    capDailyMicro: pick(changes.capDailyUsd, before.capDailyMicro),
    label: pick(changes.label, before.label),
    models: pick(changes.models, before.models),
    methods: pick(changes.methods, before.methods),
    paths: pick(changes.paths, before.paths),
    ratePerMinute: pick(changes.ratePerMinute, before.ratePerMinute),
    buyerSharePct: pick(changes.buyerSharePct, before.buyerSharePct),
  }
  const goods = new Set(record.goods.map(({ id }) => id))
  // Only new names are checked against the record, because a record may have lost a good since.
  const strange = changes.models?.filter((name) => !goods.has(name)) ?? []
  if (strange.length > 0) {
    throw new AppError('invalid_request', {
      message: `${record.id} does not sell ${strange.join(', ')}.`,
      param: 'models',
    })
  }
  if (terms.buyerSharePct !== null && terms.capDailyMicro === null) {
    throw new AppError('invalid_request', {
      message: 'The share of one buyer is a part of the daily cap: set cap_daily_usd.',
      param: 'buyerSharePct',
    })
  }
  return terms
}

/** The default terms of a new offer. */
export const OPEN_TERMS: LentOfferTerms = {
  keptBps: keptBps(10_000),
  capDailyMicro: null,
  label: null,
  models: null,
  methods: null,
  paths: null,
  ratePerMinute: null,
  buyerSharePct: null,
}

export function termsOf(offer: StoredLentOffer): LentOfferTerms {
  const { label, models, methods, paths, ratePerMinute, buyerSharePct } = offer
  const capDailyMicro = offer.capDailyMicro === null ? null : microUsd(offer.capDailyMicro)
  return { keptBps: keptBps(offer.keptBps), capDailyMicro, label, models, methods, paths, ratePerMinute, buyerSharePct }
}

/** Throws `invalid_request` for declared traits that the record does not have or that only a probe can show. */
export function checkDeclared(record: Resource, declared: readonly string[]): void {
  const declarable = new Set(record.traits.flatMap(({ name, shownBy }) => (shownBy === undefined ? [name] : [])))
  const strange = declared.filter((name) => !declarable.has(name))
  if (strange.length === 0) return
  const declarableNames = [...declarable].join(', ')
  throw new AppError('invalid_request', {
    message: `${strange.join(', ')} cannot be declared for ${record.id}. Declarable: ${declarableNames === '' ? 'none' : declarableNames}.`,
    param: 'traits',
  })
}
