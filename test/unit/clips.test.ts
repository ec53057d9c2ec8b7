import { describe, expect, it } from 'vitest'
import type { Clip } from '#shared/clips.ts'
import {
  ANY_CLIP,
  ClipSchema,
  clipResolutionOf,
  clipUsage,
  isLength,
  lengthsInWords,
  shapeOf,
  withTime,
} from '#shared/clips.ts'
import { picoUsd } from '#shared/money.ts'
import { usedTime } from '#shared/usage.ts'

const SORA: Clip = {
  lengths: { least: 4, most: 12, step: 4, usual: 4 },
  resolutions: ['720p', '1080p'],
  roles: ['start'],
  needsSource: false,
}
const price = picoUsd(1n)

describe('a request for a film', () => {
  it('is checked against the lengths that the model lists, and a refusal names those lengths', () => {
    const lengths = SORA.lengths ?? { least: 0, most: 0, step: 1, usual: 0 }
    expect([3, 4, 4.5, 6, 8, 12, 16].filter((seconds) => isLength(lengths, seconds))).toEqual([4, 8, 12])
    expect(lengthsInWords(lengths)).toBe('4, 8 or 12 seconds')
    expect(lengthsInWords({ least: 1, most: 60, step: 1, usual: 5 })).toBe('1 to 60 seconds')
    expect(lengthsInWords({ least: 5, most: 5, step: 1, usual: 5 })).toBe('5 seconds')
  })

  it('gets the default values of the model', () => {
    expect(shapeOf(SORA, { seconds: undefined, resolution: undefined })).toEqual({ seconds: 4, resolution: '720p' })
    expect(shapeOf(SORA, { seconds: 8, resolution: '1080p' })).toEqual({ seconds: 8, resolution: '1080p' })
    expect(shapeOf({ ...SORA, lengths: null }, { seconds: 8, resolution: undefined }).seconds).toBeUndefined()
  })

  it('a catalogue entry whose default length is not listed, or that needs a picture and takes none, is refused', () => {
    expect(ClipSchema.safeParse({ ...SORA, lengths: { least: 4, most: 12, step: 4, usual: 5 } }).success).toBe(false)
    expect(ClipSchema.safeParse({ ...SORA, lengths: { least: 8, most: 4, step: 4, usual: 8 } }).success).toBe(false)
    expect(ClipSchema.safeParse({ ...ANY_CLIP, needsSource: true }).success).toBe(false)
  })

  it('has the tier of its shorter side', () => {
    const tiers = [
      [854, 480],
      [720, 1280],
      [1792, 1024],
      [1920, 1080],
      [1921, 1081],
    ].map(([width = 0, height = 0]) => clipResolutionOf({ width, height }))
    expect(tiers).toEqual(['480p', '720p', '1080p', '1080p', '4k'])
  })
})

describe('the billed units of a film', () => {
  it('are seconds in the class of its resolution, or in the next lower class with a price', () => {
    const tiered = { milliseconds: price, milliseconds1080p: price }
    expect(clipUsage(tiered, { seconds: 4, resolution: '720p' })).toEqual({ milliseconds: 4_000 })
    expect(clipUsage(tiered, { seconds: 4, resolution: '1080p' })).toEqual({ milliseconds1080p: 4_000 })
    expect(clipUsage(tiered, { seconds: 4, resolution: '4k' })).toEqual({ milliseconds1080p: 4_000 })
    expect(clipUsage({ milliseconds: price }, { seconds: 4, resolution: '4k' })).toEqual({ milliseconds: 4_000 })
    const dearest = { ...tiered, milliseconds4k: price }
    expect(clipUsage(dearest, { seconds: 4, resolution: '4k' })).toEqual({ milliseconds4k: 4_000 })
  })

  it('are a piece where the piece has a price, with seconds only where seconds have a price, too', () => {
    expect(clipUsage({ calls: price }, { seconds: 4, resolution: undefined })).toEqual({ calls: 1 })
    expect(clipUsage({ calls: price }, { seconds: undefined, resolution: undefined })).toEqual({ calls: 1 })
    const both = { calls: price, milliseconds: price }
    expect(clipUsage(both, { seconds: 4, resolution: undefined })).toEqual({ calls: 1, milliseconds: 4_000 })
  })

  it('put a reported time into the class that was quoted', () => {
    expect(withTime({ milliseconds1080p: 4_000, calls: 1 }, 3_500)).toEqual({ milliseconds1080p: 3_500, calls: 1 })
    expect(withTime({ calls: 1 }, 3_500)).toEqual({ calls: 1, milliseconds: 3_500 })
    expect(usedTime({ milliseconds1080p: 3_500, milliseconds: 1 })).toBe(3_501)
  })
})
