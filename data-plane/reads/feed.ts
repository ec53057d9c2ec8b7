import { FEED_LENGTH } from '#shared/contract/feed.ts'
import { AppError } from '#shared/errors.ts'
import { microUsdToDollars } from '#shared/money.ts'
import type { Read } from './read.ts'

const DEFAULT_ITEMS = 50

/**
 * `GET /api/markets/feed[?limit=]`: the latest trades, newest first, without names of buyers or sellers. Never cached.
 */
export const readTradeFeed: Read = async ({ feed }, { query }) => {
  const limit = readLimit(query.get('limit'))
  const items = await feed.latest(limit).catch((cause: unknown) => {
    throw new AppError('service_unavailable', { cause, retryAfterSeconds: 1 })
  })
  const json = JSON.stringify({
    items: items.map((item) => ({
      model: item.model,
      input_tokens: item.inputTokens,
      output_tokens: item.outputTokens,
      images: item.images,
      megapixels: item.megapixels,
      seconds: item.seconds,
      characters: item.characters,
      cost_usd: microUsdToDollars(item.costMicro),
      created_at: item.createdAt,
    })),
  })
  return { json, maxAgeSeconds: 0 }
}

function readLimit(text: string | null): number {
  if (text === null) return DEFAULT_ITEMS
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= FEED_LENGTH) return limit
  throw new AppError('invalid_request', {
    message: `limit must be a whole number from 1 to ${FEED_LENGTH}.`,
    param: 'limit',
  })
}
