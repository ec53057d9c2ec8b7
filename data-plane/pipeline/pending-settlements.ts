import type { JournalReplay, OpenJournal } from '#data-plane/journal/journal.ts'
import type { Chargeable, PayerIdentity, Settled } from '#data-plane/payment.ts'
import type { Rail } from '#data-plane/rails/rail.ts'
import type { Cancel, Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { RailName } from '#shared/contract/rails.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { describeCause } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import { ZERO } from '#shared/money.ts'
import type { CallPlane } from './call-plane.ts'
import { announce } from './emit-call.ts'

type WatchedRail = {
  readonly settle: Rail<unknown>['settle']
  readonly replay: JournalReplay
  /** The recaptures of the journal whose captures were settled once more. */
  recaptures: number
}

/** Milliseconds between two tries of what is pending. */
const TURN_MS = SECOND

type Parts = {
  readonly journal: Pick<OpenJournal, 'replay'>
  readonly events: CallPlane['events']
  readonly clock: Pick<Time, 'every'>
  readonly log: Logger
}

/**
 * Charges that their rail could not make final at once, and charges that dead processes left in their journals. Each is
 * settled again, by its own rail and with the same bytes, until it is final. So are all that the journal holds once the
 * ledger went back in time. Then the booking hears of it and the
 * journal lets go of it. Charges of credit are not among them, because the gate recovers them itself; see
 * store/funds-recovery.ts.
 */
export type PendingSettlements = {
  /** Wraps a rail so that its pending settlements are tried again. */
  watched<Proof>(rail: Rail<Proof>): Rail<Proof>
  start(): void
  /** Resolves when no try is under way any more. */
  close(): Promise<void>
}

export function createPendingSettlements({ journal, events, clock, log }: Parts): PendingSettlements {
  const rails = new Map<RailName, WatchedRail>()
  /** Request ids to be settled again, and request ids that are final and not yet crossed off in the journal. */
  const pending = new Set<string>()
  const over = new Set<string>()
  let underWay: Promise<void> | undefined
  let cancel: Cancel | undefined

  function note(rid: string, { state }: Settled): void {
    if (state === 'pending') {
      pending.add(rid)
      return
    }
    pending.delete(rid)
    over.add(rid)
  }

  async function settleAgain(settle: Rail<unknown>['settle'], text: string): Promise<void> {
    const event = readUsageEvent(text)
    const subject = event && subjectOf(event)
    if (event === undefined || subject === undefined) {
      log.error({ rid: event?.rid }, 'the journal holds a charge that nobody can settle')
      return
    }
    // The cost of a job was paid at its submit, so its end charges nothing.
    const { booking } = await settle(subject, event.kind === 'end' ? ZERO : event.chargeMicro, text)
    announce({ events }, subject, { booking, event: text })
  }

  async function finish(rail: WatchedRail): Promise<void> {
    const { settle, replay } = rail
    for (const inheritance of replay.inherited()) {
      for await (const text of replay.unposted(inheritance)) await settleAgain(settle, text)
      replay.crossOff(inheritance)
    }
    const due = new Set(pending)
    // The ledger went back, so each of these may be one that it had and lost.
    const recaptures = replay.recaptures()
    const isAll = recaptures !== rail.recaptures
    if (due.size > 0 || isAll) {
      for await (const text of replay.unposted()) if (isAll || due.has(ridOf(text))) await settleAgain(settle, text)
    }
    rail.recaptures = recaptures
    if (over.size === 0) return
    const crossedOff: string[] = []
    await replay.advance(async (captures) =>
      captures.map(({ rid }) => {
        if (over.has(rid)) crossedOff.push(rid)
        return over.has(rid)
      }),
    )
    for (const rid of crossedOff) over.delete(rid)
  }

  async function turn(): Promise<void> {
    for (const rail of rails.values()) await finish(rail)
  }

  return {
    watched(rail) {
      const settle: typeof rail.settle = async (hold, charge, event) => {
        const settled = await rail.settle(hold, charge, event)
        note(hold.rid, settled)
        return settled
      }
      // This is set at once, because dead processes' captures are kept for the rails that the journal knows of.
      rails.set(rail.name, { settle, replay: journal.replay(rail.name), recaptures: 0 })
      return { ...rail, settle }
    },
    start() {
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

function ridOf(text: string): string {
  return readUsageEvent(text)?.rid ?? ''
}

/** The payer, rail and id under which a journalled event was charged; undefined when it names no payer. */
export function subjectOf({ rid, rail, account, keyId, wallet, payment }: UsageEvent): Chargeable | undefined {
  const identity = identityOf(account, keyId, wallet ?? null)
  return identity && { ...identity, rid, rail, record: payment ?? null }
}

function identityOf(account: string | null, keyId: string | null, wallet: string | null): PayerIdentity | undefined {
  if (account === null) return wallet === null ? undefined : { account, keyId: null, wallet }
  if (!isId('acc', account)) return undefined
  return { account, keyId: keyId !== null && isId('key', keyId) ? keyId : null, wallet }
}
