import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { id, nullable } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** A long job whose quote is in escrow. Amounts are micro-USD. */
export const JOB_ROW = {
  /** The request id of its submit. */
  rid: SETTLEMENT_TABLES.job.rid,
  account: SETTLEMENT_TABLES.job.account,
  sellerAccount: nullable(id('acc')),
  escrowAccount: SETTLEMENT_TABLES.job.escrow_account,
  offer: SETTLEMENT_TABLES.job.offer,
  keyId: SETTLEMENT_TABLES.job.key_id,
  providerJob: SETTLEMENT_TABLES.job.provider_job,
  quote: SETTLEMENT_TABLES.job.quote,
  /** The part of the quote that the buyer's balance covered. */
  paid: SETTLEMENT_TABLES.job.paid,
  /** The submit's event as captured. */
  event: SETTLEMENT_TABLES.job.event,
  payloadHash: SETTLEMENT_TABLES.job.payload_hash,
  deadlineAt: SETTLEMENT_TABLES.job.deadline_at,
  postedAt: SETTLEMENT_TABLES.job.posted_at,
  endedAt: SETTLEMENT_TABLES.job.ended_at,
  provider: SETTLEMENT_TABLES.job.provider,
  pollAt: SETTLEMENT_TABLES.job.poll_at,
  /** Polls so far, and the number of consecutive answers that the provider does not know the job. */
  polls: SETTLEMENT_TABLES.job.polls,
  unknownPolls: SETTLEMENT_TABLES.job.unknown_polls,
  /** The instants at which its buyer's stop and deletion were recorded. */
  stoppedAt: SETTLEMENT_TABLES.job.stopped_at,
  deletedAt: SETTLEMENT_TABLES.job.deleted_at,
}
export type Job = RowOf<typeof JOB_ROW>
export type NewJob = Omit<Job, 'postedAt' | 'endedAt' | 'polls' | 'unknownPolls' | 'stoppedAt' | 'deletedAt'>

/** The end of a job as it was received. `rid` is the job's. It is not booked while its submit is missing. */
const JOB_END_ROW = {
  rid: SETTLEMENT_TABLES.job.rid,
  event: SETTLEMENT_TABLES.job.event,
  payloadHash: SETTLEMENT_TABLES.job.payload_hash,
  source: SETTLEMENT_TABLES.job_end.source,
  receivedAt: SETTLEMENT_TABLES.job_end.received_at,
  bookedAt: SETTLEMENT_TABLES.job_end.booked_at,
}
export type JobEndRow = RowOf<typeof JOB_END_ROW>
export type NewJobEnd = Omit<JobEndRow, 'receivedAt' | 'bookedAt'>

/** Reads and writes of jobs and their ends inside a transaction. */
export type JobRows = {
  /** Opens a buyer's escrow account if it is missing. Returns its id. */
  openEscrow(buyer: AccountId): Promise<AccountId>
  findJob(rid: string): Promise<Job | undefined>
  /** Reads the job and locks it until the end of the transaction. */
  lockJob(rid: string): Promise<Job | undefined>
  /** Returns the time of the insert; undefined when the job exists already. */
  insertJob(job: NewJob): Promise<Date | undefined>
  /** Adds to the paid part of a running job's quote. */
  addPaid(rid: string, amount: bigint): Promise<void>
  markJobEnded(rid: string): Promise<void>
  /** Stores an end unless the job has one. Returns the stored end. */
  receiveEnd(end: NewJobEnd): Promise<JobEndRow | undefined>
  findEnd(rid: string): Promise<JobEndRow | undefined>
  /** Replaces an end that was not booked. */
  replaceEnd(end: NewJobEnd): Promise<void>
  markEndBooked(rid: string): Promise<void>
}

export const JOB_COLUMNS = sql`rid, account, seller_account as "sellerAccount", escrow_account as "escrowAccount", offer,
  key_id as "keyId", provider_job as "providerJob", quote, paid, event, payload_hash as "payloadHash",
  deadline_at as "deadlineAt", posted_at as "postedAt", ended_at as "endedAt", provider,
  poll_at as "pollAt", polls, unknown_polls as "unknownPolls", stopped_at as "stoppedAt", deleted_at as "deletedAt"`
const END = sql`rid, event, payload_hash as "payloadHash", source, received_at as "receivedAt", booked_at as "bookedAt"`

/** The id of a buyer's only escrow account. */
function escrowOf(buyer: AccountId): AccountId {
  const id = `acc_escrow_${buyer.slice('acc_'.length)}`
  if (!isId('acc', id)) throw new RangeError('the account id is too long for an escrow account')
  return id
}

export function jobRows(trx: Trx): JobRows {
  return {
    async openEscrow(buyer) {
      const id = escrowOf(buyer)
      await sql`insert into account (id, kind, owner) select ${id}, 'job_escrow', owner from account where id = ${buyer}
        on conflict (id) do nothing`.execute(trx)
      return id
    },
    findJob: (rid) => readJob(trx, rid, sql``),
    lockJob: (rid) => readJob(trx, rid, sql`for no key update`),
    async insertJob(job) {
      const rows = await readRows(
        trx,
        { at: SETTLEMENT_TABLES.job.posted_at },
        sql`insert into job (rid, account, seller_account, escrow_account, offer,
          key_id, provider_job, quote, paid, event, payload_hash, deadline_at, provider, poll_at)
        values (${job.rid}, ${job.account}, ${job.sellerAccount}, ${job.escrowAccount}, ${job.offer}, ${job.keyId},
          ${job.providerJob}, ${job.quote}, ${job.paid}, ${job.event}, ${job.payloadHash}, ${job.deadlineAt}, ${job.provider}, ${job.pollAt})
        on conflict (rid) do nothing returning posted_at as at`,
      )
      return rows[0]?.at
    },
    async addPaid(rid, amount) {
      await sql`update job set paid = paid + ${amount} where rid = ${rid} and ended_at is null`.execute(trx)
    },
    async markJobEnded(rid) {
      await sql`update job set ended_at = now() where rid = ${rid} and ended_at is null`.execute(trx)
    },
    async receiveEnd(end) {
      await sql`insert into job_end (rid, event, payload_hash, source)
        values (${end.rid}, ${end.event}, ${end.payloadHash}, ${end.source}) on conflict (rid) do nothing`.execute(trx)
      return findEnd(trx, end.rid)
    },
    findEnd: (rid) => findEnd(trx, rid),
    async replaceEnd(end) {
      await sql`update job_end set event = ${end.event}, payload_hash = ${end.payloadHash}, source = ${end.source},
        received_at = now() where rid = ${end.rid} and booked_at is null`.execute(trx)
    },
    async markEndBooked(rid) {
      await sql`update job_end set booked_at = now() where rid = ${rid} and booked_at is null`.execute(trx)
    },
  }
}

async function readJob(trx: Trx, rid: string, lock: RawBuilder<unknown>): Promise<Job | undefined> {
  const rows = await readRows(trx, JOB_ROW, sql`select ${JOB_COLUMNS} from job where rid = ${rid} ${lock}`)
  return rows[0]
}

async function findEnd(db: Database | Trx, rid: string): Promise<JobEndRow | undefined> {
  const rows = await readRows(db, JOB_END_ROW, sql`select ${END} from job_end where rid = ${rid} for no key update`)
  return rows[0]
}

/** Reads a job of an account, ended or not. */
export async function findJob(db: Database, account: AccountId, rid: string): Promise<Job | undefined> {
  const rows = await readRows(
    db,
    JOB_ROW,
    sql`select ${JOB_COLUMNS} from job where rid = ${rid} and account = ${account}`,
  )
  return rows[0]
}

/** Ends that are not booked although their job exists, oldest first. */
export async function listParkedEnds(db: Database, limit: number): Promise<JobEndRow[]> {
  const rows = await readRows(
    db,
    JOB_END_ROW,
    sql`select ${END} from job_end e where booked_at is null
    and exists (select 1 from job j where j.rid = e.rid and j.ended_at is null) order by received_at limit ${limit}`,
  )
  return rows
}

/**
 * The provider's address and key for polls of an offer's jobs. `sealed` is JSON; the caller parses it with its schema.
 */
const JOB_PLACE_ROW = {
  offer: OFFER_TABLES.offer.id,
  baseUrl: OFFER_TABLES.offer.base_url,
  apiFormat: OFFER_TABLES.offer.api_format,
  sealed: OFFER_TABLES.credential.sealed,
}
export type JobPlace = RowOf<typeof JOB_PLACE_ROW>

/** The providers' addresses and keys for offers, on sale or not. An offer whose key was destroyed is left out. */
export async function listJobPlaces(db: Database, offers: readonly string[]): Promise<JobPlace[]> {
  if (offers.length === 0) return []
  const rows = await readRows(
    db,
    JOB_PLACE_ROW,
    sql`select o.id as offer, o.base_url as "baseUrl", o.api_format as "apiFormat", c.sealed
    from offer o join credential c on c.id = o.credential_id where o.id = any(${[...offers]}::text[])`,
  )
  return rows
}

/** The same for buyers' own providers, and the calls that these providers serve. A null `model` means every model. */
const OWN_PLACE_ROW = {
  account: OFFER_TABLES.own_provider.account,
  provider: OFFER_TABLES.own_provider.provider,
  model: OFFER_TABLES.own_provider.model,
  baseUrl: OFFER_TABLES.own_provider.base_url,
  apiFormat: OFFER_TABLES.own_provider.api_format,
  createdAt: OFFER_TABLES.own_provider.created_at,
  sealed: OFFER_TABLES.credential.sealed,
}
export type OwnPlace = RowOf<typeof OWN_PLACE_ROW>

/** The addresses and keys of these buyers' own providers. */
export async function listOwnPlaces(db: Database, accounts: readonly string[]): Promise<OwnPlace[]> {
  if (accounts.length === 0) return []
  const rows = await readRows(
    db,
    OWN_PLACE_ROW,
    sql`select o.account, o.provider, o.model, o.base_url as "baseUrl", o.api_format as "apiFormat",
      o.created_at as "createdAt", c.sealed
    from own_provider o join credential c on c.id = o.credential_id where o.account = any(${[...accounts]}::text[])`,
  )
  return rows
}

/** A job with the bytes of the end that was booked for it. */
const JOB_WITH_END_ROW = {
  rid: SETTLEMENT_TABLES.job.rid,
  keyId: SETTLEMENT_TABLES.job.key_id,
  quote: SETTLEMENT_TABLES.job.quote,
  event: SETTLEMENT_TABLES.job.event,
  deadlineAt: SETTLEMENT_TABLES.job.deadline_at,
  endedAt: SETTLEMENT_TABLES.job.ended_at,
  endEvent: nullable(SETTLEMENT_TABLES.job_end.event),
  artifacts: SETTLEMENT_TABLES.job.artifacts,
}
export type JobWithEnd = RowOf<typeof JOB_WITH_END_ROW>

const JOB_WITH_END = sql`j.rid, j.key_id as "keyId", j.quote, j.event, j.deadline_at as "deadlineAt",
  j.ended_at as "endedAt", e.event as "endEvent", j.artifacts
  from job j left join job_end e on e.rid = j.rid and e.booked_at is not null`

/** A job of an account with its end. */
export async function findJobWithEnd(db: Database, account: AccountId, rid: string): Promise<JobWithEnd | undefined> {
  const rows = await readRows(
    db,
    JOB_WITH_END_ROW,
    sql`select ${JOB_WITH_END} where j.rid = ${rid} and j.account = ${account}`,
  )
  return rows[0]
}

/** The states by which jobs are listed. */
export type JobChoice = 'any' | 'running' | 'succeeded' | 'failed' | 'cancelled'

const OUTCOME = sql`e.event::json ->> 'outcome'`
/** A job without a readable end has failed once it ended. */
const IN_STATE: Readonly<Record<JobChoice, RawBuilder<unknown>>> = {
  any: sql`true`,
  running: sql`j.ended_at is null`,
  succeeded: sql`j.ended_at is not null and ${OUTCOME} = 'succeeded'`,
  cancelled: sql`j.ended_at is not null and ${OUTCOME} = 'cancelled'`,
  failed: sql`j.ended_at is not null and coalesce(${OUTCOME}, '') not in ('succeeded', 'cancelled')`,
}

/** Jobs of an account, newest first, before a request id. */
export async function listJobs(
  db: Database,
  account: AccountId,
  choice: { readonly state: JobChoice; readonly before: string | undefined; readonly limit: number },
): Promise<JobWithEnd[]> {
  const { state, before, limit } = choice
  const conditions = [
    sql`j.account = ${account}`,
    IN_STATE[state],
    ...(before === undefined ? [] : [sql`j.rid < ${before}`]),
  ]
  const rows = await readRows(
    db,
    JOB_WITH_END_ROW,
    sql`select ${JOB_WITH_END} where ${sql.join(conditions, sql` and `)} order by j.rid desc limit ${limit}`,
  )
  return rows
}

/** A job that ended and that no webhook has announced. */
const UNANNOUNCED_JOB_ROW = { ...JOB_WITH_END_ROW, account: SETTLEMENT_TABLES.job.account }
export type UnannouncedJob = RowOf<typeof UNANNOUNCED_JOB_ROW>

/** Jobs whose end no webhook has announced, the longest ended first, without the first `skipped`. */
export async function listUnannouncedJobs(db: Database, limit: number, skipped: number): Promise<UnannouncedJob[]> {
  const rows = await readRows(
    db,
    UNANNOUNCED_JOB_ROW,
    sql`select j.account, ${JOB_WITH_END} where j.ended_at is not null and j.told_at is null
    order by j.ended_at, j.rid limit ${limit} offset ${skipped}`,
  )
  return rows
}

/**
 * Records that the end of a job is announced, with the count of its files and the sealed shown form. Returns false when
 * it was announced already.
 */
export async function markJobAnnounced(
  trx: Trx,
  rid: string,
  notice: { readonly artifacts: number | null; readonly shown: string; readonly at: number },
): Promise<boolean> {
  const { numAffectedRows } =
    await sql`update job set told_at = ${new Date(notice.at)}, artifacts = ${notice.artifacts},
      shown = case when deleted_at is null then ${notice.shown} else shown end
    where rid = ${rid} and ended_at is not null and told_at is null`.execute(trx)
  return numAffectedRows === 1n
}
