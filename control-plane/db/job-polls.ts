import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { Job } from './jobs.ts'
import { JOB_COLUMNS, JOB_ROW } from './jobs.ts'
import { readRows } from './rows.ts'
import { boolean } from './tables/column.ts'

/** Number of the advisory lock. One worker takes jobs at a time, so the count of polls to a provider is right. */
const TAKE_LOCK = 712_018

type Take = {
  readonly asker: string
  /** Unix milliseconds. */
  readonly now: number
  /** Milliseconds after which another worker may take over. */
  readonly leaseMs: number
  readonly limit: number
  /** Most polls to one provider at a time, of all workers together. */
  readonly perProvider: number
  /** Offers whose provider is paused. Their jobs wait, but not beyond their deadline. */
  readonly resting: readonly string[]
}

/** Claims the right to take jobs until the end of the transaction. Returns false while another worker has it. */
export async function lockTaking(trx: Trx): Promise<boolean> {
  const rows = await readRows(
    trx,
    { isMine: boolean() },
    sql`select pg_try_advisory_xact_lock(${sql.lit(TAKE_LOCK)}) as "isMine"`,
  )
  return rows[0]?.isMine === true
}

/**
 * Takes jobs that are due, the longest due first, up to each provider's limit of concurrent polls. A job goes to one
 * worker at a time. The caller has {@link lockTaking}.
 */
export async function takeDueJobs(trx: Trx, { asker, now, leaseMs, ...most }: Take): Promise<Job[]> {
  const at = new Date(now)
  const rows = await readRows(
    trx,
    JOB_ROW,
    sql`with recursive provider as (
      (select provider as name from job where ended_at is null order by provider limit 1)
      union all
      select (select j.provider from job j where j.ended_at is null and j.provider > p.name order by j.provider limit 1)
      from provider p where p.name is not null
    ), room as (
      select name, ${most.perProvider} - (select count(*) from job j
        where j.ended_at is null and j.provider = p.name and j.asker is not null and j.poll_at > ${at}) as places
      from provider p where name is not null
    ), due as (
      select d.rid from room r cross join lateral (
        select j.rid, j.poll_at from job j
        where j.ended_at is null and j.provider = r.name and j.poll_at <= ${at}
          and (j.offer is null or j.offer <> all(${[...most.resting]}::text[]) or j.deadline_at <= ${at})
        order by j.poll_at limit greatest(0, r.places) for no key update skip locked
      ) d order by d.poll_at limit ${most.limit}
    )
    update job set asker = ${asker}, polls = polls + 1, poll_at = ${new Date(now + leaseMs)}
    where rid in (select rid from due) returning ${JOB_COLUMNS}`,
  )
  return rows
}

/** The next poll of a job that is not over. */
export type NextPoll = {
  readonly rid: string
  readonly at: number
  readonly unknownPolls: number
  /** False for a job that was taken but not polled, which does not count as a poll. */
  readonly wasAsked: boolean
}

/** Stores the next poll of jobs that a worker polled. Jobs that another worker took over stay as they are. */
export async function updatePolls(db: Database, asker: string, next: readonly NextPoll[]): Promise<void> {
  if (next.length === 0) return
  await sql`update job j set asker = null, poll_at = n.at, unknown_polls = n.unknown_polls,
      polls = greatest(0, j.polls - n.unasked)
    from unnest(${next.map(({ rid }) => rid)}::text[], ${next.map(({ at }) => new Date(at).toISOString())}::timestamptz[],
      ${next.map(({ unknownPolls }) => unknownPolls)}::int[], ${next.map(({ wasAsked }) => (wasAsked ? 0 : 1))}::int[])
      n (rid, at, unknown_polls, unasked)
    where j.rid = n.rid and j.asker = ${asker} and j.ended_at is null`.execute(db)
}

/** Makes a job's next poll due at an instant, if not earlier. Does nothing for a job that a worker polls now. */
export async function hastenPoll(db: Database, rid: string, at: number): Promise<void> {
  await sql`update job set poll_at = least(poll_at, ${new Date(at)})
    where rid = ${rid} and asker is null and ended_at is null`.execute(db)
}
