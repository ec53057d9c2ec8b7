import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { AccountId, RequestId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { boolean, id, nullable, oneOf, text, timestamp } from './tables/column.ts'
import { DEPOSIT_TABLES } from './tables/deposits.ts'
import { KEY_TABLES } from './tables/keys.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** Reads for operators who help a customer: they cross accounts, and no other side may run them. */

/** A user, or a workspace of an organisation, with its account on each side. */
const HOLDER_ROW = {
  user: nullable(ACCOUNT_TABLES.app_user.id),
  wallet: nullable(ACCOUNT_TABLES.app_user.wallet),
  workspace: nullable(ORGANIZATION_TABLES.workspace.id),
  organization: nullable(ORGANIZATION_TABLES.organization.id),
  /** The names of the organisation and the workspace. A user has no name. */
  name: nullable(text()),
  buyerAccount: ACCOUNT_TABLES.app_user.buyer_account,
  sellerAccount: ACCOUNT_TABLES.app_user.seller_account,
  createdAt: ACCOUNT_TABLES.app_user.created_at,
}
export type Holder = RowOf<typeof HOLDER_ROW>

const HOLDERS = sql`(
  select id as "user", wallet, null::text as workspace, null::text as organization, null::text as name,
    buyer_account as "buyerAccount", seller_account as "sellerAccount", created_at as "createdAt"
  from app_user
  union all
  select null, null, w.id, w.organization_id, o.name || ', ' || w.name, w.buyer_account, w.seller_account, w.created_at
  from workspace w join organization o on o.id = w.organization_id
) h`

function listHolders(db: Database, where: RawBuilder<unknown>, limit: number): Promise<Holder[]> {
  return readRows(db, HOLDER_ROW, sql`select h.* from ${HOLDERS} where ${where} order by "createdAt" limit ${limit}`)
}

/** The holder of an account of either side. */
export async function findHolder(db: Database, account: string): Promise<Holder | undefined> {
  const rows = await listHolders(db, sql`"buyerAccount" = ${account} or "sellerAccount" = ${account}`, 1)
  return rows[0]
}

/** Holders whose user, workspace or organisation has the id. */
export function listHoldersById(db: Database, named: string, limit: number): Promise<Holder[]> {
  return listHolders(db, sql`"user" = ${named} or workspace = ${named} or organization = ${named}`, limit)
}

/** Users whose wallet begins with the text, in lower case. */
export function listHoldersByWallet(db: Database, beginning: string, limit: number): Promise<Holder[]> {
  return listHolders(db, sql`wallet like ${`${beginning}%`}`, limit)
}

/** A key without its secret, and the account that it spends from or sells for. */
const MASKED_KEY_ROW = {
  id: KEY_TABLES.api_key.id,
  type: KEY_TABLES.api_key.type,
  keyPrefix: KEY_TABLES.api_key.key_prefix,
  label: KEY_TABLES.api_key.label,
  createdAt: timestamp(),
  lastUsedAt: KEY_TABLES.api_key.last_used_at,
  expiresAt: nullable(timestamp()),
  revokedAt: KEY_TABLES.api_key.revoked_at,
  frozenAt: KEY_TABLES.api_key.frozen_at,
  account: nullable(id('acc')),
}
export type MaskedKey = RowOf<typeof MASKED_KEY_ROW>

function listMasked(db: Database, where: RawBuilder<unknown>, limit: number): Promise<MaskedKey[]> {
  return readRows(
    db,
    MASKED_KEY_ROW,
    sql`select k.id, k.type, k.key_prefix as "keyPrefix", k.label, k.created_at as "createdAt",
      k.last_used_at as "lastUsedAt", k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
      k.frozen_at as "frozenAt",
      case k.type when 'buyer' then coalesce(w.buyer_account, u.buyer_account)
        when 'seller' then coalesce(w.seller_account, u.seller_account) end as account
    from api_key k left join app_user u on u.id = k.user_id left join workspace w on w.id = k.workspace_id
    where ${where} order by k.id desc limit ${limit}`,
  )
}

/** The key with the id, or keys whose prefix begins with the text. */
export function listKeysNamed(db: Database, idOrBeginning: string, limit: number): Promise<MaskedKey[]> {
  // An underscore of a prefix is a wildcard of `like`.
  const pattern = `${idOrBeginning.replaceAll('_', '\\_')}%`
  return listMasked(db, sql`k.id = ${idOrBeginning} or k.key_prefix like ${pattern}`, limit)
}

/** The keys of a holder, newest first: of a user those outside of workspaces. */
export function listKeysOf(db: Database, { user, workspace }: Holder, limit: number): Promise<MaskedKey[]> {
  const where =
    workspace === null ? sql`k.user_id = ${user} and k.workspace_id is null` : sql`k.workspace_id = ${workspace}`
  return listMasked(db, where, limit)
}

const CALL_COLUMNS = SETTLEMENT_TABLES.settlement
/** A booked call of any account, with both sides of its money in micro-USD. */
const SUPPORT_CALL_ROW = {
  rid: CALL_COLUMNS.rid,
  account: CALL_COLUMNS.account,
  keyId: CALL_COLUMNS.key_id,
  sellerAccount: CALL_COLUMNS.seller_account,
  offer: CALL_COLUMNS.offer,
  provider: CALL_COLUMNS.provider,
  model: CALL_COLUMNS.model,
  endpoint: CALL_COLUMNS.endpoint,
  rail: CALL_COLUMNS.rail,
  node: CALL_COLUMNS.node,
  outcome: CALL_COLUMNS.outcome,
  errorCode: CALL_COLUMNS.error_code,
  held: CALL_COLUMNS.hold_amount,
  charge: CALL_COLUMNS.charge,
  sellerNet: CALL_COLUMNS.seller_net,
  fee: CALL_COLUMNS.fee,
  feeBps: CALL_COLUMNS.fee_bps,
  listCost: CALL_COLUMNS.list_cost,
  ttftMs: CALL_COLUMNS.ttft_ms,
  durationMs: CALL_COLUMNS.duration_ms,
  attempts: CALL_COLUMNS.attempts,
  startedAt: CALL_COLUMNS.started_at,
  isRefunded: boolean(),
}
export type SupportCall = RowOf<typeof SUPPORT_CALL_ROW>

const SUPPORT_CALL = sql`s.rid, s.account, s.key_id as "keyId", s.seller_account as "sellerAccount", s.offer, s.provider,
  s.model, s.endpoint, s.rail, s.node, s.outcome, s.error_code as "errorCode", s.hold_amount as held, s.charge,
  s.seller_net as "sellerNet", s.fee, s.fee_bps as "feeBps", s.list_cost as "listCost", s.ttft_ms as "ttftMs",
  s.duration_ms as "durationMs", s.attempts, s.started_at as "startedAt",
  exists (select from ledger_key r where r.key = 'reverse:' || s.rid) as "isRefunded"`

/** A booked call of any buyer. */
export async function findSupportCall(db: Database, rid: RequestId): Promise<SupportCall | undefined> {
  const rows = await readRows(db, SUPPORT_CALL_ROW, sql`select ${SUPPORT_CALL} from settlement s where s.rid = ${rid}`)
  return rows[0]
}

/** The booked calls that an account paid for, newest first. */
export function listSupportCalls(db: Database, account: AccountId, limit: number): Promise<SupportCall[]> {
  return readRows(
    db,
    SUPPORT_CALL_ROW,
    sql`select ${SUPPORT_CALL} from settlement s where s.account = ${account} order by s.rid desc limit ${limit}`,
  )
}

/** A record that a name of any kind finds, and the account of the record. */
const NAMED_ROW = {
  kind: oneOf(['wallet_payment', 'deposit', 'payout', 'ledger']),
  id: text(),
  account: id('acc'),
  about: text(),
}
export type NamedThing = RowOf<typeof NAMED_ROW>

/** Payments by wallet, deposits and payouts that a transaction of the chain carries; the hash is in lower case. */
export function listOfTransaction(db: Database, hash: string, limit: number): Promise<NamedThing[]> {
  return readRows(
    db,
    NAMED_ROW,
    sql`(select 'wallet_payment' as kind, rid as id, account, state as about from chain_payment where tx_hash = ${hash}
        order by rid limit ${limit})
      union all
      (select 'deposit', id, account, state from deposit where tx_hash = ${hash} order by id limit ${limit})
      union all
      (select 'payout', id, seller, state from treasury_transfer where tx_hash = ${hash} and seller is not null
        order by id limit ${limit})`,
  )
}

/** The deposit, the payout or the call paid by a wallet that has the id. */
export function listOfId(db: Database, named: string): Promise<NamedThing[]> {
  return readRows(
    db,
    NAMED_ROW,
    sql`select 'wallet_payment' as kind, rid as id, account, state as about from chain_payment where rid = ${named}
      union all select 'deposit', id, account, state from deposit where id = ${named}
      union all select 'payout', id, seller, state from treasury_transfer where id = ${named} and seller is not null`,
  )
}

/** The accounts of customers that a ledger key or the id of a transaction of the ledger moved. */
export function listOfLedger(db: Database, keyOrId: string): Promise<NamedThing[]> {
  return readRows(
    db,
    NAMED_ROW,
    sql`select 'ledger' as kind, t.id, e.account, t.kind as about
      from every_ledger_entry e join every_ledger_tx t on t.id = e.tx join account a on a.id = e.account
      where e.tx = coalesce((select tx from ledger_key where key = ${keyOrId}), ${keyOrId})
        and a.kind in ('buyer_credit', 'seller_available') order by e.account`,
  )
}

/** A deposit of an account in micro-USD, for operators. */
const DEPOSIT_ROW = {
  id: DEPOSIT_TABLES.deposit.id,
  method: DEPOSIT_TABLES.deposit.method,
  sender: DEPOSIT_TABLES.deposit.sender,
  amount: DEPOSIT_TABLES.deposit.amount,
  state: DEPOSIT_TABLES.deposit.state,
  reason: DEPOSIT_TABLES.deposit.reason,
  transaction: DEPOSIT_TABLES.deposit.tx_hash,
  openedAt: timestamp(),
}
export type SupportDeposit = RowOf<typeof DEPOSIT_ROW>

export function listSupportDeposits(db: Database, account: AccountId, limit: number): Promise<SupportDeposit[]> {
  return readRows(
    db,
    DEPOSIT_ROW,
    sql`select id, method, sender, amount, state, reason, tx_hash as "transaction", opened_at as "openedAt"
      from deposit where account = ${account} order by id desc limit ${limit}`,
  )
}
