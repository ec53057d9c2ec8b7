import type { Transaction } from 'kysely'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Tables } from './tables.ts'

/** The pool with the shape of every table. int8 reads as bigint, json as parsed values, timestamps as Date. */
export type Database = Kysely<Tables>
/** A database handle inside a transaction. */
export type Trx = Transaction<Tables>

/** Oid of int8, which a JavaScript number cannot hold. */
const INT8 = 20
const STATEMENT_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5_000

type Options = {
  /** Most connections of this pool. */
  readonly max: number
  /** Told of an idle connection that broke; the pool replaces it. */
  readonly onIdleError?: (error: Error) => void
  /** Given a way to read how full the pool is. */
  readonly watch?: (read: () => PoolFigures) => void
}

/** Connections of a pool; `waiting` are callers that have none yet. */
export type PoolFigures = { readonly total: number; readonly idle: number; readonly waiting: number }

/** Opens a pool; connections are made when needed. `destroy()` closes it. */
export function createDatabase(url: string, options: Options): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    types: { getTypeParser: readColumn },
  })
  // Without a listener a broken idle connection would end the process.
  pool.on('error', (error) => options.onIdleError?.(error))
  // So would one that breaks between two statements of somebody who holds it; the next statement tells that one.
  pool.on('connect', (client) => client.on('error', () => undefined))
  options.watch?.(() => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }))
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

function readColumn(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8 && format !== 'binary') return (text: string) => BigInt(text)
  return pg.types.getTypeParser(oid, format)
}

/** Runs `run` in one READ COMMITTED transaction; what it throws rolls back. */
export function transact<Result>(db: Database, run: (trx: Trx) => Promise<Result>): Promise<Result> {
  return db.transaction().setIsolationLevel('read committed').execute(run)
}

/**
 * SQLSTATEs after which the same work may simply be tried again: serialization failure, deadlock, lock timeout,
 * connection loss and a server that is stopping or starting (PostgreSQL manual, appendix A).
 */
const TRANSIENT = /^(40001|40P01|55P03|57P0[123]|08\w{3})$/
const TRANSIENT_NETWORK = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'])

/** True when an error says nothing about the work itself, so that work with a key of its own may be repeated. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (/^Connection terminated|timeout exceeded when trying to connect/.test(error.message)) return true
  if (!('code' in error) || typeof error.code !== 'string') return false
  return TRANSIENT.test(error.code) || TRANSIENT_NETWORK.has(error.code)
}

/**
 * Classes of SQLSTATE that speak of the data itself: data exceptions, broken constraints, and what a trigger raises. All
 * others speak of the server (read-only, full, out of memory, cancelled): the same data may be taken later.
 */
const REFUSED = /^(22|23)\w{3}$|^P0001$/

/** The SQLSTATE and constraint of a statement whose data the database will never take; undefined for another error. */
export function refusalOf(error: unknown): { code: string; constraint: string | undefined } | undefined {
  return error instanceof pg.DatabaseError && error.code !== undefined && REFUSED.test(error.code)
    ? { code: error.code, constraint: error.constraint }
    : undefined
}
