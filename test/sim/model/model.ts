import type { CappedOffer } from '#data-plane/call.ts'
import type { ModelJob } from './model-jobs.ts'
import type { ModelPayment } from './model-payments.ts'
import type { ModelRequest, RequestFault } from './model-request.ts'

/** The largest allowed charge of a request. */
export function mostDue({ isOverstated, heldMicro, deliveredMicro, isPaidWhole, chargeMicro }: ModelRequest): bigint {
  if (isPaidWhole === true && chargeMicro === undefined) return 0n
  return isOverstated && deliveredMicro > 0n ? heldMicro : deliveredMicro
}

/** True when two faults together have taken every copy of a charge that the buyer saw. */
export function isLost({ faults }: ModelRequest): boolean {
  return faults.has('journal_lost') && (faults.has('redis_lost') || faults.has('ledger_lost'))
}

/**
 * True when the buyer saw a charge while Redis could not take it. The disk has the charge then, whatever process dies.
 */
export function isOnDisk({ captured, isAcknowledged }: ModelRequest): boolean {
  return isAcknowledged && captured === 'queued'
}

/** The takes and used amounts of the daily caps of offers. */
export type Takes = {
  take(offer: CappedOffer, attempt: string, take: Take): void
  /** The amount of a take that is not settled. Undefined for an offer without a cap. */
  taken(attempt: string): bigint | undefined
  settle(attempt: string, amount: bigint, now: number): void
  /** Notes a recorded charge. The process that brings it to the gate counts it in place of the call's takes. */
  charge(rid: string, amount: bigint, now: number): void
  /** The number of a request's unsettled takes, and the used sum of its settled ones. */
  standing(rid: string): { readonly open: number; readonly used: bigint }
  /** The held and used amounts of each offer with a cap, as far as the gate can know them at `now`. */
  totals(now: number, known: Known): ReadonlyMap<CappedOffer, bigint>
}

/**
 * The limits of the gate's knowledge. The gate knows the holds and uses of living processes. `keptOf` says how much it
 * still knows of a dead process's use. It knows nothing of calls whose owner was away when it opened.
 */
export type Known = {
  isAlive(pid: number): boolean
  keptOf(use: Use): bigint
  isAway(rid: string): boolean
}

/** The used amount of the call's take. */
export type Use = { readonly offer: CappedOffer; readonly rid: string; readonly pid: number; readonly amount: bigint }

/** A take counts until its deadline. */
type Take = { readonly amount: bigint; readonly pid: number; readonly deadline: number }

/** The correct state of all balances. It has no Redis, no journal and no queue. */
export type Model = {
  readonly requests: Map<string, ModelRequest>
  /** Requests that may still run or await their posting. */
  readonly unresolved: Set<ModelRequest>
  /** Long jobs by their request ids. */
  readonly jobs: Map<string, ModelJob>
  /** Payments of wallets by their names. */
  readonly payments: Map<string, ModelPayment>
  readonly takes: Takes
  /** True after a take has expired. The used amounts of an offer's cap may then be missing. */
  hasLostCaps: boolean
  /** The time when Redis last lost writes, in milliseconds of the world. */
  forgottenAt: number
  /** The jobs in the ledger at that time. */
  bookedThen: ReadonlySet<string>
  start(
    request: Pick<ModelRequest, 'rid' | 'account' | 'keyId' | 'payment' | 'isPaidWhole' | 'machine' | 'pid'>,
  ): ModelRequest
  /** Processes that were killed. */
  readonly dead: Set<number>
  /**
   * Buyers whose deposits are missing from a restored ledger. The spent part of such a deposit is short until the
   * deposit is back.
   */
  readonly poorer: Set<string>
  /** Notes a fault on every request that `isHit` selects. */
  befall(fault: RequestFault, isHit: (request: ModelRequest) => boolean): void
  /** Notes that the ledger was restored. `wasBooked` and `isBooked` are its bookings of a request before and after. */
  setBack(wasBooked: (request: ModelRequest) => boolean, isBooked: (request: ModelRequest) => boolean): void
}

export function createModel(): Model {
  const requests = new Map<string, ModelRequest>()
  const unresolved = new Set<ModelRequest>()
  return {
    requests,
    unresolved,
    jobs: new Map(),
    payments: new Map(),
    hasLostCaps: false,
    takes: createTakes(),
    forgottenAt: Number.NEGATIVE_INFINITY,
    bookedThen: new Set(),
    dead: new Set(),
    poorer: new Set(),
    start(given) {
      const request: ModelRequest = {
        ...given,
        state: 'asking',
        heldMicro: 0n,
        deadline: 0,
        deliveredMicro: 0n,
        isOverstated: false,
        chargeMicro: undefined,
        endEvent: undefined,
        offer: null,
        sellerAccount: null,
        capturedAt: 0,
        captured: undefined,
        isAcknowledged: false,
        faults: new Set(),
      }
      requests.set(given.rid, request)
      unresolved.add(request)
      return request
    },
    befall(fault, isHit) {
      for (const request of unresolved) if (isHit(request)) request.faults.add(fault)
    },
    setBack(wasBooked, isBooked) {
      for (const request of requests.values()) {
        if (!wasBooked(request) || isBooked(request)) continue
        request.faults.add('ledger_lost')
        unresolved.add(request)
      }
    },
  }
}

function createTakes(): Takes {
  const used: Use[] = []
  const held = new Map<string, Take & { readonly offer: CappedOffer }>()
  const standings = new Map<string, { readonly open: Set<string>; used: bigint }>()
  const standingOf = (attempt: string) => {
    const rid = ridOf(attempt)
    const standing = standings.get(rid) ?? { open: new Set(), used: 0n }
    standings.set(rid, standing)
    return standing
  }
  /** Replaces a take by its used amount. */
  const use = (attempt: string, amount: bigint, now: number) => {
    const take = held.get(attempt)
    if (!held.delete(attempt) || take === undefined || take.deadline <= now || amount === 0n) return
    used.push({ offer: take.offer, rid: ridOf(attempt), pid: take.pid, amount })
  }
  return {
    standing: (rid) => ({ open: standings.get(rid)?.open.size ?? 0, used: standings.get(rid)?.used ?? 0n }),
    take(offer, attempt, take) {
      if (offer.capDailyMicro === null) return
      held.set(attempt, { offer, ...take })
      standingOf(attempt).open.add(attempt)
    },
    taken: (attempt) => held.get(attempt)?.amount,
    charge(rid, amount, now) {
      for (const attempt of standings.get(rid)?.open ?? []) use(attempt, amount, now)
    },
    settle(attempt, amount, now) {
      const standing = standings.get(ridOf(attempt))
      if (standing?.open.delete(attempt) !== true) return
      standing.used += amount
      use(attempt, amount, now)
    },
    totals(now, { isAlive, keptOf, isAway }) {
      const totals = new Map<CappedOffer, bigint>()
      for (const use of used) {
        if (isAway(use.rid)) continue
        totals.set(use.offer, (totals.get(use.offer) ?? 0n) + (isAlive(use.pid) ? use.amount : keptOf(use)))
      }
      for (const [attempt, { offer, amount, pid, deadline }] of held) {
        if (isAway(ridOf(attempt)) || deadline <= now || !isAlive(pid)) continue
        totals.set(offer, (totals.get(offer) ?? 0n) + amount)
      }
      return totals
    },
  }
}

function ridOf(attempt: string): string {
  return attempt.split('.')[0] ?? ''
}
