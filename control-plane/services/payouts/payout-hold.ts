import { z } from 'zod'
import { readMoneyEpoch } from '#control-plane/db/money-epoch.ts'
import { listPayoutHolds } from '#control-plane/db/payout-holds.ts'
import { listOpenPayouts } from '#control-plane/db/treasury-transfers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import type { AccountId } from '#shared/ids.ts'
import type { PayoutStop } from './payout-stops.ts'
import { findPayoutStop } from './payout-stops.ts'
import { findGroupHold } from './plan-payouts.ts'
import { readGroups } from './read-groups.ts'

/** Most holds and payouts that are read for the oldest. */
const MOST_READ = 100

/** The reason why money of a seller is withheld, and its start. */
export const PayoutHoldViewSchema = z
  .object({
    code: z.string().describe('The reason, as the error code of a payout request.'),
    reason: z.string().describe('The reason in words.'),
    since: UnixMs.nullable().describe('The start, in Unix milliseconds. Null where it is not recorded.'),
  })
  .meta({ id: 'PayoutHold', description: 'The reason why payouts wait, and the start of the wait.' })
export type PayoutHoldView = z.infer<typeof PayoutHoldViewSchema>

/** Sellers do not see which check failed. */
const STOPPED: Readonly<Record<PayoutStop, string>> = {
  not_set_up: 'This market makes no payouts.',
  switched_off: 'Payouts are switched off.',
  ledger_check: 'The books are being checked.',
}

/**
 * The reason why a payout request answers `held`: all payouts wait, a recipient's money is withheld, or a payout waits
 * for an operator. Undefined when nothing is withheld.
 */
export async function findPayoutHold(
  ctx: Pick<RunCtx, 'db' | 'controls' | 'treasury' | 'clock' | 'settings'>,
  seller: AccountId,
): Promise<PayoutHoldView | undefined> {
  const stop = await findPayoutStop(ctx)
  if (stop !== undefined) {
    return { code: stop, reason: STOPPED[stop], since: stop === 'ledger_check' ? await checkedSince(ctx) : null }
  }
  const { groups } = await readGroups(ctx, ctx.db, seller)
  for (const group of groups) {
    const hold = group.available > 0n ? await findGroupHold(ctx, ctx.db, seller, group) : undefined
    if (hold !== undefined) return { code: hold, reason: 'Money at a recipient is withheld.', since: null }
  }
  const open = await listOpenPayouts(ctx.db, seller, undefined, MOST_READ)
  const held = open.filter(({ state }) => state === 'held').at(-1)
  if (held === undefined) return undefined
  return { code: held.reason ?? 'operator', reason: 'A payout waits for an operator.', since: held.plannedAt.getTime() }
}

/** The start of a check of the books: the oldest hold, or the restore of the ledger. */
async function checkedSince({ db }: Pick<RunCtx, 'db'>): Promise<number | null> {
  const payoutHolds = await listPayoutHolds(db, true, MOST_READ)
  const { heldAt } = await readMoneyEpoch(db)
  const since = [payoutHolds.at(-1)?.setAt, heldAt].filter((at) => at !== undefined)
  return since.length === 0 ? null : Math.min(...since)
}
