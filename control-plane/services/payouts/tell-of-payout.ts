import type { Trx } from '#control-plane/db/database.ts'
import { findSellerOwner } from '#control-plane/db/offer-earnings.ts'
import type { WebhookEvent } from '#control-plane/db/tables/webhooks.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { listWebhooks } from '#control-plane/db/webhooks.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { addDelivery } from '#control-plane/services/webhooks/webhook-deliveries.ts'
import type { AccountId } from '#shared/ids.ts'

type TellCtx = Pick<Ctx, 'ids' | 'clock'>

/** The states of a payout that its seller is told of. */
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

/** Writes a delivery for each webhook of a seller's owner that listens for an event. */
export async function tellSeller(
  ctx: TellCtx,
  trx: Trx,
  seller: AccountId,
  told: { readonly event: WebhookEvent; readonly data: object },
): Promise<void> {
  const owner = await findSellerOwner(trx, seller)
  if (owner?.buyerAccount == null) return
  for (const { id, events, isEnabled } of await listWebhooks(trx, owner.buyerAccount)) {
    if (isEnabled && events.includes(told.event)) await addDelivery(ctx, trx, id, told)
  }
}
