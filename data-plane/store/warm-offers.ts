import type { OfferId } from '#shared/ids.ts'

/** Providers forget a prompt within minutes: older knowledge says nothing. */
const WARM_MS = 300_000
/** Conversations that are remembered; past it the oldest go. */
const MAX_CONVERSATIONS = 50_000

/** Where a conversation was served last, and what that promises for its next turn. */
export type Warmth = {
  readonly offer: OfferId
  /** Unix milliseconds of the last answer. */
  readonly at: number
  /** Tokens of its last turn: input is what a cache may hold, output what an answer may cost. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Later turns in which the provider did, and did not, read from its cache. */
  readonly hits: number
  readonly misses: number
}

/** What a turn of a conversation told. */
export type Turn = {
  readonly offer: OfferId
  readonly at: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
}

/** Conversations by who has them and what names them. */
export type WarmOffers = {
  /** Undefined for a conversation that is unknown or has gone cold. */
  find(conversation: string, now: number): Warmth | undefined
  note(conversation: string, turn: Turn): void
}

export function createWarmOffers(): WarmOffers {
  const known = new Map<string, Warmth>()
  return {
    find(conversation, now) {
      const warmth = known.get(conversation)
      return warmth === undefined || now - warmth.at > WARM_MS ? undefined : warmth
    },
    note(conversation, { cachedTokens, ...turn }) {
      const before = known.get(conversation)
      known.delete(conversation)
      if (known.size >= MAX_CONVERSATIONS) {
        const oldest = known.keys().next()
        if (!oldest.done) known.delete(oldest.value)
      }
      // The first turn somewhere fills a cache; only the next ones tell whether there is any.
      const isNext = before !== undefined && before.offer === turn.offer && turn.at - before.at <= WARM_MS
      const hits = (isNext ? before.hits : 0) + (cachedTokens > 0 ? 1 : 0)
      const misses = isNext ? before.misses + (cachedTokens > 0 ? 0 : 1) : 0
      known.set(conversation, { ...turn, hits, misses })
    },
  }
}
