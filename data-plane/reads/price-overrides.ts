import type { KeptBps } from '#shared/money.ts'
import type { PriceConditions, PriceLines } from '#shared/price-list.ts'
import { writeUtcMinute } from '#shared/price-list.ts'
import { pricingOf } from './pricing.ts'

/** The conditions of an override in the spelling of OpenRouter's `pricing.overrides`. */
export function shownConditions({ minPromptTokens, serviceTier, utcWindow, utcDays, exceptDates }: PriceConditions) {
  return {
    min_prompt_tokens: minPromptTokens,
    service_tier: serviceTier,
    utc_start: utcWindow && writeUtcMinute(utcWindow[0]),
    utc_end: utcWindow && writeUtcMinute(utcWindow[1]),
    utc_days: utcDays,
    except_dates: exceptDates,
  }
}

/** Prices of one unit under conditions, at a kept share. Undefined for a list that has none. */
export function overridesOf(overrides: PriceLines['overrides'], kept: KeptBps) {
  return overrides?.map(({ when, unitPrices }) => {
    const { prompt, completion, ...others } = pricingOf(unitPrices, kept)
    return {
      ...shownConditions(when),
      // A class that the override leaves out keeps the price of the list.
      prompt: unitPrices.input === undefined ? undefined : prompt,
      completion: unitPrices.output === undefined ? undefined : completion,
      ...others,
    }
  })
}
