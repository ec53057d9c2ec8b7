import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { readMoneyEpoch } from '#control-plane/db/money-epoch.ts'
import { liftPayoutHold, listPayoutHolds, setPayoutHold } from '#control-plane/db/money-watch.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import type { PayoutCtx } from './treasury-ctx.ts'

/** Holds that are looked through for the oldest. */
const MOST_HOLDS = 20

/**
 * What stops every payout. `ledger_check`: a check of money, or a review, has found what a person must look at, or the
 * ledger went back in time and does not agree with the chain yet.
 */
export const PAYOUT_STOPS = ['not_set_up', 'switched_off', 'ledger_check'] as const
export type PayoutStop = (typeof PAYOUT_STOPS)[number]

/** Why nobody is paid out now; undefined when payouts go. */
export async function findPayoutStop({
  db,
  controls,
  treasury,
}: Pick<PayoutCtx, 'db' | 'controls' | 'treasury'>): Promise<PayoutStop | undefined> {
  if (treasury === null) return 'not_set_up'
  if (!(await controls.isOn('payouts'))) return 'switched_off'
  const isHeld = (await listPayoutHolds(db, true, 1)).length > 0 || (await readMoneyEpoch(db)).heldAt !== undefined
  return isHeld ? 'ledger_check' : undefined
}

/** Stops all payouts until a person clears the hold. */
export async function holdPayouts({ ids }: Pick<Ctx, 'ids'>, trx: Trx, reason: string): Promise<void> {
  await setPayoutHold(trx, ids.ulid(), reason)
}

/** Ends a stop of payouts whose reason is gone, as nobody's decision. */
export async function liftPayouts({ log }: Pick<Ctx, 'log'>, trx: Trx, reason: string): Promise<void> {
  if (await liftPayoutHold(trx, reason)) log.warn({ reason }, 'the reason of a stop of payouts is gone: the stop ends')
}

/** The reason for which payouts wait, and the Unix milliseconds since when. */
export const PayoutHoldViewSchema = z
  .object({
    reason: z.string(),
    since: UnixMs,
  })
  .meta({ id: 'PayoutHold' })
export type PayoutHoldView = z.infer<typeof PayoutHoldViewSchema>

/** The oldest reason for which all payouts wait; undefined when none does. Sellers do not see which check failed. */
export async function findPayoutHold(ctx: Pick<Ctx, 'db'>): Promise<PayoutHoldView | undefined> {
  const held = await listPayoutHolds(ctx.db, true, MOST_HOLDS)
  const { heldAt } = await readMoneyEpoch(ctx.db)
  const since = [held.at(-1)?.setAt, heldAt].filter((at) => at !== undefined)
  return since.length === 0 ? undefined : { reason: 'The books are being checked.', since: Math.min(...since) }
}
