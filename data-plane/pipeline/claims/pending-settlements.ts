import type { JournalReplay, OpenJournal } from '#data-plane/journal/journal.ts'
import type { PaymentDesk, Settled } from '#data-plane/payment.ts'
import type { CallMoney } from '#data-plane/pipeline/call-plane.ts'
import { announce } from '#data-plane/pipeline/emit-call.ts'
import { subjectOf } from '#data-plane/pipeline/event-subject.ts'
import type { Rail } from '#data-plane/rails/rail.ts'
import type { Cancel, Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { LedgerRestore } from '#shared/contract/money-scripts.ts'
import type { RailName } from '#shared/contract/rails.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { ZERO } from '#shared/money.ts'
import { createStandingClaims } from './standing-claims.ts'

type WatchedRail = {
  readonly settle: Rail<unknown>['settle']
  readonly replay: JournalReplay
  /** The number of recaptures in the journal when the captures were last settled again. */
  recaptures: number
}

/** Milliseconds between two attempts to settle pending charges. */
const TURN_MS = SECOND
/**
 * Charges that are settled again together. Each may wait seconds for the chain, and after a restore there are
 * thousands.
 */
const SETTLED_AT_ONCE = 8

type Parts = {
  readonly journal: Pick<OpenJournal, 'replay'>
  readonly events: Pick<CallMoney['events'], 'captured' | 'usage'>
  readonly desk: Pick<PaymentDesk, 'claimAgain'>
  readonly clock: Pick<Time, 'every' | 'monotonic' | 'now'>
  readonly log: Logger
}

/**
 * Charges that their rail could not make final at once, and charges that dead processes left in their journals. Each is
 * settled again, by its own rail and with the same bytes, until it is final. Then the booking learns of it and the
 * journal drops it. After a restore of the ledger, every charge in the journal is settled again. Charges of credit are
 * not among them, because the gate recovers them itself; see store/funds-recovery.ts.
 */
export type PendingSettlements = {
  /** Wraps a rail so that its pending settlements are tried again. */
  watched<Proof>(rail: Rail<Proof>): Rail<Proof>
  start(): void
  /**
   * Reports to the desk the claims of all running calls and of all charges in the journal, once for each restore of the
   * ledger: the desk takes no new claim before that. Rejects while the desk does not take them.
   */
  bringClaims(restore: LedgerRestore | undefined): Promise<void>
  /** Resolves when no attempt is under way. */
  close(): Promise<void>
}

export function createPendingSettlements({ journal, events, desk, clock, log }: Parts): PendingSettlements {
  const rails = new Map<RailName, WatchedRail>()
  /** Request ids to be settled again. */
  const pending = new Set<string>()
  /**
   * Request ids that are final but still in the journal, with the number of recaptures of the journal before they were
   * settled. A ledger that was restored since then may not know of them.
   */
  const over = new Map<string, number>()
  let underWay: Promise<void> | undefined
  let cancel: Cancel | undefined
  const claims = createStandingClaims({ desk, clock, log })

  /** `isOld`: the ledger was restored since the settlement began. */
  function note(rid: string, { state }: Settled, recaptures: number, isOld: boolean): void {
    if (state === 'pending' || isOld) {
      pending.add(rid)
      return
    }
    pending.delete(rid)
    over.set(rid, recaptures)
  }

  async function finish(rail: WatchedRail): Promise<void> {
    const { settle, replay } = rail
    const again = (text: string) => settleAgain({ events, log }, settle, text)
    for (const inheritance of replay.inherited()) {
      await settleEach(again, replay.unposted(inheritance))
      replay.crossOff(inheritance)
    }
    const due = new Set(pending)
    // After a restore of the ledger, each of these may be a charge that it lost.
    const recaptures = replay.recaptures()
    const isAll = recaptures !== rail.recaptures
    if (due.size > 0 || isAll) {
      await settleEach(again, replay.unposted(), (text) => isAll || due.has(ridOf(text)))
    }
    rail.recaptures = recaptures
    if (over.size === 0) return
    const crossedOff: string[] = []
    await replay.advance(async (captures) =>
      captures.map(({ rid }) => {
        const isOver = over.get(rid) === replay.recaptures()
        if (isOver) crossedOff.push(rid)
        return isOver
      }),
    )
    if (crossedOff.length === 0) return
    // A second capture of the call may be in an inheritance that is not checked yet.
    const left = replay.unpostedRids()
    for (const rid of crossedOff) if (!left.has(rid)) over.delete(rid)
  }

  async function turn(): Promise<void> {
    for (const rail of rails.values()) await finish(rail)
  }

  return {
    watched(rail) {
      // The replay is made at once, because dead processes' captures are kept for the rails that the journal knows of.
      const replay = journal.replay(rail.name)
      const heldRail = claims.watched(rail, replay)
      const settle: typeof rail.settle = async (hold, charge, event) => {
        const recaptures = replay.recaptures()
        const settlement = await heldRail.settle(hold, charge, event)
        note(hold.rid, settlement, recaptures, recaptures !== replay.recaptures())
        return settlement
      }
      rails.set(rail.name, { settle, replay, recaptures: 0 })
      return { ...heldRail, settle }
    },
    bringClaims: (restore) => claims.bring(restore),
    start() {
      claims.start()
      cancel = clock.every(TURN_MS, () => {
        underWay ??= turn()
          .catch((error: unknown) => log.warn({ cause: describeCause(error) }, 'pending charges could not be settled'))
          .finally(() => {
            underWay = undefined
          })
      })
    },
    async close() {
      cancel?.()
      await underWay
    },
  }
}

/** Settles charges again, some at once. Rejects with the first failure, when the running ones have ended. */
async function settleEach(
  again: (text: string) => Promise<void>,
  texts: AsyncIterable<string>,
  isDue: (text: string) => boolean = () => true,
): Promise<void> {
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  for await (const text of texts) {
    if (failures.length > 0) break
    if (!isDue(text)) continue
    const task: Promise<void> = again(text)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(task))
    running.add(task)
    if (running.size >= SETTLED_AT_ONCE) await Promise.race(running)
  }
  await Promise.all(running)
  if (failures.length > 0) throw failures[0]
}

async function settleAgain(
  { events, log }: Pick<Parts, 'events' | 'log'>,
  settle: Rail<unknown>['settle'],
  text: string,
): Promise<void> {
  const event = readUsageEvent(text)
  const subject = event && subjectOf(event)
  if (event === undefined || subject === undefined) {
    log.error({ rid: event?.rid }, 'the journal has a charge that cannot be settled')
    return
  }
  // The cost of a job was paid at its submit, so its end charges nothing.
  const { booking } = await settle(subject, event.kind === 'end' ? ZERO : event.chargeMicro, text)
  announce({ events }, subject, { booking, event: text })
}

function ridOf(text: string): string {
  return readUsageEvent(text)?.rid ?? ''
}
