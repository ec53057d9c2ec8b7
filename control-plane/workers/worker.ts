import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { GateAudit } from '#control-plane/ports/gate/gate-audit.ts'
import type { JobProbe } from '#control-plane/ports/provider/job-probe.ts'
import type { UsageQueue } from '#control-plane/ports/queue/usage-queue.ts'
import type { TradeFeed } from '#control-plane/ports/updates/trade-feed.ts'
import { endLease, withLease } from '#control-plane/services/leases.ts'
import type { Secret } from '#shared/secret.ts'

/** How often the money workers look, and how patient they are. */
export type MoneyTimes = {
  readonly sweepEveryMs: number
  /** How long a capture waits for the queue to bring its event, while the queue has work and while it has none. */
  readonly unpostedAfterMs: number
  readonly unpostedWhenQuietMs: number
  readonly checkEveryMs: number
  /** Whole months that stay attached before the running one; 0 detaches none. */
  readonly retentionMonths: number
}

/** What workers are given: the context of operations, and what only background work needs. */
export type WorkerPlane = Ctx & {
  /** Redis of money and queues. */
  readonly redisUrl: Secret
  readonly usageQueue: UsageQueue
  readonly feed: TradeFeed
  readonly gateAudit: GateAudit
  readonly askProvider: JobProbe
  readonly moneyTimes: MoneyTimes
  /** Tells this process from the others that run the same workers. */
  readonly workerId: string
}

/** A worker at work. `stop` waits for what is running, and resolves once nothing more will. */
export type RunningWorker = { readonly name: string; stop(): Promise<void> }

/** Part of an interval that a lease outlives it by: time enough to renew, and no more to wait for after a death. */
const LEASE_SLACK = 1.5

type Periodic = {
  readonly name: string
  readonly everyMs: number
  /** How long after the start the first turn comes; at once when left out. */
  readonly firstAfterMs?: number
  /** How long the lease lasts, where a run may take longer than an interval. */
  readonly leaseMs?: number
  /** True lets every process run it; otherwise one at a time does, by lease. */
  readonly isShared?: boolean
  readonly run: () => Promise<void>
}

/** Runs something now and again so long after each end. A failure is logged, and the next turn tries again. */
export function repeat(plane: WorkerPlane, periodic: Periodic): RunningWorker {
  const { name, everyMs } = periodic
  const lease = {
    name,
    owner: plane.workerId,
    ttlMs: Math.max(Math.ceil(everyMs * LEASE_SLACK), periodic.leaseMs ?? 0),
  }
  let timer: NodeJS.Timeout | undefined
  let isStopping = false
  let turn = Promise.resolve()
  schedule(periodic.firstAfterMs ?? 0)

  async function takeTurn(): Promise<void> {
    try {
      const run = () => plane.telemetry.turn(name, periodic.run)
      await (periodic.isShared === true ? run() : withLease(plane, lease, run))
    } catch (error) {
      plane.log.warn({ err: error, worker: name }, 'a periodic job failed and will run again')
    }
    if (!isStopping) schedule(everyMs)
  }

  function schedule(afterMs: number): void {
    timer = setTimeout(() => {
      turn = takeTurn()
    }, afterMs)
  }

  return {
    name,
    stop: async () => {
      isStopping = true
      clearTimeout(timer)
      await turn
      if (periodic.isShared === true) return
      await endLease(plane, lease).catch((error: unknown) =>
        plane.log.warn({ err: error, worker: name }, 'a lease was left to run out'),
      )
    },
  }
}
