import { createLogger } from '#shared/logger.ts'
import type { ChainHost } from '#test/sim/chain/chain-host.ts'
import type { LedgerHost } from '#test/sim/ledger/ledger-host.ts'
import type { Crash } from '#test/sim/plan/crash.ts'
import type { JobQueue } from '#test/sim/redis/job-queue.ts'
import type { RedisHost } from '#test/sim/redis/redis-host.ts'
import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler } from '#test/sim/time/scheduler.ts'
import type { Flaw } from './flaws.ts'

/** The parts of a world that all its processes share. */
export type Ground = {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly redis: RedisHost
  readonly postgres: LedgerHost
  readonly queue: JobQueue
  /** Undefined in a world without wallets. */
  readonly chain: ChainHost | undefined
  readonly crash: Crash
  /** The one deliberate fault, if any. */
  readonly flaw: Flaw | undefined
}

export const BUCKETS = 1
export const BUCKET = 'm00'
export const log = createLogger('sim', 'silent')
