import type { EventTransport } from '#data-plane/store/events.ts'
import type { CapturedCall } from '#shared/contract/usage-event.ts'
import { UsageBatchSchema } from '#shared/contract/usage-event.ts'
import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler, SimProcess } from '#test/sim/time/scheduler.ts'
import type { RedisHost } from './redis-host.ts'

export type Job = {
  readonly id: number
  readonly addedAt: number
  readonly captured: readonly CapturedCall[]
  readonly events: readonly string[]
  readonly source: string
  tries: number
}

/** Faults of a batch under way. */
export type JobFault = 'duplicate' | 'delay' | 'drop'

/** The queue of usage batches. It lives in Redis and is lost with it, so it is never the only copy of an event. */
export type JobQueue = {
  /** The queues as seen by a data plane. */
  transportOf(node: SimProcess): EventTransport
  /** Works on jobs until the process dies. Their order is random, and each is repeated until it succeeds. */
  consume(worker: SimProcess, process: (job: Job) => Promise<void>): void
  size(): number
  faultNext(fault: JobFault): void
  clear(): void
  /** Removes jobs that were added after an instant, and restores jobs that were finished after it. */
  lose(since: number): void
}

/** Milliseconds for which a sender waits for a server that does not answer. */
const TIMEOUT_MS = 2_000
const STALLED_MS = 5_000
const FIRST_DELAY_MS = 1_000
const MOST_DELAY_MS = 30_000
const LOOK_MS = 500
const CONCURRENCY = 2
const DELAY_MS = 30 * 60_000

export function createJobQueue(scheduler: Scheduler, host: RedisHost, random: Random): JobQueue {
  let waiting: Job[] = []
  const active = new Map<Job, SimProcess>()
  let finished: { readonly job: Job; readonly at: number }[] = []
  const faults: JobFault[] = []
  const lookers = new Set<() => void>()
  let ids = 0

  function put(...jobs: readonly Job[]): void {
    waiting.push(...jobs)
    for (const look of lookers) scheduler.after(random.fraction() * 5, look)
  }

  /** Takes a batch in, or handles it as the next fault says. */
  function receive(batch: object): void {
    const { node, captured, events } = UsageBatchSchema.parse(batch)
    const fault = faults.shift()
    if (fault === 'drop') return
    const job: Job = { id: ++ids, addedAt: scheduler.wall(), captured, events, source: `queue:${node}`, tries: 0 }
    if (fault === 'delay') scheduler.after(DELAY_MS, () => put(job))
    else put(job)
    if (fault !== 'duplicate') return
    put({ ...job, id: ++ids })
    // A batch may contain the same event twice.
    put({ ...job, id: ++ids, captured: [...captured, ...captured], events: [...events, ...events] })
  }

  /** A sent batch arrives, even when its sender dies meanwhile. */
  function send(node: SimProcess, batch: object): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!node.isAlive()) return
      const refuse = () => reject(new Error('Command timed out'))
      scheduler.after(host.latency(), () => {
        if (!host.isUp() || host.isFrozen()) return void scheduler.after(TIMEOUT_MS, refuse, node)
        receive(batch)
        scheduler.after(host.latency(), resolve, node)
      })
    })
  }

  function takeNext(): Job | undefined {
    if (waiting.length === 0 || !host.isUp() || host.isFrozen()) return undefined
    const [job] = waiting.splice(random.between(0, Math.min(3, waiting.length - 1)), 1)
    return job
  }

  function watchStalled(worker: SimProcess, job: Job): void {
    scheduler.after(STALLED_MS, () => {
      if (active.get(job) !== worker) return
      // The worker of the job has been silent since. The next worker gets the job.
      if (!worker.isAlive() || worker.isFrozen()) giveBack(job)
      else watchStalled(worker, job)
    })
  }

  async function work(worker: SimProcess, job: Job, process: (job: Job) => Promise<void>): Promise<void> {
    active.set(job, worker)
    watchStalled(worker, job)
    try {
      await process(job)
      if (active.get(job) === worker) active.delete(job)
      finished.push({ job, at: scheduler.wall() })
      if (finished.length > 100) finished = finished.slice(50)
    } catch {
      job.tries += 1
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (job.tries - 1), MOST_DELAY_MS)
      scheduler.after(delayMs, () => active.get(job) === worker && giveBack(job))
    }
  }

  function giveBack(job: Job): void {
    active.delete(job)
    put(job)
  }

  return {
    transportOf: (node) => ({
      usage: { add: (batch) => send(node, batch), waiting: async () => waiting.length, close: async () => undefined },
      // The simulation does not keep the health of offers.
      health: { add: async () => undefined, waiting: async () => 0, close: async () => undefined },
      ping: async () => undefined,
    }),
    consume(worker, process) {
      let running = 0
      const look = () => {
        if (running >= CONCURRENCY || !worker.isAlive() || worker.isFrozen()) return
        const job = takeNext()
        if (job === undefined) return
        running += 1
        void work(worker, job, process).finally(() => {
          running -= 1
          look()
        })
      }
      lookers.add(look)
      worker.time.every(LOOK_MS, look)
    },
    size: () => waiting.length + active.size,
    faultNext: (fault) => void faults.push(fault),
    clear() {
      waiting = []
      active.clear()
      finished = []
    },
    lose(since) {
      waiting = waiting.filter((job) => job.addedAt <= since)
      for (const { job, at } of finished) if (at > since && job.addedAt <= since) waiting.push(job)
      finished = []
    },
  }
}
