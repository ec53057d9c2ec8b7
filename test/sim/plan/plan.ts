import type { CommitFault } from '#test/sim/ledger/ledger-host.ts'
import type { JobFault } from '#test/sim/redis/job-queue.ts'
import type { Random } from '#test/sim/time/random.ts'
import { createRandom } from '#test/sim/time/random.ts'
import type { CallPlan } from './call-plan.ts'
import { FAILURES } from './call-plan.ts'
import type { JobPlan } from './job-plan.ts'
import { jobPlan } from './job-plan.ts'
import type { ChainEvent, PaidPlan } from './payment-plan.ts'
import { chainEvent, paidPlan } from './payment-plan.ts'
import type { RelayPlan } from './relay-plan.ts'
import { relayPlan } from './relay-plan.ts'

/** Places where a process can be made to die, just before or after the server executes its command. */
export type CrashPoint =
  | 'before reserve'
  | 'after reserve'
  | 'before settle'
  | 'after settle'
  | 'before ack'
  | 'after ack'
  | 'before register'
  | 'after register'
  | 'after commit'
  | 'before capture'
  | 'before broadcast'
  | 'after broadcast'
  | 'before job end'
  | 'after job end'
  | 'after job booking'

/** An event of a world, `gapMs` milliseconds after the previous one. */
export type Operation = { readonly gapMs: number } & (
  | { readonly kind: 'call'; readonly machine: number; readonly plan: CallPlan }
  | { readonly kind: 'relay'; readonly machine: number; readonly plan: RelayPlan }
  | { readonly kind: 'long_job'; readonly machine: number; readonly plan: JobPlan }
  | { readonly kind: 'deposit'; readonly buyer: number; readonly amount: number }
  | { readonly kind: 'debit'; readonly buyer: number; readonly amount: number; readonly worker: number }
  | { readonly kind: 'price'; readonly percent: number }
  | { readonly kind: 'sweep'; readonly worker: number }
  | { readonly kind: 'job'; readonly fault: JobFault }
  | { readonly kind: 'jump'; readonly ms: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'kill' | 'power' | 'disk'; readonly machine: number; readonly downMs: number }
  | { readonly kind: 'stop'; readonly machine: number; readonly downMs: number }
  | { readonly kind: 'freeze'; readonly machine: number; readonly ms: number }
  | { readonly kind: 'disk_error'; readonly machine: number; readonly count: number }
  | { readonly kind: 'skew'; readonly machine: number; readonly ms: number }
  | { readonly kind: 'kill_worker'; readonly worker: number; readonly downMs: number }
  | { readonly kind: 'crash_at'; readonly victim: number; readonly point: CrashPoint; readonly downMs: number }
  | { readonly kind: 'lose'; readonly what: 'reply' | 'request'; readonly count: number }
  | { readonly kind: 'redis'; readonly what: 'restart' | 'flush' }
  | { readonly kind: 'redis_older'; readonly ms: number }
  | { readonly kind: 'redis_down' | 'redis_frozen' | 'redis_slow'; readonly ms: number }
  | { readonly kind: 'commit'; readonly fault: CommitFault }
  | { readonly kind: 'postgres_down'; readonly ms: number }
  | { readonly kind: 'cut_leader' }
  | { readonly kind: 'postgres_older'; readonly ms: number }
  | { readonly kind: 'paid_call'; readonly machine: number; readonly plan: PaidPlan }
  | { readonly kind: 'chain'; readonly event: ChainEvent }
  /** Budgets from the beginning of the world on, in micro-USD: see BUDGETED in market.ts. */
  | { readonly kind: 'budgets'; readonly member: number; readonly workspace: number }
)

const CRASH_POINTS: readonly [CrashPoint, ...CrashPoint[]] = [
  'before reserve',
  'after reserve',
  'before settle',
  'after settle',
  'before ack',
  'after ack',
  'before register',
  'after register',
  'after commit',
  'before capture',
]

/** Places in the code of payments. */
const PAYMENT_CRASHES: readonly [CrashPoint, ...CrashPoint[]] = ['before broadcast', 'after broadcast', 'after commit']

/** Places in the code of a worker that ends a long job. */
const JOB_CRASHES: readonly [CrashPoint, ...CrashPoint[]] = ['before job end', 'after job end', 'after job booking']

type Maker = (random: Random) => Operation

type Weighed = readonly [weight: number, make: Maker]

/** The weight of each kind of operation that is not a machine's fault, and the function that draws one. */
const TRAFFIC: readonly Weighed[] = [
  [120, (random) => ({ kind: 'call', gapMs: gap(random), machine: random.between(0, 2), plan: callPlan(random) })],
  [
    8,
    (random) => ({
      kind: 'deposit',
      gapMs: gap(random),
      buyer: random.between(0, 4),
      amount: random.between(1, 40_000),
    }),
  ],
  [
    5,
    (random) => ({
      kind: 'debit',
      gapMs: gap(random),
      buyer: random.between(0, 4),
      amount: random.between(1, 30_000),
      worker: random.between(0, 1),
    }),
  ],
  [4, (random) => ({ kind: 'price', gapMs: gap(random), percent: random.between(70, 140) })],
  [8, (random) => ({ kind: 'sweep', gapMs: gap(random), worker: random.between(0, 1) })],
  [8, (random) => ({ kind: 'job', gapMs: gap(random), fault: random.pick(['duplicate', 'delay', 'drop']) })],
  [6, (random) => ({ kind: 'pass', gapMs: 0, ms: random.between(100, 8_000) })],
]

/** The weight of each kind of fault, and the function that draws one. */
const FAULTS: readonly Weighed[] = [
  [0.6, (random) => ({ kind: 'jump', gapMs: gap(random), ms: random.between(1, 7_200_000) })],
  [1.5, (random) => ({ kind: 'kill', gapMs: gap(random), machine: random.between(0, 2), downMs: downtime(random) })],
  [0.7, (random) => ({ kind: 'power', gapMs: gap(random), machine: random.between(0, 2), downMs: downtime(random) })],
  [0.4, (random) => ({ kind: 'disk', gapMs: gap(random), machine: random.between(0, 2), downMs: downtime(random) })],
  [0.7, (random) => ({ kind: 'stop', gapMs: gap(random), machine: random.between(0, 2), downMs: downtime(random) })],
  [
    0.7,
    (random) => ({
      kind: 'freeze',
      gapMs: gap(random),
      machine: random.between(0, 2),
      ms: random.between(100, 20_000),
    }),
  ],
  [
    0.7,
    (random) => ({
      kind: 'disk_error',
      gapMs: gap(random),
      machine: random.between(0, 2),
      count: random.between(1, 4),
    }),
  ],
  [
    0.7,
    (random) => ({
      kind: 'skew',
      gapMs: gap(random),
      machine: random.between(0, 2),
      ms: random.between(-600_000, 600_000),
    }),
  ],
  [
    1.5,
    (random) => ({ kind: 'kill_worker', gapMs: gap(random), worker: random.between(0, 1), downMs: downtime(random) }),
  ],
  [
    5,
    (random) => ({
      kind: 'crash_at',
      gapMs: gap(random),
      victim: random.between(0, 4),
      point: random.pick(CRASH_POINTS),
      downMs: downtime(random),
    }),
  ],
  [
    5,
    (random) => ({
      kind: 'lose',
      gapMs: gap(random),
      what: random.pick(['reply', 'request']),
      count: random.between(1, 3),
    }),
  ],
  [1.2, (random) => ({ kind: 'redis', gapMs: gap(random), what: random.pick(['restart', 'flush']) })],
  [1.2, (random) => ({ kind: 'redis_older', gapMs: gap(random), ms: random.between(1, 4_000) })],
  [
    1,
    (random) => ({
      kind: random.pick(['redis_down', 'redis_frozen', 'redis_slow']),
      gapMs: gap(random),
      ms: random.between(50, 6_000),
    }),
  ],
  [
    3,
    (random) => ({
      kind: 'commit',
      gapMs: gap(random),
      fault: random.pick(['abort', 'committed_unknown', 'rolled_back_unknown']),
    }),
  ],
  [0.8, (random) => ({ kind: 'postgres_down', gapMs: gap(random), ms: random.between(50, 8_000) })],
  [0.7, (random) => ({ kind: 'cut_leader', gapMs: gap(random) })],
]
const ALL = [...TRAFFIC, ...FAULTS]

function gap(random: Random): number {
  return random.chance(0.5) ? random.between(0, 3) : random.between(0, 60)
}

function downtime(random: Random): number {
  return random.chance(0.15) ? random.between(9_000, 25_000) : random.between(5, 3_000)
}

function callPlan(random: Random): CallPlan {
  const length = random.between(1, 6)
  const first = random.between(0, 2)
  const named = [first, (first + random.between(1, 2)) % 3].slice(0, random.between(1, 2))
  return {
    buyer: random.chance(0.5) ? random.between(0, 1) : random.between(0, 4),
    isStreamed: random.chance(0.8),
    offers: random.chance(0.15) ? [] : named,
    failures: random.chance(0.25) ? Array.from({ length: random.between(1, 2) }, () => random.pick(FAILURES)) : [],
    inputTokens: random.between(10, 400),
    maxOutputTokens: random.chance(0.6) ? random.between(1, 400) : undefined,
    pieces: Array.from({ length }, () => random.between(1, 90)),
    paceMs: random.chance(0.1) ? random.between(500, 4_000) : random.between(1, 120),
    ending: random.pick(['done', 'done', 'done', 'cut', 'cancelled']),
    stallMs: random.chance(0.05) ? random.between(1, 5_000) : 0,
  }
}

/** The largest budget, in micro-USD. The calls of most seeds cost more. */
const MOST_BUDGET = 40_000

/** The share of operations that follow a long job. */
export const JOB_SHARE = 0.06

/** The share of operations that follow a call on a lent key. */
export const RELAY_SHARE = 0.06

/** The shares of operations that follow an extra operation. */
export type Shares = {
  readonly relays?: number | undefined
  readonly jobs?: number | undefined
  readonly wallets?: number | undefined
  readonly faults?: number | undefined
  /** True for plans of `restorePlanOf`, which draw their numbers independently of other plans. */
  readonly restores?: boolean | undefined
  /** True for a world in which budgets bound some buyers. */
  readonly budgets?: boolean | undefined
}

/** The share of operations that follow a call by wallet or an event of the chain. */
export const WALLET_SHARE = 0.08
/** Such a plan has one event of the chain, or one death in the code of payments, among this many of its operations. */
const CHAIN_EVENTS = 0.3
const PAYMENT_DEATHS = 0.05
/** Among this many long jobs, one comes with the death of a worker, at a place where the worker ends a job. */
const JOB_DEATHS = 0.15

/**
 * The operations of a seed, always the same. Calls on lent keys, long jobs, payments by wallet and unusual faults are
 * drawn from separate numbers, so the other operations do not depend on their shares.
 */
export function planOf(seed: number, count: number, shares: Shares = {}): Operation[] {
  if (shares.budgets === true) return [budgetsOf(seed), ...planOf(seed, count, { ...shares, budgets: false })]
  const { relays = RELAY_SHARE, jobs = JOB_SHARE, wallets = WALLET_SHARE, faults = 0, restores = false } = shares
  if (restores) return restorePlanOf(seed, count)
  const random = createRandom(seed).fork('long jobs')
  const paying = createRandom(seed).fork('wallets')
  const more = createRandom(seed).fork('more faults')
  const lent = createRandom(seed).fork('lent keys')
  return otherOperations(seed, count).flatMap((operation): Operation[] => {
    const before: Operation[] = []
    if (random.chance(jobs)) {
      before.push({ kind: 'long_job', gapMs: gap(random), machine: random.between(0, 2), plan: jobPlan(random) })
      if (random.chance(JOB_DEATHS)) {
        const victim = random.between(3, 4)
        before.push({ kind: 'crash_at', gapMs: 0, victim, point: random.pick(JOB_CRASHES), downMs: downtime(random) })
      }
    }
    if (paying.chance(wallets)) before.push(walletOperation(paying))
    if (lent.chance(relays)) {
      before.push({ kind: 'relay', gapMs: gap(lent), machine: lent.between(0, 2), plan: relayPlan(lent) })
    }
    if (more.chance(faults)) before.push(drawOf(FAULTS, more))
    return [...before, operation]
  })
}

function budgetsOf(seed: number): Operation {
  const random = createRandom(seed).fork('budgets')
  return {
    kind: 'budgets',
    gapMs: 0,
    member: random.between(1, MOST_BUDGET),
    workspace: random.between(1, MOST_BUDGET),
  }
}

/** Largest number of milliseconds of postings that a restored ledger lacks. */
const MOST_LOST_MS = 20_000
/** Deaths of processes, pauses, deposits and calls on credit among the operations of a plan with a restore. */
const KILLS = 0.03
const PAUSES = 0.1
const DEPOSITS = 0.08
const CREDIT_CALLS = 0.35
const CREDIT_RELAYS = 0.08

/**
 * The operations of a seed in which the ledger is restored from a backup. Wallets and credit pay for its calls. The
 * plan has no long jobs, and machines survive their processes, so a single fault takes a copy of a charge.
 */
function restorePlanOf(seed: number, count: number): Operation[] {
  const random = createRandom(seed).fork('restores')
  const at = random.between(1, Math.ceil(count / 2))
  return Array.from({ length: count }, (_, index): Operation => {
    if (index === at) return { kind: 'postgres_older', gapMs: gap(random), ms: random.between(500, MOST_LOST_MS) }
    if (random.chance(KILLS)) {
      return { kind: 'kill', gapMs: gap(random), machine: random.between(0, 2), downMs: downtime(random) }
    }
    if (random.chance(PAUSES)) return { kind: 'pass', gapMs: 0, ms: random.between(100, 8_000) }
    // In every other plan only wallets pay, so that more of their calls meet.
    return (seed % 2 === 0 ? creditOperation(random) : undefined) ?? walletOperation(random)
  })
}

/** A movement of credit. Undefined where a wallet's operation comes next. */
function creditOperation(random: Random): Operation | undefined {
  const [gapMs, machine] = [gap(random), random.between(0, 2)]
  if (random.chance(DEPOSITS)) {
    return { kind: 'deposit', gapMs, buyer: random.between(0, 4), amount: random.between(1, 40_000) }
  }
  if (random.chance(CREDIT_RELAYS)) return { kind: 'relay', gapMs, machine, plan: relayPlan(random) }
  return random.chance(CREDIT_CALLS) ? { kind: 'call', gapMs, machine, plan: callPlan(random) } : undefined
}

function walletOperation(random: Random): Operation {
  const gapMs = gap(random)
  if (random.chance(CHAIN_EVENTS)) return { kind: 'chain', gapMs, event: chainEvent(random) }
  if (random.chance(PAYMENT_DEATHS)) {
    const point = random.pick(PAYMENT_CRASHES)
    return { kind: 'crash_at', gapMs, victim: random.between(3, 4), point, downMs: downtime(random) }
  }
  return { kind: 'paid_call', gapMs, machine: random.between(0, 2), plan: paidPlan(random, callPlan(random)) }
}

function otherOperations(seed: number, count: number): Operation[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => drawOf(ALL, random))
}

function drawOf(kinds: readonly Weighed[], random: Random): Operation {
  let left = random.fraction() * kinds.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, make] of kinds) {
    left -= weight
    if (left < 0) return make(random)
  }
  return { kind: 'pass', gapMs: 0, ms: 1 }
}
