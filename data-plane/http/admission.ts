import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Timers } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'

/** Milliseconds between two samples of the event loop's delay, and between two judgements of it. */
const SAMPLE_MS = 10
const JUDGE_EVERY_MS = SECOND
/**
 * The loop must be late at this many judgements in a row. A single late second may be a garbage collection or another
 * process on the machine.
 */
const LATE_JUDGINGS = 2
/**
 * Reads and passed-on requests that may be open at once. They have their own quota, so neither they nor paid calls take
 * the other's place.
 */
const MAX_OPEN_READS = 512
const RETRY_SECONDS = 1

/** Decides whether a request is accepted, before its body is read. */
export type Admission = {
  /** Throws `overloaded` while the process has more work than it can do. Otherwise the request's body may be read. */
  admitCall(): void
  /** Counts a read; the returned function ends it. Throws `overloaded` past the quota of reads. */
  admitRead(): () => void
  /** Counts a request whose body is being read; the returned function ends it. */
  readingBody(): () => void
  /** The delay of the event loop in the last second: 99th percentile, in milliseconds. */
  delayMs(): number
  /** Refused requests by the limit that refused them. */
  refusals(): ReadonlyMap<string, number>
  close(): void
}

type Parts = {
  readonly timers: Pick<Timers, 'every'>
  /** The open calls, and their limit. */
  readonly open: { readonly count: number }
  readonly maxOpenCalls: number
  /** Milliseconds. A loop whose delay stays above this has more work than it can do. */
  readonly maxDelayMs: number
  /** The delay in milliseconds since the last reading. By default it is measured on this process's own loop. */
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

/** The refusal of a busy process, with the source of the limit and the time to retry. */
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

/**
 * Measures the lateness of timers in milliseconds, 99th percentile since the last reading, without the sampling
 * interval.
 */
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
