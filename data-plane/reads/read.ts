import type { Payer } from '#data-plane/payment.ts'
import type { HealthStore } from '#data-plane/store/health.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { OfferCapsStore } from '#data-plane/store/offer-caps.ts'
import type { LatestTrades } from '#data-plane/store/trade-feed.ts'
import type { Clock } from '#shared/clock.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import type { ReadAnswer } from './read-answer.ts'
import { etagOf } from './read-answer.ts'
import type { ReadMemory } from './read-memory.ts'

/** Sources of free answers: the snapshot and live state. */
export type ReadSources = {
  market(): Market
  readonly health: Pick<HealthStore, 'blockedUntil' | 'restsUntil' | 'isAllWell'>
  readonly caps: Pick<OfferCapsStore, 'usedToday'>
  readonly feed: LatestTrades
  readonly clock: Clock
  readonly memory: ReadMemory
  /** The terms on which wallets pay now; undefined while none can. */
  readonly payments: { terms(): PaymentTerms | undefined }
  readonly addresses: { readonly baseUrl: string; readonly apiBaseUrl: string }
  /** The version of the service, as in its description. */
  readonly version: string
}

export type ReadRequest = {
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The smallest discount in percent, if the path has one. */
  readonly floorPercent?: number | undefined
  /** The holder of the key, on a path that needs one. */
  readonly payer?: Payer | undefined
}

/** Makes a free answer to a GET. Throws AppError `not_found` when it does not exist. */
export type Read = (sources: ReadSources, request: ReadRequest) => ReadAnswer | Promise<ReadAnswer>

type ReadHeaders = { readonly 'cache-control': string; readonly etag: string }

/**
 * Headers of an answer to a read: its maximum age, for shared caches or for the reader alone, and an ETag over its
 * bytes.
 */
export function readHeaders(
  { json, maxAgeSeconds, etag = etagOf(json) }: ReadAnswer,
  keeper: 'public' | 'private' = 'public',
): ReadHeaders {
  return { 'cache-control': maxAgeSeconds > 0 ? `${keeper}, max-age=${maxAgeSeconds}` : 'no-store', etag }
}
