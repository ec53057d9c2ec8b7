import { lockAccounts } from '#control-plane/db/accounts.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { findSellerOwner } from '#control-plane/db/offer-earnings.ts'
import { findPayee } from '#control-plane/db/offers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { tellSeller } from '#control-plane/services/payouts/tell-of-payout.ts'
import type { AccountId, OfferId } from '#shared/ids.ts'

type PayeeCtx = Pick<RunCtx, 'clock' | 'ids' | 'settings'>

type NewAddress = {
  readonly seller: AccountId
  /** Null for the wallet of the account, the default payout address of its offers. */
  readonly offer: OfferId | null
  readonly from: string | null
  readonly to: string | null
}

/**
 * Notes that an offer or an account has a new payout address, and notifies the seller at once, so that the thief of a
 * key cannot divert money unseen. Returns the Unix milliseconds from which the address cools.
 */
export async function notePayee(ctx: PayeeCtx, trx: Trx, { seller, offer, from, to }: NewAddress): Promise<number> {
  const at = ctx.clock.now()
  const data = { offer_id: offer, from, to, paid_from: at + ctx.settings.payouts.coolingMs }
  await tellSeller(ctx, trx, seller, { event: 'payout.address_changed', data })
  return at
}

/**
 * The Unix milliseconds at which the address of a new offer begins to cool; undefined for an address that needs no
 * cooling. The age of the account's wallet counts from its link, that of another offer's address from that offer. Any
 * other payee is new.
 */
export async function payeeSince(
  ctx: PayeeCtx,
  trx: Trx,
  { seller, offer, to }: Pick<NewAddress, 'seller' | 'to'> & { readonly offer: OfferId },
): Promise<number | undefined> {
  if (to === null) return undefined
  const owner = await findSellerOwner(trx, seller)
  if (to === owner?.wallet) return owner.walletSince?.getTime()
  // Rows of a bulk creation arrive at once. The first row with an address reports it, and the others find it known.
  await lockAccounts(trx, [seller])
  const payee = await findPayee(trx, seller, to)
  return payee === undefined ? notePayee(ctx, trx, { seller, offer, from: null, to }) : payee.since?.getTime()
}
