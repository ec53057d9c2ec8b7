import type { KeptBps, PicoUsd } from '#shared/money.ts'
import { discountedPerMillion, formatUnitPrice, picoUsd } from '#shared/money.ts'
import type { Minimums } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'

const PIXELS_PER_MEGAPIXEL = 1_000_000n
const MILLISECONDS_PER_SECOND = 1_000n

/** Prices of one unit each at a kept share, in US dollars, rounded up to 12 decimals. */
export function pricingOf(unit: UnitPrices, keptBps: KeptBps) {
  const show = (price: PicoUsd | undefined, units = 1n) =>
    price === undefined ? undefined : formatUnitPrice(picoUsd(discountedPerMillion(picoUsd(price * units), keptBps)))
  return {
    prompt: show(unit.input) ?? '0',
    completion: show(unit.output) ?? '0',
    input_cache_read: show(unit.cacheRead),
    input_cache_write: show(unit.cacheWrite),
    input_cache_write_1h: show(unit.cacheWriteLong),
    input_audio_cache: show(unit.cachedAudio),
    web_search: show(unit.searches),
    internal_reasoning: show(unit.reasoning),
    image: show(unit.images),
    image_2k: show(unit.images2k),
    image_4k: show(unit.images4k),
    megapixel: show(unit.pixels, PIXELS_PER_MEGAPIXEL),
    image_token: show(unit.imageInput),
    image_output: show(unit.imageOutput),
    audio: show(unit.audioInput),
    audio_output: show(unit.audioOutput),
    request: show(unit.calls),
    character: show(unit.characters),
    second: show(unit.milliseconds, MILLISECONDS_PER_SECOND),
    second_1080p: show(unit.milliseconds1080p, MILLISECONDS_PER_SECOND),
    second_4k: show(unit.milliseconds4k, MILLISECONDS_PER_SECOND),
  }
}

/** The least billed amount of a unit in a request that uses the unit. Undefined members have no minimum. */
export function shownMinimums({ milliseconds, characters }: Minimums = {}) {
  return {
    minimum_seconds: milliseconds && milliseconds / Number(MILLISECONDS_PER_SECOND),
    minimum_characters: characters,
  }
}
