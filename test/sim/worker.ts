import type { DebitGate } from '#control-plane/ports/gate/debit-gate.ts'
import { createRedisDebitGate } from '#control-plane/ports/gate/redis-debit-gate.ts'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import { createRedisGateKeeper } from '#control-plane/ports/gate-keeper/redis-gate-keeper.ts'
import { answerSeedRequests, watchGate } from '#control-plane/services/money/gate-watch.ts'
import type { IngestCtx } from '#control-plane/services/money/ingest.ts'
import { postBatch } from '#control-plane/services/money/ingest.ts'
import { sweepHolds } from '#control-plane/services/money/sweep.ts'
import type { Ground } from './ground.ts'
import { BUCKETS, log } from './ground.ts'
import type { JobProviders } from './job-providers.ts'
import { createMemoryLedger } from './memory-ledger.ts'
import { ackBeforeCommit } from './mutant-services.ts'
import { ledgerFlaws } from './mutants.ts'
import { endOverdue } from './overdue.ts'
import { createLink } from './redis-link.ts'
import type { SimProcess } from './scheduler.ts'

/** A worker process of the control plane. It watches the gate, posts the batches of the queue, and sweeps. */
export type Worker = {
  readonly name: string
  process(): SimProcess | undefined
  boot(): void
  kill(): void
  /** Sweeps at once, as the timer would. */
  sweep(): void
  /** The context of operations in this process; undefined while it does not live. */
  ctx(): IngestCtx | undefined
  /** The gate through which its debits are set aside. */
  debitGate(): DebitGate | undefined
}

const SWEEP_EVERY_MS = 30_000
const OVERDUE_EVERY_MS = 7_000
const COMMAND_TIMEOUT_MS = 2_000

export function createWorker(ground: Ground, name: string, providers: JobProviders): Worker {
  const { scheduler, postgres, redis, queue, mutant, random } = ground
  let running: { readonly process: SimProcess; readonly ctx: IngestCtx; readonly debits: DebitGate } | undefined

  function start(process: SimProcess): { ctx: IngestCtx; debits: DebitGate } {
    const clock = process.time
    const ledger = createMemoryLedger(postgres.session(process), ledgerFlaws(mutant))
    const link = (timeoutMs?: number) =>
      createLink({ scheduler, host: redis, owner: process, ...(timeoutMs === undefined ? {} : { timeoutMs }) }).client
    const gate = createRedisGate({ redis: link(COMMAND_TIMEOUT_MS), buckets: BUCKETS })
    const keeper = createRedisGateKeeper({ redis: link(), blocking: link(), buckets: BUCKETS, log })
    const honest: IngestCtx = { ledger, gate, clock, log }
    const ctx = mutant === 'ack_before_commit' ? ackBeforeCommit(honest) : honest
    const { signal } = new AbortController()
    void watchGate({ ...ctx, keeper, afterOpen: async () => void (await sweepHolds(ctx, 0)) }, signal)
    void answerSeedRequests({ ...ctx, keeper }, signal)
    queue.consume(process, async ({ captured, events, source }) => {
      await postBatch(ctx, { events: [...events, ...(await gate.captured(captured))], source })
    })
    const sweep = () => void sweepHolds(ctx).catch(() => undefined)
    clock.after(random.fraction() * SWEEP_EVERY_MS, () => {
      sweep()
      clock.every(SWEEP_EVERY_MS, sweep)
    })
    clock.every(OVERDUE_EVERY_MS, () => void endOverdue(ground, ctx, providers).catch(() => undefined))
    return { ctx, debits: createRedisDebitGate({ redis: link(COMMAND_TIMEOUT_MS), buckets: BUCKETS }) }
  }

  return {
    name,
    process: () => running?.process,
    boot() {
      if (running?.process.isAlive() === true) return
      const process = scheduler.process(name)
      running = { process, ...start(process) }
    },
    kill() {
      running?.process.kill()
      running = undefined
    },
    sweep() {
      if (running?.process.isAlive() === true) void sweepHolds(running.ctx).catch(() => undefined)
    },
    ctx: () => (running?.process.isAlive() === true ? running.ctx : undefined),
    debitGate: () => (running?.process.isAlive() === true ? running.debits : undefined),
  }
}
