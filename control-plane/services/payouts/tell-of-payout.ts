import type { Trx } from '#control-plane/db/database.ts'
import { findSellerOwner } from '#control-plane/db/offer-earnings.ts'
import type { WebhookEvent } from '#control-plane/db/tables/webhooks.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import type { AccountEvent, TellCtx } from '#control-plane/services/webhooks/tell-account.ts'
import { tellAccount } from '#control-plane/services/webhooks/tell-account.ts'
import type { AccountId } from '#shared/ids.ts'

/** The states of a payout that are announced to its seller, each with its event. */
const EVENTS: Partial<Record<TreasuryTransfer['state'], WebhookEvent>> = {
  held: 'payout.held',
  paid: 'payout.paid',
  returned: 'payout.returned',
}

/** Tells a payout's seller of its state, in the transaction that changes it. */
export async function tellOfPayout(ctx: TellCtx, trx: Trx, payout: TreasuryTransfer): Promise<void> {
  const { id, seller, recipient, amount, state, reason, transaction } = payout
  const event = EVENTS[state]
  if (event === undefined || seller === null) return
  const data = { payout_id: id, recipient, amount_usdc: amount.toString(), reason, tx_hash: transaction }
  await tellSeller(ctx, trx, seller, { event, data })
}

/** Tells a seller's owner, whose webhooks are made on the buyer's side. */
export async function tellSeller(ctx: TellCtx, trx: Trx, seller: AccountId, accountEvent: AccountEvent): Promise<void> {
  const owner = await findSellerOwner(trx, seller)
  if (owner?.buyerAccount != null) await tellAccount(ctx, trx, owner.buyerAccount, accountEvent)
}
