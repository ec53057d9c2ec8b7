import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Timers } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'

/** How finely the delay of the event loop is sampled, and how often it is judged. */
const SAMPLE_MS = 10
const JUDGE_EVERY_MS = SECOND
/** So many judgings in a row: one late second may be a collection of garbage or a neighbour on the machine. */
const LATE_JUDGINGS = 2
/** Reads and passed-on requests that may be open at once: they never take the place of paid calls, nor these theirs. */
const MAX_OPEN_READS = 512
const RETRY_SECONDS = 1

/** Decides before anything of a body is read whether a request is taken on at all. */
export type Admission = {
  /** Throws `overloaded` while the process has more to do than it can. Otherwise the request's body may be read. */
  admitCall(): void
  /** Counts a read in; answers with what counts it out. Throws `overloaded` past their own quota. */
  admitRead(): () => void
  /** Counts a request whose body is under way; answers with what counts it out. */
  readingBody(): () => void
  /** The delay of the event loop in the last second, 99th percentile, in milliseconds. */
  delayMs(): number
  /** Requests that were not taken on, by what was too much. */
  refusals(): ReadonlyMap<string, number>
  close(): void
}

type Parts = {
  readonly timers: Pick<Timers, 'every'>
  /** Calls that are open, and how many may be. */
  readonly open: { readonly count: number }
  readonly maxOpenCalls: number
  /** A loop that is later than this, and stays so, has more work than it can do. */
  readonly maxDelayMs: number
  /** The delay in milliseconds since it was asked last; measured on this process's own loop unless given. */
  readonly measureDelay?: () => number
}

export function createAdmission({ timers, open, maxOpenCalls, maxDelayMs, measureDelay }: Parts): Admission {
  const meter = measureDelay === undefined ? createDelayMeter() : { read: measureDelay, close: () => undefined }
  let delayMs = 0
  let lateJudgings = 0
  let bodies = 0
  let reads = 0
  const refusals = new Map<string, number>()
  function refuse(source: string): AppError {
    refusals.set(source, (refusals.get(source) ?? 0) + 1)
    return overloaded(source)
  }
  const stopJudging = timers.every(JUDGE_EVERY_MS, () => {
    delayMs = meter.read()
    lateJudgings = delayMs > maxDelayMs ? lateJudgings + 1 : 0
  })
  return {
    admitCall() {
      if (lateJudgings >= LATE_JUDGINGS) throw refuse('event_loop')
      if (open.count + bodies >= maxOpenCalls) throw refuse('process')
    },
    admitRead() {
      if (reads >= MAX_OPEN_READS) throw refuse('reads')
      reads++
      return once(() => {
        reads--
      })
    },
    readingBody() {
      bodies++
      return once(() => {
        bodies--
      })
    },
    delayMs: () => delayMs,
    refusals: () => refusals,
    close() {
      stopJudging()
      meter.close()
    },
  }
}

/** More than the process can do: whose limit it is, and when to come again. */
export function overloaded(source: string): AppError {
  return new AppError('overloaded', {
    detail: { limit_source: source, limit_scope: 'platform', resets_at: null },
    retryAfterSeconds: RETRY_SECONDS,
  })
}

function once(run: () => void): () => void {
  let isDue = true
  return () => {
    if (isDue) run()
    isDue = false
  }
}

/** Milliseconds by which timers were late, 99th percentile since the last reading; the sampling's own step is taken off. */
function createDelayMeter(): { read(): number; close(): void } {
  const histogram = monitorEventLoopDelay({ resolution: SAMPLE_MS })
  histogram.enable()
  return {
    read() {
      const late = histogram.count === 0 ? 0 : histogram.percentile(99) / 1e6 - SAMPLE_MS
      histogram.reset()
      return Math.max(0, late)
    },
    close() {
      histogram.disable()
    },
  }
}
