import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import { BILLED_TEXT } from './billed-text.ts'
import type { Database } from './database.ts'
import { MEDIA_COLUMNS, MEDIA_FIELDS, MEDIA_ROW, MEDIA_SUMS, MEDIA_TEXT, NO_MEDIA, USES_MEDIA } from './media-units.ts'
import { PROVIDER_OF_CALL } from './newest-calls.ts'
import { PAYMENT_OF_ROW, paymentOf } from './payment-views.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { INPUT_TOKENS, OUTPUT_TOKENS, STARTED_AT_TEXT } from './settlements.ts'
import { bigint, boolean, nullable, text, timestamp } from './tables/column.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'
import { isSummed, RANGE_BY_RANGE, splitWindow } from './usage-days.ts'

/** Filters of a buyer's calls, by admission from `from` (included) to `to` (excluded) in Unix milliseconds. */
export type UsageFilter = {
  readonly account: AccountId
  readonly from: number
  readonly to: number
  /** The canonical id of a model. */
  readonly model?: string | undefined
  readonly keyId?: string | undefined
  /** The provider that served a call, or the last that a failed call tried. */
  readonly provider?: string | undefined
  readonly endpoint?: string | undefined
  readonly outcome?: UsageEvent['outcome'] | undefined
  readonly servedBy?: UsageEvent['servedBy'] | undefined
}

/** Tokens by class. `input` excludes cached and audio tokens, `output` excludes reasoning and audio tokens. */
const TOKEN_SUMS_ROW = {
  input: SETTLEMENT_TABLES.settlement.input_tokens,
  cacheRead: SETTLEMENT_TABLES.settlement.cache_read_tokens,
  cacheWrite: SETTLEMENT_TABLES.settlement.cache_write_tokens,
  audioInput: SETTLEMENT_TABLES.settlement.audio_input_tokens,
  output: SETTLEMENT_TABLES.settlement.output_tokens,
  reasoning: SETTLEMENT_TABLES.settlement.reasoning_tokens,
  audioOutput: SETTLEMENT_TABLES.settlement.audio_output_tokens,
}
export type TokenSums = RowOf<typeof TOKEN_SUMS_ROW>

/** The calls that failed at their last provider. Their partial index has this condition. */
const IS_FAILED = sql`provider is null and outcome = 'failed'`

/** A booked call. Amounts are micro-USD; token classes are disjoint. */
const USAGE_ROW = {
  ...TOKEN_SUMS_ROW,
  ...MEDIA_ROW,
  rid: SETTLEMENT_TABLES.settlement.rid,
  startedAt: SETTLEMENT_TABLES.settlement.started_at,
  postedAt: SETTLEMENT_TABLES.settlement.posted_at,
  model: SETTLEMENT_TABLES.settlement.model,
  requestedModel: SETTLEMENT_TABLES.settlement.requested_model,
  provider: nullable(text()),
  servedBy: SETTLEMENT_TABLES.settlement.served_by,
  endpoint: SETTLEMENT_TABLES.settlement.endpoint,
  keyId: SETTLEMENT_TABLES.settlement.key_id,
  outcome: SETTLEMENT_TABLES.settlement.outcome,
  rail: SETTLEMENT_TABLES.settlement.rail,
  errorCode: SETTLEMENT_TABLES.settlement.error_code,
  isStreamed: SETTLEMENT_TABLES.settlement.is_streamed,
  charge: SETTLEMENT_TABLES.settlement.charge,
  listCost: SETTLEMENT_TABLES.settlement.list_cost,
  durationMs: SETTLEMENT_TABLES.settlement.duration_ms,
  ttftMs: SETTLEMENT_TABLES.settlement.ttft_ms,
}
export type UsageRow = RowOf<typeof USAGE_ROW>

const ROW = sql`${MEDIA_FIELDS}, ${PROVIDER_OF_CALL} as provider, ${sql.raw(`rid, started_at as "startedAt", posted_at as "postedAt", model,
  requested_model as "requestedModel", served_by as "servedBy", endpoint, key_id as "keyId", outcome, rail,
  error_code as "errorCode", is_streamed as "isStreamed", charge, list_cost as "listCost",
  duration_ms as "durationMs", ttft_ms as "ttftMs", input_tokens as input, cache_read_tokens as "cacheRead",
  cache_write_tokens as "cacheWrite", audio_input_tokens as "audioInput", output_tokens as output,
  reasoning_tokens as reasoning, audio_output_tokens as "audioOutput"`)}`

/** The columns to sum. They have the same names in settlements and in the sums of days and hours. */
const COUNTED = [
  'charge',
  'list_cost',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'audio_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_output_tokens',
] as const
const KIND = sql.raw('model, key_id, provider, endpoint, outcome')
const EACH = sql.raw(COUNTED.join(', '))
const NOTHING_COUNTED = sql.raw(COUNTED.map((column) => `0::bigint as ${column}`).join(', '))

const SUMS = sql`${MEDIA_SUMS}, ${sql.raw(`coalesce(sum(requests), 0)::bigint as requests,
  coalesce(sum(requests) filter (where outcome = 'failed'), 0)::bigint as failed,
  coalesce(sum(charge), 0)::bigint as charge, coalesce(sum(list_cost), 0)::bigint as "listCost",
  coalesce(sum(input_tokens), 0)::bigint as input, coalesce(sum(cache_read_tokens), 0)::bigint as "cacheRead",
  coalesce(sum(cache_write_tokens), 0)::bigint as "cacheWrite",
  coalesce(sum(audio_input_tokens), 0)::bigint as "audioInput", coalesce(sum(output_tokens), 0)::bigint as output,
  coalesce(sum(reasoning_tokens), 0)::bigint as reasoning,
  coalesce(sum(audio_output_tokens), 0)::bigint as "audioOutput"`)}`

/** The condition for settlements that match a filter. */
function matching({ provider, ...filter }: UsageFilter): RawBuilder<unknown> {
  const isOfProvider =
    provider === undefined
      ? sql`true`
      : sql`(provider = ${provider} or (${IS_FAILED} and attempts -> -1 ->> 'provider' = ${provider}))`
  return sql`${inWindow(filter)} and ${chosen(filter)} and ${isOfProvider}`
}

function inWindow({ account, from, to }: UsageFilter): RawBuilder<unknown> {
  return sql`account = ${account} and rid >= ${ulidFloor(from)} and rid < ${ulidFloor(to)}`
}

/** The conditions of a filter besides account and time. They suit settlements and sums alike. */
function chosen({ model, keyId, provider, endpoint, outcome, servedBy }: UsageFilter): RawBuilder<unknown> {
  const conditions = [
    sql`true`,
    ...(model === undefined ? [] : [sql`model = ${model}`]),
    ...(keyId === undefined ? [] : [sql`key_id = ${keyId}`]),
    ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
    ...(endpoint === undefined ? [] : [sql`endpoint = ${endpoint}`]),
    ...(outcome === undefined ? [] : [sql`outcome = ${outcome}`]),
    ...(servedBy == null ? [] : [sql`served_by = ${servedBy}`]),
  ]
  return sql.join(conditions, sql` and `)
}

/** The orders of calls, each with its column. */
export const USAGE_SORTS = ['time', 'cost', 'tokens', 'duration', 'ttft'] as const
export type UsageSort = (typeof USAGE_SORTS)[number]
/** The orders that sort calls by a value, which no index has. */
export type ValueSort = Exclude<UsageSort, 'time'>

/** The first value that no `integer` column has. Calls without a first token come last in both directions. */
const AFTER_ALL = 2_147_483_648

/** The value that calls are sorted by. It is never null. */
function worthOf(sort: ValueSort, isReversed: boolean): RawBuilder<unknown> {
  if (sort === 'cost') return sql`charge`
  if (sort === 'tokens') return sql`${INPUT_TOKENS} + ${OUTPUT_TOKENS}`
  if (sort === 'duration') return sql`duration_ms::bigint`
  return sql`coalesce(ttft_ms, ${sql.lit(isReversed ? AFTER_ALL : -1)})::bigint`
}

/** A page of calls, newest first or, reversed, oldest first, from a request id on if one is given. */
export async function listUsage(
  db: Database,
  filter: UsageFilter,
  page: { readonly after: string | undefined; readonly isReversed: boolean; readonly limit: number },
): Promise<UsageRow[]> {
  const { after, isReversed, limit } = page
  const rest = after === undefined ? sql`` : isReversed ? sql`and rid > ${after}` : sql`and rid < ${after}`
  const rows = await readRows(
    db,
    USAGE_ROW,
    sql`select ${ROW} from settlement where ${matching(filter)} ${rest}
    order by rid ${direction(isReversed)} limit ${limit}`,
  )
  return rows
}

function direction(isReversed: boolean): RawBuilder<unknown> {
  return isReversed ? sql`asc` : sql`desc`
}

/** A call's place in an order by value, and the number of sorted calls. */
const PLACED_ROW = { rid: SETTLEMENT_TABLES.settlement.rid, worth: bigint(), matched: bigint() }
export type PlacedCall = RowOf<typeof PLACED_ROW>

/**
 * The request ids of calls in an order by value, from a place on if one is given, and equal values by time. `most` is
 * the number of calls that are compared: the newest of the filter. Cost and tokens come from the index of an account's
 * calls alone.
 */
export async function placeUsage(
  db: Database,
  filter: UsageFilter,
  by: {
    readonly sort: ValueSort
    readonly isReversed: boolean
    readonly after: { readonly worth: bigint; readonly rid: string } | undefined
    readonly limit: number
    readonly most: number
  },
): Promise<PlacedCall[]> {
  const { sort, isReversed, after, limit, most } = by
  const order = direction(isReversed)
  const rest =
    after === undefined
      ? sql`true`
      : isReversed
        ? sql`(worth, rid) > (${after.worth}, ${after.rid})`
        : sql`(worth, rid) < (${after.worth}, ${after.rid})`
  return readRows(
    db,
    PLACED_ROW,
    sql`with matched as materialized (
      select rid, ${worthOf(sort, isReversed)} as worth from settlement where ${matching(filter)}
      order by rid desc limit ${most}
    ) select rid, worth, (select count(*) from matched) as matched from matched
    where ${rest} order by worth ${order}, rid ${order} limit ${limit}`,
  )
}

/** Calls of an account by their request ids, in the order of the ids. */
export async function findUsage(db: Database, account: AccountId, rids: readonly string[]): Promise<UsageRow[]> {
  const rows = await readRows(
    db,
    USAGE_ROW,
    sql`select ${ROW} from settlement where account = ${account} and rid = any(${rids}::text[])`,
  )
  return inOrder(rows, rids)
}

function inOrder<Row extends { readonly rid: string }>(rows: readonly Row[], rids: readonly string[]): Row[] {
  const byRid = new Map(rows.map((row) => [row.rid, row]))
  return rids.flatMap((rid) => byRid.get(rid) ?? [])
}

/** A line of a usage file. The database joins all fields that need no quoting. */
const USAGE_LINE_ROW = {
  rid: SETTLEMENT_TABLES.settlement.rid,
  model: SETTLEMENT_TABLES.settlement.model,
  /** `created_at` in ISO 8601. */
  createdAt: text(),
  /** Input, output, cached, reasoning tokens, cost and list cost in micro-USD, separated by commas. */
  figures: text(),
  /** Cost and list cost in US dollars with six decimals, separated by a comma. */
  usd: text(),
  /** Counts of media units, separated by commas. */
  media: text(),
  billed: text(),
  charge: bigint(),
  outcome: text<UsageEvent['outcome']>(),
  rail: SETTLEMENT_TABLES.settlement.rail,
  ...PAYMENT_OF_ROW,
}
export type UsageLine = RowOf<typeof USAGE_LINE_ROW>

/** A column of micro-USD as dollars with six decimals. No column is negative. */
function usdText(column: 'charge' | 'list_cost'): RawBuilder<string> {
  const micro = sql.ref(column)
  return sql`${micro} / 1000000 || '.' || lpad((${micro} % 1000000)::text, 6, '0')`
}

const LINE = sql`rid, model, ${STARTED_AT_TEXT} as "createdAt", charge, outcome, rail,
  ${paymentOf('settlement')},
  concat_ws(',', ${INPUT_TOKENS}, ${OUTPUT_TOKENS}, cache_read_tokens, reasoning_tokens, charge, list_cost) as figures,
  concat_ws(',', ${usdText('charge')}, ${usdText('list_cost')}) as usd, ${MEDIA_TEXT} as media,
  ${BILLED_TEXT} as billed`

/** A batch of calls for an export, oldest first or newest first, after a request id; '' is before the first. */
export async function listUsageLines(
  db: Database,
  filter: UsageFilter,
  page: { readonly after: string; readonly isNewestFirst: boolean; readonly limit: number },
): Promise<UsageLine[]> {
  const { after, isNewestFirst, limit } = page
  const rest = after === '' ? sql`true` : isNewestFirst ? sql`rid < ${after}` : sql`rid > ${after}`
  const rows = await readRows(
    db,
    USAGE_LINE_ROW,
    sql`select ${LINE} from settlement where ${matching(filter)} and ${rest}
    order by rid ${direction(!isNewestFirst)} limit ${limit}`,
  )
  return rows
}

/** Calls of an account for an export by their request ids, in the order of the ids. */
export async function findUsageLines(db: Database, account: AccountId, rids: readonly string[]): Promise<UsageLine[]> {
  const rows = await readRows(
    db,
    USAGE_LINE_ROW,
    sql`select ${LINE} from settlement where account = ${account} and rid = any(${rids}::text[])`,
  )
  return inOrder(rows, rids)
}

/** The sums of a group of calls. */
const USAGE_SUMS_ROW = {
  ...TOKEN_SUMS_ROW,
  ...MEDIA_ROW,
  requests: bigint(),
  failed: bigint(),
  charge: bigint(),
  listCost: SETTLEMENT_TABLES.settlement.list_cost,
}
export type UsageSums = RowOf<typeof USAGE_SUMS_ROW>

/** The ways to group the calls of one time bucket, with the column of each. */
const USAGE_GROUPS = { model: 'model', key: 'key_id', provider: 'provider', endpoint: 'endpoint' } as const
export type UsageGroup = keyof typeof USAGE_GROUPS
export const USAGE_INTERVALS = ['hour', 'day', 'month'] as const
export type UsageInterval = (typeof USAGE_INTERVALS)[number]

const USAGE_BUCKET_ROW = {
  ...USAGE_SUMS_ROW,
  at: timestamp(),
  group: nullable(text()),
  isRest: boolean(),
}
export type UsageBucketRow = RowOf<typeof USAGE_BUCKET_ROW>

/** The names of the groups that cost most, in that order. The group without a name is ''. */
export async function rankUsageGroups(
  db: Database,
  filter: UsageFilter,
  by: { readonly group: UsageGroup; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await readRows(
    db,
    { name: text() },
    sql`${summedCalls(filter, DAYS)} select coalesce(${sql.ref(USAGE_GROUPS[by.group])}, '') as name
    from (select * from calls ${by.group === 'provider' ? withFailed(filter) : sql``}) c
    group by 1 having sum(requests) > 0 order by sum(charge) desc, sum(requests) desc, 1 limit ${by.limit}`,
  )
  return rows.map(({ name }) => name)
}

/**
 * Sums calls by UTC hour, day or month, oldest first, and by one more column if asked. With `own`, only these groups
 * have rows of their own, and all others share one row of each interval. Returns at most `limit` rows.
 */
export async function sumUsageByTime(
  db: Database,
  filter: UsageFilter,
  by: {
    readonly interval: UsageInterval
    readonly group: UsageGroup | undefined
    readonly own: readonly string[] | undefined
    readonly limit: number
  },
): Promise<UsageBucketRow[]> {
  const group = by.group === undefined ? sql`null::text` : sql.ref(USAGE_GROUPS[by.group])
  const isRest = by.own === undefined ? sql`false` : sql`coalesce(${group}, '') <> all(${[...by.own]}::text[])`
  const calls = by.interval === 'hour' ? callsByHour(filter, by.group) : summedCalls(filter, DAYS)
  const attributed = by.group === 'provider' || filter.provider !== undefined ? withFailed(filter) : sql``
  const rows = await readRows(
    db,
    USAGE_BUCKET_ROW,
    sql`${calls} select
      date_trunc(${by.interval}, at) at time zone 'UTC' as at, case when not ${isRest} then ${group} end as "group",
      ${isRest} as "isRest", ${SUMS}
    from (select * from calls ${attributed}) c group by 1, 2, 3
    having sum(requests) > 0 order by 1, 3, 2 limit ${by.limit}`,
  )
  return rows
}

/**
 * Further rows for `calls` that move each failed call from no provider to the provider of its last attempt. Sums of
 * days do not hold attempts, and failed calls cost nothing and use nothing, so only their number moves.
 */
function withFailed({ provider, ...filter }: UsageFilter): RawBuilder<unknown> {
  const failed = sql`select started_at at time zone 'UTC' as at, model, key_id, attempts -> -1 ->> 'provider' as tried,
      endpoint, outcome from settlement
    where ${inWindow(filter)} and ${IS_FAILED} and ${chosen(filter)} and jsonb_array_length(attempts) > 0`
  const move = (requests: 1 | -1) =>
    sql`select at, ${sql.lit(requests)} as requests, model, key_id,
        ${requests === 1 ? sql`tried` : sql`null::text`} as provider, endpoint, outcome, ${NOTHING_COUNTED}, ${NO_MEDIA}
      from (${failed}) f`
  // Without the calls that no provider served, there is none to move.
  return provider === undefined
    ? sql`union all ${move(1)} union all ${move(-1)}`
    : sql`union all ${move(1)} where tried = ${provider}`
}

const ACTIVITY_ROW = { ...USAGE_SUMS_ROW, at: timestamp(), model: text(), provider: text() }

/** Sums calls that a provider served by UTC day, model and provider, newest day first. Returns at most `limit` rows. */
export async function sumActivity(
  db: Database,
  filter: UsageFilter,
  limit: number,
): Promise<RowOf<typeof ACTIVITY_ROW>[]> {
  return readRows(
    db,
    ACTIVITY_ROW,
    sql`${summedCalls(filter, DAYS)} select
      date_trunc('day', at) at time zone 'UTC' as at, model, provider, ${SUMS}
    from calls where provider is not null group by 1, 2, 3 order by 1 desc, 2, 3 limit ${limit}`,
  )
}

type ModelSums = {
  readonly total: UsageSums | undefined
  readonly byModel: readonly (UsageSums & { readonly model: string })[]
  /** The number of models, of which `byModel` may have fewer. */
  readonly models: number
}

/** Sums all calls, and the same by model with the highest spending first. The rows are read once. */
export async function sumUsage(db: Database, filter: UsageFilter, models: number): Promise<ModelSums> {
  const rows = await readRows(
    db,
    { ...USAGE_SUMS_ROW, model: nullable(text()), groups: bigint() },
    sql`${summedCalls(filter, DAYS)} select model, count(*) over () - 1 as groups, ${SUMS}
    from (select * from calls ${filter.provider === undefined ? sql`` : withFailed(filter)}) c group by rollup (model)
    order by grouping(model) desc, charge desc, model limit ${models + 1}`,
  )
  const byModel = rows.flatMap(({ model, groups: _, ...sums }) => (model === null ? [] : [{ ...sums, model }]))
  const all = rows.find(({ model }) => model === null)
  if (all === undefined) return { total: undefined, byModel, models: 0 }
  const { groups, model: _, ...total } = all
  return { total, byModel, models: Number(groups) }
}

/**
 * Every call as one row of the columns that are summed for all calls, without media. Their index holds these columns.
 */
const CALL = sql`started_at at time zone 'UTC' as at, 1 as requests, ${KIND}, ${EACH}, ${NO_MEDIA}`
/** A call's media units, as a row with zeros elsewhere. The index of such calls holds it. */
const MEDIA_OF_CALL = sql`started_at at time zone 'UTC' as at, 0 as requests, ${KIND}, ${NOTHING_COUNTED}, ${MEDIA_COLUMNS}`

/** Similar calls of a summed day as one row. `at` is then the day. */
const DAYS = sql`select started_on::timestamp as at, requests, ${KIND}, ${EACH}, ${MEDIA_COLUMNS} from buyer_day d`
/** Similar calls of an hour of a summed day as one row, without models and keys. */
const HOURS = sql`select hour at time zone 'UTC' as at, requests, null::text as model, null::text as key_id, provider,
  endpoint, outcome, ${EACH}, ${MEDIA_COLUMNS} from buyer_hour d`

/** The CTE `calls` for sums by hour. Only calls of a single model or key are read one by one. */
function callsByHour(filter: UsageFilter, group: UsageGroup | undefined): RawBuilder<unknown> {
  const isTold = filter.model !== undefined || filter.keyId !== undefined || group === 'model' || group === 'key'
  return isTold ? eachCall(filter) : summedCalls(filter, HOURS)
}

/** The CTE `calls` with every call of a filter. `at` is the UTC time of its start. */
function eachCall(filter: UsageFilter): RawBuilder<unknown> {
  return sql`with calls as (
      select ${CALL} from settlement where ${inWindow(filter)} and ${chosen(filter)}
      union all
      select ${MEDIA_OF_CALL} from settlement where ${inWindow(filter)} and ${chosen(filter)} and ${USES_MEDIA})`
}

/** The CTE `calls` for a filter, in which the sums of finished days replace their calls. */
function summedCalls(filter: UsageFilter, sums: RawBuilder<unknown>): RawBuilder<unknown> {
  const inRange = sql`account = ${filter.account} and rid >= r.low and rid < r.high and ${chosen(filter)}`
  return sql`with ${splitWindow(filter)}, calls as (
      ${sums} where ${isSummed('d', filter.account)} and ${chosen(filter)}
      union all
      select c.* from rest r cross join lateral (
        select ${CALL} from settlement where ${inRange} ${RANGE_BY_RANGE}) c
      union all
      select c.* from rest r cross join lateral (
        select ${MEDIA_OF_CALL} from settlement where ${inRange} and ${USES_MEDIA} ${RANGE_BY_RANGE}) c)`
}
