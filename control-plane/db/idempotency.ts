import { sql } from 'kysely'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { OPERATION_TABLES } from './tables/operations.ts'

/** The full name of an idempotency key: one caller's key for one operation. */
export type IdempotencyPlace = { readonly tenant: string; readonly operation: string; readonly key: string }

/** A request to run under a key. Times are Unix milliseconds. */
export type IdempotencyRequest = IdempotencyPlace & {
  readonly requestHash: string
  readonly now: number
  readonly leaseUntil: number
  readonly expiresAt: number
}

/**
 * The result of a claim: this run has the key, another run uses it, it has an answer, or it belongs to another request.
 */
export type IdempotencyClaim =
  | { readonly state: 'claimed'; readonly claimedAt: number }
  | { readonly state: 'running' }
  | { readonly state: 'reused' }
  | { readonly state: 'done'; readonly answer: unknown }

/**
 * Claims a key, or returns the reason why it cannot be claimed. A new run replaces an expired row, and a run without
 * an answer whose lease has ended. After a crash the key stays blocked until the lease ends.
 */
export async function claimIdempotencyKey(
  db: Database,
  idempotencyRequest: IdempotencyRequest,
): Promise<IdempotencyClaim> {
  const now = new Date(idempotencyRequest.now)
  const taken = await readRows(
    db,
    { key: OPERATION_TABLES.idempotency.key },
    sql`
    insert into idempotency as held (tenant, operation, key, request_hash, answer, claimed_at, lease_until, expires_at)
    values (${idempotencyRequest.tenant}, ${idempotencyRequest.operation}, ${idempotencyRequest.key}, ${idempotencyRequest.requestHash}, null, ${now},
      ${new Date(idempotencyRequest.leaseUntil)}, ${new Date(idempotencyRequest.expiresAt)})
    on conflict (tenant, operation, key) do update
      set request_hash = excluded.request_hash, answer = null, claimed_at = excluded.claimed_at,
        lease_until = excluded.lease_until, expires_at = excluded.expires_at
      where held.expires_at <= ${now}
        or (held.answer is null and held.lease_until <= ${now} and held.request_hash = excluded.request_hash)
    returning key`,
  )
  if (taken.length > 0) return { state: 'claimed', claimedAt: idempotencyRequest.now }
  const row = await db
    .selectFrom('idempotency')
    .select(['request_hash', 'answer'])
    .where('tenant', '=', idempotencyRequest.tenant)
    .where('operation', '=', idempotencyRequest.operation)
    .where('key', '=', idempotencyRequest.key)
    .executeTakeFirst()
  // The row vanished in between because its run failed, so the caller may try again.
  if (row === undefined) return { state: 'running' }
  if (row.request_hash !== idempotencyRequest.requestHash) return { state: 'reused' }
  return row.answer === null ? { state: 'running' } : { state: 'done', answer: row.answer }
}

/** Stores the answer of the run that claimed the key at `claimedAt`. */
export async function finishIdempotencyKey(
  db: Database,
  run: { readonly place: IdempotencyPlace; readonly claimedAt: number; readonly answer: string },
): Promise<void> {
  await sql`update idempotency set answer = ${run.answer}::jsonb
    where tenant = ${run.place.tenant} and operation = ${run.place.operation} and key = ${run.place.key}
      and claimed_at = ${new Date(run.claimedAt)}`.execute(db)
}

/** Frees a key whose run failed. */
export async function deleteIdempotencyKey(db: Database, place: IdempotencyPlace, claimedAt: number): Promise<void> {
  await db
    .deleteFrom('idempotency')
    .where('tenant', '=', place.tenant)
    .where('operation', '=', place.operation)
    .where('key', '=', place.key)
    .where('claimed_at', '=', new Date(claimedAt))
    .execute()
}

/** Removes expired rows and returns their number. `now` is Unix milliseconds. */
export async function deleteExpiredIdempotencyKeys(db: Database, now: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('idempotency')
    .where('expires_at', '<=', new Date(now))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
