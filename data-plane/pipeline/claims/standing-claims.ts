import type { JournalReplay } from '#data-plane/journal/journal.ts'
import type { Chargeable, Hold, PaymentDesk } from '#data-plane/payment.ts'
import { subjectOf } from '#data-plane/pipeline/event-subject.ts'
import type { Rail } from '#data-plane/rails/rail.ts'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { HeldClaimText } from '#shared/contract/chain-payments.ts'
import { MAX_HELD_CLAIMS } from '#shared/contract/chain-payments.ts'
import type { LedgerRestore } from '#shared/contract/money-scripts.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { claimOf } from './held-claim.ts'

/** A process whose desk takes no claims for this long continues without them, because calls of credit wait as well. */
const BRING_MS = 90 * SECOND

type Watched = {
  readonly replay: Pick<JournalReplay, 'unposted'>
  /** The holds of running calls, and the reserves without an answer yet. */
  readonly running: Map<string, Hold>
  readonly reserving: Set<Promise<unknown>>
}

type Parts = {
  readonly desk: Pick<PaymentDesk, 'claimAgain'>
  readonly clock: Pick<Time, 'monotonic' | 'now'>
  readonly log: Logger
}

/**
 * The claims of running calls, and of the charges in the journal. A restored ledger may have lost them. The ledger
 * takes no new claim before the nodes have reported the standing ones: otherwise an authorization would pay for a
 * second call.
 */
export type StandingClaims = {
  /** Wraps a rail so that the claims of its calls are known. */
  watched<Proof>(rail: Rail<Proof>, replay: Pick<JournalReplay, 'unposted'>): Rail<Proof>
  /** Signals that all rails are wrapped. */
  start(): void
  /** Reports all claims, once for each restore. Rejects before the start, and while the desk does not take them. */
  bring(restore: LedgerRestore | undefined): Promise<void>
}

export function createStandingClaims({ desk, clock, log }: Parts): StandingClaims {
  const rails: Watched[] = []
  let isStarted = false
  /**
   * The last restore whose claims were reported, and the one whose claims are being reported, as an instant in
   * monotonic ms.
   */
  let broughtAt: number | undefined
  let bringing: { readonly at: number; readonly since: number } | undefined

  async function tell(): Promise<number> {
    let notices = 0
    let batch: HeldClaimText[] = []
    for await (const subject of standingIn(rails)) {
      const claim = claimOf(subject, clock.now())
      if (claim === undefined || batch.push(claim) < MAX_HELD_CLAIMS) continue
      await desk.claimAgain(batch)
      notices += batch.length
      batch = []
    }
    if (batch.length > 0) await desk.claimAgain(batch)
    return notices + batch.length
  }

  return {
    watched(rail, replay) {
      const own: Watched = { replay, running: new Map(), reserving: new Set() }
      rails.push(own)
      return watch(rail, own)
    },
    start() {
      isStarted = true
    },
    async bring(restore) {
      if (restore === undefined || restore.at === broughtAt) return
      if (!isStarted) throw new AppError('service_unavailable')
      if (bringing?.at !== restore.at) bringing = { at: restore.at, since: clock.monotonic() }
      try {
        const claims = await tell()
        if (claims > 0) log.warn({ claims }, 'sent the claims again that the ledger may have lost')
      } catch (error) {
        if (clock.monotonic() - bringing.since < BRING_MS) throw error
        log.error({ cause: describeCause(error) }, 'claims that the ledger may have lost could not be reported')
      }
      broughtAt = restore.at
    },
  }
}

function watch<Proof>(rail: Rail<Proof>, { running, reserving }: Watched): Rail<Proof> {
  return {
    ...rail,
    async reserve(...parameters) {
      const answer = rail.reserve(...parameters)
      reserving.add(answer)
      try {
        const hold = await answer
        if (hold.record?.['claim'] !== undefined) running.set(hold.rid, hold)
        return hold
      } finally {
        reserving.delete(answer)
      }
    },
    async settle(hold, charge, event) {
      try {
        return await rail.settle(hold, charge, event)
      } finally {
        running.delete(hold.rid)
      }
    },
    release(hold, reason, event) {
      running.delete(hold.rid)
      return rail.release(hold, reason, event)
    },
  }
}

/** A call that ends meanwhile is in the journal before it leaves the running calls. */
async function* standingIn(rails: readonly Watched[]): AsyncGenerator<Chargeable> {
  for (const { running, reserving, replay } of rails) {
    await Promise.allSettled([...reserving])
    yield* [...running.values()]
    for await (const text of replay.unposted()) {
      const event = readUsageEvent(text)
      const subject = event && subjectOf(event)
      if (subject !== undefined) yield subject
    }
  }
}
