import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { bigint, id, nullable, text, timestamp } from './tables/column.ts'

/** The earnings of an offer from a sale, in micro-USD. */
export type OfferEarning = { readonly offer: string; readonly seller: string; readonly amount: bigint }

/** Adds earnings of offers. The sellers' accounts are locked, so no other transaction writes these rows. */
export async function addOfferEarnings(trx: Trx, earnings: readonly OfferEarning[]): Promise<void> {
  if (earnings.length === 0) return
  await sql`insert into offer_earning as known (offer, seller, earned)
    select offer, min(seller), sum(amount) from unnest(
      ${earnings.map(({ offer }) => offer)}::text[],
      ${earnings.map(({ seller }) => seller)}::text[],
      ${earnings.map(({ amount }) => amount.toString())}::bigint[]) as given(offer, seller, amount)
    group by offer order by offer
    on conflict (offer) do update set earned = known.earned + excluded.earned`.execute(trx)
}

/** The earnings of an offer, and the part outside of payouts, with the address for its payouts. */
const OPEN_EARNING_ROW = {
  offer: text(),
  earned: bigint(),
  left: bigint(),
  /** Null for the seller's own wallet. */
  recipient: nullable(text()),
  recipientSince: nullable(timestamp()),
  /** Earnings still inside the hold period. */
  recent: bigint(),
}
export type OpenEarning = RowOf<typeof OPEN_EARNING_ROW>

/** The earnings of a seller by offer. Earnings from calls after the id `waitsAfter` are recent. */
export async function listOpenEarnings(
  db: Database | Trx,
  seller: AccountId,
  waitsAfter: string | undefined,
): Promise<OpenEarning[]> {
  const recent =
    waitsAfter === undefined
      ? sql`select null::text as offer, 0::bigint as amount where false`
      : sql`select offer, sum(seller_net) as amount from settlement
          where seller_account = ${seller} and rid >= ${waitsAfter} and seller_net > 0 group by offer`
  return readRows(
    db,
    OPEN_EARNING_ROW,
    sql`with recent as (${recent})
    select e.offer, e.earned, e.earned - e.allocated as left, o.payout_address as recipient,
      o.payout_address_since as "recipientSince", coalesce(r.amount, 0)::bigint as recent
    from offer_earning e left join offer o on o.id = e.offer left join recent r on r.offer = e.offer
    where e.seller = ${seller} order by e.offer`,
  )
}

/**
 * Recent income of a seller's account, from sales or other sources. Money that a payout returned is left out, because
 * it waited before.
 */
export async function sumRecentEntries(db: Database | Trx, seller: AccountId, waitsAfter: string): Promise<bigint> {
  const rows = await readRows(
    db,
    { amount: bigint() },
    sql`select coalesce(sum(e.amount), 0)::bigint as amount
      from ledger_entry e join ledger_tx t on t.id = e.tx
      where e.account = ${seller} and e.tx >= ${waitsAfter} and e.amount > 0 and t.kind <> 'payout_returned'`,
  )
  return rows[0]?.amount ?? 0n
}

/** The owner of a seller's account. */
const OWNER_ROW = {
  owner: nullable(text()),
  /** The wallet of the owner, for offers without an address; null in a workspace and for a user without a wallet. */
  wallet: nullable(text()),
  /** Since when a linked wallet cools; null for the wallet that the user signed up with. */
  walletSince: nullable(timestamp()),
  /** The account whose webhooks report payouts to the owner. */
  buyerAccount: nullable(id('acc')),
  balance: ACCOUNT_TABLES.account.balance,
}
export type SellerOwner = RowOf<typeof OWNER_ROW>

export async function findSellerOwner(db: Database | Trx, seller: AccountId): Promise<SellerOwner | undefined> {
  const rows = await readRows(
    db,
    OWNER_ROW,
    sql`select a.owner, u.wallet, u.wallet_since as "walletSince", coalesce(u.buyer_account, w.buyer_account) as "buyerAccount", a.balance
    from account a left join app_user u on u.seller_account = a.id left join workspace w on w.seller_account = a.id
    where a.id = ${seller} and a.kind = 'seller_available'`,
  )
  return rows[0]
}

/** Sellers whose balance reaches a threshold, by account, after an account. */
export async function listPayableSellers(
  db: Database,
  thresholdMicro: bigint,
  page: { readonly after: string; readonly limit: number },
): Promise<AccountId[]> {
  const rows = await readRows(
    db,
    { seller: id('acc') },
    sql`select id as seller from account where kind = 'seller_available' and balance >= ${thresholdMicro}
      and balance > 0 and id > ${page.after} order by id limit ${page.limit}`,
  )
  return rows.map(({ seller }) => seller)
}

/** The account for an owner's money in payouts: one for each seller's account. */
export async function findInFlightAccount(db: Database | Trx, seller: AccountId): Promise<AccountId | undefined> {
  const rows = await readRows(
    db,
    { account: id('acc') },
    sql`select in_flight as account from treasury_transfer where seller = ${seller} limit 1`,
  )
  return rows[0]?.account
}
