import type { Redis } from 'ioredis'
import type { Time } from '#shared/clock.ts'
import type { NodeLoad, NodeReport } from '#shared/contract/node-report.ts'
import { NODE_REPORT_EVERY_MS } from '#shared/contract/node-report.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'

type Parts = {
  readonly redis: Redis
  readonly clock: Time
  readonly log: Logger
  /** The present state of the process. */
  describe(): Omit<NodeReport, 'startedAt' | 'reportedAt' | 'load'>
}

/** The reports of a process. */
export type NodeReports = {
  /** Sets the reader of the load, once the process serves calls. */
  watchLoad(read: () => NodeLoad): void
  close(): void
}

/**
 * Reports every few seconds to operators that this process lives, and its state. Nothing depends on it. `close` removes
 * the report.
 */
export function startNodeReports({ redis, clock, log, describe }: Parts): NodeReports {
  const startedAt = clock.now()
  let readLoad: (() => NodeLoad) | undefined

  async function report(): Promise<void> {
    const members = { ...describe(), startedAt, reportedAt: clock.now(), load: readLoad?.() ?? null }
    await redis.hset(cacheKeys.nodeReports, members.node, JSON.stringify(members))
  }
  const unheard = (cause: unknown) =>
    log.debug({ cause: describeCause(cause) }, 'the report of this process could not be sent')

  report().catch(unheard)
  const stop = clock.every(NODE_REPORT_EVERY_MS, () => void report().catch(unheard))
  return {
    watchLoad(read) {
      readLoad = read
    },
    close() {
      stop()
      redis.hdel(cacheKeys.nodeReports, describe().node).catch(unheard)
    },
  }
}
