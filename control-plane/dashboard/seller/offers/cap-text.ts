import { money } from '#control-plane/dashboard/data/format.ts'

const MICRO = 1e6

/** The daily cap of an offer, given in US dollars. */
export function capText(cap: number | null | undefined): string {
  return cap === null || cap === undefined ? 'no cap' : `${money(Math.round(cap * MICRO))} a day`
}
