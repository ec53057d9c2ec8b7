import { z } from 'zod'
import type { PricingMode } from '#control-plane/db/tables/offers.ts'
import { Dollars, Label, ModelName, PageSize, PayoutWallet } from '#control-plane/services/input-fields.ts'
import { PageToken } from '#control-plane/services/page.ts'
import { Fingerprint, ProviderKey } from '#control-plane/services/providers/provider-key.ts'
import { percentToKept } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import { PASSES } from '#shared/members/surcharge.ts'
import type { KeptBps } from '#shared/money.ts'
import { keptBps } from '#shared/money.ts'
import { DEFAULT_PROTOCOL, ProtocolNameSchema } from '#shared/protocols/index.ts'
import { oneLine } from '#shared/texts.ts'

/** Percent off the reference price, with at most two decimals. */
export const Discount = z
  .number()
  .min(0)
  .max(100)
  .refine((percent) => isWhole(percent * 100), 'a discount must have at most two decimals')

/** The kept share of the reference price: 1 − discount / 100, rounded to four decimals. */
const CostMultiplier = z.number().min(0).max(1)

/** True for a number that is whole but for the rounding error of a double. */
function isWhole(value: number): boolean {
  return Math.abs(Math.round(value) - value) < 1e-7
}

/** Further members of requests that the offer's provider accepts, beyond those that every provider does. */
export const Passes = z
  .array(z.enum(PASSES))
  .max(PASSES.length)
  .transform((words) => [...new Set(words)])

/** A price in either form. */
export const Pricing = {
  discount: Discount.optional(),
  costMultiplier: CostMultiplier.optional(),
  pricingMode: z.enum(['discount', 'cost_multiplier']).optional(),
}

export const CreateOfferInput = z.strictObject({
  model: ModelName,
  apiKey: ProviderKey.optional(),
  reuseKeyFingerprint: Fingerprint.optional(),
  sellerBaseUrl: oneLine(2_048).min(1),
  ...Pricing,
  capDailyUsd: Dollars.nullish(),
  passes: Passes.nullish(),
  payoutAddress: PayoutWallet.nullish(),
  label: Label.nullish(),
  apiFormat: ProtocolNameSchema.default(DEFAULT_PROTOCOL),
  /** The model's name at the provider. It defaults to the given name. */
  providerModel: ModelName.optional(),
})

/** An absent field stays, and null removes its value. */
export const UpdateOfferInput = z.strictObject({
  id: oneLine(100),
  ...Pricing,
  capDailyUsd: Dollars.nullish(),
  passes: Passes.nullish(),
  status: z.enum(['active', 'paused']).optional(),
  payoutAddress: PayoutWallet.nullish(),
  label: Label.nullish(),
})

export const OfferIdInput = z.strictObject({ id: oneLine(100) })

export const ListOffersInput = z.strictObject({
  status: z.enum(['active', 'paused', 'inactive']).optional(),
  model: ModelName.optional(),
  maxItems: PageSize,
  nextToken: PageToken.optional(),
})

type GivenPricing = {
  readonly discount?: number | undefined
  readonly costMultiplier?: number | undefined
  readonly pricingMode?: PricingMode | undefined
}

/**
 * Returns the price as kept basis points and the form of the input; undefined without a price. Throws `invalid_request`
 * for two prices that differ, or a mode that does not fit the price.
 */
export function readPricing(givenPricing: GivenPricing): { keptBps: KeptBps; pricingMode: PricingMode } | undefined {
  const { discount, costMultiplier, pricingMode } = givenPricing
  const byDiscount = discount === undefined ? undefined : percentToKept(discount)
  const byFactor = costMultiplier === undefined ? undefined : keptBps(Math.round(costMultiplier * 10_000))
  const keptShare = byFactor ?? byDiscount
  if (keptShare === undefined) {
    if (pricingMode === undefined) return undefined
    throw new AppError('invalid_request', { message: 'Add the price of the pricing mode.', param: 'pricingMode' })
  }
  if (byDiscount !== undefined && byFactor !== undefined && byDiscount !== byFactor) {
    throw new AppError('invalid_request', {
      message: 'discount and cost_multiplier give different prices. Send one of them.',
      param: 'costMultiplier',
    })
  }
  const mode = byFactor === undefined ? 'discount' : 'cost_multiplier'
  if (pricingMode !== undefined && pricingMode !== mode) {
    throw new AppError('invalid_request', { message: 'The price is in another pricing mode.', param: 'pricingMode' })
  }
  return { keptBps: keptShare, pricingMode: mode }
}
