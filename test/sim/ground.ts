import { createLogger } from '#shared/logger.ts'
import type { ChainHost } from './chain-host.ts'
import type { Crash } from './crash.ts'
import type { Flaw } from './flaws.ts'
import type { JobQueue } from './job-queue.ts'
import type { LedgerHost } from './ledger-host.ts'
import type { Random } from './random.ts'
import type { RedisHost } from './redis-host.ts'
import type { Scheduler } from './scheduler.ts'

/** The parts of a world on which all its processes run. */
export type Ground = {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly redis: RedisHost
  readonly postgres: LedgerHost
  readonly queue: JobQueue
  /** Undefined in a world where nobody pays by wallet. */
  readonly chain: ChainHost | undefined
  readonly crash: Crash
  /** The one deliberate fault, if any. */
  readonly flaw: Flaw | undefined
}

export const BUCKETS = 1
export const BUCKET = 'm00'
export const log = createLogger('sim', 'silent')
