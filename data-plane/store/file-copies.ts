import type { FileFaultName } from '#data-plane/upstream/fetch-file.ts'
import { FILE_FAULTS, FileFault } from '#data-plane/upstream/fetch-file.ts'
import type { Time } from '#shared/clock.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'

/** Most copies under way at once, in all and for one owner, and most copies that wait. */
const MAX_COPIES = 8
const MAX_COPIES_OF_OWNER = 2
const MAX_WAITING = 256
/** Most finished copies that are remembered. */
const MAX_REMEMBERED = 10_000
/** Milliseconds before a failed copy is tried again: doubled with each attempt, up to a bound. */
const FIRST_PAUSE_MS = 5 * SECOND
const MAX_PAUSE_MS = 5 * MINUTE
/** Milliseconds for which an unavailable file is not requested again. */
const FINAL_PAUSE_MS = 10 * MINUTE
/** Milliseconds that a download waits for a copy. */
const ARRIVAL_MS = 30 * SECOND
const ARRIVAL_RETRY_SECONDS = 5

/** A copy of one file. Its name identifies the file in this process. */
export type Copy = {
  readonly name: string
  readonly owner: string
  /** Throws {@link FileFault} of the provider, or AppError of the store. */
  run(signal: AbortSignal): Promise<void>
}

/** The reason why a copy failed: a fault of the provider's file, or a refusal of the store. */
export type CopyFailure = FileFaultName | 'store'

export type CopyFigures = {
  readonly running: number
  readonly waiting: number
  readonly copied: number
  readonly failed: ReadonlyMap<CopyFailure, number>
}

/**
 * Copies of files into the store: each file once at a time, a limited number at once, and with a pause after a failure.
 */
export type FileCopies = {
  /** Starts a copy. Its result is not reported. */
  begin(copy: Copy): void
  /** Waits for the end of a copy. Throws AppError when the copy failed, or has not ended in time. */
  wait(copy: Copy): Promise<void>
  figures(): CopyFigures
  /** Cuts running copies, which leave nothing. */
  close(): Promise<void>
}

/** A copy that waits or runs. */
type Flight = { readonly copy: Copy; readonly over: Promise<AppError | undefined>; end(error?: AppError): void }

type Ended = { readonly error: AppError | undefined; readonly tries: number; readonly until: number }

type Parts = { readonly clock: Time; readonly log: Logger }

export function createFileCopies({ clock, log }: Parts): FileCopies {
  const running = new Map<string, Flight>()
  const waiting = new Map<string, Flight>()
  const endedCopies = new Map<string, Ended>()
  const failed = new Map<CopyFailure, number>()
  const closing = new AbortController()
  let copied = 0

  const remember = (name: string, end: Ended) => {
    endedCopies.delete(name)
    endedCopies.set(name, end)
    const [oldest] = endedCopies.keys()
    if (endedCopies.size > MAX_REMEMBERED && oldest !== undefined) endedCopies.delete(oldest)
  }
  const start = async (flight: Flight) => {
    const { name } = flight.copy
    running.set(name, flight)
    const failure = await flight.copy.run(closing.signal).then(
      () => undefined,
      (thrown: unknown) => readFailure(thrown),
    )
    running.delete(name)
    if (failure === undefined) copied++
    else {
      failed.set(failure.reason, (failed.get(failure.reason) ?? 0) + 1)
      log.warn({ file: name, reason: failure.reason, err: failure.error }, 'a file of a job was not copied')
    }
    const tries = failure === undefined ? 0 : (endedCopies.get(name)?.tries ?? 0) + 1
    remember(name, { error: failure?.error, tries, until: clock.now() + pauseAfter(failure, tries) })
    flight.end(failure?.error)
    startNext()
  }
  const startNext = () => {
    for (const [name, flight] of waiting) {
      if (running.size >= MAX_COPIES || closing.signal.aborted) return
      const { owner } = flight.copy
      const ofOwner = [...running.values()].filter(({ copy }) => copy.owner === owner)
      if (ofOwner.length >= MAX_COPIES_OF_OWNER) continue
      waiting.delete(name)
      void start(flight)
    }
  }
  /** The copy under way, or a new one. Throws `overloaded` when too many wait. */
  const fly = (copy: Copy): Flight => {
    const begunFlight = running.get(copy.name) ?? waiting.get(copy.name)
    if (begunFlight !== undefined) return begunFlight
    if (waiting.size >= MAX_WAITING || closing.signal.aborted) throw tooMany()
    const flight = openFlight(copy)
    waiting.set(copy.name, flight)
    startNext()
    return flight
  }
  return {
    begin(copy) {
      const end = endedCopies.get(copy.name)
      if (end !== undefined && (end.error === undefined || clock.now() < end.until)) return
      if (waiting.size < MAX_WAITING && !closing.signal.aborted) fly(copy)
    },
    async wait(copy) {
      const end = endedCopies.get(copy.name)
      if (end?.error !== undefined && clock.now() < end.until) throw end.error
      const error = await orLate(clock, fly(copy).over)
      if (error !== undefined) throw error
    },
    figures: () => ({ running: running.size, waiting: waiting.size, copied, failed }),
    async close() {
      closing.abort()
      for (const flight of waiting.values()) flight.end(tooMany())
      waiting.clear()
      await Promise.all([...running.values()].map(({ over }) => over))
    },
  }
}

function openFlight(copy: Copy): Flight {
  let end: Flight['end'] = () => undefined
  const over = new Promise<AppError | undefined>((resolve) => {
    end = resolve
  })
  return { copy, over, end }
}

/** Waits for a copy no longer than a download waits for its file. */
function orLate(clock: Time, over: Flight['over']): Promise<AppError | undefined> {
  return new Promise((resolve) => {
    const endWait = clock.after(ARRIVAL_MS, () => {
      const message = 'The file is still being copied from its provider.'
      resolve(new AppError('service_unavailable', { message, retryAfterSeconds: ARRIVAL_RETRY_SECONDS }))
    })
    void over.then((error) => {
      endWait()
      resolve(error)
    })
  })
}

function tooMany(): AppError {
  const detail = { limit_source: 'artifact_copies', limit_scope: 'platform', resets_at: null }
  return new AppError('overloaded', { detail, retryAfterSeconds: ARRIVAL_RETRY_SECONDS })
}

type Failure = { readonly reason: CopyFailure; readonly isFinal: boolean; readonly error: AppError }

function readFailure(thrown: unknown): Failure {
  if (!(thrown instanceof FileFault)) {
    const error = thrown instanceof AppError ? thrown : new AppError('service_unavailable', { cause: thrown })
    return { reason: 'store', isFinal: false, error }
  }
  const { fault } = thrown
  const { isFinal, words } = FILE_FAULTS[fault]
  const error = new AppError('upstream_error', {
    message: `The provider’s file cannot be loaded: ${words}.`,
    detail: { reason: fault },
    cause: thrown,
    ...(!isFinal && { retryAfterSeconds: FIRST_PAUSE_MS / SECOND }),
  })
  return { reason: fault, isFinal, error }
}

function pauseAfter(failure: Failure | undefined, tries: number): number {
  if (failure === undefined) return 0
  return failure.isFinal ? FINAL_PAUSE_MS : Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), MAX_PAUSE_MS)
}
