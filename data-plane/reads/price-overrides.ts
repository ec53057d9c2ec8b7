import type { KeptBps } from '#shared/money.ts'
import type { PriceConditions, PriceLines } from '#shared/price-list.ts'
import { UTC_DAYS } from '#shared/price-list.ts'
import { pricingOf } from './pricing.ts'

/** The conditions of an override in the spelling of OpenRouter's `pricing.overrides`. */
export function shownConditions(when: PriceConditions) {
  const { minPromptTokens, serviceTier, utcWindow, utcDays, exceptDates } = when
  return {
    // OpenRouter's lists name the number of tokens above which these prices apply.
    min_prompt_tokens: minPromptTokens && minPromptTokens - 1,
    service_tier: serviceTier,
    search_context_size: when.searchContext,
    regions: when.regions,
    image_sizes: when.imageSizes,
    image_quality: when.imageQuality,
    utc_start: utcWindow && clockNumber(utcWindow[0]),
    utc_end: utcWindow && clockNumber(utcWindow[1]),
    utc_days: utcDays?.flatMap((day) => UTC_DAYS[day] ?? []),
    except_dates: exceptDates,
  }
}

/** A minute of the day as the number HHMM: minute 90 is 01:30, which gives 130. */
function clockNumber(minute: number): number {
  return Math.floor(minute / 60) * 100 + (minute % 60)
}

/** Prices of one unit under conditions, at a kept share. Undefined for a list without any. */
export function overridesOf(overrides: PriceLines['overrides'], keptBps: KeptBps) {
  return overrides?.map(({ when, unitPrices }) => {
    const { prompt, completion, ...others } = pricingOf(unitPrices, keptBps)
    return {
      ...shownConditions(when),
      // A class that is missing in the override keeps the price of the list.
      prompt: unitPrices.input === undefined ? undefined : prompt,
      completion: unitPrices.output === undefined ? undefined : completion,
      ...others,
    }
  })
}
