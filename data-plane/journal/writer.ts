import { basename } from 'node:path'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { JournalRecord } from './record.ts'
import type { Segment, SegmentOptions } from './segment.ts'
import { discardSegment, openSegment, prepareAhead } from './segment.ts'
import type { Tail } from './tail.ts'
import { createTail } from './tail.ts'

/** Most bytes that may be volatile. Beyond it the journal counts as not writable. */
const MAX_UNSAFE_BYTES = 64 * 1024 * 1024
/**
 * Milliseconds for which records are collected before they are written together, because each write costs two changes
 * of thread. A caller of `sync` does not wait for this. Records that a death loses are in Redis, or the buyer was not
 * charged for them.
 */
const GATHER_MS = 8
const BACKGROUND_SYNC_MS = 1 * SECOND
const RECOVERY_PAUSE_MS = 1 * SECOND
/** The longest wait of a caller for the disk. A disk without an answer for this long stops new work. */
const SYNC_WAIT_MS = 10 * SECOND
/** A disk that has refused writes for this long is given up. */
const GIVE_UP_MS = 30 * SECOND
/** The longest wait of the process's end for a failing or silent disk. */
const CLOSE_MS = 5 * SECOND

type Waiter = { readonly position: number; resolve(): void }

type Options = SegmentOptions & {
  readonly clock: Time
  readonly log: Logger
  /** Called when a segment is full and gets no more records. */
  onFull(path: string): void
  /** Called with the milliseconds that the disk took to make records durable. */
  readonly onSynced?: ((tookMs: number) => void) | undefined
  /**
   * Called once when no record could be made durable for 30 s. Captures in memory must then go elsewhere, and the
   * process must end.
   */
  onGiveUp(): void
}

/**
 * Appends records to the segments of one directory. Records of a few milliseconds go out in one write. `sync` groups
 * its callers into one fdatasync, and another runs in the background once a second. A descriptor that failed once is
 * never used again. Records that were not known to be on disk are written again into a new segment.
 */
export type JournalWriter = {
  append(record: JournalRecord): void
  /** Resolves when everything appended so far is on disk. Rejects when that takes longer than 10 s. */
  sync(): Promise<void>
  isWritable(): boolean
  /** The records that are not known to be on disk, whole and oldest first. They must be read within this turn. */
  unsafe(): Buffer[]
  figures(): WriterFigures
  /** Makes the records durable. A failing or silent disk gets 5 s. */
  close(): Promise<void>
}

/** The progress of the disk. `unsafeForMs` is 0 while all records are durable. */
export type WriterFigures = {
  readonly writtenBytes: number
  readonly unsafeBytes: number
  readonly unsafeForMs: number
}

type State = {
  readonly options: Options
  readonly tail: Tail
  segment: Segment
  /** The position in the tail of the first record of the segment. */
  segmentFrom: number
  /** The next segment, made ahead. It resolves to undefined when it could not be made. */
  next: Promise<Segment | undefined> | undefined
  /** Count of started segments, including failed ones, so that no name is used twice. */
  begun: number
  /** Positions in the tail up to which records were passed to the system, and up to which they are on disk. */
  written: number
  synced: number
  /** Monotonic milliseconds at which everything was last known to be durable, or more of it became durable. */
  safeAt: number
  /** Monotonic milliseconds of the last check of the disk. */
  watchedAt: number
  isBroken: boolean
  isSilent: boolean
  hasGivenUp: boolean
  isClosed: boolean
  syncing: Promise<void> | undefined
  writing: Promise<void> | undefined
  recovering: Promise<void> | undefined
  waiters: Waiter[]
}

export async function openWriter(options: Options): Promise<JournalWriter> {
  const { clock } = options
  const tail = createTail()
  const state: State = {
    options,
    tail,
    segment: await openSegment(options, 1),
    segmentFrom: 0,
    next: undefined,
    begun: 1,
    written: 0,
    synced: 0,
    safeAt: clock.monotonic(),
    watchedAt: clock.monotonic(),
    isBroken: false,
    isSilent: false,
    hasGivenUp: false,
    isClosed: false,
    syncing: undefined,
    writing: undefined,
    recovering: undefined,
    waiters: [],
  }
  let isDue = false
  const stopWatch = clock.every(BACKGROUND_SYNC_MS, () => watch(state))
  function writeGathered(): void {
    isDue = false
    void writeNow(state)
  }

  return {
    append(record) {
      tail.append(record)
      if (isDue) return
      isDue = true
      clock.after(GATHER_MS, writeGathered)
    },
    async sync() {
      const position = tail.end()
      if (state.synced >= position) return
      const waiting = wait(state, position)
      void writeNow(state).then(() => syncNow(state))
      await waiting
    },
    isWritable: () =>
      !state.isBroken && !state.isSilent && !state.isClosed && tail.end() - state.synced < MAX_UNSAFE_BYTES,
    unsafe: () => stretches(tail, state.synced),
    figures: () => ({
      writtenBytes: state.written,
      unsafeBytes: tail.end() - state.synced,
      unsafeForMs: tail.end() > state.synced ? clock.monotonic() - state.safeAt : 0,
    }),
    async close() {
      stopWatch()
      await close(state)
    },
  }
}

function stretches(tail: Tail, from: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let position = from; position < tail.end(); ) {
    const bytes = tail.from(position)
    pieces.push(bytes)
    position += bytes.length
  }
  return pieces
}

function wait({ options, waiters }: State, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = options.clock.after(SYNC_WAIT_MS, () => reject(new AppError('service_unavailable')))
    waiters.push({
      position,
      resolve() {
        cancel()
        resolve()
      },
    })
  })
}

/** Runs once a second. It syncs written records and measures for how long the disk has refused writes. */
function watch(state: State): void {
  const { clock, log, onGiveUp } = state.options
  const now = clock.monotonic()
  if (!state.isBroken && state.synced >= state.tail.end()) state.safeAt = now
  // A frozen process has not watched. That time does not count against the disk.
  const frozenMs = now - state.watchedAt - BACKGROUND_SYNC_MS
  if (frozenMs > BACKGROUND_SYNC_MS) state.safeAt = Math.min(now, state.safeAt + frozenMs)
  state.watchedAt = now
  const silentMs = now - state.safeAt
  if (silentMs > SYNC_WAIT_MS !== state.isSilent) {
    state.isSilent = !state.isSilent
    log.error({ silentMs }, state.isSilent ? 'the disk of the journal is silent' : 'the disk of the journal is back')
  }
  if (silentMs > GIVE_UP_MS && !state.hasGivenUp) {
    state.hasGivenUp = true
    log.error({ silentMs }, 'the journal is given up, because its disk is silent')
    onGiveUp()
  }
  void syncNow(state)
}

/** Notes which records are durable now, and resolves the promises of the callers that wait for them. */
function settle(state: State, position: number): void {
  state.synced = position
  state.safeAt = state.options.clock.monotonic()
  state.tail.forget(position)
  for (const waiter of state.waiters) if (waiter.position <= position) waiter.resolve()
  state.waiters = state.waiters.filter((waiter) => waiter.position > position)
}

/** Writes pending records, one write at a time, and again while more have arrived. */
function writeNow(state: State): Promise<void> {
  state.writing ??= writeAll(state).finally(() => {
    state.writing = undefined
  })
  return state.writing
}

async function writeAll(state: State): Promise<void> {
  const { tail, options } = state
  try {
    while (state.written < tail.end() && isGood(state)) {
      if (state.segment.at >= options.segmentBytes && !(await rotate(state))) return
      const { segment } = state
      const bytes = tail.from(state.written)
      await segment.file.write(bytes, segment.at)
      // A sync of the same descriptor may have failed meanwhile. Then these records are written again elsewhere.
      if (!isGood(state)) return
      segment.at += bytes.length
      state.written += bytes.length
      crashPoint('after_C_write_before_fsync')
      // A caller that waits for the disk may have arrived while this write ran.
      if (state.waiters.length > 0) void syncNow(state)
      await prepareAhead(segment, options)
      if (segment.at >= options.segmentBytes / 2) state.next ??= makeNext(state)
    }
  } catch (error) {
    giveUp(state, error)
  }
}

const isGood = (state: State): boolean => !state.isBroken && !state.isClosed

/** Runs one fdatasync at a time. A caller that arrives during one is served by the next. */
function syncNow(state: State): Promise<void> {
  state.syncing ??= syncAll(state).finally(() => {
    state.syncing = undefined
  })
  return state.syncing
}

async function syncAll(state: State): Promise<void> {
  while (state.synced < state.written && isGood(state)) {
    const reached = state.written
    const { clock, onSynced } = state.options
    const startedAt = clock.monotonic()
    try {
      await state.segment.file.datasync()
      onSynced?.(clock.monotonic() - startedAt)
    } catch (error) {
      giveUp(state, error)
      return
    }
    crashPoint('after_C')
    settle(state, reached)
    if (state.waiters.length === 0) return
  }
}

/** Continues in the next segment once this one is durable. Returns false when it cannot be made durable. */
async function rotate(state: State): Promise<boolean> {
  await state.syncing
  await syncNow(state)
  if (!isGood(state)) return false
  const old = state.segment
  state.segment = await takeNext(state)
  state.segmentFrom = state.written
  state.options.onFull(old.path)
  await old.file.close().catch(() => undefined)
  return true
}

function makeNext(state: State): Promise<Segment | undefined> {
  state.begun += 1
  return openSegment(state.options, state.begun).catch((error: unknown) => {
    state.options.log.warn({ cause: describeCause(error) }, 'the next segment of the journal could not be made ahead')
    return undefined
  })
}

async function takeNext(state: State): Promise<Segment> {
  const segment = await state.next
  state.next = undefined
  if (segment !== undefined) return segment
  state.begun += 1
  return openSegment(state.options, state.begun)
}

/**
 * Gives a descriptor up after a failed write or sync. Nothing of it is trusted, and the rest goes into a new segment.
 */
function giveUp(state: State, error: unknown): void {
  if (!isGood(state)) return
  state.isBroken = true
  const { clock, log } = state.options
  log.error({ cause: describeCause(error) }, 'the journal cannot be written: paid calls are refused')
  function retry(): void {
    if (!state.isBroken || state.isClosed) return
    recover(state).then(
      () => writeNow(state),
      (again: unknown) => {
        log.error({ cause: describeCause(again) }, 'the journal still cannot be written')
        clock.after(RECOVERY_PAUSE_MS, retry)
      },
    )
  }
  clock.after(RECOVERY_PAUSE_MS, retry)
}

function recover(state: State): Promise<void> {
  state.recovering ??= recoverInto(state).finally(() => {
    state.recovering = undefined
  })
  return state.recovering
}

/** Writes all records that are not known to be durable into a new segment, and continues there once they are. */
async function recoverInto(state: State): Promise<void> {
  const { tail, options } = state
  await state.syncing
  await state.writing
  const segment = await takeNext(state)
  let position = state.synced
  try {
    for (const end = tail.end(); position < end; ) {
      const bytes = tail.from(position)
      await segment.file.write(bytes, segment.at)
      segment.at += bytes.length
      position += bytes.length
    }
    await segment.file.datasync()
  } catch (error) {
    await discardSegment(options.files, segment)
    throw error
  }
  const failed = state.segment
  const holdsNothing = state.synced === state.segmentFrom
  state.segment = segment
  state.segmentFrom = state.synced
  state.written = position
  state.isBroken = false
  settle(state, position)
  options.log.info({ failed: basename(failed.path) }, 'the journal goes on in a new segment')
  // The durable records of the failed segment are still needed. An empty one would only look damaged to an heir.
  if (holdsNothing) return discardSegment(options.files, failed)
  options.onFull(failed.path)
  await failed.file.close().catch(() => undefined)
}

async function close(state: State): Promise<void> {
  const { clock, log, files } = state.options
  const over = new AbortController()
  const saving = makeSafe(state, over.signal).then(() => over.abort())
  await Promise.race([saving, clock.sleep(CLOSE_MS, over.signal)])
  over.abort()
  state.isClosed = true
  const unsafeBytes = state.tail.end() - state.synced
  if (unsafeBytes > 0) {
    log.error({ unsafeBytes }, 'the journal ends with records that were not written to its disk')
    // A disk that does not answer gets no second wait.
    return
  }
  await state.segment.file.close().catch(() => undefined)
  const next = await state.next
  if (next !== undefined) await discardSegment(files, next)
}

/** Writes and syncs the records, and tries a failing disk again until `over` aborts. */
async function makeSafe(state: State, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    if (state.isBroken) await recover(state).catch(() => undefined)
    await writeNow(state)
    await syncNow(state)
    if (state.synced >= state.tail.end()) return
    await state.options.clock.sleep(RECOVERY_PAUSE_MS, over)
  }
}
