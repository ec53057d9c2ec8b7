import { basename, join } from 'node:path'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { JournalFile, JournalFiles } from './files.ts'
import { encodeRecord, encodeSegmentHead } from './record.ts'
import { segmentName } from './segments.ts'

export const SEGMENT_BYTES = 64 * 1024 * 1024
/** Records that wait for the disk; past it the journal counts as not writable. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024
/** How long records gather before they are written together; whoever waits for them does not wait for this. */
const GATHER_MS = 2
const BACKGROUND_SYNC_MS = 1 * SECOND
const RECOVERY_PAUSE_MS = 1 * SECOND
/** How long a caller waits for the disk at most. */
const SYNC_WAIT_MS = 10 * SECOND

type Waiter = { readonly count: number; resolve(): void }
type Segment = { readonly file: JournalFile; readonly path: string; bytes: number }

type Options = {
  readonly directory: string
  readonly clock: Time
  readonly files: JournalFiles
  readonly log: Logger
  readonly segmentBytes: number
  /** Told of a segment that is full: nothing is added to it any more. */
  onFull(path: string): void
}

/**
 * Appends bytes to the segments of one directory. All that comes in one tick goes out in one write; `sync` groups its
 * callers into one fdatasync. A descriptor that failed once is never used again: what was not yet on the disk is
 * written once more into a new segment.
 */
export type JournalWriter = {
  append(bytes: Buffer): void
  /** Resolves when everything appended so far was handed to the operating system. */
  written(): Promise<void>
  /** Resolves when everything appended so far is on the disk; rejects when that takes longer than 10 s. */
  sync(): Promise<void>
  isWritable(): boolean
  close(): Promise<void>
}

type State = {
  segment: Segment
  /** How many segments were begun, failed ones included: no name is used twice. */
  begun: number
  /** Segments that were given up and of which the next good one must tell the reader. */
  failed: string[]
  pending: Buffer[]
  pendingBytes: number
  /** Written but not yet known to be on the disk. */
  unsynced: Buffer[]
  appended: number
  written: number
  synced: number
  isBroken: boolean
  isClosed: boolean
  syncing: Promise<void> | undefined
  writing: Promise<void> | undefined
  writeWaiters: Waiter[]
  syncWaiters: Waiter[]
}

export async function openWriter(options: Options): Promise<JournalWriter> {
  const state: State = {
    segment: await openSegment(options, 1),
    begun: 1,
    failed: [],
    pending: [],
    pendingBytes: 0,
    unsynced: [],
    appended: 0,
    written: 0,
    synced: 0,
    isBroken: false,
    isClosed: false,
    syncing: undefined,
    writing: undefined,
    writeWaiters: [],
    syncWaiters: [],
  }
  let isDue = false
  const stopBackground = options.clock.every(BACKGROUND_SYNC_MS, () => void syncNow(state, options))

  return {
    append(bytes) {
      state.pending.push(bytes)
      state.pendingBytes += bytes.length
      state.appended += 1
      if (isDue) return
      isDue = true
      options.clock.after(GATHER_MS, () => {
        isDue = false
        void writeNow(state, options)
      })
    },
    written() {
      if (state.written >= state.appended) return Promise.resolve()
      const done = wait(options.clock, state.writeWaiters, state.appended)
      void writeNow(state, options)
      return done
    },
    async sync() {
      if (state.synced >= state.appended) return
      const done = wait(options.clock, state.syncWaiters, state.appended)
      await writeNow(state, options)
      void syncNow(state, options)
      await done
    },
    isWritable: () => !state.isBroken && !state.isClosed && state.pendingBytes < MAX_PENDING_BYTES,
    async close() {
      stopBackground()
      await writeNow(state, options)
      await syncNow(state, options)
      state.isClosed = true
      await state.segment.file.close().catch(() => undefined)
    },
  }
}

function wait(clock: Time, waiters: Waiter[], count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(SYNC_WAIT_MS, () => reject(new AppError('service_unavailable')))
    waiters.push({
      count,
      resolve() {
        cancel()
        resolve()
      },
    })
  })
}

function release(waiters: Waiter[], reached: number): Waiter[] {
  for (const waiter of waiters) if (waiter.count <= reached) waiter.resolve()
  return waiters.filter((waiter) => waiter.count > reached)
}

/** Writes what is pending; one at a time, and again while more has come. */
function writeNow(state: State, options: Options): Promise<void> {
  state.writing ??= writeAll(state, options).finally(() => {
    state.writing = undefined
  })
  return state.writing
}

async function writeAll(state: State, options: Options): Promise<void> {
  while (state.pending.length > 0 && !state.isBroken && !state.isClosed) {
    const buffers = state.pending
    state.pending = []
    state.pendingBytes = 0
    state.unsynced.push(...buffers)
    try {
      await writeFully(state.segment, buffers)
    } catch (error) {
      giveUp(state, options, error)
      return
    }
    crashPoint('after_C_write_before_fsync')
    state.written += buffers.length
    state.writeWaiters = release(state.writeWaiters, state.written)
    if (state.segment.bytes >= options.segmentBytes) await rotate(state, options)
    // A caller that waits for the disk may have come while this write ran.
    if (state.syncWaiters.length > 0) void syncNow(state, options)
  }
}

async function writeFully(segment: Segment, buffers: readonly Buffer[]): Promise<void> {
  const all = buffers.length === 1 && buffers[0] ? buffers[0] : Buffer.concat(buffers)
  await segment.file.write(all, segment.bytes)
  segment.bytes += all.length
}

/** One fdatasync at a time; a caller that came during one is served by the next. */
function syncNow(state: State, options: Options): Promise<void> {
  state.syncing ??= syncAll(state, options).finally(() => {
    state.syncing = undefined
  })
  return state.syncing
}

async function syncAll(state: State, options: Options): Promise<void> {
  while (state.synced < state.written && !state.isBroken && !state.isClosed) {
    const reached = state.written
    try {
      await state.segment.file.datasync()
    } catch (error) {
      giveUp(state, options, error)
      return
    }
    state.unsynced.splice(0, reached - state.synced)
    crashPoint('after_C')
    state.synced = reached
    state.syncWaiters = release(state.syncWaiters, reached)
    if (state.syncWaiters.length === 0) return
  }
}

async function rotate(state: State, options: Options): Promise<void> {
  try {
    await state.syncing
    await syncNow(state, options)
    const old = state.segment
    state.segment = await beginSegment(state, options)
    options.onFull(old.path)
    await old.file.close()
  } catch (error) {
    giveUp(state, options, error)
  }
}

/** After a failed write or sync nothing of that descriptor is trusted: the rest goes into a new segment. */
function giveUp(state: State, options: Options, error: unknown): void {
  if (state.isBroken || state.isClosed) return
  state.isBroken = true
  options.log.error({ cause: describeCause(error) }, 'the journal cannot be written: paid calls are refused')
  const failed = basename(state.segment.path)
  state.failed.push(failed)
  const recover = async () => {
    if (state.isClosed) return
    try {
      await recoverInto(state, options)
      options.log.info({ failed }, 'the journal goes on in a new segment')
      await writeNow(state, options)
    } catch (again) {
      options.log.error({ cause: describeCause(again) }, 'the journal still cannot be written')
      options.clock.after(RECOVERY_PAUSE_MS, () => void recover())
    }
  }
  options.clock.after(RECOVERY_PAUSE_MS, () => void recover())
}

async function recoverInto(state: State, options: Options): Promise<void> {
  await state.syncing?.catch(() => undefined)
  await state.writing?.catch(() => undefined)
  const segment = await beginSegment(state, options)
  const marker = encodeRecord({ type: 'A', seq: 0, payload: state.failed.join(' ') })
  const again = [...state.unsynced]
  try {
    await writeFully(segment, [marker, ...again])
    await segment.file.datasync()
  } catch (error) {
    state.failed.push(basename(segment.path))
    await segment.file.close().catch(() => undefined)
    throw error
  }
  state.failed = []
  options.onFull(state.segment.path)
  await state.segment.file.close().catch(() => undefined)
  state.segment = segment
  state.unsynced.splice(0, again.length)
  state.written = state.synced + again.length
  state.synced = state.written
  state.isBroken = false
  state.writeWaiters = release(state.writeWaiters, state.written)
  state.syncWaiters = release(state.syncWaiters, state.synced)
}

/** Opens the next segment; one that cannot be opened may still have left a file behind. */
async function beginSegment(state: State, options: Options): Promise<Segment> {
  state.begun += 1
  try {
    return await openSegment(options, state.begun)
  } catch (error) {
    state.failed.push(segmentName(state.begun))
    throw error
  }
}

async function openSegment({ directory, files }: Options, ordinal: number): Promise<Segment> {
  const path = join(directory, segmentName(ordinal))
  const file = await files.create(path)
  const head = encodeSegmentHead(ordinal)
  try {
    await file.write(head, 0)
    await files.syncDirectory(directory)
  } catch (error) {
    await file.close().catch(() => undefined)
    throw error
  }
  return { file, path, bytes: head.length }
}
