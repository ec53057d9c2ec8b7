import type { CapturedCall } from '#shared/contract/usage-event.ts'
import type { Random } from './random.ts'
import type { RedisHost } from './redis-host.ts'
import type { Scheduler, SimProcess } from './scheduler.ts'

export type Job = {
  readonly id: number
  readonly addedAt: number
  readonly captured: readonly CapturedCall[]
  readonly events: readonly string[]
  readonly source: string
  tries: number
}

/** How a batch can be treated on its way. */
export type JobFault = 'duplicate' | 'delay' | 'drop'

/** The queue of usage batches, which lives in Redis and is lost with it: never the only copy of anything. */
export type JobQueue = {
  /** An event as its text, or the name of a call whose event the gate has. */
  add(node: SimProcess, item: string | CapturedCall): void
  /** Works on jobs until the process dies: in no certain order, each again until it succeeds. */
  consume(worker: SimProcess, process: (job: Job) => Promise<void>): void
  size(): number
  faultNext(fault: JobFault): void
  clear(): void
  /** What was added after that instant is gone, what was finished after it is back. */
  lose(since: number): void
}

const GATHER_MS = 15
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
  const gathered = new Map<SimProcess, (string | CapturedCall)[]>()
  const faults: JobFault[] = []
  const lookers = new Set<() => void>()
  let ids = 0

  function put(...jobs: readonly Job[]): void {
    waiting.push(...jobs)
    for (const look of lookers) scheduler.after(random.fraction() * 5, look)
  }

  function flush(node: SimProcess): void {
    const items = gathered.get(node) ?? []
    gathered.delete(node)
    const events = items.filter((item) => typeof item === 'string')
    const captured = items.filter((item) => typeof item !== 'string')
    const fault = faults.shift()
    if (!host.isUp() || fault === 'drop') return
    const source = `queue:${node.name}`
    const job: Job = { id: ++ids, addedAt: scheduler.wall(), captured, events, source, tries: 0 }
    if (fault === 'delay') scheduler.after(DELAY_MS, () => put(job))
    else put(job)
    if (fault === 'duplicate') put({ ...job, id: ++ids }, { ...job, id: ++ids })
  }

  function takeNext(): Job | undefined {
    if (waiting.length === 0 || !host.isUp() || host.isFrozen()) return undefined
    const [job] = waiting.splice(random.between(0, Math.min(3, waiting.length - 1)), 1)
    return job
  }

  function watchStalled(worker: SimProcess, job: Job): void {
    scheduler.after(STALLED_MS, () => {
      if (active.get(job) !== worker) return
      // Nobody has heard of its worker since: another one gets it.
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
    add(node, item) {
      const items = gathered.get(node)
      if (items !== undefined) return void items.push(item)
      gathered.set(node, [item])
      node.time.after(GATHER_MS, () => flush(node))
    },
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
