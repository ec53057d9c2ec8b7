import type { PagePutPricesMutationVariables } from '#control-plane/dashboard/data/documents/operator.ts'

type Pricing = PagePutPricesMutationVariables['pricing']
type UnitPricing = NonNullable<PagePutPricesMutationVariables['unitPricing']>

/** The unit in which a price is typed, and the price's name in a catalogue. */
type Unit = { readonly label: string; readonly places: number } & (
  | { readonly part: 'pricing'; readonly name: keyof Pricing }
  | { readonly part: 'unitPricing'; readonly name: keyof UnitPricing }
)

/** Decimal places between pico-USD of a unit and dollars of a million of them. */
const MILLION = 6
/** Decimal places between pico-USD and dollars. */
const ONE = 12
const SECOND = 9

const tokens = (name: keyof Pricing, label: string): Unit => ({
  part: 'pricing',
  name,
  label: `${label} per million`,
  places: MILLION,
})
const media = (name: keyof UnitPricing, label: string, places: number): Unit => ({
  part: 'unitPricing',
  name,
  label,
  places,
})

/** The classes of usage that a reference price can have. */
export const UNITS: Readonly<Record<string, Unit>> = {
  input: tokens('prompt', 'Tokens in'),
  output: tokens('completion', 'Tokens out'),
  cacheRead: tokens('input_cache_read', 'Tokens from caches'),
  cacheWrite: tokens('input_cache_write', 'Tokens into caches'),
  cacheWriteLong: tokens('input_cache_write_1h', 'Tokens into caches of an hour'),
  cachedAudio: tokens('input_audio_cache', 'Sound from caches'),
  reasoning: tokens('internal_reasoning', 'Reasoning'),
  audioInput: tokens('audio', 'Sound in'),
  audioOutput: tokens('audio_output', 'Sound out'),
  imageInput: tokens('image_token', 'Pictures in'),
  imageOutput: tokens('image_output', 'Pictures out'),
  searches: { part: 'pricing', name: 'web_search', label: 'A web search', places: ONE },
  calls: { part: 'pricing', name: 'request', label: 'A call', places: ONE },
  images: media('images', 'A picture', ONE),
  images2k: media('images_2k', 'A picture of 2K', ONE),
  images4k: media('images_4k', 'A picture of 4K', ONE),
  pixels: media('pixels_per_million', 'A megapixel', MILLION),
  characters: media('characters', 'A character', ONE),
  milliseconds: media('seconds', 'A second', SECOND),
  milliseconds1080p: media('seconds_1080p', 'A second of 1080p', SECOND),
  milliseconds4k: media('seconds_4k', 'A second of 4K', SECOND),
}

/** A whole number divided by a power of ten, as decimal text without trailing zeros. */
export function withPoint(digits: string, places: number): string {
  const padded = digits.padStart(places + 1, '0')
  const [whole, rest] = [padded.slice(0, -places), padded.slice(-places).replace(/0+$/, '')]
  return rest === '' ? whole : `${whole}.${rest}`
}

/** A decimal text divided by a power of ten. */
export function shiftedDown(text: string, places: number): string {
  const [whole = '0', rest = ''] = text.split('.', 2)
  return withPoint(`${whole}${rest}`.replace(/^0+(?=\d)/, ''), places + rest.length)
}

/** Typed prices as a catalogue writes them: dollars of one token, one call, one unit of media. */
export function pricesOf(draft: Readonly<Record<string, string>>): {
  readonly pricing: Pricing
  readonly unitPricing?: UnitPricing
} {
  const typed = Object.entries(draft).flatMap(([unit, text]) => {
    const knownUnit = UNITS[unit]
    return knownUnit === undefined || text.trim() === '' ? [] : [{ ...knownUnit, text: text.trim() }]
  })
  const tokensPart = typed
    .filter(({ part }) => part === 'pricing')
    .map(({ name, places, text }) => [name, places === MILLION ? shiftedDown(text, MILLION) : text])
  const mediaPart = typed.filter(({ part }) => part === 'unitPricing').map(({ name, text }) => [name, text])
  return {
    pricing: { prompt: '0', completion: '0', ...Object.fromEntries(tokensPart) },
    ...(mediaPart.length === 0 ? {} : { unitPricing: Object.fromEntries(mediaPart) }),
  }
}
