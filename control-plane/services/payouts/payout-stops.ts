import type { Trx } from '#control-plane/db/database.ts'
import { readMoneyEpoch } from '#control-plane/db/money-epoch.ts'
import { liftPayoutHold, listPayoutHolds, setPayoutHold } from '#control-plane/db/payout-holds.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { PayoutCtx } from './treasury-ctx.ts'

/**
 * The reasons that stop every payout. `ledger_check`: a check of money, or a review, has found a fault that a person
 * must look at, or the ledger was restored and does not agree with the chain yet.
 */
export const PAYOUT_STOPS = ['not_set_up', 'switched_off', 'ledger_check'] as const
export type PayoutStop = (typeof PAYOUT_STOPS)[number]

/** The reason why no payout runs now; undefined while payouts run. */
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

/** Ends a stop of payouts whose reason is gone, without a person's decision. */
export async function liftPayouts({ log }: Pick<Ctx, 'log'>, trx: Trx, reason: string): Promise<void> {
  if (await liftPayoutHold(trx, reason)) log.warn({ reason }, 'the reason of a stop of payouts is gone: the stop ends')
}
