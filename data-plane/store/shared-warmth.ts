import type { Redis } from 'ioredis'
import type { Time } from '#shared/clock.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import { isId } from '#shared/ids.ts'
import type { Subscriptions } from '#shared/subscriptions.ts'
import type { WarmOffers, WarmTurn } from './warm-offers.ts'

/** Milliseconds between two messages. The next turn of a conversation takes longer than that. */
const TELL_MS = 200
/** Most turns in one message. This process keeps the others to itself. */
const MAX_TURNS = 5_000
/** Numbers of a turn after the words that name its conversation. */
const TURN_WORDS = 5

type Parts = {
  readonly redis: Pick<Redis, 'publish'>
  readonly subscriptions: Pick<Subscriptions, 'listen'>
  readonly clock: Pick<Time, 'every'>
  readonly node: string
}

/**
 * Shares warmth between processes. Each tells the others several times a second about the turns of its conversations,
 * so no call waits to learn where it is warm. A lost message costs its call no more than the lower price of a warm
 * offer.
 */
export function shareWarmth(warmOffers: WarmOffers, { redis, subscriptions, clock, node }: Parts) {
  let unpublished: string[] = []
  subscriptions.listen(CHANNELS.warmth, ([from, ...turns]) => {
    if (from === node) return
    for (const text of turns) {
      const warmTurn = readTurn(text)
      if (warmTurn !== undefined) warmOffers.note(warmTurn.conversation, warmTurn.turn)
    }
  })
  const stop = clock.every(TELL_MS, () => {
    if (unpublished.length === 0) return
    redis.publish(CHANNELS.warmth, JSON.stringify([node, ...unpublished])).catch(() => undefined)
    unpublished = []
  })
  const shared: WarmOffers = {
    find: warmOffers.find,
    note(conversation, turn) {
      warmOffers.note(conversation, turn)
      if (unpublished.length < MAX_TURNS) unpublished.push(writeTurn(conversation, turn))
    },
  }
  return { ...shared, close: stop }
}

function writeTurn(conversation: string, { offer, at, inputTokens, outputTokens, cachedTokens }: WarmTurn): string {
  return `${conversation} ${offer} ${at} ${inputTokens} ${outputTokens} ${cachedTokens}`
}

function readTurn(text: string): { readonly conversation: string; readonly turn: WarmTurn } | undefined {
  const words = text.split(' ')
  const [offer = '', ...figures] = words.splice(-TURN_WORDS)
  const [at = -1, inputTokens = -1, outputTokens = -1, cachedTokens = -1] = figures.map(Number)
  const isWhole = words.length > 0 && isId('ofr', offer)
  if (!isWhole || ![at, inputTokens, outputTokens, cachedTokens].every(isCount)) return undefined
  return { conversation: words.join(' '), turn: { offer, at, inputTokens, outputTokens, cachedTokens } }
}

function isCount(figure: number): boolean {
  return Number.isSafeInteger(figure) && figure >= 0
}
