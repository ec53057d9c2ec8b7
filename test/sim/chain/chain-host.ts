import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler, SimProcess } from '#test/sim/time/scheduler.ts'
import type { SimChain } from './chain.ts'
import { createChain, MOST_REORG } from './chain.ts'

/** Faults of the endpoint by which processes reach the chain. */
export const ENDPOINT_FAULTS = ['silent', 'slow', 'lost_reply', 'behind'] as const
export type EndpointFault = (typeof ENDPOINT_FAULTS)[number]

/** The endpoint of the chain. Everybody reaches the chain through it. */
export type ChainHost = {
  readonly chain: SimChain
  /** Begins a fault for so many milliseconds. */
  fault(what: EndpointFault, ms: number): void
  /** For so many milliseconds the facilitator takes less than it is told to, where the payer's signature lets it. */
  takeLess(ms: number): void
  /** The part of an amount that the facilitator takes now. */
  takenOf(name: string, amount: bigint): bigint
  /** True for a payment of which it took less. */
  isShort(name: string): boolean
  /** Payments that their wallets have not signed, and that the facilitator was asked about. */
  readonly forgeries: Set<string>
  /** Wallets of which nobody could say whether they are contracts. */
  readonly unknownWallets: Set<string>
  /** Ends all faults of endpoint and chain. */
  heal(): void
  /** The newest block that the endpoint knows of. */
  head(): bigint
  /** Asks the endpoint. What is asked may come about although nobody hears of it. */
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
