import { createHash } from 'node:crypto'
import type { HealthStore } from '#data-plane/store/health.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { OfferCapsStore } from '#data-plane/store/offer-caps.ts'
import type { TradeFeed } from '#data-plane/store/trade-feed.ts'
import type { Clock } from '#shared/clock.ts'

/** What free answers are made from: the snapshot and what is known live beside it. */
export type ReadSources = {
  market(): Market
  readonly health: Pick<HealthStore, 'blockedUntil' | 'isAllWell'>
  readonly caps: Pick<OfferCapsStore, 'usedToday'>
  readonly feed: TradeFeed
  readonly clock: Clock
}

export type ReadRequest = {
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** A body with how long anybody may keep it; no seconds means that nobody may. */
export type ReadAnswer = { readonly json: string; readonly maxAgeSeconds: number }

/** A free answer to a GET. Throws AppError `not_found` for what there is not. */
export type Read = (sources: ReadSources, request: ReadRequest) => ReadAnswer | Promise<ReadAnswer>

type ReadHeaders = { readonly 'cache-control': string; readonly etag: string }
const headersOf = new WeakMap<ReadAnswer, ReadHeaders>()

/** Headers of an answer to a read: its age limit and an ETag over its bytes, reckoned once for an answer given again. */
export function readHeaders(answer: ReadAnswer): ReadHeaders {
  const known = headersOf.get(answer) ?? makeHeaders(answer)
  headersOf.set(answer, known)
  return known
}

function makeHeaders(answer: ReadAnswer): ReadHeaders {
  const etag = `"${createHash('sha1').update(answer.json).digest('base64url')}"`
  const age = answer.maxAgeSeconds
  return { 'cache-control': age > 0 ? `public, max-age=${age}` : 'no-store', etag }
}

/** Remembers a text for as long as the objects it was made from are the same. */
export function memoize<Keys extends readonly object[]>(build: (...keys: Keys) => string): (...keys: Keys) => string {
  let lastKeys: Keys | undefined
  let lastText = ''
  return (...keys) => {
    if (lastKeys === undefined || keys.some((key, index) => key !== lastKeys?.[index])) {
      lastText = build(...keys)
      lastKeys = keys
    }
    return lastText
  }
}
