import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler, SimProcess } from '#test/sim/time/scheduler.ts'
import type { LedgerTables } from './ledger-tables.ts'
import { backUpTables, copyTables, createTables } from './ledger-tables.ts'

/** Faults of the next transaction. */
export type CommitFault = 'abort' | 'committed_unknown' | 'rolled_back_unknown'

/** The machine of Postgres. Transactions run one after the other. Readers see the committed tables. */
export type LedgerHost = {
  tables(): LedgerTables
  wall(): number
  setUp(isUp: boolean): void
  isUp(): boolean
  failNext(fault: CommitFault): void
  /** Calls the listener after every commit. */
  onCommit(listener: () => void): void
  /**
   * Backs the tables up. The returned function restores them as a new timeline, ends every connection, and returns the
   * tables that it replaced.
   */
  backUp(): () => LedgerTables
  /** Ends the connection of the leader. */
  cutLeader(): void
  session(owner: SimProcess): LedgerSession
}

/** Postgres as seen by one process. */
export type LedgerSession = {
  wall(): number
  identity(): LedgerTables['identity']
  /** True in a world with budgets. Without one, no read of them takes time. */
  hasBudgets(): boolean
  /** Nothing that is posted from now on has an earlier instant than this. Unix milliseconds. */
  horizon(): number
  read<Result>(run: (tables: LedgerTables) => Result): Promise<Result>
  write<Result>(run: (tables: LedgerTables) => Result): Promise<Result>
  transact<Result>(body: (statement: Statement) => Promise<Result>): Promise<Result>
  /** Runs `body` as the only leader. Does nothing while another process leads. */
  lead(body: (session: LedgerSession) => Promise<void>): Promise<void>
}

export type Statement = <Result>(run: (tables: LedgerTables) => Result) => Promise<Result>

type Holder = { readonly owner: SimProcess; readonly since: number }
type Leader = { readonly owner: SimProcess; isCut: boolean }

const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_MS = 10_000
const LOCK_LOOK_MS = 0.7

/** A refusal by the database: a SQLSTATE and, if there is one, the constraint. */
export function failure(code: string, constraint?: string): Error {
  return Object.assign(new Error(`the database answers ${code}`), {
    code,
    ...(constraint === undefined ? {} : { constraint }),
  })
}

export function createLedgerHost(scheduler: Scheduler, random: Random): LedgerHost {
  let tables = createTables()
  let isUp = true
  let holder: Holder | undefined
  let leader: Leader | undefined
  const faults: CommitFault[] = []
  const committed: (() => void)[] = []

  function session(owner: SimProcess, isCut: () => boolean = () => false): LedgerSession {
    const pause = () => owner.time.sleep(0.2 + random.fraction())
    const requireUp = () => {
      if (!isUp || isCut()) throw failure('ECONNRESET')
    }

    /** Runs at its time, even when the process has died meanwhile. */
    function perform<Result>(run: () => Result): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (!owner.isAlive()) return
        scheduler.after(0.1 + random.fraction(), () => {
          if (!owner.isAlive() && random.chance(0.5)) return
          try {
            requireUp()
            const result = run()
            scheduler.after(0.1, () => resolve(result), owner)
          } catch (error) {
            scheduler.after(0.1, () => reject(error), owner)
          }
        })
      })
    }

    async function acquire(): Promise<Holder> {
      const since = scheduler.now()
      while (holder?.owner.isAlive() === true && scheduler.now() - holder.since < IDLE_IN_TRANSACTION_MS) {
        if (scheduler.now() - since > LOCK_TIMEOUT_MS) throw failure('55P03')
        await owner.time.sleep(LOCK_LOOK_MS)
      }
      requireUp()
      holder = { owner, since: scheduler.now() }
      return holder
    }

    function commit(own: Holder, copy: LedgerTables, fault: CommitFault | undefined): void {
      // A session that was idle for too long has lost its transaction.
      const isIdle = scheduler.now() - own.since > IDLE_IN_TRANSACTION_MS
      if (holder !== own || isIdle || fault === 'abort') throw failure('40001')
      holder = undefined
      if (fault === 'rolled_back_unknown') throw failure('ECONNRESET')
      tables = copy
      for (const listener of committed) listener()
      if (fault === 'committed_unknown') throw failure('ECONNRESET')
    }

    const own: LedgerSession = {
      wall: scheduler.wall,
      identity: () => tables.identity,
      hasBudgets: () => tables.budgets.size > 0,
      horizon: () => scheduler.wall() - scheduler.now() + (holder?.since ?? scheduler.now()),
      async read(run) {
        await pause()
        requireUp()
        return run(tables)
      },
      async write(run) {
        const lock = await acquire()
        try {
          return await perform(() => {
            if (holder !== lock) throw failure('40001')
            holder = undefined
            const result = run(tables)
            for (const listener of committed) listener()
            return result
          })
        } finally {
          if (holder === lock) holder = undefined
        }
      },
      async transact(body) {
        requireUp()
        const lock = await acquire()
        const copy = copyTables(tables)
        const fault = faults.shift()
        try {
          const result = await body(async (run) => {
            await pause()
            requireUp()
            if (holder !== lock) throw failure('57P01')
            return run(copy)
          })
          await perform(() => commit(lock, copy, fault))
          return result
        } finally {
          if (holder === lock) holder = undefined
        }
      },
      async lead(body) {
        requireUp()
        if (leader?.isCut === false && leader.owner.isAlive()) return
        const mine: Leader = { owner, isCut: false }
        leader = mine
        try {
          await body(session(owner, () => mine.isCut))
        } finally {
          mine.isCut = true
        }
      },
    }
    return own
  }

  return {
    tables: () => tables,
    wall: scheduler.wall,
    setUp(up) {
      isUp = up
      if (up) return
      holder = undefined
      if (leader !== undefined) leader.isCut = true
    },
    isUp: () => isUp,
    failNext: (fault) => void faults.push(fault),
    onCommit: (listener) => void committed.push(listener),
    backUp() {
      const backup = backUpTables(tables)
      const { known } = tables.identity
      return () => {
        holder = undefined
        if (leader !== undefined) leader.isCut = true
        const gone = tables
        tables = { ...backup, identity: { here: gone.identity.here + 1, known } }
        for (const listener of committed) listener()
        return gone
      }
    },
    cutLeader() {
      if (leader !== undefined) leader.isCut = true
    },
    session,
  }
}
