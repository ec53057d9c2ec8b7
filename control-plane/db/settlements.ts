import type { Selectable } from 'kysely'
import { sql } from 'kysely'
import type { AccountId, RequestId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'
import type { Tables } from './tables.ts'

/** Token sums of a row. Input includes cache reads, cache writes and audio, output includes reasoning and audio. */
export const INPUT_TOKENS = sql.raw('input_tokens + cache_read_tokens + cache_write_tokens + audio_input_tokens')
export const OUTPUT_TOKENS = sql.raw('output_tokens + reasoning_tokens + audio_output_tokens')
/** The time of admission in ISO 8601. Text from the database is much cheaper than a Date that is only printed. */
export const STARTED_AT_TEXT = sql.raw(`to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)

/** The units that a call used, a column for each kind but the call itself. */
const USED_UNITS = [
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
  'image_input_tokens',
  'image_output_tokens',
  'characters',
  'images',
  'images_2k',
  'images_4k',
  'pixels',
  'milliseconds',
  'milliseconds_1080p',
  'milliseconds_4k',
  'searches',
] as const

/** The columns that a new settlement sets. The database sets `posted_at`. */
const COLUMNS = [
  'rid',
  'account',
  'key_id',
  'seller_account',
  'offer',
  'provider',
  'model',
  'requested_model',
  'wire',
  'endpoint',
  'rail',
  'served_by',
  'node',
  'is_streamed',
  'outcome',
  'error_code',
  'finish_reason',
  'hold_amount',
  'charge',
  'list_cost',
  'own_cost_pico',
  'seller_net',
  'fee',
  'fee_bps',
  'kept_bps',
  'price_version',
  'price_conditions',
  'usage_source',
  ...USED_UNITS,
  'cache_write_long_tokens',
  'calls',
  'ttft_ms',
  'stream_ms',
  'duration_ms',
  'overhead_ms',
  'attempts',
  'explanation',
  'anomalies',
  'payload_hash',
  'started_at',
  'captured_at',
  'sold',
] as const

/** A new settlement as JSON: amounts as decimal strings, instants as ISO 8601. */
export type NewSettlement = { readonly [Column in (typeof COLUMNS)[number]]: unknown } & { readonly rid: string }

/**
 * Inserts settlements in the order of their request ids and skips those that exist. Returns the new ids with their time
 * of posting. Waits for a concurrent insert of the same id, so that only one of the two reports it as new.
 */
export async function insertSettlements(trx: Trx, settlements: readonly NewSettlement[]): Promise<Map<string, Date>> {
  const columns = sql.join(COLUMNS.map((name) => sql.ref(name)))
  const rows = await readRows(
    trx,
    { rid: SETTLEMENT_TABLES.settlement.rid, posted_at: SETTLEMENT_TABLES.settlement.posted_at },
    sql`insert into settlement (${columns})
    select ${columns} from jsonb_populate_recordset(null::settlement, ${JSON.stringify(settlements)}::jsonb)
    order by rid on conflict (rid) do nothing returning rid, posted_at`,
  )
  return new Map(rows.map((row) => [row.rid, row.posted_at]))
}

/** The payload hash, account and time of posting of settled request ids. */
const SETTLED_ROW = {
  rid: SETTLEMENT_TABLES.settlement.rid,
  payloadHash: SETTLEMENT_TABLES.settlement.payload_hash,
  account: SETTLEMENT_TABLES.settlement.account,
  postedAt: SETTLEMENT_TABLES.settlement.posted_at,
}
export type SettledRow = RowOf<typeof SETTLED_ROW>

/** The settlements of those request ids that have one. */
export async function findSettled(db: Database | Trx, rids: readonly string[]): Promise<Map<string, SettledRow>> {
  const rows = await readRows(
    db,
    SETTLED_ROW,
    sql`select rid, payload_hash as "payloadHash", account, posted_at as "postedAt"
    from settlement where rid = any(${[...rids]}::text[])`,
  )
  return new Map(rows.map((row) => [row.rid, row]))
}

export type Conflict = {
  readonly rid: string
  readonly payloadHash: string
  readonly event: string
  readonly source: string
}

/** Stores events that contradict a settlement. A repeat of the same bytes changes nothing. */
export async function insertConflicts(trx: Trx, conflicts: readonly Conflict[]): Promise<void> {
  if (conflicts.length === 0) return
  await trx
    .insertInto('usage_conflict')
    .values(conflicts.map(({ rid, payloadHash, event, source }) => ({ rid, payload_hash: payloadHash, event, source })))
    .onConflict((conflict) => conflict.columns(['rid', 'payload_hash']).doNothing())
    .execute()
}

export type Poison = {
  readonly payloadHash: string
  readonly rid: string | null
  readonly reason: string
  /** The exact fault, without the event's content. */
  readonly detail: string
  readonly event: string
  readonly source: string
}

/**
 * Stores events that cannot be posted. A repeat of the same bytes raises a count. Returns the hashes of the discarded
 * events.
 */
export async function insertPoison(db: Database | Trx, poison: readonly Poison[]): Promise<ReadonlySet<string>> {
  if (poison.length === 0) return new Set()
  // Each row once, because a statement cannot touch a row twice. Sorted, so that two statements never wait for each
  // other.
  const rows = [...new Map(poison.map((row) => [row.payloadHash, row])).values()]
  rows.sort((left, right) => (left.payloadHash < right.payloadHash ? -1 : 1))
  const settlement = await db
    .insertInto('usage_poison')
    .values(rows.map(({ payloadHash, ...rest }) => ({ payload_hash: payloadHash, ...rest })))
    .onConflict((conflict) =>
      conflict.column('payload_hash').doUpdateSet({
        last_seen_at: sql`now()`,
        times_seen: sql`usage_poison.times_seen + 1`,
        // A repeat may fail for a new reason.
        reason: sql`excluded.reason`,
        detail: sql`excluded.detail`,
      }),
    )
    .returning(['payload_hash', 'resolution'])
    .execute()
  return new Set(settlement.filter((row) => row.resolution === 'discarded').map((row) => row.payload_hash))
}

/** The columns of a settled call that its buyer may see. */
const LOOKUP_COLUMNS = [
  'rid',
  'model',
  'provider',
  'served_by',
  'rail',
  'outcome',
  'error_code',
  'finish_reason',
  'charge',
  'list_cost',
  'is_streamed',
  'attempts',
  'explanation',
  'price_conditions',
  ...USED_UNITS,
  'ttft_ms',
  'duration_ms',
  'overhead_ms',
  'started_at',
  'posted_at',
] as const
export type SettledCall = Pick<Selectable<Tables['settlement']>, (typeof LOOKUP_COLUMNS)[number]>

/** Finds a settled call of an account. Returns undefined for a call of another account. */
export async function findSettledCall(
  db: Database,
  account: AccountId,
  rid: RequestId,
): Promise<SettledCall | undefined> {
  return db
    .selectFrom('settlement')
    .select(LOOKUP_COLUMNS)
    .where('rid', '=', rid)
    .where('account', '=', account)
    .executeTakeFirst()
}

/** The columns of a settled call that its bill needs, with the prices of its version. */
const BILLED_COLUMNS = [
  'settlement.rid',
  'settlement.model',
  'settlement.key_id',
  'settlement.endpoint',
  'settlement.charge',
  'settlement.list_cost',
  'settlement.kept_bps',
  'settlement.price_conditions',
  ...USED_UNITS.map((name) => `settlement.${name}` as const),
  'settlement.cache_write_long_tokens',
  'settlement.calls',
  'model_price.unit_prices',
  'model_price.overrides',
] as const

/** Finds a settled call of an account with its prices. The prices are null when their version is no longer known. */
export async function findBilledCall(db: Database, account: AccountId, rid: RequestId) {
  return db
    .selectFrom('settlement')
    .leftJoin('model_price', 'model_price.version', 'settlement.price_version')
    .select(BILLED_COLUMNS)
    .where('settlement.rid', '=', rid)
    .where('settlement.account', '=', account)
    .executeTakeFirst()
}
export type BilledCall = NonNullable<Awaited<ReturnType<typeof findBilledCall>>>

/** An account's settled calls, newest first, before `before`. */
export async function listSettledCalls(
  db: Database,
  account: AccountId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<SettledCall[]> {
  let query = db.selectFrom('settlement').select(LOOKUP_COLUMNS).where('account', '=', account)
  if (page.before !== undefined) query = query.where('rid', '<', page.before)
  return query.orderBy('rid', 'desc').limit(page.limit).execute()
}
