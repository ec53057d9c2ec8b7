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

/** Bytes that are not known to be on the disk; past it the journal counts as not writable. */
const MAX_UNSAFE_BYTES = 64 * 1024 * 1024
/**
 * How long records gather before they are written together: each write costs two changes of thread. Whoever waits for
 * the disk does not wait for this, and what a death loses of it Redis has, or the buyer was not charged for.
 */
const GATHER_MS = 8
const BACKGROUND_SYNC_MS = 1 * SECOND
const RECOVERY_PAUSE_MS = 1 * SECOND
/** How long a caller waits for the disk at most, and how long a disk may be silent before no new work is taken. */
const SYNC_WAIT_MS = 10 * SECOND
/** A disk that has taken nothing for so long is not waited for any more. */
const GIVE_UP_MS = 30 * SECOND
/** How long the end of the process waits for a disk that fails or is silent. */
const CLOSE_MS = 5 * SECOND

type Waiter = { readonly position: number; resolve(): void }

type Options = SegmentOptions & {
  readonly clock: Time
  readonly log: Logger
  /** Told of a segment that is full: nothing is added to it any more. */
  onFull(path: string): void
  /** Told how long the disk took to make records safe, in milliseconds. */
  readonly onSynced?: ((tookMs: number) => void) | undefined
  /** Told once that for 30 s nothing could be made safe: what is in memory must go elsewhere, and the process end. */
  onGiveUp(): void
}

/**
 * Appends records to the segments of one directory. All that comes in some milliseconds goes out in one write; `sync`
 * groups its callers into one fdatasync, and one a second runs in the background. A descriptor that failed once is
 * never used again: what was not known to be on the disk is written once more into a new segment.
 */
export type JournalWriter = {
  append(record: JournalRecord): void
  /** Resolves when everything appended so far is on the disk; rejects when that takes longer than 10 s. */
  sync(): Promise<void>
  isWritable(): boolean
  /** What is not known to be on the disk: whole records, oldest first, to be read within this turn. */
  unsafe(): Buffer[]
  figures(): WriterFigures
  /** Makes safe what is there; a disk that fails or is silent is given 5 s. */
  close(): Promise<void>
}

/** How far the disk is. `unsafeForMs` is 0 while all of it is safe. */
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
  /** The next segment, made ahead; undefined in the end when that failed. */
  next: Promise<Segment | undefined> | undefined
  /** How many segments were begun, failed ones included: no name is used twice. */
  begun: number
  /** Positions in the tail up to which records were handed to the system, and are on the disk. */
  written: number
  synced: number
  /** When everything was last known to be safe or became safer; monotonic. */
  safeAt: number
  /** When the disk was last looked at; monotonic. */
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
      const done = wait(state, position)
      void writeNow(state).then(() => syncNow(state))
      await done
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
  const found: Buffer[] = []
  for (let position = from; position < tail.end(); ) {
    const bytes = tail.from(position)
    found.push(bytes)
    position += bytes.length
  }
  return found
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

/** Once a second: syncs what was written, and looks how long the disk has been taking nothing. */
function watch(state: State): void {
  const { clock, log, onGiveUp } = state.options
  const now = clock.monotonic()
  if (!state.isBroken && state.synced >= state.tail.end()) state.safeAt = now
  // A process that was frozen has not watched: that time is not the disk's.
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
    log.error({ silentMs }, 'the journal is given up')
    onGiveUp()
  }
  void syncNow(state)
}

/** Notes what is safe now, and tells those who wait for it. */
function settle(state: State, position: number): void {
  state.synced = position
  state.safeAt = state.options.clock.monotonic()
  state.tail.forget(position)
  for (const waiter of state.waiters) if (waiter.position <= position) waiter.resolve()
  state.waiters = state.waiters.filter((waiter) => waiter.position > position)
}

/** Writes what is pending; one at a time, and again while more has come. */
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
      // A sync of the same descriptor may have failed meanwhile: then this is written once more elsewhere.
      if (!isGood(state)) return
      segment.at += bytes.length
      state.written += bytes.length
      crashPoint('after_C_write_before_fsync')
      // A caller that waits for the disk may have come while this write ran.
      if (state.waiters.length > 0) void syncNow(state)
      await prepareAhead(segment, options)
      if (segment.at >= options.segmentBytes / 2) state.next ??= makeNext(state)
    }
  } catch (error) {
    giveUp(state, error)
  }
}

const isGood = (state: State): boolean => !state.isBroken && !state.isClosed

/** One fdatasync at a time; a caller that came during one is served by the next. */
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

/** Goes on in the next segment once this one is safe; false when that is not to be. */
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
  const made = await state.next
  state.next = undefined
  if (made !== undefined) return made
  state.begun += 1
  return openSegment(state.options, state.begun)
}

/** After a failed write or sync nothing of that descriptor is trusted: the rest goes into a new segment. */
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

/** Writes all that is not known to be safe into a new segment, and goes on there when it is safe. */
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
  // What is safe in the failed one is still needed; one in which nothing is would only look damaged to an heir.
  if (holdsNothing) return discardSegment(options.files, failed)
  options.onFull(failed.path)
  await failed.file.close().catch(() => undefined)
}

async function close(state: State): Promise<void> {
  const { clock, log, files } = state.options
  const over = new AbortController()
  const saved = makeSafe(state, over.signal).then(() => over.abort())
  await Promise.race([saved, clock.sleep(CLOSE_MS, over.signal)])
  over.abort()
  state.isClosed = true
  const unsafeBytes = state.tail.end() - state.synced
  if (unsafeBytes > 0) {
    log.error({ unsafeBytes }, 'the journal ends with records that its disk did not take')
    // A disk that does not answer is not waited for once more.
    return
  }
  await state.segment.file.close().catch(() => undefined)
  const next = await state.next
  if (next !== undefined) await discardSegment(files, next)
}

/** Writes and syncs what is there, and tries a disk that fails again, until it is told that the time is over. */
async function makeSafe(state: State, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    if (state.isBroken) await recover(state).catch(() => undefined)
    await writeNow(state)
    await syncNow(state)
    if (state.synced >= state.tail.end()) return
    await state.options.clock.sleep(RECOVERY_PAUSE_MS, over)
  }
}
