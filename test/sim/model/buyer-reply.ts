import type { BuyerReply } from '#data-plane/call.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'

/** The part of an answer that the buyer has received. */
export type Received = {
  /** Undefined until the first byte. */
  readonly status: number | undefined
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  /** True when the answer was complete. False for an answer that broke off. */
  readonly isWhole: boolean
  /** The cost in the answer, in micro-USD. */
  readonly costMicro: bigint | undefined
}

/** The buyer's side of an answer, in memory. */
export type SimReply = BuyerReply & {
  /** The buyer closes the connection. */
  leave(): void
  received(): Received
}

const COST = /"buyer_cost_micro":(\d+)/

/** Reads the cost in the answer, in micro-USD. */
export function costIn(text: string): bigint | undefined {
  const cost = COST.exec(text)?.[1]
  return cost === undefined ? undefined : BigInt(cost)
}

/** `onEnd` is called when the answer ends while the buyer is still connected. */
export function createReply(owner: SimProcess, stallMs: number, onEnd: (received: Received) => void): SimReply {
  const gone: (() => void)[] = []
  const drained: (() => void)[] = []
  let state: 'waiting' | 'started' | 'over' | 'left' = 'waiting'
  let status: number | undefined
  let text = ''
  let headers: Received['headers'] = {}
  let isWhole = false
  let isStalled = false

  const received = (): Received => ({ status, text, headers, isWhole, costMicro: costIn(text) })

  function end(last: string, wholly: boolean): void {
    if (state === 'left' || state === 'over') return
    state = 'over'
    text += last
    isWhole = wholly
    onEnd(received())
  }

  return {
    start(sent, given = 200) {
      if (state !== 'waiting') return
      state = 'started'
      status = given
      headers = sent
    },
    write(part) {
      if (state !== 'started') return true
      text += part.toString()
      if (stallMs === 0 || isStalled) return true
      isStalled = true
      owner.time.after(stallMs, () => drained.forEach((listener) => void listener()))
      return false
    },
    end: (last) => end(last, true),
    cut: () => end('', false),
    whole(given, sent, body) {
      status = given
      headers = sent
      end(typeof body === 'string' ? body : Buffer.concat(body).toString(), true)
    },
    isStarted: () => state !== 'waiting',
    isGone: () => state === 'left',
    onGone: (listener) => void gone.push(listener),
    onDrain: (listener) => void drained.push(listener),
    // Answers of the simulation are never large.
    onClosed: () => undefined,
    leave() {
      if (state === 'over' || state === 'left') return
      state = 'left'
      for (const listener of gone) listener()
    },
    received,
  }
}
