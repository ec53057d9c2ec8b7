import type { ConditionalPrice, ModelInfo, ModelPrice } from '@pydantic/genai-prices'
import type { z } from 'zod'
import type { CatalogItem, PricingOverride } from '#control-plane/services/catalog/catalog-items.ts'
import { DAY, HOUR, MINUTE } from '#shared/clock.ts'

/** Prices in the shape of a catalogue's list: dollars of one unit. */
export type Pricing = CatalogItem['pricing']
type Override = z.input<typeof PricingOverride>
type Line = keyof Pick<
  Required<Pricing>,
  | 'prompt'
  | 'completion'
  | 'input_cache_read'
  | 'input_cache_write'
  | 'input_cache_write_1h'
  | 'input_audio_cache'
  | 'internal_reasoning'
  | 'audio'
  | 'audio_output'
  | 'image_token'
  | 'image_output'
  | 'web_search'
  | 'request'
>

/** Prices from an instant on, in Unix milliseconds. The first prices of a model have no beginning. */
export type DatedPricing = { readonly from: number | null; readonly pricing: Pricing }

/** Our price line for each key of the package, and the power of ten of its unit. */
const LINES: Readonly<Record<string, { readonly line: Line; readonly power: number }>> = {
  input_mtok: { line: 'prompt', power: 6 },
  output_mtok: { line: 'completion', power: 6 },
  cache_read_mtok: { line: 'input_cache_read', power: 6 },
  cache_write_mtok: { line: 'input_cache_write', power: 6 },
  cache_write_1h_mtok: { line: 'input_cache_write_1h', power: 6 },
  cache_audio_read_mtok: { line: 'input_audio_cache', power: 6 },
  output_reasoning_mtok: { line: 'internal_reasoning', power: 6 },
  input_audio_mtok: { line: 'audio', power: 6 },
  output_audio_mtok: { line: 'audio_output', power: 6 },
  input_image_mtok: { line: 'image_token', power: 6 },
  output_image_mtok: { line: 'image_output', power: 6 },
  web_searches_kcount: { line: 'web_search', power: 3 },
  requests_kcount: { line: 'request', power: 3 },
}

/** Keys of services that no call here can use. A list without them still prices every call. */
const UNUSED_KEYS: ReadonlySet<string> = new Set([
  // File search is a hosted tool, which no wire passes on.
  'storage_searches_kcount',
])

type Reading = {
  /** True for a model whose answer is not tokens, such as embeddings. */
  readonly hasNoOutput: boolean
}

/**
 * Reads a model's prices from the package, the earliest first. A tier and a time window become overrides. Throws a
 * RangeError that names the key, for a key without a price line here, a missing price and a price that is not a plain
 * number.
 */
export function readPackagePrices({ prices }: Pick<ModelInfo, 'prices'>, reading: Reading): readonly DatedPricing[] {
  const entries: readonly ConditionalPrice[] = Array.isArray(prices) ? prices : [{ prices }]
  const dates = entries.flatMap(({ constraint }) =>
    constraint?.type === 'start_date' ? [startOf(constraint.start_date)] : [],
  )
  const starts = [null, ...new Set(dates.toSorted((left, right) => left - right))]
  return starts.map((from) => ({ from, pricing: pricingAt(entries, from, reading) }))
}

/** The start of a UTC date in Unix milliseconds. */
function startOf(date: string): number {
  const at = Date.parse(`${date}T00:00:00Z`)
  if (!Number.isSafeInteger(at / DAY)) throw new RangeError(`start_date: ${date} is no date`)
  return at
}

/** In the package the last matching entry applies, so an entry before an unconditional one has no effect. */
function pricingAt(entries: readonly ConditionalPrice[], from: number | null, reading: Reading): Pricing {
  const conditionalPrices = entries.filter(
    ({ constraint }) => constraint?.type !== 'start_date' || (from !== null && startOf(constraint.start_date) <= from),
  )
  const always = conditionalPrices.findLastIndex(({ constraint }) => constraint?.type !== 'time_of_date')
  const base = conditionalPrices[always]
  if (base === undefined) throw new RangeError('prices: no entry counts at every time of the day')
  const { lines, tiers } = linesOf(base.prices)
  const { prompt, completion = reading.hasNoOutput ? '0' : undefined } = lines
  if (prompt === undefined) throw new RangeError('input_mtok: the price is missing')
  if (completion === undefined) throw new RangeError('output_mtok: the price is missing')
  const timed = conditionalPrices.slice(always + 1).flatMap(({ constraint, prices }) => {
    if (constraint?.type !== 'time_of_date') return []
    const window = { utc_start: minuteOf(constraint.start_time), utc_end: minuteOf(constraint.end_time) }
    const own = linesOf(prices)
    const missing = Object.keys(lines).find((line) => !(line in own.lines))
    if (missing !== undefined) throw new RangeError(`${missing}: the price is missing in a window of the day`)
    return [{ ...window, ...own.lines }, ...own.tiers.map((tier) => ({ ...window, ...tier }))]
  })
  const overrides: Override[] = [...tiers, ...timed]
  return { ...lines, prompt, completion, ...(overrides.length > 0 && { overrides }) }
}

/** `01:30:00Z` as 130. */
function minuteOf(time: string): number {
  const at = Date.parse(`1970-01-01T${time}`)
  if (!Number.isSafeInteger(at / MINUTE)) throw new RangeError(`time_of_date: ${time} is no minute of the UTC day`)
  return Math.floor(at / HOUR) * 100 + (at % HOUR) / MINUTE
}

type Lines = { [Name in Line]?: string }

function linesOf(prices: ModelPrice): { readonly lines: Lines; readonly tiers: readonly Override[] } {
  const lines: Lines = {}
  const tiers = new Map<number, Lines>()
  for (const [key, price] of Object.entries(prices)) {
    if (price === undefined || UNUSED_KEYS.has(key)) continue
    const knownLine = LINES[key]
    if (knownLine === undefined) throw new RangeError(`${key}: no usage class has this price`)
    const { line, power } = knownLine
    if (typeof price === 'number') {
      lines[line] = dollarsOf(price, power, key)
      continue
    }
    lines[line] = dollarsOf(price.base, power, key)
    let last = -1
    for (const tier of price.tiers) {
      if (!Number.isSafeInteger(tier.start) || tier.start <= last) throw new RangeError(`${key}: tiers do not rise`)
      last = tier.start
      tiers.set(tier.start, { ...tiers.get(tier.start), [line]: dollarsOf(tier.price, power, key) })
    }
  }
  const rising = [...tiers].sort(([left], [right]) => left - right)
  return { lines, tiers: rising.map(([start, own]) => ({ min_prompt_tokens: start, ...own })) }
}

/**
 * A binary number in its shortest spelling, as a decimal of one unit. The catalogue refuses a price with too many
 * digits. A zero in such lists means that the price is unknown: no provider gives units away.
 */
function dollarsOf(price: number, power: number, key: string): string {
  if (!Number.isFinite(price) || price <= 0) throw new RangeError(`${key}: ${price} is no price`)
  const [digits = '', exponent = '0'] = String(price).split('e')
  return `${digits}e${Number(exponent) - power}`
}
