import { setTimeout as pause } from 'node:timers/promises'
import type { CallSeen, CallShape } from './client.ts'
import { createClient } from './client.ts'
import type { Buyer } from './market.ts'
import type { World } from './world.ts'
import { PLAIN, SLOW } from './world.ts'

/**
 * Milliseconds that a client waits after a refusal. Clients that retry at once take the processor time that a start
 * needs.
 */
const REFUSED_PAUSE_MS = 100
const MAX_CALLS = 20_000

export const WHOLE: CallShape = { model: PLAIN, isStreamed: false, maxTokens: 24 }
export const STREAM: CallShape = { model: PLAIN, isStreamed: true, maxTokens: 24 }
/** A stream that lasts this many seconds. */
export const lasting = (seconds: number): CallShape => ({ model: SLOW, isStreamed: true, maxTokens: seconds })

export type LoadOptions = {
  readonly shapes?: readonly CallShape[]
  /** Number of clients. Each makes one call after the other. */
  readonly clients?: number
  readonly nodes?: readonly number[]
  readonly buyers?: readonly Buyer[]
  /** The load ends by itself after this many calls. */
  readonly calls?: number
  /** Milliseconds that each client pauses after each call. */
  readonly pauseMs?: number
}

export type Load = {
  /** The calls so far. The list grows. */
  readonly seen: readonly CallSeen[]
  /** Resolves once this number of calls is made. */
  readonly done: Promise<void>
  /** Waits until this many more calls have succeeded. */
  untilServed(more: number, limitMs?: number): Promise<void>
  stop(): Promise<readonly CallSeen[]>
}

let loads = 0

/** Starts clients that call without end, spread over buyers and data planes. */
export function startLoad(world: World, options: LoadOptions = {}): Load {
  const {
    shapes = [WHOLE, STREAM],
    clients = 8,
    nodes = [0, 1],
    buyers = world.buyers,
    calls = MAX_CALLS,
    pauseMs = 0,
  } = options
  const client = createClient(world.origin, `load ${loads++}`)
  const seen: CallSeen[] = []
  let begun = 0
  let isStopped = false

  async function work(own: number): Promise<void> {
    while (!isStopped && begun < calls) {
      const at = begun++
      const shape = shapes[at % shapes.length] ?? WHOLE
      const buyer = buyers[own % buyers.length]
      const node = nodes[at % nodes.length] ?? 0
      if (buyer === undefined) return
      const result = await client.call(node, buyer, shape)
      seen.push(result)
      const waitMs = result.status === 200 ? pauseMs : Math.max(pauseMs, REFUSED_PAUSE_MS)
      if (waitMs > 0) await pause(waitMs)
    }
  }

  const done = Promise.all(Array.from({ length: clients }, (_, own) => work(own))).then(() => client.close())
  return {
    seen,
    done,
    async untilServed(more, limitMs = 30_000) {
      const goal = countServed(seen) + more
      const end = performance.now() + limitMs
      while (countServed(seen) < goal) {
        if (performance.now() > end) throw new Error(`not ${more} more calls were served in ${limitMs} ms`)
        await pause(5)
      }
    },
    async stop() {
      isStopped = true
      await done
      return seen
    },
  }
}

export function countServed(seen: readonly CallSeen[]): number {
  return seen.reduce((sum, call) => sum + (call.isComplete ? 1 : 0), 0)
}

/** Milliseconds from this time until the first call sent after it was served whole. */
export function outageMs(seen: readonly CallSeen[], since: number): number | undefined {
  const served = seen.filter((call) => call.isComplete && call.sentAt > since).map((call) => call.endedAt)
  return served.length === 0 ? undefined : Math.max(0, Math.min(...served) - since)
}

/** Milliseconds from the first to the last refusal by 503 after this time. */
export function refusedMs(seen: readonly CallSeen[], since: number): number {
  const refused = seen.filter((call) => call.status === 503 && call.endedAt > since).map((call) => call.endedAt)
  return refused.length === 0 ? 0 : Math.max(...refused) - Math.min(...refused)
}
