import type { CappedOffer } from '#data-plane/call.ts'
import type { CaptureOutcome } from '#data-plane/payment.ts'
import type { AccountId, KeyId, RequestId } from '#shared/ids.ts'

/** A request as anybody outside can tell: what was set aside, what was delivered, and what was written down. */
export type ModelRequest = {
  readonly rid: RequestId
  readonly account: AccountId
  readonly keyId: KeyId | null
  readonly machine: string
  /** The process that serves it. */
  readonly pid: number
  state: 'asking' | 'refused' | 'running' | 'captured' | 'released'
  heldMicro: bigint
  /** When its hold may end, by the wall clock of the world. */
  deadline: number
  /** What the provider has delivered so far is worth. */
  deliveredMicro: bigint
  /** What the capture in the journal says. */
  chargeMicro: bigint | undefined
  offer: string | null
  sellerAccount: string | null
  /** When it was captured, in milliseconds of the world. */
  capturedAt: number
  /** How sure its process heard that the charge is. */
  captured: CaptureOutcome | undefined
  /** Its buyer was told of the charge, on a disk that takes what it is given: the charge must last. */
  isAcknowledged: boolean
  /** Faults that have befallen it: two of them together excuse what neither does alone. */
  readonly faults: Set<RequestFault>
}

/**
 * `redis_lost`: Redis forgot something after it was made. `journal_lost`: so did its machine's disk. `owner_away`: its
 * process was dead, frozen or cut off while the gate was rebuilt or its hold ran out.
 */
export type RequestFault = 'redis_lost' | 'journal_lost' | 'owner_away'

/** Whether two faults together have taken every copy of what somebody was told. */
export function isLost({ faults }: ModelRequest): boolean {
  return faults.has('redis_lost') && faults.has('journal_lost')
}

/** Whether the buyer was told of a charge that Redis was not there to take: the disk has it, whatever dies. */
export function isOnDisk({ captured, isAcknowledged }: ModelRequest): boolean {
  return isAcknowledged && captured === 'queued'
}

/** What is taken and used of the daily caps of offers. */
export type Takes = {
  take(offer: CappedOffer, attempt: string, take: Take): void
  settle(attempt: string, amount: bigint, now: number): void
  /** A request is written down with a charge: whoever brings that counts it in place of what is taken for it. */
  charge(rid: string, amount: bigint, now: number): void
  /** Takes of a request that nobody has settled, and what the others came to. */
  standing(rid: string): { readonly open: number; readonly used: bigint }
  /** Held and used of each offer with a cap, as far as the gate can know of it at `now`. */
  totals(now: number, known: Known): ReadonlyMap<CappedOffer, bigint>
}

/**
 * What living processes hold and have used is known, and of what those used that died, `keptOf` says how much still is;
 * nothing of calls whose owner was away when the gate opened.
 */
export type Known = {
  isAlive(pid: number): boolean
  keptOf(use: Use): bigint
  isAway(rid: string): boolean
}

/** What a call came to of what it had taken. */
export type Use = { readonly offer: CappedOffer; readonly rid: string; readonly pid: number; readonly amount: bigint }

/** A take counts until its deadline; afterwards it is nobody's. */
type Take = { readonly amount: bigint; readonly pid: number; readonly deadline: number }

/** What should have happened to everybody's money. It knows of no Redis, no journal and no queue. */
export type Model = {
  readonly requests: Map<string, ModelRequest>
  /** Those of them that may still be running or wait for their posting. */
  readonly unresolved: Set<ModelRequest>
  readonly takes: Takes
  /** Takes ran out: what was used of an offer's cap may not be counted any more. */
  hasLostCaps: boolean
  /** Deposits and debits that are booked, by account. */
  readonly moved: Map<AccountId, bigint>
  start(request: Pick<ModelRequest, 'rid' | 'account' | 'keyId' | 'machine' | 'pid'>): ModelRequest
  /** Notes a fault on every request that it befalls. */
  befall(fault: RequestFault, isHit: (request: ModelRequest) => boolean): void
}

export function createModel(): Model {
  const requests = new Map<string, ModelRequest>()
  const unresolved = new Set<ModelRequest>()
  return {
    requests,
    unresolved,
    hasLostCaps: false,
    takes: createTakes(),
    moved: new Map(),
    start(given) {
      const request: ModelRequest = {
        ...given,
        state: 'asking',
        heldMicro: 0n,
        deadline: 0,
        deliveredMicro: 0n,
        chargeMicro: undefined,
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
  /** A take becomes what was used of it. */
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
