import { sql } from 'kysely'
import type { AccountId, OperationId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import { bigint, nullable, texts } from './tables/column.ts'
import type { SellerOperationStatus } from './tables/offers.ts'

/** The progress of an operation: `processed` of `total` items are done, and `failedCount` of those failed. */
export type SellerOperation = {
  readonly id: OperationId
  readonly sellerAccount: AccountId
  readonly status: SellerOperationStatus
  readonly total: number
  readonly processed: number
  readonly failedCount: number
}

const COLUMNS = [
  'id',
  'seller_account as sellerAccount',
  'status',
  'total',
  'processed',
  'failed_count as failedCount',
] as const

/**
 * Begins to cancel every active offer of a seller that no other operation holds. Returns their number. An operation
 * without offers is done at once.
 */
export async function insertBulkCancel(
  trx: Trx,
  operation: { readonly id: OperationId; readonly seller: AccountId; readonly at: number },
): Promise<number> {
  const { id, seller } = operation
  const at = new Date(operation.at)
  await sql`insert into seller_operation (id, seller_account, kind, status, total, created_at, updated_at)
    values (${id}, ${seller}, 'bulk_cancel', 'pending', 0, ${at}, ${at})`.execute(trx)
  const rows = await readRows(
    trx,
    { total: bigint() },
    sql`with items as (
      insert into seller_operation_item (operation, offer)
      select ${id}, o.id from offer o where o.seller_account = ${seller} and o.status = 'active' order by o.id
      on conflict (offer) where done_at is null do nothing returning offer
    ) select count(*) as total from items`,
  )
  const total = Number(rows[0]?.total ?? 0n)
  await sql`update seller_operation set total = ${total}, status = ${total === 0 ? 'succeeded' : 'pending'}
    where id = ${id}`.execute(trx)
  return total
}

/** Reads an operation of a seller. */
export async function findSellerOperation(
  db: Database | Trx,
  seller: AccountId,
  id: OperationId,
): Promise<SellerOperation | undefined> {
  return db
    .selectFrom('seller_operation')
    .select(COLUMNS)
    .where('seller_account', '=', seller)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Operations that are not done, oldest first. */
export async function listOpenOperations(db: Database, limit: number): Promise<SellerOperation[]> {
  return db
    .selectFrom('seller_operation')
    .select(COLUMNS)
    .where('status', 'in', ['pending', 'running'])
    .orderBy('id')
    .limit(limit)
    .execute()
}

/**
 * Locks an operation until the transaction ends. Returns undefined for an operation that is done, or that another
 * worker has.
 */
export async function lockOpenOperation(trx: Trx, id: OperationId): Promise<SellerOperation | undefined> {
  return trx
    .selectFrom('seller_operation')
    .select(COLUMNS)
    .where('id', '=', id)
    .where('status', 'in', ['pending', 'running'])
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

/** Makes the next offers of a bulk cancel inactive. Returns the number of finished items, and the offers' models. */
export async function cancelNextOffers(
  trx: Trx,
  id: OperationId,
  step: { readonly limit: number; readonly at: number },
): Promise<{ readonly items: number; readonly models: readonly string[] }> {
  const at = new Date(step.at)
  const rows = await readRows(
    trx,
    { items: bigint(), models: nullable(texts()) },
    sql`with next as (
      select offer from seller_operation_item where operation = ${id} and done_at is null
      order by offer limit ${step.limit}
    ), done as (
      update seller_operation_item i set done_at = ${at} from next where i.operation = ${id} and i.offer = next.offer
    ), off as (
      update offer o set status = 'inactive', updated_at = ${at} from next
      where o.id = next.offer and o.status = 'active' returning o.model
    ) select (select count(*) from next) as items, (select array_agg(distinct model) from off) as models`,
  )
  return { items: Number(rows[0]?.items ?? 0n), models: rows[0]?.models ?? [] }
}

/** Stores the progress of an operation. */
export async function updateSellerOperation(
  trx: Trx,
  id: OperationId,
  progress: { readonly status: SellerOperationStatus; readonly processed: number; readonly at: number },
): Promise<void> {
  const { status, processed, at } = progress
  await trx
    .updateTable('seller_operation')
    .set({ status, processed, updated_at: new Date(at) })
    .where('id', '=', id)
    .execute()
}

/** Ends an operation as failed. Its remaining items count as failed, and its offers may join another operation. */
export async function failSellerOperation(trx: Trx, id: OperationId, at: number): Promise<void> {
  await sql`update seller_operation set status = 'failed', failed_count = total - processed, processed = total,
      updated_at = ${new Date(at)} where id = ${id} and status in ('pending', 'running')`.execute(trx)
  await sql`update seller_operation_item set done_at = ${new Date(at)}
    where operation = ${id} and done_at is null`.execute(trx)
}

/** Removes operations that ended before an instant (Unix milliseconds), with their items. Returns their number. */
export async function deleteOldOperations(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from seller_operation where id in (select id from seller_operation
    where status in ('succeeded', 'failed') and updated_at < ${new Date(before)} order by id limit ${limit})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}
