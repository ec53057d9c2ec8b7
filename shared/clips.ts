import { z } from 'zod'
import { SECOND } from '#shared/clock.ts'
import type { UnitPrices } from './pricing.ts'
import type { Usage, UsageClass } from './usage.ts'

/** Tiers of a video's resolution, by its shorter side in pixels. */
export const CLIP_RESOLUTIONS = ['480p', '720p', '1080p', '4k'] as const
export type ClipResolution = (typeof CLIP_RESOLUTIONS)[number]

/** The role of an image in a video: its first frame, its last one, or a reference for its look. */
export const SOURCE_ROLES = ['start', 'end', 'reference'] as const
export type SourceRole = (typeof SOURCE_ROLES)[number]

/** The longest video or piece of music that a request may ask for, in seconds. */
export const MAX_CLIP_SECONDS = 600

const Seconds = z.number().int().min(1).max(MAX_CLIP_SECONDS)

/** Lengths in whole seconds: from `least` to `most` in steps, and the default. */
const LengthsShape = z.strictObject({ least: Seconds, most: Seconds, step: Seconds, usual: Seconds })
type Lengths = z.infer<typeof LengthsShape>
const LengthsSchema = LengthsShape.refine(({ usual, ...lengths }) => isLength({ ...lengths, usual }, usual), {
  message: 'usual must be one of the lengths from least to most',
})

/** Limits of a request to a model that makes video or music. */
export const ClipSchema = z
  .strictObject({
    /** Null for a model that decides the length alone. */
    lengths: LengthsSchema.nullable(),
    /** The first is the default. Empty for a model with one resolution or none. */
    resolutions: z.array(z.enum(CLIP_RESOLUTIONS)).max(CLIP_RESOLUTIONS.length),
    /** The roles of images. Empty for a model without input images. */
    roles: z.array(z.enum(SOURCE_ROLES)).max(SOURCE_ROLES.length),
    /** True for a model that needs an image. */
    needsSource: z.boolean(),
  })
  .refine(({ roles, needsSource }) => !needsSource || roles.length > 0, {
    message: 'a model that requires an image needs a role for it',
  })
export type Clip = z.infer<typeof ClipSchema>

/** The limits of a model whose catalogue entry gives none. */
export const ANY_CLIP: Clip = {
  lengths: { least: 1, most: 60, step: 1, usual: 5 },
  resolutions: [],
  roles: [],
  needsSource: false,
}

export function isLength({ least, most, step }: Lengths, seconds: number): boolean {
  return Number.isInteger(seconds) && seconds >= least && seconds <= most && (seconds - least) % step === 0
}

/** The lengths in words: `4, 8 or 12 seconds`, `1 to 60 seconds`. */
export function lengthsInWords({ least, most, step }: Lengths): string {
  if (least === most) return `${least} seconds`
  if (step === 1) return `${least} to ${most} seconds`
  const all: number[] = []
  for (let seconds = least; seconds <= most; seconds += step) all.push(seconds)
  const last = all.pop() ?? most
  return `${all.join(', ')} or ${last} seconds`
}

/** The requested length and resolution. Undefined members are left to the model. */
export type ClipShape = { readonly seconds: number | undefined; readonly resolution: ClipResolution | undefined }

/** The shape that a model makes for a request: the named values, else the defaults. */
export function shapeOf(clip: Clip, { seconds, resolution }: ClipShape): ClipShape {
  return {
    seconds: clip.lengths === null ? undefined : (seconds ?? clip.lengths.usual),
    resolution: resolution ?? clip.resolutions[0],
  }
}

/** The tier of a video by its sides. A video slightly larger than a tier belongs to the next. */
export function clipResolutionOf({
  width,
  height,
}: {
  readonly width: number
  readonly height: number
}): ClipResolution {
  const side = Math.min(width, height)
  return MOST_SIDE.find(([, most]) => side <= most)?.[0] ?? '4k'
}

const MOST_SIDE: readonly (readonly [ClipResolution, number])[] = [
  ['480p', 480],
  ['720p', 720],
  ['1080p', 1_080],
]

/** The classes of time by resolution, the most expensive first. Others count as `milliseconds`. */
const TIME_CLASSES: readonly (readonly [ClipResolution, UsageClass])[] = [
  ['4k', 'milliseconds4k'],
  ['1080p', 'milliseconds1080p'],
]

/**
 * The most that a video or a piece of music uses, by its model's priced units: time of its resolution, or the piece.
 * Time has no price when only the piece has one.
 */
export function clipUsage(prices: UnitPrices, { seconds, resolution }: ClipShape): Usage {
  const time = seconds === undefined ? {} : { [timeClass(prices, resolution)]: seconds * SECOND }
  return prices.calls === undefined && seconds !== undefined ? time : { ...pricedTime(prices, time), calls: 1 }
}

function timeClass(prices: UnitPrices, resolution: ClipResolution | undefined): UsageClass {
  const tier = TIME_CLASSES.find(([name, priced]) => name === resolution && prices[priced] !== undefined)
  // A tier without a price of its own costs as much as the next lower one.
  if (tier === undefined && resolution === '4k' && prices.milliseconds1080p !== undefined) return 'milliseconds1080p'
  return tier?.[1] ?? 'milliseconds'
}

function pricedTime(prices: UnitPrices, time: Usage): Usage {
  return Object.keys(time).every((name) => prices[name as UsageClass] !== undefined) ? time : {}
}

/** The same usage with a provider's reported time, in the class of the bound. */
export function withTime(bound: Usage, milliseconds: number): Usage {
  const timed = (['milliseconds4k', 'milliseconds1080p'] as const).find((name) => bound[name] !== undefined)
  return { ...bound, [timed ?? 'milliseconds']: milliseconds }
}
