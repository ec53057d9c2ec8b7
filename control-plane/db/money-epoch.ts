import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { utcDay, utcMonth } from '#shared/clock.ts'
import type { LedgerRestore } from '#shared/contract/money-scripts.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Balance } from './accounts.ts'
import { listFundedAccounts } from './accounts.ts'
import type { Database, Trx } from './database.ts'
import { readAtOnce } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, boolean, double, nullable, oneOf, text } from './tables/column.ts'
import { LEDGER_TABLES } from './tables/ledger.ts'
import { OFFER_TABLES } from './tables/offers.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** Number of the advisory lock. Only its holder rebuilds the gate. */
const REBUILD_LOCK = 7_305_010
/** A rebuild does not wait for a member that was silent for longer than this. */
const MEMBER_SILENCE_HOURS = 48

/** Journals keep posted captures for this long; see RETENTION_MS of the data plane. */
const JOURNAL_HOURS = 48
/** More document versions than a lost part of a ledger can have issued. */
const LOST_VERSIONS = 1_000_000_000

/** Tries to take the lock that allows rebuilding the gate. The lock lasts as long as this connection. */
export async function tryRebuildLock(connection: Database): Promise<boolean> {
  const rows = await readRows(
    connection,
    { taken: boolean() },
    sql`select pg_try_advisory_lock(${sql.lit(REBUILD_LOCK)}) as taken`,
  )
  return rows[0]?.taken === true
}

export async function releaseRebuildLock(connection: Database): Promise<void> {
  await sql`select pg_advisory_unlock(${sql.lit(REBUILD_LOCK)})`.execute(connection)
}

/** The ledger's record of the gate, and of itself as a database that may be restored. */
export type MoneyRecord = {
  /** The newest epoch issued; 0 before the first. */
  readonly epoch: number
  /** The epoch up to which no captures are left to take over. */
  readonly harvested: number
  /** Rises once a second under a leader. A restored ledger has a lower beat than the gate. */
  readonly beat: number
  /** Unix milliseconds of that beat, by the clock of Postgres. */
  readonly beatAt: number
  /** The last restore of the ledger, while the journals have the lost part. */
  readonly restore: LedgerRestore | undefined
  /** True when no epoch has begun since the restore was noticed. */
  readonly isRestoreNew: boolean
  /** Unix milliseconds since when no money leaves, because the ledger was restored; undefined while money may leave. */
  readonly heldAt: number | undefined
  /** Unix milliseconds at which the nodes had registered their captures again; undefined before. */
  readonly joinedAt: number | undefined
}

const RECORD_ROW = {
  epoch: bigint(),
  harvested: bigint(),
  beat: bigint(),
  beat_at: double(),
  restored_to: nullable(double()),
  restored_at: nullable(double()),
  is_restore_new: boolean(),
  held_at: nullable(double()),
  joined_at: nullable(double()),
}

export async function readMoneyEpoch(db: Database): Promise<MoneyRecord> {
  const rows = await readRows(
    db,
    RECORD_ROW,
    sql`select epoch, harvested, beat, floor(extract(epoch from beat_at) * 1000)::float8 as beat_at,
      case when restored_at > now() - ${JOURNAL_HOURS} * interval '1 hour'
        then floor(extract(epoch from restored_to) * 1000)::float8 end as restored_to,
      floor(extract(epoch from restored_at) * 1000)::float8 as restored_at,
      coalesce(restored_at > raised_at, false) as is_restore_new,
      floor(extract(epoch from held_at) * 1000)::float8 as held_at,
      floor(extract(epoch from joined_at) * 1000)::float8 as joined_at
    from money_epoch`,
  )
  const row = rows[0]
  const { restored_to: to = null, restored_at: at = null } = row ?? {}
  return {
    epoch: Number(row?.epoch ?? 0n),
    harvested: Number(row?.harvested ?? 0n),
    beat: Number(row?.beat ?? 0n),
    beatAt: row?.beat_at ?? 0,
    restore: to === null || at === null ? undefined : { to, at },
    isRestoreNew: row?.is_restore_new ?? false,
    heldAt: row?.held_at ?? undefined,
    joinedAt: row?.joined_at ?? undefined,
  }
}

/** Raises the ledger's beat, and returns it. */
export async function raiseBeat(db: Database): Promise<number> {
  const rows = await readRows(
    db,
    { beat: LEDGER_TABLES.money_epoch.beat },
    sql`update money_epoch set beat = beat + 1, beat_at = clock_timestamp() returning beat`,
  )
  return Number(rows[0]?.beat ?? 0n)
}

/** A run of a Postgres cluster. A cluster that was restored or promoted is on another timeline or is another one. */
export type DatabaseIdentity = { readonly systemId: string; readonly timeline: number }

const IDENTITY_ROW = {
  system_id: text(),
  timeline: bigint(),
  known_system_id: nullable(text()),
  known_timeline: nullable(bigint()),
}

/** The database that answers, compared with the database on record. */
const HERE = sql`system_id = (select system_identifier::text from pg_control_system())
  and timeline = ('x' || lpad(substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), 16, '0'))::bit(64)::bigint`

/**
 * Reads the identity of the database that answers, and the identity on record; undefined before the first. The name of
 * a write-ahead log file begins with its timeline in hexadecimal (PostgreSQL manual, "Backup and Restore", section on
 * timelines).
 */
export async function readIdentity(db: Database): Promise<{ here: DatabaseIdentity; known?: DatabaseIdentity }> {
  const rows = await readRows(
    db,
    IDENTITY_ROW,
    sql`select (select system_identifier::text from pg_control_system()) as system_id,
      ('x' || lpad(substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), 16, '0'))::bit(64)::bigint as timeline,
      system_id as known_system_id, timeline::bigint as known_timeline from money_epoch`,
  )
  const row = rows[0]
  const here = { systemId: row?.system_id ?? '', timeline: Number(row?.timeline ?? 0n) }
  if (row?.known_system_id == null || row.known_timeline === null) return { here }
  return { here, known: { systemId: row.known_system_id, timeline: Number(row.known_timeline) } }
}

export async function noteIdentity(db: Database, { systemId, timeline }: DatabaseIdentity): Promise<void> {
  await sql`update money_epoch set system_id = ${systemId}, timeline = ${timeline}`.execute(db)
}

/**
 * The standing of the ledger to the gate. `behind`: the ledger lacks captures that the gate knows as confirmed, or is
 * another database, and no record says so. `joining`: a record says so, and nodes still register their captures again.
 * `held`: the captures are registered, and the departures since are not known for certain. `sound`: money may leave.
 */
const STANDINGS = ['behind', 'joining', 'held', 'sound'] as const
export type LedgerStanding = (typeof STANDINGS)[number]

/** The ledger's standing, and the instant at which its last restore was recorded, in Unix milliseconds. */
export type LedgerFooting = { readonly standing: LedgerStanding; readonly restoredAt: number | null }

/** Compares the ledger with an earlier beat in the gate; undefined for a gate without a beat. */
export async function readFooting(db: Database | Trx, beatInGate: number | undefined): Promise<LedgerFooting> {
  const rows = await readRows(
    db,
    { standing: oneOf(STANDINGS), restoredAt: nullable(double()) },
    sql`select case when beat < ${beatInGate ?? 0} or not (system_id is null or (${HERE})) then 'behind'
      when held_at is null then 'sound' when joined_at is null then 'joining' else 'held' end as standing,
      floor(extract(epoch from restored_at) * 1000)::float8 as "restoredAt"
    from money_epoch`,
  )
  return rows[0] ?? { standing: 'behind', restoredAt: null }
}

/** The standing alone; see {@link readFooting}. */
export async function readStanding(db: Database | Trx, beatInGate: number | undefined): Promise<LedgerStanding> {
  return (await readFooting(db, beatInGate)).standing
}

/**
 * Records that the ledger went back to an instant (Unix milliseconds), so that in the next epoch nodes register again
 * the captures that were posted after it. Of two such instants the earlier one counts. From this statement on no
 * money leaves. Versions of published documents continue far above those of the lost ledger, because a node keeps a
 * document under a version that it knows. The time of the record is that of the statement, because an epoch may have
 * begun since the transaction started.
 */
export async function markRestored(db: Database | Trx, restoredTo: number, atLeastBeat = 0): Promise<void> {
  await sql`update money_epoch set beat = greatest(beat, ${atLeastBeat}) + 1, restored_at = clock_timestamp(),
    held_at = clock_timestamp(), joined_at = null, restored_to = least(to_timestamp(${restoredTo}::float8 / 1000),
      case when restored_at > now() - ${JOURNAL_HOURS} * interval '1 hour' then restored_to end)`.execute(db)
  await sql`select setval('snapshot_version', nextval('snapshot_version') + ${LOST_VERSIONS})`.execute(db)
}

/** Issues an epoch above all epochs in Postgres and Redis. */
export async function raiseMoneyEpoch(db: Database, seenInRedis: number): Promise<number> {
  const rows = await readRows(
    db,
    { epoch: LEDGER_TABLES.money_epoch.epoch },
    sql`update money_epoch
    set epoch = greatest(epoch, ${seenInRedis}) + 1, raised_at = clock_timestamp() returning epoch`,
  )
  return Number(rows[0]?.epoch ?? 0n)
}

/**
 * Records that no captures are left in epochs up to this one. A gate that opened after a restore has all captures of
 * the nodes.
 */
export async function markHarvested(db: Database, epoch: number): Promise<void> {
  await sql`update money_epoch set harvested = greatest(harvested, ${epoch}),
    joined_at = case when held_at <= raised_at then coalesce(joined_at, now()) end`.execute(db)
}

/** Lets money leave again, unless the ledger was restored again since an instant (Unix milliseconds). */
export async function liftHold(trx: Trx, heldAt: number): Promise<boolean> {
  const { numAffectedRows } = await sql`update money_epoch set held_at = null, joined_at = null
    where floor(extract(epoch from held_at) * 1000)::float8 = ${heldAt} and joined_at is not null`.execute(trx)
  return numAffectedRows === 1n
}

/** Records new processes. A retired process stays retired until it is seen alive. */
export async function insertNewNodes(db: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`insert into node (id) select id from unnest(${[...ids]}::text[]) as given(id) order by id
    on conflict (id) do nothing`.execute(db)
}

/** Records that processes were just seen alive, and makes them members. */
export async function markNodesSeen(db: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`insert into node (id) select id from unnest(${[...ids]}::text[]) as given(id) order by id
    on conflict (id) do update set last_seen_at = now(), retired_at = null`.execute(db)
}

/** Retires processes with nothing left to bring into an epoch. */
export async function retireNodes(db: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`update node set retired_at = now() where id = any(${[...ids]}::text[])`.execute(db)
}

/** The members that a rebuild waits for. */
export async function listMembers(db: Database): Promise<string[]> {
  const rows = await readRows(
    db,
    { id: LEDGER_TABLES.node.id },
    sql`select id from node
    where retired_at is null and last_seen_at > now() - ${MEMBER_SILENCE_HOURS} * interval '1 hour'
    order by id`,
  )
  return rows.map((row) => row.id)
}

/** The use of a capped key in the current UTC day and month, in micro-USD. */
const USE_TOTAL_ROW = {
  id: text(),
  account: text(),
  day: bigint(),
  month: bigint(),
}
export type UseTotal = RowOf<typeof USE_TOTAL_ROW>

/** The use of a budget in the current UTC month, in micro-USD. */
const BUDGET_USE_ROW = { id: text(), month: bigint() }
export type BudgetUse = RowOf<typeof BUDGET_USE_ROW>

/** The state from which a rebuilt gate starts, read in one database snapshot. */
export type MoneySnapshot = {
  readonly balances: readonly Balance[]
  /** Keys with a cap. `account` is the key's buyer account. */
  readonly keyUses: readonly UseTotal[]
  readonly budgetUses: readonly BudgetUse[]
  readonly day: string
  readonly month: string
  /**
   * Unix milliseconds by the clock of Postgres. The uses include all earlier postings. The balances may include later
   * ones.
   */
  readonly postedBefore: number
}

/**
 * Reads the balances of the first funded accounts and the use of every capped key and budget, in one database snapshot.
 * `now` is the gate's clock in Unix milliseconds. A call counts on the day of its admission, which its id contains.
 */
export async function readMoneySnapshot(db: Database, now: number, accounts: number): Promise<MoneySnapshot> {
  const day = utcDay(now)
  const month = utcMonth(now)
  const dayFloor = ulidFloor(Date.parse(`${day}T00:00:00Z`))
  const monthFloor = ulidFloor(Date.parse(`${month}-01T00:00:00Z`))
  const postedBefore = await readPostedHorizon(db)
  return readAtOnce(db, async (trx) => ({
    balances: await listFundedAccounts(trx, '', accounts),
    keyUses: await sumCappedKeys(trx, dayFloor, monthFloor, postedBefore),
    budgetUses: await sumBudgets(trx, monthFloor, postedBefore),
    day,
    month,
    postedBefore,
  }))
}

/**
 * Returns an instant before which every posting has committed, in Unix milliseconds by the clock of Postgres. It is the
 * beginning of the oldest running transaction that has written, or now if there is none.
 */
export async function readPostedHorizon(db: Database | Trx): Promise<number> {
  const rows = await readRows(
    db,
    { at: double() },
    sql`select floor(extract(epoch from least(clock_timestamp(), (
      select min(xact_start) from pg_stat_activity
      where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()
    ))) * 1000)::float8 as at`,
  )
  return rows[0]?.at ?? 0
}

/** The UTC day and month of a use. Only calls posted before `postedBefore` count. */
export type UsePeriod = { readonly day: string; readonly month: string; readonly postedBefore: number }

/** Sums the use of one key in a day and a month, from calls posted before `postedBefore`. */
export async function sumKeyUse(db: Database, key: string, period: UsePeriod): Promise<{ day: bigint; month: bigint }> {
  const dayFloor = ulidFloor(Date.parse(`${period.day}T00:00:00Z`))
  const monthFloor = ulidFloor(Date.parse(`${period.month}-01T00:00:00Z`))
  const rows = await readRows(
    db,
    { day: bigint(), month: bigint() },
    sql`select
      coalesce(sum(charge) filter (where rid >= ${dayFloor}), 0)::bigint as day,
      coalesce(sum(charge), 0)::bigint as month
    from (${usesOf(sql`${key}`, monthFloor, period.postedBefore)}) uses`,
  )
  return { day: rows[0]?.day ?? 0n, month: rows[0]?.month ?? 0n }
}

/** Sums the use of one budget in a month, from calls posted before `postedBefore`. */
export async function sumBudgetUse(db: Database, budget: string, period: UsePeriod): Promise<bigint> {
  const monthFloor = ulidFloor(Date.parse(`${period.month}-01T00:00:00Z`))
  const [use] = await sumBudgets(db, monthFloor, period.postedBefore, sql`where b.id = ${budget}`)
  return use?.month ?? 0n
}

async function sumBudgets(
  db: Database | Trx,
  monthFloor: string,
  postedBefore: number,
  which: RawBuilder<unknown> = sql``,
): Promise<BudgetUse[]> {
  return readRows(
    db,
    BUDGET_USE_ROW,
    sql`select b.id, coalesce(sum(uses.charge), 0)::bigint as month from budget b
      left join workspace w on w.organization_id = b.organization_id
      left join api_key k on k.workspace_id = w.id and k.type = 'buyer' and (b.workspace_id = w.id or b.user_id = k.user_id)
      left join lateral (${usesOf(sql`k.id`, monthFloor, postedBefore)}) uses on true
      ${which} group by b.id`,
  )
}

/**
 * The calls of a key from the id `floor` on that were posted before an instant. A running job counts with its quote.
 */
function usesOf(key: RawBuilder<unknown>, floor: string, postedBefore: number): RawBuilder<unknown> {
  const horizon = sql`to_timestamp(${postedBefore / 1000})`
  return sql`select rid, charge from settlement where key_id = ${key} and rid >= ${floor} and posted_at < ${horizon}
    union all select rid, quote from job where key_id = ${key} and rid >= ${floor} and posted_at < ${horizon}
      and (ended_at is null or ended_at >= ${horizon})`
}

async function sumCappedKeys(
  trx: Trx,
  dayFloor: string,
  monthFloor: string,
  postedBefore: number,
): Promise<UseTotal[]> {
  const rows = await readRows(
    trx,
    USE_TOTAL_ROW,
    sql`select k.id, coalesce(w.buyer_account, u.buyer_account) as account, used.day, used.month
    from api_key k
    join app_user u on u.id = k.user_id
    left join workspace w on w.id = k.workspace_id
    cross join lateral (
      select coalesce(sum(charge) filter (where rid >= ${dayFloor}), 0)::bigint as day,
        coalesce(sum(charge), 0)::bigint as month
      from (${usesOf(sql`k.id`, monthFloor, postedBefore)}) uses
    ) used
    where k.type = 'buyer' and k.revoked_at is null
      and (k.cap_daily_micro is not null or k.cap_monthly_micro is not null)`,
  )
  return rows
}

/** The ledger's use of the caps of offers, read in one database snapshot. */
export type OfferUses = {
  readonly day: string
  /** Charges of the day by capped offer. A long job counts with its quote. */
  readonly totals: ReadonlyMap<string, bigint>
  /** The given calls that the totals include. */
  readonly posted: ReadonlySet<string>
  /** The given offers that have a cap. */
  readonly capped: ReadonlySet<string>
}

/**
 * Reads the use of every capped offer on the UTC day of `now`. Also returns which of the given calls are included, and
 * which of the given offers are capped.
 */
export async function readOfferUses(
  db: Database,
  now: number,
  names: { readonly rids: readonly string[]; readonly offers: readonly string[] },
): Promise<OfferUses> {
  const day = utcDay(now)
  const dayFloor = ulidFloor(Date.parse(`${day}T00:00:00Z`))
  const [rids, offers] = [[...names.rids], [...names.offers]]
  return readAtOnce(db, async (trx) => {
    const totals = await readRows(
      trx,
      { id: text(), micro: bigint() },
      sql`select u.offer as id, sum(u.amount)::bigint as micro
        from (
          select s.offer, coalesce(j.quote, s.charge) as amount
            from settlement s left join job j on j.rid = s.rid where s.rid >= ${dayFloor}
          union all select offer, quote from job where rid >= ${dayFloor} and ended_at is null
          -- A call that a wallet pays for is settled once its block is deep.
          union all select p.event::jsonb->>'offer', p.charge from chain_payment p
            where p.rid >= ${dayFloor} and p.charge > 0 and not exists (select 1 from settlement s where s.rid = p.rid)
        ) u join every_offer o on o.id = u.offer
        where o.cap_daily_micro is not null group by u.offer`,
    )
    const posted = await readRows(
      trx,
      { rid: SETTLEMENT_TABLES.job.rid },
      sql`select rid from settlement where rid = any(${rids}::text[])
        union select rid from job where rid = any(${rids}::text[])
        union select rid from chain_payment where rid = any(${rids}::text[]) and event is not null`,
    )
    const capped = await readRows(
      trx,
      { id: OFFER_TABLES.offer.id },
      sql`select id from every_offer
        where id = any(${offers}::text[]) and cap_daily_micro is not null`,
    )
    return {
      day,
      totals: new Map(totals.map((row) => [row.id, row.micro])),
      posted: new Set(posted.map((row) => row.rid)),
      capped: new Set(capped.map((row) => row.id)),
    }
  })
}
