import type { Journal, Progress } from '#data-plane/call.ts'
import type { Time } from '#shared/clock.ts'
import type { LedgerRestore } from '#shared/contract/money-scripts.ts'
import type { RailName } from '#shared/contract/rails.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { Adoption, Inheritance } from './adoption.ts'
import { createAdoption } from './adoption.ts'
import { createBootDirectory } from './boot-lock.ts'
import type { JournalFiles } from './files.ts'
import { diskFiles } from './files.ts'
import type { Processes } from './processes.ts'
import { kernelProcesses } from './processes.ts'
import type { Recapture } from './recapture.ts'
import { createRecapture } from './recapture.ts'
import type { RecordType } from './record.ts'
import { MAX_PAYLOAD_CHARS, payloadOf, readRecords } from './record.ts'
import type { FullSegment, RetentionLimits } from './retention.ts'
import { RETENTION_BYTES, RETENTION_MS, startUpkeep } from './retention.ts'
import { formatCursor, listSegments, readSegments } from './segments.ts'
import { takeOver } from './take-over.ts'
import type { Captured, RecordSubject, Unposted } from './unposted.ts'
import { createUnposted } from './unposted.ts'
import type { JournalWriter, WriterFigures } from './writer.ts'
import { openWriter } from './writer.ts'

export type { Inheritance } from './adoption.ts'
export type { Captured } from './unposted.ts'

const SEGMENT_BYTES = 64 * 1024 * 1024
const PREPARED_BYTES = 4 * 1024 * 1024

/** The journal for one rail: its captures that may not be posted yet, and a cursor over them. */
export type JournalReplay = {
  /**
   * The usage events of captures that are not known to be posted, oldest first, including inherited ones. `of` limits
   * them to one inheritance.
   */
  unposted(of?: Inheritance): AsyncIterable<string>
  /**
   * Checks a stretch of unposted captures and drops those that are posted. It does not check an inheritance before it
   * is crossed off, because the gate may never have had those captures.
   */
  advance(check: (captures: readonly Captured[]) => Promise<readonly boolean[]>): Promise<void>
  /** Captures that are not known to be posted. */
  unpostedCount(): number
  /** The request ids of those captures. A call has several captures when several dead processes left it. */
  unpostedRids(): ReadonlySet<string>
  /** The name of this process in the gate: its node and its boot, so no two processes share it. */
  readonly member: string
  /** Inheritances whose captures are in this journal and that this rail has not crossed off. */
  inherited(): readonly Inheritance[]
  /**
   * Marks the captures of all rails since the time of a restored ledger as unposted again, once for each restore.
   * Rejects when the disk refuses writes.
   */
  recapture(restore: LedgerRestore): Promise<void>
  /** The number of recaptures; see {@link JournalReplay.recapture}. */
  recaptures(): number
  /** Crosses an inheritance off: the rail has its captures and waits for nothing more of its member. */
  crossOff(inheritance: Inheritance): void
}

export type OpenJournal = Journal &
  Pick<JournalReplay, 'member'> & {
    /** The view of one rail, without captures of other rails. */
    replay(rail: RailName): JournalReplay
    /** Captures of all rails that are not known to be posted. */
    unpostedCount(): number
    figures(): WriterFigures
    /** Writes the waiting records, syncs them and closes the journal. */
    close(): Promise<void>
  }

type Options = {
  /** Directory on a local disk, shared by the boots of this machine. */
  readonly dir: string
  readonly node: string
  /** ULID of this boot. */
  readonly boot: string
  readonly clock: Time
  readonly log: Logger
  /** The disk and the processes that share it: those of this machine by default. */
  readonly files?: JournalFiles
  readonly processes?: Processes
  /** Continues in spite of a damaged record in the middle of a dead process's journal. */
  readonly acceptsDamage?: boolean
  /** Called with the milliseconds that the disk took to make records durable. */
  readonly onSynced?: (tookMs: number) => void
  readonly segmentBytes?: number
  /** Bytes of a segment that the disk allots ahead of the records; 0 for none. */
  readonly preparedBytes?: number
  /**
   * Posted segments are kept for these milliseconds, in case Postgres goes back in time, but never more than these
   * bytes.
   */
  readonly retentionMs?: number
  readonly retentionBytes?: number
  /**
   * Called once when this journal has become useless, because its disk has refused writes for 30 s or its directory is
   * gone. Captures that are only in memory must then go elsewhere, and the process must end.
   */
  readonly onGiveUp?: () => void
}

/**
 * Opens the journal of this boot in a directory of its own, and takes over from dead processes now and again while it
 * is open. Their unposted captures are written again here. A call with progress but no capture is captured as of its
 * last progress.
 *
 * Throws AppError for a damaged record that a death cannot explain, unless `acceptsDamage`. Damage that is found later
 * is left to the next start.
 */
export async function openJournal(options: Options): Promise<OpenJournal> {
  const { dir, node, boot, clock, log, files = diskFiles, processes = kernelProcesses } = options
  const root = { path: dir, files, processes }
  const member = `${node}.${boot}`
  const directory = await createBootDirectory(root, boot, member)
  const unposted = createUnposted()
  const full: FullSegment[] = []
  const numbering = { last: 0 }
  const onGiveUp = onlyOnce(options.onGiveUp)
  const writer = await openWriter({
    directory,
    clock,
    files,
    log,
    segmentBytes: options.segmentBytes ?? SEGMENT_BYTES,
    preparedBytes: options.preparedBytes ?? PREPARED_BYTES,
    onSynced: options.onSynced,
    onFull: (path) => full.push({ path, lastSeq: numbering.last, at: clock.now() }),
    onGiveUp,
  })
  const parts: Parts = { directory, files, writer, unposted, full, numbering }
  const { append, capture, progress } = createAppender(parts, clock)
  const isUnposted = (seq: number) => unposted.has(seq)
  const recapture = createRecapture({ directory, files, capture, log, sync: writer.sync, isUnposted })
  const adoption = createAdoption({
    root,
    boot,
    clock,
    log,
    async takeOver(path) {
      const { acceptsDamage = false } = options
      const isFirstHand = await takeOver(path, { files, capture, sync: writer.sync, log, acceptsDamage })
      await recapture.takenOver(path)
      return isFirstHand
    },
    lastSeq: () => numbering.last,
    isWritable: writer.isWritable,
  })
  await adoptFirst(adoption, parts)
  adoption.start()
  const stopUpkeep = startUpkeep({
    directory,
    full,
    adopted: adoption.paths,
    clock,
    files,
    log,
    onGone: onGiveUp,
    firstNeeded: () => unposted.firstNeeded(numbering.last),
    limits: retentionOf(options),
  })
  return {
    progress,
    capture,
    sync: writer.sync,
    isWritable: writer.isWritable,
    figures: writer.figures,
    replay: createReplays(parts, { append, clock, adoption, recapture, member }),
    unpostedCount: unposted.size,
    member,
    async close() {
      stopUpkeep()
      await adoption.stop()
      await writer.close()
    },
  }
}

function retentionOf({ retentionMs = RETENTION_MS, retentionBytes = RETENTION_BYTES }: Options): RetentionLimits {
  return { retentionMs, retentionBytes }
}

type Parts = {
  readonly directory: string
  readonly files: JournalFiles
  readonly writer: JournalWriter
  readonly unposted: Unposted
  readonly full: readonly FullSegment[]
  readonly numbering: { last: number }
}

/**
 * Takes over from dead processes before the journal opens. A journal that cannot take over leaves no directory of its
 * own.
 */
async function adoptFirst(adoption: Adoption, { directory, files, writer }: Parts): Promise<void> {
  try {
    await adoption.adopt()
  } catch (error) {
    // Once its owner's directory is gone, the next start may take over the directories that this one had taken over.
    await writer.close()
    await files.remove(directory)
    throw error
  }
}

type Append = (type: RecordType, payload: string) => number

function createAppender({ writer, unposted, numbering }: Parts, clock: Time) {
  /** Returns the sequence number of the record. */
  function append(type: RecordType, payload: string): number {
    if (payload.length > MAX_PAYLOAD_CHARS) {
      throw new AppError('internal_error', { cause: new Error('too long for a journal record') })
    }
    const seq = numbering.last + 1
    writer.append({ type, seq, payload })
    numbering.last = seq
    return seq
  }
  return {
    append,
    progress({ hold, event }: Progress): void {
      // While the disk refuses writes, records of progress are left out.
      if (writer.isWritable()) unposted.progressed(hold.rid, append('P', event), clock.monotonic())
    },
    capture({ rid, rail, account }: RecordSubject, event: string): void {
      unposted.captured({ seq: append('C', event), rid, rail, account })
    },
  }
}

type Taking = {
  readonly append: Append
  readonly clock: Time
  readonly adoption: Adoption
  readonly recapture: Recapture
  readonly member: string
}

/** Makes the views of the rails over one journal. They share one cursor, and one rail checks at a time. */
function createReplays(parts: Parts, taking: Taking): (rail: RailName) => JournalReplay {
  const { writer, unposted, numbering } = parts
  const { append, clock, adoption, recapture, member } = taking
  let last = Promise.resolve()

  async function advance(ask: (captures: readonly Captured[]) => Promise<readonly boolean[]>): Promise<void> {
    const isAnyPosted = await unposted.check(adoption.firstOpen(), ask)
    if (!isAnyPosted || !writer.isWritable()) return
    crashPoint('before_cursor')
    const postedSeq = (unposted.firstCapture() ?? numbering.last + 1) - 1
    append('K', formatCursor({ postedSeq, needed: unposted.firstNeeded(numbering.last), at: clock.now() }))
  }

  /**
   * Runs one turn after the other, because a check moves the captures that it has found. A rail that already waits for
   * its turn gets no second turn.
   */
  function takeTurn(turns: Map<RailName, Promise<void>>, rail: RailName, run: () => Promise<void>): Promise<void> {
    const waiting = turns.get(rail)
    if (waiting !== undefined) return waiting
    const turn = last.then(run).finally(() => turns.delete(rail))
    turns.set(rail, turn)
    last = turn.catch(() => undefined)
    return turn
  }

  const turns = new Map<RailName, Promise<void>>()
  const rails = new Set<RailName>()
  const endedRails = new WeakMap<Inheritance, Set<RailName>>()
  const hasCrossedOff = (rail: RailName, inheritance: Inheritance) => endedRails.get(inheritance)?.has(rail) === true
  return (rail) => {
    rails.add(rail)
    return {
      unposted: (of) => readUnposted(parts, { rail, from: of?.from ?? 1, to: of?.to ?? Number.MAX_SAFE_INTEGER }),
      advance: (check) => takeTurn(turns, rail, () => advance((captures) => askOwn(rail, captures, check))),
      unpostedCount: () => unposted.sizeOf(rail),
      unpostedRids: () => unposted.ridsOf(rail),
      recapture: (restore) => recapture.since(restore, adoption.paths),
      recaptures: recapture.times,
      inherited: () => adoption.inherited().filter((inheritance) => !hasCrossedOff(rail, inheritance)),
      crossOff(inheritance) {
        const by = endedRails.get(inheritance) ?? new Set()
        endedRails.set(inheritance, by.add(rail))
        // Each rail brings its own captures, so an inheritance stays until every rail has crossed it off.
        if ([...rails].every((name) => by.has(name))) adoption.crossOff(inheritance)
      },
      member,
    }
  }
}

/** Checks a rail's own captures among these. The others count as not known to be posted. */
async function askOwn(
  rail: RailName,
  captures: readonly Captured[],
  check: (captures: readonly Captured[]) => Promise<readonly boolean[]>,
): Promise<readonly boolean[]> {
  const own = captures.filter((capture) => capture.rail === rail)
  if (own.length === captures.length) return check(captures)
  const answers = own.length === 0 ? [] : await check(own)
  const postedCaptures = new Set(own.filter((_capture, index) => answers[index] === true))
  return captures.map((capture) => postedCaptures.has(capture))
}

/** Captures of one rail with numbers in a range, both ends included. */
type Stretch = { readonly rail: RailName; readonly from: number; readonly to: number }

/**
 * Reads unposted captures with numbers in a range. Captures that are not durable yet come from memory, so that a
 * failing disk keeps no capture from the gate.
 */
async function* readUnposted(parts: Parts, { rail, from, to }: Stretch): AsyncGenerator<string> {
  const { directory, files, writer, unposted, full } = parts
  const isWanted = (seq: number) => seq >= from && seq <= to && unposted.has(seq, rail)
  const inMemory: { readonly seq: number; readonly event: string }[] = []
  let firstInMemory = Number.MAX_SAFE_INTEGER
  for (const bytes of writer.unsafe()) {
    for (const place of readRecords(bytes, 0).records) {
      firstInMemory = Math.min(firstInMemory, place.seq)
      if (place.type === 'C' && isWanted(place.seq)) inMemory.push({ seq: place.seq, event: payloadOf(bytes, place) })
    }
  }
  const first = Math.max(from, unposted.firstCapture() ?? Number.MAX_SAFE_INTEGER)
  if (first < firstInMemory) {
    const passedPaths = new Set(full.filter((segment) => segment.lastSeq < first).map((segment) => segment.path))
    const segments = (await listSegments(files, directory)).filter((path) => !passedPaths.has(path))
    for await (const { type, seq, payload } of readSegments(files, segments, first)) {
      if (seq >= firstInMemory || seq > to) break
      if (type === 'C' && isWanted(seq)) yield payload
    }
  }
  for (const { seq, event } of inMemory) if (unposted.has(seq)) yield event
}

function onlyOnce(run: (() => void) | undefined): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    run?.()
  }
}
