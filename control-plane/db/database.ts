import type { Transaction } from 'kysely'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { isTransient } from '#shared/transient.ts'
import type { Tables } from './tables.ts'

/** The pool, with the types of every table. int8 reads as bigint, json as parsed values, timestamps as Date. */
export type Database = Kysely<Tables>
/** A database handle inside a transaction. */
export type Trx = Transaction<Tables>

/** Oid of int8, which a JavaScript number cannot hold. */
const INT8 = 20
/** Limits of a connection in milliseconds. */
export type DatabaseLimits = {
  readonly statementMs: number
  readonly lockMs: number
  readonly idleInTransactionMs: number
  /** Wait for a connection, new or of the pool. */
  readonly connectMs: number
}
const LIMITS: DatabaseLimits = { statementMs: 5_000, lockMs: 2_000, idleInTransactionMs: 10_000, connectMs: 5_000 }
/** Longer than the pauses of most workers. A new connection for each turn would cost more than the turn. */
const IDLE_CONNECTION_TIMEOUT_MS = 60_000

type Options = {
  readonly max: number
  /** Changes to the limits of production. */
  readonly limits?: Partial<DatabaseLimits>
  /** Receives the error of an idle connection that broke. The pool replaces the connection. */
  readonly onIdleError?: (error: Error) => void
  /** Receives a function that reads the state of the pool. */
  readonly watch?: (read: () => PoolFigures) => void
}

/** Numbers of connections. `waiting` counts callers without a connection. */
export type PoolFigures = { readonly total: number; readonly idle: number; readonly waiting: number }

/** Opens a pool. It connects on first use, and `destroy()` closes it. */
export function createDatabase(url: string, options: Options): Database {
  const limits = { ...LIMITS, ...options.limits }
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    connectionTimeoutMillis: limits.connectMs,
    idleTimeoutMillis: IDLE_CONNECTION_TIMEOUT_MS,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
    types: { getTypeParser: readColumn },
  })
  // Without a listener a broken idle connection would end the process.
  pool.on('error', (error) => options.onIdleError?.(error))
  // A connection that breaks while a caller holds it would end the process, too. The caller's next statement fails
  // instead.
  pool.on('connect', (client) => client.on('error', () => undefined))
  options.watch?.(() => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }))
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

/** Attempts of a program that runs once and is not restarted. */
const REACH_TRIES = 5

/**
 * Connects, and tries again when a busy process or server exceeded the time limit. The pool keeps the connection.
 * Throws the error of the last attempt, and any other error at once.
 */
export async function reachDatabase(db: Database): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await sql`select 1`.execute(db)
      return
    } catch (error) {
      if (tries >= REACH_TRIES || !isTransient(error)) throw error
    }
  }
}

function readColumn(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8 && format !== 'binary') return (text: string) => BigInt(text)
  return pg.types.getTypeParser(oid, format)
}

/** Runs `run` in one READ COMMITTED transaction. An error rolls back. */
export function transact<Result>(db: Database, run: (trx: Trx) => Promise<Result>): Promise<Result> {
  return db.transaction().setIsolationLevel('read committed').execute(run)
}

/** Runs reads in one REPEATABLE READ transaction: all of them see the same moment. */
export function readAtOnce<Result>(db: Database, read: (trx: Trx) => Promise<Result>): Promise<Result> {
  return db.transaction().setIsolationLevel('repeatable read').execute(read)
}

/**
 * SQLSTATE classes that refuse the data itself: wrong numbers of rows, data exceptions, broken constraints and checks,
 * sizes beyond what the server can store, and errors that triggers raise. Other classes concern the server (read-only,
 * full, out of memory, cancelled), which may accept the same data later.
 */
const REFUSED = /^(21|22|23|44|54)\w{3}$|^P0001$/

/** The SQLSTATE and constraint of a permanent refusal of the data; undefined for other errors. */
export function refusalOf(error: unknown): { code: string; constraint: string | undefined } | undefined {
  return error instanceof pg.DatabaseError && error.code !== undefined && REFUSED.test(error.code)
    ? { code: error.code, constraint: error.constraint }
    : undefined
}
