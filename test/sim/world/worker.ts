import type { DebitGate } from '#control-plane/ports/gate/debit-gate.ts'
import { createRedisDebitGate } from '#control-plane/ports/gate/redis-debit-gate.ts'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import { createRedisGateKeeper } from '#control-plane/ports/gate-keeper/redis-gate-keeper.ts'
import type { JobBook } from '#control-plane/ports/jobs/job-book.ts'
import { createRedisJobBook } from '#control-plane/ports/jobs/redis-job-book.ts'
import type { IngestCtx } from '#control-plane/services/booking/ingest.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { sweepHolds } from '#control-plane/services/booking/sweep.ts'
import { answerSeedRequests, watchGate } from '#control-plane/services/gate/gate-watch.ts'
import { restoreJobs } from '#control-plane/services/jobs/restore-jobs.ts'
import type { FinishCtx } from '#control-plane/services/payments/finish-payments.ts'
import { finishPayments } from '#control-plane/services/payments/finish-payments.ts'
import { createIds } from '#shared/ids.ts'
import type { LedgerSession } from '#test/sim/ledger/ledger-host.ts'
import { createMemoryLedger } from '#test/sim/ledger/memory-ledger.ts'
import type { Crash } from '#test/sim/plan/crash.ts'
import type { JobProviders } from '#test/sim/providers/job-providers.ts'
import type { Market } from '#test/sim/providers/market.ts'
import { createLink } from '#test/sim/redis/redis-link.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { ackBeforeCommit } from './ack-before-commit.ts'
import { openChainPayments } from './chain-ports.ts'
import { ledgerFlaws } from './flaws.ts'
import type { Ground } from './ground.ts'
import { BUCKETS, log } from './ground.ts'
import { memoryArchive, placesIn } from './job-archive.ts'
import { pollDueJobs } from './poll-jobs.ts'

/** A worker process of the control plane. It watches the gate, posts the batches of the queue, and sweeps. */
export type Worker = {
  readonly name: string
  process(): SimProcess | undefined
  boot(): void
  kill(): void
  /** Sweeps at once, as the timer would. */
  sweep(): void
  /** The context of operations in this process. Undefined while the process is dead. */
  ctx(): IngestCtx | undefined
  /** The gate in which its debits are held. */
  debitGate(): DebitGate | undefined
  /** The worker's part in payments by wallet. Undefined while the worker is dead, and in a world without wallets. */
  payments(): PaymentWorker | undefined
}

/** The part of a worker that settles payments by wallet. */
export type PaymentWorker = { readonly ctx: FinishCtx }

const SWEEP_EVERY_MS = 30_000
const POLL_EVERY_MS = 3_000
/** Longer than in a real worker: two simulated hours without calls would take thousands of turns. */
const RESTORE_EVERY_MS = 30_000
const COMMAND_TIMEOUT_MS = 2_000
const FINISH_EVERY_MS = 1_000

type Parts = { readonly jobs: JobProviders; readonly market: Market }

type Running = {
  readonly process: SimProcess
  readonly ctx: IngestCtx
  readonly debits: DebitGate
  readonly payments: PaymentWorker | undefined
}

export function createWorker(ground: Ground, name: string, { jobs: providers, market }: Parts): Worker {
  const { scheduler, postgres, redis, queue, flaw, random } = ground
  const places = placesIn(market)
  let running: Running | undefined

  function start(process: SimProcess): Omit<Running, 'process'> {
    const clock = process.time
    const session = postgres.session(process)
    const ledger = createMemoryLedger(session, ledgerFlaws(flaw))
    const link = (timeoutMs?: number) =>
      createLink({ scheduler, host: redis, owner: process, ...(timeoutMs === undefined ? {} : { timeoutMs }) }).client
    const gate = createRedisGate({ redis: link(COMMAND_TIMEOUT_MS), buckets: BUCKETS })
    const keeper = createRedisGateKeeper({ redis: link(), blocking: link(), buckets: BUCKETS, log })
    const own = random.fork(`ids ${process.pid}`)
    const ids = createIds(clock, (pool) => {
      for (let index = 0; index < pool.length; index++) pool[index] = own.between(0, 255)
    })
    const honest: IngestCtx = { ids, ledger, gate, clock, log }
    const ctx = flaw === 'ack_before_commit' ? ackBeforeCommit(honest) : honest
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
    const jobBook = crashingBook(createRedisJobBook(link(COMMAND_TIMEOUT_MS)), ground.crash)
    const poll = () =>
      void pollDueJobs({ ctx: { ...ctx, jobBook }, session, process, providers, places }).catch(() => undefined)
    clock.every(POLL_EVERY_MS, poll)
    const restoreInTurn = () => {
      void restoreJobs({ ...ctx, jobBook }, memoryArchive(session, places))
        .catch(() => undefined)
        .finally(() => clock.after(RESTORE_EVERY_MS, restoreInTurn))
    }
    restoreInTurn()
    const debits = createRedisDebitGate({ redis: link(COMMAND_TIMEOUT_MS), buckets: BUCKETS })
    return { ctx, debits, payments: takePayments(process, session, ctx) }
  }

  function takePayments(process: SimProcess, session: LedgerSession, ctx: IngestCtx): PaymentWorker | undefined {
    const { chain: host, crash } = ground
    if (host === undefined) return undefined
    const clock = process.time
    const own = random.fork(`payments ${process.pid}`)
    const payments = openChainPayments({ host, process, session, pass: crash.pass })
    const paying: FinishCtx = { ...ctx, payments }
    const turn = () => {
      void finishPayments(paying).finally(() => clock.after(FINISH_EVERY_MS, turn))
    }
    clock.after(own.fraction() * FINISH_EVERY_MS, turn)
    return { ctx: paying }
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
    payments: () => (running?.process.isAlive() === true ? running.payments : undefined),
  }
}

/** The records of jobs as seen by a worker, which may die before and after each step of an end. */
function crashingBook(book: JobBook, crash: Crash): JobBook {
  return {
    ...book,
    async end(rid, end) {
      crash.pass('before job end')
      const standing = await book.end(rid, end)
      crash.pass('after job end')
      return standing
    },
    async markBooked(rid, mark) {
      crash.pass('after job booking')
      await book.markBooked(rid, mark)
    },
  }
}
