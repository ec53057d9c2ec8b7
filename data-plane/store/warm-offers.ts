import type { OfferId } from '#shared/ids.ts'

/** Milliseconds for which a turn counts. Providers forget a prompt within minutes. */
const WARM_MS = 300_000
/** Most conversations that are remembered. The oldest are dropped first. */
const MAX_CONVERSATIONS = 50_000

/** The offer that last served a conversation, and figures that estimate its next turn. */
export type Warmth = {
  readonly offer: OfferId
  /** Unix milliseconds of the last answer. */
  readonly at: number
  /** Tokens of the last turn. A cache may hold the input; an answer may cost as much as the output. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Later turns in which the provider read from its cache, and in which it did not. */
  readonly hits: number
  readonly misses: number
}

/** The offer and the usage of one turn of a conversation. */
export type WarmTurn = {
  readonly offer: OfferId
  readonly at: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
}

/** Conversations by payer and name. */
export type WarmOffers = {
  /** Undefined for a conversation that is unknown or has gone cold. */
  find(conversation: string, now: number): Warmth | undefined
  note(conversation: string, turn: WarmTurn): void
}

export function createWarmOffers(): WarmOffers {
  const warmthOf = new Map<string, Warmth>()
  return {
    find(conversation, now) {
      const warmth = warmthOf.get(conversation)
      return warmth === undefined || now - warmth.at > WARM_MS ? undefined : warmth
    },
    note(conversation, { cachedTokens, ...turn }) {
      const before = warmthOf.get(conversation)
      warmthOf.delete(conversation)
      if (warmthOf.size >= MAX_CONVERSATIONS) {
        const oldest = warmthOf.keys().next()
        if (!oldest.done) warmthOf.delete(oldest.value)
      }
      // The first turn at an offer fills its cache. Only the next turns show whether it has one.
      const isNext = before !== undefined && before.offer === turn.offer && turn.at - before.at <= WARM_MS
      const hits = (isNext ? before.hits : 0) + (cachedTokens > 0 ? 1 : 0)
      const misses = isNext ? before.misses + (cachedTokens > 0 ? 0 : 1) : 0
      warmthOf.set(conversation, { ...turn, hits, misses })
    },
  }
}
