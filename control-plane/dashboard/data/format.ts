const MICRO = 1_000_000n
const CENT = 10_000n

/** Micro-USD as the API writes it: a whole number, or plain digits. */
export type Micro = string | number | bigint

export function toMicro(amount: Micro): bigint {
  return typeof amount === 'number' ? BigInt(Math.round(amount)) : BigInt(amount)
}

const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** An amount for a table: cents, or as many digits as a smaller amount needs. */
export function money(amount: Micro): string {
  const micro = toMicro(amount)
  const size = micro < 0n ? -micro : micro
  if (size !== 0n && size < CENT * 100n && size % CENT !== 0n) return exactMoney(micro).replace(/(\.\d{2,}?)0+$/, '$1')
  const rounded = (size + CENT / 2n) / CENT
  const sign = micro < 0n ? '−' : ''
  return `${sign}$${WHOLE.format(rounded / 100n)}.${(rounded % 100n).toString().padStart(2, '0')}`
}

const MICRO_DIGITS = 6

/**
 * The decimals for amounts below each other: two, four or six, as the middle amount needs them. A few tiny amounts do
 * not give a column of dollars six decimals. Undefined without an amount.
 */
export function digitsOf(amounts: readonly (Micro | undefined)[]): number | undefined {
  const sizes = amounts
    .filter((amount) => amount !== undefined)
    .map((amount) => toMicro(amount))
    .map((micro) => (micro < 0n ? -micro : micro))
  if (sizes.length === 0) return undefined
  const paid = sizes.filter((size) => size > 0n).sort((a, b) => (a < b ? -1 : 1))
  const middle = paid[Math.floor((paid.length - 1) / 2)] ?? MICRO
  const needed = middle < CENT ? MICRO_DIGITS : middle < MICRO ? 4 : 2
  const isExact = (digits: number) => sizes.every((size) => size % 10n ** BigInt(MICRO_DIGITS - digits) === 0n)
  return [2, 4].find((digits) => digits >= needed || isExact(digits)) ?? MICRO_DIGITS
}

/** An amount with that many decimals, at most six. Zero has no decimals, and less than the last decimal is "<$0.01". */
export function fixedMoney(amount: Micro, digits: number): string {
  const micro = toMicro(amount)
  if (micro === 0n) return '$0'
  const size = micro < 0n ? -micro : micro
  const step = 10n ** BigInt(MICRO_DIGITS - digits)
  const rounded = ((size + step / 2n) / step) * step
  if (rounded === 0n) return `${micro < 0n ? '−' : ''}<${fixedMoney(step, digits)}`
  const text = exactMoney(rounded)
  return `${micro < 0n ? '−' : ''}${text.slice(0, text.length - (MICRO_DIGITS - digits))}`
}

/** The amount to the micro. */
export function exactMoney(amount: Micro): string {
  const micro = toMicro(amount)
  const size = micro < 0n ? -micro : micro
  return `${micro < 0n ? '−' : ''}$${WHOLE.format(size / MICRO)}.${(size % MICRO).toString().padStart(6, '0')}`
}

const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const PLAIN = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 })

export function count(value: number): string {
  return PLAIN.format(value)
}

export function compact(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN
  return Math.abs(value) < 10_000 ? PLAIN.format(value) : COMPACT.format(value)
}

/** Null is a figure that is not known yet. */
export const UNKNOWN = '–'

export function percent(value: number | null | undefined, digits = 1): string {
  if (value === null || value === undefined) return UNKNOWN
  return `${value.toFixed(digits).replace(/\.0+$/, '')}%`
}

/** A share in a column of shares, with a fixed number of decimals. */
export function evenPercent(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : `${value.toFixed(1)}%`
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN
  return value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toFixed(value < 10_000 ? 2 : 1)} s`
}

export type Zone = 'utc' | 'local'

/**
 * Formatters of instants by zone. Making one takes fifty times as long as using it, and a chart has a thousand
 * instants.
 */
function writers(options: Intl.DateTimeFormatOptions): Readonly<Record<Zone, Intl.DateTimeFormat>> {
  return {
    utc: new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }),
    // The time zone is part of the text, for readers of a screenshot as well.
    local: new Intl.DateTimeFormat('en-GB', options.second ? { ...options, timeZoneName: 'shortOffset' } : options),
  }
}

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
const INSTANTS = writers({ month: 'short', day: '2-digit', ...CLOCK })
const INSTANTS_OF_OTHER_YEARS = writers({ year: 'numeric', month: 'short', day: '2-digit', ...CLOCK })
const DAYS = writers({ month: 'short', day: '2-digit' })
const HOURS = writers({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** An instant with its zone. `isZoneNamed` is true where the head of the column names UTC. */
export function instant(at: number, zone: Zone, isZoneNamed = false): string {
  const isThisYear = new Date(at).getUTCFullYear() === new Date().getUTCFullYear()
  const parts = (isThisYear ? INSTANTS : INSTANTS_OF_OTHER_YEARS)[zone].format(at)
  return `${parts}${zone === 'utc' && !isZoneNamed ? ' UTC' : ''}`
}

export function day(at: number, zone: Zone): string {
  return DAYS[zone].format(at)
}

export function hour(at: number, zone: Zone): string {
  return HOURS[zone].format(at)
}

const STEPS = [
  [60_000, 1_000, 's'],
  [3_600_000, 60_000, 'min'],
  [86_400_000, 3_600_000, 'h'],
  [Number.POSITIVE_INFINITY, 86_400_000, 'd'],
] as const

/** A span of time in its largest unit, whole units only, or rounded. */
export function span(ms: number, toWhole: (units: number) => number = Math.floor): string {
  const [, unit, name] = STEPS.find(([below]) => Math.abs(ms) < below) ?? STEPS[3]
  return `${toWhole(Math.abs(ms) / unit)} ${name}`
}

export function ago(at: number, now: number): string {
  const ms = now - at
  if (Math.abs(ms) < 1_000) return 'now'
  // A week that has just begun ends in 7 days, and not in 6.
  return ms > 0 ? `${span(ms)} ago` : `in ${span(ms, Math.round)}`
}

/** A word of the API as a person writes it: `backed_off` is "backed off", and `cacheRead` "cache read". */
export function words(name: string): string {
  return name.replaceAll(/[_-]/g, ' ').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** The size of a call or a trade: tokens, or units of media. */
export type Amounts = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly images: number
  readonly megapixels: number
  readonly seconds: number
  readonly characters: number
}

/** The size of a call. A call that failed has none. */
export function volume(amounts: Amounts & { readonly outcome?: string }): string {
  const { inputTokens, outputTokens, images, megapixels, seconds, characters, outcome } = amounts
  if (images > 0) return `${count(images)} ${images === 1 ? 'image' : 'images'}`
  if (seconds > 0) return `${count(seconds)} s`
  if (characters > 0) return `${compact(characters)} characters`
  if (megapixels > 0) return `${count(megapixels)} MP`
  // A sale by the request has no amount.
  if (inputTokens + outputTokens === 0) return outcome === 'failed' ? UNKNOWN : '1 request'
  return `${compact(inputTokens)} in · ${compact(outputTokens)} out`
}

/** The beginning and the end of an address of the chain. */
export function short(address: string): string {
  return `${address.slice(0, 8)}…${address.slice(-6)}`
}
