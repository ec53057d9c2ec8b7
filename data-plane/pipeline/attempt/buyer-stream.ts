import type { BuyerReply } from '#data-plane/call.ts'
import type { UpstreamFlow } from '#data-plane/upstream/send.ts'

/** The buyer's side of a stream. It writes all parts of one tick at once, and pauses the provider for a slow buyer. */
export type BuyerStream = {
  attach(flow: UpstreamFlow): void
  send(part: string | Buffer, now: number): void
  flush(): void
  /** Stops sending, because the buyer has left. */
  discard(): void
  isPaused(): boolean
  /** True when the buyer has read nothing for `limitMs` milliseconds. */
  isStuck(now: number, limitMs: number): boolean
  /** Milliseconds since the last write. Before the first write they count from `start`. */
  silentSince(start: number, now: number): number
}

/** Replaces the stream of an answer that is sent as a whole. */
export const NO_STREAM: BuyerStream = {
  attach: () => undefined,
  send: () => undefined,
  flush: () => undefined,
  discard: () => undefined,
  isPaused: () => false,
  isStuck: () => false,
  silentSince: () => 0,
}

export function createBuyerStream(reply: BuyerReply): BuyerStream {
  let flow: UpstreamFlow | undefined
  let waiting = ''
  let isScheduled = false
  let isDiscarding = false
  let pausedAt: number | undefined
  let lastSentAt: number | undefined

  function flush(): void {
    isScheduled = false
    if (waiting === '' || isDiscarding) return
    const text = waiting
    waiting = ''
    write(text)
  }

  function write(part: string | Buffer): void {
    if (reply.write(part) || pausedAt !== undefined) return
    pausedAt = lastSentAt
    flow?.pause()
  }

  reply.onDrain(() => {
    pausedAt = undefined
    flow?.resume()
  })

  return {
    attach(attached) {
      flow = attached
      if (pausedAt !== undefined) flow.pause()
    },
    send(part, now) {
      lastSentAt = now
      if (typeof part !== 'string') {
        flush()
        if (!isDiscarding) write(part)
        return
      }
      waiting += part
      if (isScheduled) return
      isScheduled = true
      // All frames of one read of the provider's socket leave in one write.
      process.nextTick(flush)
    },
    flush,
    discard() {
      isDiscarding = true
      waiting = ''
      pausedAt = undefined
    },
    isPaused: () => pausedAt !== undefined,
    isStuck: (now, limitMs) => pausedAt !== undefined && now - pausedAt >= limitMs,
    silentSince: (start, now) => now - (lastSentAt ?? start),
  }
}
