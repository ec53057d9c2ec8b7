import { z } from 'zod'
import type { UnitPrices } from './pricing.ts'
import { oneLine } from './texts.ts'
import type { Usage } from './usage.ts'

/** An image's size in pixels. */
export type ImageSize = { readonly width: number; readonly height: number }

/** Tiers of resolution in some models' prices. */
export const RESOLUTIONS = ['1K', '2K', '4K'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

/** Qualities that a request may name. `standard` and `hd` are those of DALL-E 3. */
export const IMAGE_QUALITIES = ['low', 'medium', 'high', 'auto', 'standard', 'hd'] as const
export type ImageQuality = (typeof IMAGE_QUALITIES)[number]
/** Qualities that may have a price. `auto` leaves the choice to the provider, and with it the price. */
export const PRICED_QUALITIES = ['low', 'medium', 'high', 'standard', 'hd'] as const satisfies readonly ImageQuality[]
type PricedQuality = (typeof PRICED_QUALITIES)[number]
/** The default quality of models whose prices depend on it. */
const USUAL_QUALITY: PricedQuality = 'standard'

/** The limits of a side in pixels. */
export const MIN_SIDE = 16
export const MAX_SIDE = 8_192
/** The default size. */
export const DEFAULT_SIZE: ImageSize = { width: 1_024, height: 1_024 }

/** The most pixels of a size in each tier. They lie halfway, by factor, between the squares that name the tiers. */
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

/** Parses a size: pixels, a tier, or no choice (`auto`). Undefined for any other text. */
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

/** The requested shape of images. Undefined members are left to the model. */
export type ImageShape = {
  readonly size: ImageSize | undefined
  readonly resolution: Resolution | undefined
  readonly quality: ImageQuality | undefined
}

/** The tier of an image: as requested, or derived from its size. */
export function tierOf({ size, resolution }: Pick<ImageShape, 'size' | 'resolution'>): Resolution {
  if (resolution !== undefined) return resolution
  const { width, height } = size ?? DEFAULT_SIZE
  return MOST_PIXELS.find(([, most]) => width * height <= most)?.[0] ?? '4K'
}

/** The square that names a tier. */
export function squareOf(resolution: Resolution): ImageSize {
  return { width: SIDE_OF[resolution], height: SIDE_OF[resolution] }
}

/** The size of an image that is requested by its size or by a tier. Undefined without either. */
function askedSize({ size, resolution }: Pick<ImageShape, 'size' | 'resolution'>): ImageSize | undefined {
  return size ?? (resolution === undefined ? undefined : squareOf(resolution))
}

/** The pixels of a requested image. */
export function pixelsOf({ size, resolution }: Pick<ImageShape, 'size' | 'resolution'>): number {
  if (size !== undefined) return size.width * size.height
  return resolution === undefined ? DEFAULT_SIZE.width * DEFAULT_SIZE.height : SIDE_OF[resolution] ** 2
}

const Tokens = z.record(z.string().max(16), z.number().int().positive().max(1_000_000))

/**
 * Tokens of an image that a model makes: by quality, then by size (`1024x1024`). `*` means any size. `partial` counts
 * for each partial image that a stream shows before it. A catalogue names the source of the figures and its date.
 */
export const ImageTokensSchema = z.object({
  tokens: z.record(z.string().max(16), Tokens),
  partial: z.number().int().positive().max(1_000_000).optional(),
  source: oneLine(300),
  date: z.iso.date(),
})
export type ImageTokens = z.infer<typeof ImageTokensSchema>

/** Tokens of one image without figures in the catalogue: those of OpenAI's best square image. */
const UNKNOWN_TOKENS = 6_240

/** Tokens of a partial image without a figure in the catalogue: OpenAI's figure. */
const UNKNOWN_PARTIAL_TOKENS = 100

/** An image's shape, and the partial images that are shown before it. */
export type ShownShape = ImageShape & { readonly partials?: number | undefined }

/**
 * The most tokens that one image of a shape can count, with its partial images. A model may choose the open members of
 * the shape.
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

/** The tokens of this many partial images. */
export function partialTokens(table: ImageTokens | null, partials: number): number {
  return partials * (table?.partial ?? UNKNOWN_PARTIAL_TOKENS)
}

/** The tokens that one image counts when its provider gives no figure. */
export function likelyImageTokens(table: ImageTokens | null, shape: ImageShape): number {
  if (table === null) return UNKNOWN_TOKENS
  const { quality } = shape
  const size = askedSize(shape)
  const row = table.tokens[quality ?? 'auto'] ?? table.tokens['medium'] ?? table.tokens['*'] ?? {}
  const { width, height } = size ?? DEFAULT_SIZE
  return row[formatSize({ width, height })] ?? row['*'] ?? Math.max(1, scaled(row, size))
}

/** The largest figure of a row, scaled up for an image with more pixels than any in it. */
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

/** The size and the quality on which image prices depend. */
export type PictureFacts = { readonly imageSize?: string; readonly imageQuality?: PricedQuality }

/** The facts of images in the request. A default size or quality does not count, and neither does an open one. */
export function pictureFacts({ size, resolution, quality }: ImageShape): PictureFacts {
  const sides = size ?? (resolution === undefined ? DEFAULT_SIZE : squareOf(resolution))
  const imageSize = formatSize(sides)
  const imageQuality = PRICED_QUALITIES.find((priced) => priced === quality && priced !== USUAL_QUALITY)
  return { ...(imageSize !== formatSize(DEFAULT_SIZE) && { imageSize }), ...(imageQuality && { imageQuality }) }
}

/** The requested images, for a call's bound and its bill. */
export type ImageBounds = ShownShape & { readonly count: number }

/**
 * The usage of `count` images of a shape in their model's priced unit: images of a tier, or pixels. Undefined for a
 * model with a price by tokens.
 */
export function imageUsage(prices: UnitPrices, shape: ImageShape, count: number, pixels?: number): Usage | undefined {
  if (prices.pixels !== undefined) return { pixels: pixels ?? pixelsOf(shape) * count }
  if (prices.images === undefined) return undefined
  const tier = tierOf(shape)
  if (tier === '4K' && prices.images4k !== undefined) return { images4k: count }
  if (tier !== '1K' && prices.images2k !== undefined) return { images2k: count }
  return { images: count }
}
