import { z } from 'zod'
import type { MoneyRecord } from '#control-plane/db/money-epoch.ts'
import { markRestored } from '#control-plane/db/money-epoch.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { Gate } from '#control-plane/ports/gate/gate.ts'
import type { GateView } from '#control-plane/ports/gate-keeper/gate-keeper.ts'
import type { MoneyLedger } from '#control-plane/ports/ledger/money-ledger.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import { oneLine } from '#shared/texts.ts'

/**
 * A ledger can go back in time: an operator restores a backup, or a replica is promoted that lacks the last commits.
 * The gate then has balances that no longer exist, and posted calls are missing. The first process to notice records
 * the instant to which the ledger went back. The rebuilder then raises an epoch, in which every node registers the
 * captures again that were posted after that instant.
 */

type Parts = { readonly ledger: MoneyLedger; readonly log: Logger }

/** The largest difference between a node's clock and that of Postgres. */
const CLOCK_MARGIN_MS = MINUTE
/** The longest time that a journal keeps a posted capture. */
export const JOURNAL_MS = 48 * HOUR
/** Most accounts of one check for a lower version. */
const MAX_ASKED = 20

/**
 * Compares the database with the one on record. Another cluster or timeline means that the ledger may lack its tail.
 */
export async function noticeOtherDatabase({ ledger, log }: Parts): Promise<void> {
  const { here, known } = await ledger.readIdentity()
  if (known?.systemId === here.systemId && known.timeline === here.timeline) return
  if (known !== undefined) {
    const { beatAt } = await ledger.readEpoch()
    log.error({ here, known, restoredTo: beatAt }, 'the ledger is another database than before')
    // The restore is recorded first: after a death in between, the next process sees the other database again.
    await ledger.markRestored(beatAt - CLOCK_MARGIN_MS)
  }
  await ledger.noteIdentity(here)
}

/** Records that the ledger went back in time, if it is another database or has a lower beat than it once published. */
export async function noticeStepBack(parts: Parts, ledgerBeat: number | undefined): Promise<void> {
  await noticeOtherDatabase(parts)
  await noticeLowBeat(parts, await parts.ledger.readEpoch(), { ledgerBeat })
}

/** Returns true, and records a restore, when the gate has a newer beat of the ledger than the ledger itself. */
export async function noticeLowBeat(
  { ledger, log }: Parts,
  record: MoneyRecord,
  view: Pick<GateView, 'ledgerBeat'>,
): Promise<boolean> {
  const { ledgerBeat } = view
  if (ledgerBeat === undefined || ledgerBeat <= record.beat) return false
  const restoredTo = record.beatAt - CLOCK_MARGIN_MS
  log.error({ beat: record.beat, inGate: ledgerBeat, restoredTo }, 'the ledger went back in time')
  await ledger.markRestored(restoredTo, ledgerBeat)
  return true
}

/**
 * Records that transfers left which the ledger does not know, found by their nonces. The size of the step back is
 * unknown, so everything in the journals is registered again.
 */
export async function noticeSpent(
  { ledger, log, clock }: Parts & { readonly clock: Pick<Time, 'now'> },
  nonces: ReadonlySet<string>,
): Promise<void> {
  log.error({ nonces: [...nonces].slice(0, MAX_ASKED) }, 'transfers have left that the ledger does not know')
  await ledger.markRestored(clock.now() - JOURNAL_MS)
}

type Suspects = Parts & { readonly gate: Pick<Gate, 'spendable'>; readonly clock: Pick<Time, 'now'> }

/**
 * Checks accounts for which the gate had a newer version than a posting reported. Postings overtake each other, so the
 * ledger is read again, after the gate. When the ledger still has the older version, it went back in time by an unknown
 * step, so everything in the journals is registered again. One check runs at a time.
 */
export function watchVersions(parts: () => Suspects): (accounts: readonly AccountId[]) => void {
  let isLooking = false

  async function look({ ledger, gate, clock, log }: Suspects, accounts: readonly AccountId[]): Promise<void> {
    const inGate = await Promise.all(accounts.map((account) => gate.spendable(account)))
    const inLedger = new Map((await ledger.findBalances(accounts)).map((row) => [row.account, row.version]))
    const lostAccount = accounts.find(
      (account, index) => (inLedger.get(account) ?? 0n) < (inGate[index]?.version ?? 0n),
    )
    if (lostAccount === undefined || isNoticed(await ledger.readEpoch())) return
    log.error({ account: lostAccount }, 'the ledger has an older version of an account than the gate')
    await ledger.markRestored(clock.now() - JOURNAL_MS)
  }

  return (accounts) => {
    if (isLooking) return
    isLooking = true
    const suspects = parts()
    look(suspects, accounts.slice(0, MAX_ASKED))
      .catch((error: unknown) =>
        suspects.log.warn({ cause: describeCause(error) }, 'older balances could not be explained'),
      )
      .finally(() => {
        isLooking = false
      })
  }
}

/**
 * True while a step back is on record and the gate is not rebuilt for it: until the rebuild the gate has newer
 * versions.
 */
function isNoticed({ isRestoreNew, heldAt, joinedAt }: MoneyRecord): boolean {
  return isRestoreNew || (heldAt !== undefined && joinedAt === undefined)
}

const RepostInput = z.strictObject({
  since: z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
  reason: oneLine(500).trim().min(1),
})

export const repostJournals = defineOperation({
  name: 'journal.repost',
  summary: 'Post the journals again from an instant on',
  access: 'operator',
  input: RepostInput,
  limit: 'none',
  idempotency: 'none',
  output: z.object({ since: z.iso.datetime() }),
  run: (ctx, _actor, { since, reason }) => askForRepost(ctx, since, reason),
})

/**
 * Makes every node register the captures again that were posted after an instant: the manual way, for a restore that no
 * process noticed. The rebuilder finishes within seconds. Paid calls are refused until the nodes have read their
 * journals. Throws `invalid_request` for an instant in the future, or before the journals begin.
 */
export async function askForRepost(
  { clock, change }: Pick<RunCtx, 'clock' | 'change'>,
  since: Date,
  reason: string,
): Promise<{ readonly since: string }> {
  const now = clock.now()
  const refuse = (message: string) => new AppError('invalid_request', { message, param: 'since' })
  if (since.getTime() > now) throw refuse('`since` lies in the future.')
  if (since.getTime() < now - JOURNAL_MS) throw refuse('`since` is more than 48 hours ago: no journal reaches so far.')
  await change(
    (trx) => markRestored(trx, since.getTime()),
    () => ({ subject: 'ledger', before: {}, after: { since: since.toISOString(), reason } }),
  )
  return { since: since.toISOString() }
}
