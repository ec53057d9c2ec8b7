import { z } from 'zod'
import { mediaUnitsOf } from '#shared/media-units.ts'
import { parseJson } from '#shared/parse-json.ts'
import { inputTokens, outputTokens } from '#shared/usage.ts'
import { MicroUsdText } from './micro-usd-text.ts'
import type { UsageEvent } from './usage-event.ts'

/** The number of trades that the feed keeps. */
export const FEED_LENGTH = 100

/** A charged call in public form, without buyer and seller. Times are Unix milliseconds. */
const FeedItemSchema = z.object({
  model: z.string(),
  inputTokens: z.number().int().nonnegative(),
  outputTokens: z.number().int().nonnegative(),
  /** Older items lack these. */
  images: z.number().int().nonnegative().default(0),
  megapixels: z.number().nonnegative().default(0),
  seconds: z.number().nonnegative().default(0),
  characters: z.number().int().nonnegative().default(0),
  costMicro: MicroUsdText,
  createdAt: z.number().int(),
})
export type FeedItem = z.infer<typeof FeedItemSchema>

/** The trade of an event in the feed's form, as JSON. Undefined for an event without a sale. */
export function feedItemOf(event: UsageEvent): string | undefined {
  if (event.chargeMicro <= 0n || event.servedBy !== 'marketplace' || event.kind === 'submit') return undefined
  const { usage } = event
  const { images, megapixels, seconds, characters } = mediaUnitsOf(usage)
  const item: z.input<typeof FeedItemSchema> = {
    model: event.model,
    inputTokens: inputTokens(usage),
    outputTokens: outputTokens(usage),
    images,
    megapixels,
    seconds,
    characters,
    costMicro: event.chargeMicro.toString(),
    createdAt: event.endedAt,
  }
  return JSON.stringify(item)
}

/** Parses the items of the list in order. Malformed items are left out. */
export function readFeed(texts: readonly string[]): FeedItem[] {
  return texts.flatMap((text) => FeedItemSchema.safeParse(parseJson(text)).data ?? [])
}
