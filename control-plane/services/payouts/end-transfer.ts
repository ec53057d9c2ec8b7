import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { TransferId } from '#control-plane/db/tables/treasury.ts'
import type { TransferChange, TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { changeTransfer, lockTransfer, releasePayoutItems } from '#control-plane/db/treasury-transfers.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { tellOfPayout } from './tell-of-payout.ts'
import type { TransferEvent } from './transfer-states.ts'
import { TRANSFER_STEPS } from './transfer-states.ts'
import type { PayoutCtx } from './treasury-ctx.ts'

export type EndCtx = Pick<PayoutCtx, 'db' | 'ids' | 'clock' | 'wake' | 'log'>

/** Moves a transfer one step on, if its state allows the step. True when it did. */
export async function stepTransfer(
  ctx: EndCtx,
  id: TransferId,
  event: TransferEvent,
  changes: TransferChange = {},
): Promise<boolean> {
  const done = await transact(ctx.db, async (trx) => {
    const transfer = await lockTransfer(trx, id)
    return transfer === undefined ? false : takeStep(ctx, trx, transfer, { event, changes })
  })
  return done
}

type Step = { readonly event: TransferEvent; readonly changes?: TransferChange }

/** The step of a locked transfer. An end is booked in the same transaction. True when the state allowed the step. */
export async function takeStep(
  ctx: Pick<EndCtx, 'ids' | 'clock'>,
  trx: Trx,
  transfer: TreasuryTransfer,
  { event, changes = {} }: Step,
): Promise<boolean> {
  const state = TRANSFER_STEPS[transfer.state][event]
  if (state === null) return false
  const isEnded = state === 'paid' || state === 'returned'
  await changeTransfer(trx, transfer.id, { ...changes, state, ...(isEnded ? { isEnded: true } : {}) })
  if (!isEnded) return true
  await bookEnd(ctx, trx, transfer, state)
  crashPoint('payout_in_tx')
  await tellOfPayout(ctx, trx, { ...transfer, ...changes, state })
  return true
}

/** Books the end of a payout: out of the books, or back to its seller. A sweep stays within the treasury. */
async function bookEnd(
  ctx: Pick<EndCtx, 'ids'>,
  trx: Trx,
  { id, seller, inFlight, amount }: TreasuryTransfer,
  state: 'paid' | 'returned',
): Promise<void> {
  if (seller === null || inFlight === null) return
  const isPaid = state === 'paid'
  const booked = await postTransaction(moneyTransaction(trx), {
    id: ctx.ids.ulid(),
    key: `payout_${state}:${id}`,
    kind: `payout_${state}`,
    note: id,
    entries: [
      { account: inFlight, amount: -amount },
      { account: isPaid ? PLATFORM_ACCOUNTS.externalUsdc : seller, amount },
    ],
  })
  if (booked === undefined) throw new Error(`the end of ${id} was booked and not marked`)
  if (!isPaid) await releasePayoutItems(trx, id)
}
