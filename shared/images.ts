import { z } from 'zod'
import type { UnitPrices } from './pricing.ts'
import { oneLine } from './texts.ts'
import type { Usage } from './usage.ts'

/** A picture's size in pixels. */
export type ImageSize = { readonly width: number; readonly height: number }

/** Tiers of resolution by which some models are sold. */
export const RESOLUTIONS = ['1K', '2K', '4K'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

/** Qualities that a picture can be asked for in. `standard` and `hd` are those of DALL-E 3. */
export const IMAGE_QUALITIES = ['low', 'medium', 'high', 'auto', 'standard', 'hd'] as const
export type ImageQuality = (typeof IMAGE_QUALITIES)[number]
/** Qualities that a price may be of. `auto` leaves the choice to the provider, and with it the price. */
export const PRICED_QUALITIES = ['low', 'medium', 'high', 'standard', 'hd'] as const satisfies readonly ImageQuality[]
type PricedQuality = (typeof PRICED_QUALITIES)[number]
/** The quality that is made where nobody names one, of models that tell qualities apart by price. */
const USUAL_QUALITY: PricedQuality = 'standard'

/** The limits of a side in pixels. */
export const MIN_SIDE = 16
export const MAX_SIDE = 8_192
/** The size that is made where nobody names one. */
export const DEFAULT_SIZE: ImageSize = { width: 1_024, height: 1_024 }

/**
 * The most pixels of a tier that a size belongs to. They lie halfway, as factors go, between the squares that the tiers
 * are named after.
 */
const MOST_PIXELS: readonly (readonly [Resolution, number])[] = [
  ['1K', 1_448 ** 2],
  ['2K', 2_896 ** 2],
]
const SIDE_OF: Readonly<Record<Resolution, number>> = { '1K': 1_024, '2K': 2_048, '4K': 4_096 }

/** Names of sizes that some clients use, and their pixels. */
const NAMED_SIZES: ReadonlyMap<string, ImageSize> = new Map([
  ['square', { width: 512, height: 512 }],
  ['square_hd', { width: 1_024, height: 1_024 }],
  ['portrait_4_3', { width: 768, height: 1_024 }],
  ['portrait_16_9', { width: 576, height: 1_024 }],
  ['landscape_4_3', { width: 1_024, height: 768 }],
  ['landscape_16_9', { width: 1_024, height: 576 }],
])

/** Reads the text of a size: pixels, a tier, or no choice (`auto`). Undefined for a text that is no size. */
export function readSize(
  text: string,
): { readonly size?: ImageSize; readonly resolution?: Resolution; readonly isAuto?: true } | undefined {
  if (text === 'auto') return { isAuto: true }
  const resolution = RESOLUTIONS.find((tier) => tier === text.toUpperCase())
  if (resolution !== undefined) return { resolution }
  const imageSize = NAMED_SIZES.get(text)
  if (imageSize !== undefined) return { size: imageSize }
  const [, width = '', height = ''] = /^([1-9]\d{1,4})[xX*]([1-9]\d{1,4})$/.exec(text) ?? []
  const size = { width: Number(width), height: Number(height) }
  return isSide(size.width) && isSide(size.height) ? { size } : undefined
}

function isSide(pixels: number): boolean {
  return pixels >= MIN_SIDE && pixels <= MAX_SIDE
}

export function formatSize({ width, height }: ImageSize): string {
  return `${width}x${height}`
}

/** The shape of pictures that a request asks for. Undefined members are left to the model. */
export type ImageShape = {
  readonly size: ImageSize | undefined
  readonly resolution: Resolution | undefined
  readonly quality: ImageQuality | undefined
}

/** The tier of a picture: as asked, or derived from its size. */
export function tierOf({ size, resolution }: Pick<ImageShape, 'size' | 'resolution'>): Resolution {
  if (resolution !== undefined) return resolution
  const { width, height } = size ?? DEFAULT_SIZE
  return MOST_PIXELS.find(([, most]) => width * height <= most)?.[0] ?? '4K'
}

/** The square that a tier is named after. */
export function squareOf(resolution: Resolution): ImageSize {
  return { width: SIDE_OF[resolution], height: SIDE_OF[resolution] }
}

/** The size of a picture that is asked for by its size or by a tier. Undefined where neither is named. */
function askedSize({ size, resolution }: Pick<ImageShape, 'size' | 'resolution'>): ImageSize | undefined {
  return size ?? (resolution === undefined ? undefined : squareOf(resolution))
}

/** The pixels of a picture that is asked for. */
export function pixelsOf({ size, resolution }: Pick<ImageShape, 'size' | 'resolution'>): number {
  if (size !== undefined) return size.width * size.height
  return resolution === undefined ? DEFAULT_SIZE.width * DEFAULT_SIZE.height : SIDE_OF[resolution] ** 2
}

const Tokens = z.record(z.string().max(16), z.number().int().positive().max(1_000_000))

/**
 * Tokens of a picture that a model makes: by quality, then by size (`1024x1024`). `*` stands for any. `partial` is those
 * of each partial picture that a stream shows before it. A catalogue names where the figures stand and the day on which
 * they were read.
 */
export const ImageTokensSchema = z.object({
  tokens: z.record(z.string().max(16), Tokens),
  partial: z.number().int().positive().max(1_000_000).optional(),
  source: oneLine(300),
  date: z.iso.date(),
})
export type ImageTokens = z.infer<typeof ImageTokensSchema>

/** Tokens of one picture where a catalogue names none: those of OpenAI's best square picture. */
const UNKNOWN_TOKENS = 6_240

/** Tokens of a partial picture where a catalogue names none: OpenAI's figure. */
const UNKNOWN_PARTIAL_TOKENS = 100

/** A picture's shape, and the partial pictures that are shown before it. */
export type ShownShape = ImageShape & { readonly partials?: number | undefined }

/**
 * The most tokens that one picture of a shape can count, with its partial pictures. A model may choose what the shape
 * leaves open.
 */
export function mostImageTokens(table: ImageTokens | null, shape: ShownShape): number {
  const { quality, partials = 0 } = shape
  const size = askedSize(shape)
  const partialCount = partialTokens(table, partials)
  if (table === null) return UNKNOWN_TOKENS + partialCount
  const isOpen = quality === undefined || quality === 'auto' || table.tokens[quality] === undefined
  const rows = isOpen ? Object.values(table.tokens) : [table.tokens[quality] ?? {}]
  const counts = rows.map((row) => row[size === undefined ? '*' : formatSize(size)] ?? scaled(row, size))
  return Math.max(1, ...counts) + partialCount
}

/** The tokens of so many partial pictures. */
export function partialTokens(table: ImageTokens | null, partials: number): number {
  return partials * (table?.partial ?? UNKNOWN_PARTIAL_TOKENS)
}

/** The tokens that one picture counts where its provider gives no figure. */
export function likelyImageTokens(table: ImageTokens | null, shape: ImageShape): number {
  if (table === null) return UNKNOWN_TOKENS
  const { quality } = shape
  const size = askedSize(shape)
  const row = table.tokens[quality ?? 'auto'] ?? table.tokens['medium'] ?? table.tokens['*'] ?? {}
  const { width, height } = size ?? DEFAULT_SIZE
  return row[formatSize({ width, height })] ?? row['*'] ?? Math.max(1, scaled(row, size))
}

/** The largest figure of a row, made larger for a picture of more pixels than any in it. */
function scaled(row: Readonly<Record<string, number>>, size: ImageSize | undefined): number {
  let most = 0
  let area = 0
  for (const [name, count] of Object.entries(row)) {
    most = Math.max(most, count)
    const imageSize = readSize(name)?.size
    if (imageSize !== undefined) area = Math.max(area, imageSize.width * imageSize.height)
  }
  const pixels = size === undefined ? 0 : size.width * size.height
  return area === 0 || pixels <= area ? most : Math.ceil((most * pixels) / area)
}

/** The size and the quality by which a price list tells pictures apart. */
export type PictureFacts = { readonly imageSize?: string; readonly imageQuality?: PricedQuality }

/** The facts of pictures as they are asked for. A usual size or quality is none, and neither is one that is left open. */
export function pictureFacts({ size, resolution, quality }: ImageShape): PictureFacts {
  const sides = size ?? (resolution === undefined ? DEFAULT_SIZE : squareOf(resolution))
  const imageSize = formatSize(sides)
  const imageQuality = PRICED_QUALITIES.find((priced) => priced === quality && priced !== USUAL_QUALITY)
  return { ...(imageSize !== formatSize(DEFAULT_SIZE) && { imageSize }), ...(imageQuality && { imageQuality }) }
}

/** The pictures of a request, for its bound and its bill. */
export type ImageBounds = ShownShape & { readonly count: number }

/**
 * The usage of `count` pictures of a shape in the unit that a model sells them in: pictures of a tier, or pixels.
 * Undefined for a model that sells them by tokens.
 */
export function imageUsage(prices: UnitPrices, shape: ImageShape, count: number, pixels?: number): Usage | undefined {
  if (prices.pixels !== undefined) return { pixels: pixels ?? pixelsOf(shape) * count }
  if (prices.images === undefined) return undefined
  const tier = tierOf(shape)
  if (tier === '4K' && prices.images4k !== undefined) return { images4k: count }
  if (tier !== '1K' && prices.images2k !== undefined) return { images2k: count }
  return { images: count }
}
