import type { OfferRow } from '#shared/contract/snapshot.ts'
import { byBookRank } from '#shared/market-view.ts'
import type { ProtocolNeed } from '#shared/protocols/index.ts'
import { canServe, PROTOCOL_NEEDS } from '#shared/protocols/index.ts'

/** The members of an offer that decide where a call goes. */
export type RoutableOffer = Pick<
  OfferRow,
  'id' | 'provider' | 'isTrusted' | 'keptBps' | 'capDailyMicro' | 'ttftMs' | 'apiFormat'
>

/**
 * A model's offers as columns of numbers in the order of the routing, for walks over thousands of them. Providers are
 * counted from zero within the model.
 */
export type OfferIndex<Of extends RoutableOffer> = {
  readonly offers: readonly Of[]
  readonly providers: readonly string[]
  readonly providerOf: Uint16Array
  /** Basis points of the reference price that a buyer pays. They never fall where the order is by price. */
  readonly keptBps: Uint16Array
  readonly flags: Uint16Array
  /** Start of each group of offers of equal price or speed. One more entry says where the last group ends. */
  readonly groups: Uint32Array
}

/** Bits of {@link OfferIndex.flags}. */
export const TRUSTED = 1
export const CAPPED = 2
/** The bit of each need that an offer's protocol cannot meet. */
export const LACKS: Readonly<Record<ProtocolNeed, number>> = {
  openai: 4,
  video: 8,
  images: 16,
  chat: 64,
  music: 128,
  'image-stream': 32,
  'document-url': 256,
  search: 512,
  embeddings: 1_024,
}

const MAX_PROVIDERS = 65_535

/** A model's offers. A book is never changed, only replaced. */
export type OfferBook<Of extends RoutableOffer> = {
  /** Best price first. */
  readonly ranked: readonly Of[]
  /** The order of the public book: trusted offers first, best price first. It is built at its first use. */
  inBookOrder(): readonly Of[]
  /** The index by price. It is built at its first use. */
  byPrice(): OfferIndex<Of>
  /** The index by the measured time to the first content. Offers without a measurement follow by price. */
  bySpeed(): OfferIndex<Of>
}

/** Makes a book of offers in the order of `byRank`. */
export function createOfferBook<Of extends RoutableOffer>(ranked: readonly Of[]): OfferBook<Of> {
  let listedOffers: readonly Of[] | undefined
  let byPrice: OfferIndex<Of> | undefined
  let bySpeed: OfferIndex<Of> | undefined
  return {
    ranked,
    inBookOrder() {
      listedOffers ??= ranked.every(({ isTrusted }) => isTrusted) ? ranked : [...ranked].sort(byBookRank)
      return listedOffers
    },
    byPrice() {
      byPrice ??= buildIndex(ranked)
      return byPrice
    },
    bySpeed() {
      bySpeed ??= buildIndex(fastestFirst(ranked))
      return bySpeed
    },
  }
}

function fastestFirst<Of extends RoutableOffer>(ranked: readonly Of[]): readonly Of[] {
  const speedOf = ({ ttftMs }: Of) => ttftMs ?? Number.MAX_SAFE_INTEGER
  return [...ranked].sort((left, right) => speedOf(left) - speedOf(right))
}

function lacksOf(offer: RoutableOffer): number {
  let flags = 0
  for (const need of PROTOCOL_NEEDS) if (!canServe(offer, need)) flags |= LACKS[need]
  return flags
}

function buildIndex<Of extends RoutableOffer>(offers: readonly Of[]): OfferIndex<Of> {
  const numbers = new Map<string, number>()
  const providerOf = new Uint16Array(offers.length)
  const keptBps = new Uint16Array(offers.length)
  const flags = new Uint16Array(offers.length)
  const starts: number[] = []
  let before: Of | undefined
  for (const [at, offer] of offers.entries()) {
    const number = numbers.get(offer.provider) ?? numbers.size
    if (number > MAX_PROVIDERS) throw new RangeError('a model has offers of too many providers')
    numbers.set(offer.provider, number)
    providerOf[at] = number
    keptBps[at] = Number(offer.keptBps)
    flags[at] = (offer.isTrusted ? TRUSTED : 0) | (offer.capDailyMicro === null ? 0 : CAPPED) | lacksOf(offer)
    if (before === undefined || before.keptBps !== offer.keptBps || before.ttftMs !== offer.ttftMs) starts.push(at)
    before = offer
  }
  starts.push(offers.length)
  return { offers, providers: [...numbers.keys()], providerOf, keptBps, flags, groups: Uint32Array.from(starts) }
}
