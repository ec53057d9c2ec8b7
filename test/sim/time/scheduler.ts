import type { Cancel, Time } from '#shared/clock.ts'

type Event = { at: number; readonly order: number; run: (() => void) | undefined; owner: SimProcess | undefined }

/**
 * A process and its time. It can be killed, frozen and resumed. A dead process never gets the events for which it
 * waits.
 */
export type SimProcess = {
  readonly name: string
  /** The number of the process in its world. Later processes have higher numbers. */
  readonly pid: number
  readonly time: Time
  isAlive(): boolean
  kill(): void
  freeze(): void
  thaw(): void
  isFrozen(): boolean
  /** The time of its last activity: now, unless it is frozen. */
  lastActive(): number
  /** Keeps an event until the process is resumed. */
  park(event: Event): void
  /** Sets the error of the process's wall clock, in milliseconds. */
  setSkew(ms: number): void
}

/** The single order of all events in a world, and the world's time. */
export type Scheduler = {
  /** Milliseconds since the beginning of the world. */
  now(): number
  /** Unix milliseconds. */
  wall(): number
  /** Runs later, unless its owner has died by then. */
  after(ms: number, run: () => void, owner?: SimProcess): Cancel
  process(name: string): SimProcess
  /** Moves time on without running anything, as when a machine sleeps. */
  jump(ms: number): void
  /** Milliseconds since the last jump. */
  sinceJump(): number
  /** The moment before `at` with this many milliseconds of running time between the two. Jumps do not count. */
  before(at: number, ms: number): number
  /**
   * Runs every event that is due within this many milliseconds, or until `until` holds. Rejects with the error of a
   * failed step.
   */
  run(ms: number, until?: () => boolean): Promise<void>
  /** Calls `check` after every step, once all promises that the step settled have run. */
  onStep(check: () => void): void
  steps(): number
}

/** A Saturday noon, UTC. */
const BEGINNING = Date.UTC(2026, 10, 21, 12, 0, 0)

export function createScheduler(): Scheduler {
  const queue = createQueue()
  const checks: (() => void)[] = []
  let now = 0
  let order = 0
  let steps = 0
  let pids = 0
  /** The jumps so far, oldest first. */
  const jumps: { readonly from: number; readonly to: number }[] = []

  function after(ms: number, run: () => void, owner?: SimProcess): Cancel {
    const event: Event = { at: now + Math.max(0, ms), order: order++, run, owner }
    queue.push(event)
    return () => {
      event.run = undefined
    }
  }

  /** Runs the next event that is due by `limit`. Returns false without one. */
  function step(limit: number): boolean {
    for (;;) {
      const event = queue.peek()
      if (event === undefined || event.at > limit) return false
      queue.pop()
      const { run, owner } = event
      if (run === undefined || owner?.isAlive() === false) continue
      now = Math.max(now, event.at)
      if (owner?.isFrozen() === true) {
        // The event returns in its old order when the process is resumed.
        owner.park(event)
        continue
      }
      steps += 1
      run()
      return true
    }
  }

  return {
    now: () => now,
    wall: () => BEGINNING + now,
    after,
    process: (name) => createProcess(name, ++pids, { after, now: () => now }),
    jump(ms) {
      jumps.push({ from: now, to: now + ms })
      now += ms
    },
    sinceJump: () => now - (jumps.at(-1)?.to ?? Number.NEGATIVE_INFINITY),
    before(at, ms) {
      let [instant, left] = [at, ms]
      for (const { from, to } of jumps.toReversed()) {
        if (to > instant) continue
        if (instant - to >= left) break
        left -= instant - to
        instant = from
      }
      return instant - left
    },
    run(ms, until) {
      const limit = now + ms
      return new Promise((resolve, reject) => {
        // A turn of the event loop follows every step, so that all promises settle before the next one.
        const turn = () => {
          try {
            for (const check of checks) check()
            if (until?.() === true) return resolve()
            if (step(limit)) return void setImmediate(turn)
            now = Math.max(now, limit)
            resolve()
          } catch (error) {
            reject(error)
          }
        }
        setImmediate(turn)
      })
    },
    onStep: (check) => void checks.push(check),
    steps: () => steps,
  }
}

type Ground = Pick<Scheduler, 'after' | 'now'>

function createProcess(name: string, pid: number, { after, now }: Ground): SimProcess {
  let isAlive = true
  let isFrozen = false
  let frozenAt = 0
  let parked: Event[] = []
  let skew = 0
  const time: Time = {
    now: () => Math.floor(BEGINNING + now() + skew),
    monotonic: now,
    after: (ms, run) => after(ms, run, own),
    every(ms, run) {
      let cancel: Cancel
      const again = () => {
        cancel = after(ms, again, own)
        run()
      }
      cancel = after(ms, again, own)
      return () => cancel()
    },
    soon: (run) => void after(0, run, own),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve()
        const end = () => {
          cancel()
          signal?.removeEventListener('abort', end)
          resolve()
        }
        const cancel = after(ms, end, own)
        signal?.addEventListener('abort', end)
      }),
  }
  const own: SimProcess = {
    name,
    pid,
    time,
    isAlive: () => isAlive,
    kill: () => {
      isAlive = false
    },
    freeze: () => {
      if (!isFrozen) frozenAt = now()
      isFrozen = true
    },
    thaw: () => {
      isFrozen = false
      const kept = parked
      parked = []
      // An event that was cancelled meanwhile has no `run`.
      for (const event of kept) after(0, () => event.run?.(), own)
    },
    park: (event) => void parked.push(event),
    isFrozen: () => isFrozen,
    lastActive: () => (isFrozen ? frozenAt : now()),
    setSkew: (ms) => {
      skew = ms
    },
  }
  return own
}

/** A binary heap by time, and by order of arrival at equal times. */
function createQueue() {
  const heap: Event[] = []
  const isBefore = (left: Event, right: Event) =>
    left.at < right.at || (left.at === right.at && left.order < right.order)

  function rise(from: number): void {
    const event = heap[from]
    let index = from
    while (index > 0 && event !== undefined) {
      const above = (index - 1) >> 1
      const parent = heap[above]
      if (parent === undefined || !isBefore(event, parent)) break
      heap[index] = parent
      index = above
    }
    if (event !== undefined) heap[index] = event
  }

  function sink(event: Event): void {
    let index = 0
    for (;;) {
      let below = 2 * index + 1
      const left = heap[below]
      if (left === undefined) break
      const right = heap[below + 1]
      if (right !== undefined && isBefore(right, left)) below += 1
      const child = heap[below]
      if (child === undefined || !isBefore(child, event)) break
      heap[index] = child
      index = below
    }
    heap[index] = event
  }

  return {
    push(event: Event): void {
      heap.push(event)
      rise(heap.length - 1)
    },
    peek: (): Event | undefined => heap[0],
    pop(): void {
      const last = heap.pop()
      if (last !== undefined && heap.length > 0) sink(last)
    },
  }
}
