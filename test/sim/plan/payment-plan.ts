import type { EndpointFault } from '#test/sim/chain/chain-host.ts'
import { ENDPOINT_FAULTS } from '#test/sim/chain/chain-host.ts'
import type { Random } from '#test/sim/time/random.ts'
import type { CallPlan } from './call-plan.ts'

/** A second use of a payment that was sent before. */
export type Showing = {
  readonly afterMs: number
  readonly machine: number
  /** True for the same body as at the first use. */
  readonly isSame: boolean
}

/** Ways to pay by wallet. `mpp` is the Payment scheme of HTTP, the others belong to x402. */
const SCHEMES = ['upto', 'exact', 'mpp'] as const
export type PaidScheme = (typeof SCHEMES)[number]

/**
 * `forged`: another key signed the payment. `lower`: the amount is below the price. `other_nonce`: the signature is
 * valid and belongs to another challenge. x402 has no challenges, so there such a payment is forged.
 */
const CHEATS = ['forged', 'lower', 'other_nonce'] as const
export type Cheat = (typeof CHEATS)[number]

/** The course of a call that a wallet pays for, drawn before the call begins. */
export type PaidPlan = {
  readonly call: CallPlan
  readonly wallet: number
  readonly scheme: PaidScheme
  /** The fraud of the payment. Undefined for an honest one. */
  readonly cheat: Cheat | undefined
  /** The amount that the wallet signs beyond the price, where the scheme allows it. Micro-USD. */
  readonly overMicro: number
  readonly showings: readonly Showing[]
}

/** Events of the chain and of wallets. */
export type ChainEvent =
  | { readonly what: 'reorganise'; readonly depth: number }
  | { readonly what: 'forget' }
  /** `greedless`: the facilitator takes less than the requested amount. */
  | { readonly what: 'full' | 'no_gas' | 'greedless'; readonly ms: number }
  | { readonly what: 'endpoint'; readonly fault: EndpointFault; readonly ms: number }
  | { readonly what: 'drain'; readonly wallet: number; readonly percent: number }
  | { readonly what: 'fund'; readonly wallet: number; readonly amount: number }
  /** A stranger sends an exact payment that is under way. */
  | { readonly what: 'front_run' }

type Weighed = readonly [weight: number, make: (random: Random) => ChainEvent]

const EVENTS: readonly [Weighed, ...Weighed[]] = [
  [4, (random) => ({ what: 'reorganise', depth: random.between(1, 3) })],
  [2, () => ({ what: 'forget' })],
  [1, (random) => ({ what: random.pick(['full', 'no_gas']), ms: random.between(500, 9_000) })],
  [4, (random) => ({ what: 'endpoint', fault: random.pick(ENDPOINT_FAULTS), ms: random.between(100, 8_000) })],
  [1, (random) => ({ what: 'drain', wallet: random.between(0, 2), percent: random.pick([50, 100]) })],
  [3, (random) => ({ what: 'fund', wallet: random.between(0, 2), amount: random.between(1_000, 60_000) })],
  [3, () => ({ what: 'front_run' })],
  [0.5, (random) => ({ what: 'greedless', ms: random.between(200, 2_000) })],
]

export function chainEvent(random: Random): ChainEvent {
  let left = random.fraction() * EVENTS.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, make] of EVENTS) {
    left -= weight
    if (left < 0) return make(random)
  }
  return { what: 'forget' }
}

export function paidPlan(random: Random, call: CallPlan): PaidPlan {
  return {
    call,
    wallet: random.between(0, 2),
    scheme: random.pick(SCHEMES),
    cheat: random.chance(0.12) ? random.pick(CHEATS) : undefined,
    overMicro: random.chance(0.5) ? 0 : random.between(0, 3_000),
    showings: random.chance(0.5) ? [showing(random)] : [],
  }
}

function showing(random: Random): Showing {
  return {
    // Some second uses arrive while the first is still being served.
    afterMs: random.chance(0.3) ? random.between(0, 20) : random.between(100, 9_000),
    machine: random.between(0, 2),
    isSame: random.chance(0.7),
  }
}
