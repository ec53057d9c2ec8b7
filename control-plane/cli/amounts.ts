import { formatDollars } from '#shared/money.ts'

/** Writes amounts for people, from texts and whole numbers only. Nothing is computed in floats. */

const WEI_DIGITS = 18

/** Micro-USD as dollars: `$1,234.56`, with as many decimals as it has and at least two. */
export function dollars(micro: string | number | bigint | null | undefined): string | null {
  if (micro === null || micro === undefined) return null
  const whole = BigInt(micro)
  const sign = whole < 0n ? '-' : ''
  return `${sign}$${grouped(formatDollars(whole < 0n ? -whole : whole))}`
}

/** Wei as ETH with six decimals, for people. */
export function eth(wei: string | null): string | null {
  if (wei === null) return null
  const digits = wei.padStart(WEI_DIGITS + 1, '0')
  return `${digits.slice(0, -WEI_DIGITS)}.${digits.slice(-WEI_DIGITS).slice(0, 6)} ETH`
}

/** Writes pico-USD of one token as dollars of a million tokens. Both steps are six zeros, so only the point moves. */
export function perMillion(pico: string | null | undefined): string | null {
  return dollars(pico)
}

/** Commas between the thousands of the whole part. */
function grouped(digits: string): string {
  const [whole = '', fraction] = digits.split('.')
  const thousands = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? thousands : `${thousands}.${fraction}`
}

/** Unix milliseconds as `2026-11-21 15:04:05Z`, in UTC. */
export function instant(at: number | null | undefined): string | null {
  if (at === null || at === undefined) return null
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`
}

const STEPS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** A duration in its largest whole unit: `3h`. */
export function duration(ms: number | null | undefined): string | null {
  if (ms === null || ms === undefined) return null
  const [unit, size] = STEPS.find(([, one]) => Math.abs(ms) >= one) ?? ['ms', 1]
  return `${Math.trunc(ms / size)}${unit}`
}

/** Bytes in the unit that leaves few digits: `12 kB`. */
export function bytes(count: number | null | undefined): string | null {
  if (count === null || count === undefined) return null
  if (count < 1_000) return `${count} B`
  return count < 1_000_000 ? `${Math.round(count / 1_000)} kB` : `${(count / 1_000_000).toFixed(1)} MB`
}

/** A whole number with commas between its thousands. */
export function count(value: number | null | undefined): string | null {
  return value === null || value === undefined ? null : grouped(value.toString())
}

export function percent(value: number | null | undefined): string | null {
  return value === null || value === undefined ? null : `${value}%`
}

export function yesNo(value: boolean | null | undefined): string | null {
  return value === null || value === undefined ? null : value ? 'yes' : 'no'
}

/** The text of an amount that an answer gives as a number of US dollars. */
export function dollarsOf(amount: number | null | undefined): string | null {
  return amount == null ? null : dollars(Math.round(amount * MICRO_PER_DOLLAR))
}

const MICRO_PER_DOLLAR = 1e6
