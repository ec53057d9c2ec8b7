import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler, SimProcess } from '#test/sim/time/scheduler.ts'
import type { SimChain } from './chain.ts'
import { createChain, MOST_REORG } from './chain.ts'

/** Faults of the endpoint through which processes reach the chain. */
export const ENDPOINT_FAULTS = ['silent', 'slow', 'lost_reply', 'behind'] as const
export type EndpointFault = (typeof ENDPOINT_FAULTS)[number]

/** The endpoint of the chain. All processes and wallets use it. */
export type ChainHost = {
  readonly chain: SimChain
  /** Begins a fault for this many milliseconds. */
  fault(what: EndpointFault, ms: number): void
  /**
   * For this many milliseconds, the facilitator takes less than the requested amount wherever the payer's signature
   * allows it.
   */
  takeLess(ms: number): void
  /** Returns the part of an amount that the facilitator takes now. */
  takenOf(name: string, amount: bigint): bigint
  /** True for a payment of which the facilitator took less than the requested amount. */
  isShort(name: string): boolean
  /** Payments without a valid signature of their wallet that reached the facilitator. */
  readonly forgeries: Set<string>
  /** Wallets for which the chain could not answer whether they are contracts. */
  readonly unknownWallets: Set<string>
  /** Ends all faults of endpoint and chain. */
  heal(): void
  /** The newest block that the endpoint shows. */
  head(): bigint
  /** Sends a request to the endpoint. The request may take effect although its sender gets no answer. */
  ask<Result>(owner: SimProcess, run: () => Result): Promise<Result>
}

const TIMEOUT_MS = 4_000
const LOST_SHARE = 0.5

export function createChainHost(scheduler: Scheduler, random: Random): ChainHost {
  const chain = createChain(scheduler, random.fork('chain'))
  const short = new Set<string>()
  let lessUntil = 0
  let faulty: { readonly what: EndpointFault; readonly until: number } | undefined

  const now = (): EndpointFault | undefined =>
    faulty !== undefined && scheduler.now() < faulty.until ? faulty.what : undefined

  return {
    chain,
    fault(what, ms) {
      faulty = { what, until: scheduler.now() + ms }
    },
    takeLess(ms) {
      lessUntil = scheduler.now() + ms
    },
    takenOf(name, amount) {
      if (scheduler.now() >= lessUntil) return amount
      short.add(name)
      return (amount * 2n) / 5n + 1n
    },
    isShort: (name) => short.has(name),
    forgeries: new Set(),
    unknownWallets: new Set(),
    heal() {
      faulty = undefined
      lessUntil = 0
      chain.setFull(0)
      chain.setGas(true)
    },
    head: () => chain.head() - (now() === 'behind' ? BigInt(MOST_REORG) : 0n),
    ask(owner, run) {
      const fault = now()
      const isLost = fault === 'lost_reply' && random.chance(LOST_SHARE)
      const travelMs = fault === 'slow' ? random.between(500, TIMEOUT_MS + 500) : 0.5 + random.fraction()
      return new Promise((resolve, reject) => {
        const cancel = owner.time.after(TIMEOUT_MS, () => reject(new Error('the chain does not answer')))
        if (fault === 'silent') return
        scheduler.after(travelMs, () => {
          const answer = attempt(run)
          if (isLost) return
          owner.time.after(0.5, () => {
            cancel()
            if ('error' in answer) reject(answer.error)
            else resolve(answer.result)
          })
        })
      })
    },
  }
}

type Answer<Result> = { readonly result: Result } | { readonly error: unknown }

function attempt<Result>(run: () => Result): Answer<Result> {
  try {
    return { result: run() }
  } catch (error) {
    return { error }
  }
}
