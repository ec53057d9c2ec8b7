import type { Queue } from 'bullmq'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { GateAudit } from '#control-plane/ports/gate/gate-audit.ts'
import type { UsageQueue } from '#control-plane/ports/queue/usage-queue.ts'
import type { TradeFeed } from '#control-plane/ports/updates/trade-feed.ts'
import { createLease } from '#control-plane/services/leases.ts'
import type { Secret } from '#shared/secret.ts'

/** Intervals and waits of the money workers. */
export type MoneyTimes = {
  readonly sweepEveryMs: number
  /**
   * Time that a capture waits for its event to arrive through the queue, while the queue has work and while it is
   * empty.
   */
  readonly unpostedAfterMs: number
  readonly unpostedWhenQuietMs: number
  readonly checkEveryMs: number
  /** Whole months before the current one that stay attached. 0 detaches none. */
  readonly retentionMonths: number
}

/** The workers' context: that of operations, and the parts that only background work needs. */
export type WorkerPlane = Ctx & {
  /** Redis of money and queues. */
  readonly redisUrl: Secret
  /** Opens a queue for its senders. A message that is sent while Redis is away fails at once. */
  openQueue(name: string): Queue
  readonly usageQueue: UsageQueue
  readonly feed: TradeFeed
  readonly gateAudit: GateAudit
  readonly moneyTimes: MoneyTimes
  /** Identifies this process among those that run the same workers. */
  readonly workerId: string
}

/** A running worker. `stop` waits for the current turn and resolves when no other will start. */
export type RunningWorker = {
  readonly name: string
  /** True when it is ready to work; absent for a worker with nothing to open. */
  isReady?(): boolean
  stop(): Promise<void>
}

/** A lease lasts this many intervals. That leaves time to renew it, and costs little waiting after a death. */
const LEASE_SLACK = 1.5

type Periodic = {
  readonly name: string
  readonly everyMs: number
  /** Pause before the first turn; none by default. */
  readonly firstAfterMs?: number
  /** Duration of the lease, for a turn that may last longer than an interval. */
  readonly leaseMs?: number
  /** True lets every process run it. Otherwise a lease lets one process run it at a time. */
  readonly isShared?: boolean
  /** A long turn has to stop soon once `ending` is aborted, because the process waits for the turn. */
  readonly run: (ending: AbortSignal) => Promise<void>
}

/** Runs work again and again, with a pause after each end. A failure is logged, and the next turn tries again. */
export function repeat(plane: WorkerPlane, periodic: Periodic): RunningWorker {
  const { name, everyMs } = periodic
  const ttlMs = Math.max(Math.ceil(everyMs * LEASE_SLACK), periodic.leaseMs ?? 0)
  const lease = createLease(plane, { name, owner: plane.workerId, ttlMs })
  let timer: NodeJS.Timeout | undefined
  const ending = new AbortController()
  let turn = Promise.resolve()
  schedule(periodic.firstAfterMs ?? 0)

  async function takeTurn(): Promise<void> {
    try {
      const run = () => plane.telemetry.turn(name, () => periodic.run(ending.signal))
      await (periodic.isShared === true ? run() : lease.run(run))
    } catch (error) {
      plane.log.warn({ err: error, worker: name }, 'a periodic job failed and will run again')
    }
    if (!ending.signal.aborted) schedule(everyMs)
  }

  function schedule(afterMs: number): void {
    timer = setTimeout(() => {
      turn = takeTurn()
    }, afterMs)
  }

  return {
    name,
    stop: async () => {
      ending.abort()
      clearTimeout(timer)
      await turn
      if (periodic.isShared === true) return
      await lease
        .end()
        .catch((error: unknown) => plane.log.warn({ err: error, worker: name }, 'a lease was left to run out'))
    },
  }
}
