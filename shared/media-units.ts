import { SECOND } from '#shared/clock.ts'
import type { Usage } from './usage.ts'
import { imageCount, usedTime } from './usage.ts'

/**
 * A call's usage besides plain tokens, in the units for readers. Images and seconds count every resolution; the larger
 * ones are separate when they have a price of their own. Tokens of images are part of input and output.
 */
export type MediaUnits = {
  readonly images: number
  readonly images2k: number
  readonly images4k: number
  readonly megapixels: number
  readonly seconds: number
  readonly seconds1080p: number
  readonly seconds4k: number
  readonly characters: number
  readonly imageInputTokens: number
  readonly imageOutputTokens: number
}

const PIXELS = 1_000_000

/** The units of a usage, or of a sum of usages. */
export function mediaUnitsOf(usage: Usage): MediaUnits {
  return {
    images: imageCount(usage),
    images2k: usage.images2k ?? 0,
    images4k: usage.images4k ?? 0,
    megapixels: (usage.pixels ?? 0) / PIXELS,
    seconds: usedTime(usage) / SECOND,
    seconds1080p: (usage.milliseconds1080p ?? 0) / SECOND,
    seconds4k: (usage.milliseconds4k ?? 0) / SECOND,
    characters: usage.characters ?? 0,
    imageInputTokens: usage.imageInput ?? 0,
    imageOutputTokens: usage.imageOutput ?? 0,
  }
}
