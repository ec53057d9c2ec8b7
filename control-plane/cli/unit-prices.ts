import { z } from 'zod'
import { isOfTokens } from '#shared/price-units.ts'

/** Prices of media units and of tokens of pictures and sound, in US dollars. */
export const UnitPrices = z.array(z.looseObject({ unit: z.string(), usd: z.number() })).nullish()
type UnitPrice = { readonly unit: string; readonly usd: number }

const MOST_DECIMALS = 12

/** The prices as one text: `image $0.024, audio_output $7.20/1M`. Null without any. */
export function unitPrices(prices: readonly UnitPrice[] | null | undefined): string | null {
  if (prices == null || prices.length === 0) return null
  return prices.map(({ unit, usd }) => `${unit} ${plainDollars(usd)}${isOfTokens(unit) ? '/1M' : ''}`).join(', ')
}

/** US dollars without an exponent, with at least two decimals. */
function plainDollars(usd: number): string {
  const [whole = '0', fraction = ''] = usd.toFixed(MOST_DECIMALS).split('.')
  return `$${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`
}

/**
 * The members of a catalogue entry's `pricing` that are prices of a unit, with the units that one price is shown of.
 */
const CATALOGUE_UNITS: readonly (readonly [member: string, unit: string, units: number])[] = [
  ['megapixel', 'megapixel', 1],
  ['image', 'image', 1],
  ['image_2k', 'image_2k', 1],
  ['image_4k', 'image_4k', 1],
  ['character', 'character', 1],
  ['second', 'second', 1],
  ['second_1080p', 'second_1080p', 1],
  ['second_4k', 'second_4k', 1],
  ['request', 'request', 1],
  ['image_token', 'image_input', 1e6],
  ['image_output', 'image_output', 1e6],
  ['audio', 'audio_input', 1e6],
  ['audio_output', 'audio_output', 1e6],
]

/** The least that a request is billed, in words. Null where a catalogue entry names none. */
export function leastBilled(pricing: Readonly<Record<string, unknown>> | null | undefined): string | null {
  const { minimum_seconds: seconds, minimum_characters: characters } = pricing ?? {}
  const words = [
    typeof seconds === 'number' ? `at least ${seconds} s` : [],
    typeof characters === 'number' ? `at least ${characters} characters` : [],
  ].flat()
  return words.length === 0 ? null : words.join(', ')
}

/** The unit prices in the decimal texts of a catalogue entry. */
export function cataloguePrices(pricing: Readonly<Record<string, unknown>> | null | undefined) {
  return CATALOGUE_UNITS.flatMap(([member, unit, units]) => {
    const text = pricing?.[member]
    return typeof text === 'string' ? [{ unit, usd: Number(text) * units }] : []
  })
}
