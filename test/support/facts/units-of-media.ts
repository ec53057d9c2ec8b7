import { z } from 'zod'

export const NO_PRICE = { prompt: '0', completion: '0' }

/** Models with a price for every unit by which media are sold, some with several units. */
export const MODELS = {
  'units-tiers': {
    endpoints: ['image'],
    unit_pricing: { images: '0.04', images_2k: '0.06', images_4k: '0.12' },
  },
  'units-area': { endpoints: ['image'], unit_pricing: { pixels_per_million: '0.025' } },
  'units-film': {
    endpoints: ['video'],
    architecture: { input_modalities: ['text'], output_modalities: ['video'] },
    unit_pricing: { seconds: '0.1', seconds_1080p: '0.3', seconds_4k: '0.5' },
  },
  'units-minute': { endpoints: ['transcription'], unit_pricing: { minutes: '0.006' } },
  'units-speech': { endpoints: ['speech'], unit_pricing: { characters: '0.0000008' } },
  'units-call': { endpoints: ['image'], pricing: { ...NO_PRICE, request: '0.05' } },
  'units-mixed': {
    endpoints: ['chat', 'image'],
    pricing: { prompt: '0.0000003', completion: '0.0000025', image_output: '0.00003', request: '0.001' },
  },
} as const
export type Name = keyof typeof MODELS
export const NAMES = Object.keys(MODELS) as Name[]

type Shown = { readonly unit: string | null; readonly micro: number | null; readonly direct: number | null }
/**
 * The media unit of each model, its price at the seller's discount and its reference price, in micro-USD, rounded up.
 */
export const MAIN: Readonly<Record<Name, Shown>> = {
  'units-tiers': { unit: 'per image', micro: 30_000, direct: 40_000 },
  'units-area': { unit: 'per megapixel', micro: 18_750, direct: 25_000 },
  'units-film': { unit: 'per second', micro: 75_000, direct: 100_000 },
  'units-minute': { unit: 'per minute', micro: 4_500, direct: 6_000 },
  'units-speech': { unit: 'per character', micro: 1, direct: 1 },
  'units-call': { unit: 'per request', micro: 37_500, direct: 50_000 },
  'units-mixed': { unit: 'per request', micro: 750, direct: 1_000 },
}
/** Every price except those of plain tokens, at the discount and at the reference, in US dollars. */
export const ALL: Readonly<Record<Name, readonly (readonly [unit: string, usd: number, direct: number])[]>> = {
  'units-tiers': [
    ['image', 0.03, 0.04],
    ['image_2k', 0.045, 0.06],
    ['image_4k', 0.09, 0.12],
  ],
  'units-area': [['megapixel', 0.01875, 0.025]],
  'units-film': [
    ['second', 0.075, 0.1],
    ['second_1080p', 0.225, 0.3],
    ['second_4k', 0.375, 0.5],
  ],
  'units-minute': [['minute', 0.0045, 0.006]],
  'units-speech': [['character', 0.0000006, 0.0000008]],
  'units-call': [['request', 0.0375, 0.05]],
  'units-mixed': [
    ['request', 0.00075, 0.001],
    ['image_output', 22.5, 30],
  ],
}
export const effective = (name: Name) => ALL[name].map(([unit, usd]) => ({ unit, usd }))
export const direct = (name: Name) => ALL[name].map(([unit, , usd]) => ({ unit, usd }))
/** Micro-USD per million tokens. */
export const tokens = (name: Name) => (name === 'units-mixed' ? { input: 225_000, output: 1_875_000 } : NO_TOKENS)
const NO_TOKENS = { input: null, output: null }

/** Usage of calls other than tokens, each with its cost at the reference and at the discount, in micro-USD. */
type Sold = {
  readonly name: Name
  readonly units: Readonly<Record<string, number>>
  readonly paid: number
  readonly list: number
}
export const LINE = 'Forty characters are spoken in this text'
export const SOLD: readonly Sold[] = [
  // Two pictures of 0.04 and one of 0.06 US dollars, a quarter off.
  { name: 'units-tiers', units: { images: 2 }, paid: 60_000, list: 80_000 },
  { name: 'units-tiers', units: { images: 1, images_2k: 1 }, paid: 45_000, list: 60_000 },
  // 512 by 512 pixels at 0.025 US dollars a million: 6,553.6 micro-USD, and 4,915.2 of them.
  { name: 'units-area', units: { megapixels: 0.262144 }, paid: 4_916, list: 6_554 },
  { name: 'units-minute', units: { seconds: 3 }, paid: 225, list: 300 },
  { name: 'units-speech', units: { characters: LINE.length }, paid: 24, list: 32 },
]
const UNITS = ['images', 'images_2k', 'megapixels', 'seconds', 'characters'] as const
export const NONE = Object.fromEntries(UNITS.map((unit) => [unit, 0]))
export const Figures = z.looseObject({ id: z.string().optional(), model: z.string().optional() })
export type Figures = z.infer<typeof Figures>

/** The sum of each unit over some rows, without the rounding noise of doubles. */
export const sumOf = (rows: readonly Figures[]) =>
  Object.fromEntries(
    UNITS.map((unit) => [unit, Number(rows.reduce((sum, row) => sum + Number(row[unit]), 0).toFixed(6))]),
  )
export const total = (sold: readonly Sold[]) => sumOf(sold.map(({ units }) => Figures.parse({ ...NONE, ...units })))
export const earned = (sold: readonly Sold[]) => sold.reduce((sum, { paid }) => sum + Math.floor(paid * 0.95), 0)

/** The lines of a file as records. */
export function recordsOf(csv: string): Record<string, string>[] {
  const [head = '', ...lines] = csv.trimEnd().split(/\r?\n/)
  const names = head.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, at) => [names[at] ?? '', cell])))
}

/** The cells of a line that are numbers, as numbers. */
export const numbersOf = (row: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [name, cell !== '' && !Number.isNaN(Number(cell)) ? Number(cell) : cell]),
  )
