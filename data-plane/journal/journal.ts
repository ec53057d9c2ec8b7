import type { Journal } from '#data-plane/call.ts'
import type { Time } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { adoptLeftDirectories, createBootDirectory } from './boot-lock.ts'
import type { JournalFiles } from './files.ts'
import { diskFiles } from './files.ts'
import type { Processes } from './processes.ts'
import { kernelProcesses } from './processes.ts'
import type { RecordType } from './record.ts'
import { encodeRecord, MAX_PAYLOAD_CHARS } from './record.ts'
import type { FullSegment } from './retention.ts'
import { RETENTION_BYTES, RETENTION_MS, startUpkeep } from './retention.ts'
import { listSegments, readFrom } from './segments.ts'
import { takeOver } from './take-over.ts'
import type { Captured, Unposted } from './unposted.ts'
import { createUnposted, identify } from './unposted.ts'
import type { JournalWriter } from './writer.ts'
import { openWriter, SEGMENT_BYTES } from './writer.ts'

export type { Captured } from './unposted.ts'

/** What the gate needs of the journal: the captures that may not be posted yet, and a cursor over them. */
export type JournalReplay = {
  /** The usage events of captures that are not known to be posted, oldest first, what was taken over included. */
  unposted(): AsyncIterable<string>
  /** Asks about a stretch of unposted captures and forgets those that are posted. */
  advance(check: (captures: readonly Captured[]) => Promise<readonly boolean[]>): Promise<void>
  /** Captures that are not known to be posted. */
  unpostedCount(): number
  /** The name under which this process takes part in the gate: its node and its boot, so no two share it. */
  readonly member: string
  /** Members whose processes are gone and whose captures are in this journal now. */
  readonly inherited: readonly string[]
}

export type OpenJournal = Journal &
  JournalReplay & {
    /** Writes what waits, syncs and ends. */
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
  /** The disk, and the processes that share it; those of this machine unless handed in. */
  readonly files?: JournalFiles
  readonly processes?: Processes
  /** Goes on in spite of a damaged record in the middle of what a dead process left. */
  readonly acceptsDamage?: boolean
  readonly segmentBytes?: number
  /** Posted segments are kept this long, for a Postgres that went back in time, but never more bytes than that. */
  readonly retentionMs?: number
  readonly retentionBytes?: number
}

/**
 * Opens the journal of this boot in a directory of its own and takes over what dead processes left: their unposted
 * captures are written again here, and a call that had progress but no capture is captured as of its last progress.
 * Throws AppError when a damaged record lies where a death cannot have put it, unless `acceptsDamage`.
 */
export async function openJournal(options: Options): Promise<OpenJournal> {
  const { dir, node, boot, clock, log, files = diskFiles, processes = kernelProcesses } = options
  const root = { path: dir, files, processes }
  const member = `${node}.${boot}`
  const directory = await createBootDirectory(root, boot, member)
  const unposted = createUnposted()
  const full: FullSegment[] = []
  const numbering = { last: 0 }
  let isAdvancing = false
  const writer = await openWriter({
    directory,
    clock,
    files,
    log,
    segmentBytes: options.segmentBytes ?? SEGMENT_BYTES,
    onFull: (path) => full.push({ path, lastSeq: numbering.last, at: clock.now() }),
  })
  const { append, capture } = createAppender({ writer, unposted, numbering, log })
  const adopted = await adoptLeftDirectories(root, boot, clock.now())
  try {
    const ports = { files, capture, writer, log, acceptsDamage: options.acceptsDamage }
    for (const { path } of adopted) await takeOver(path, ports)
  } catch (error) {
    // Without its owner's directory, what was taken over is free for the next start.
    await writer.close()
    await files.remove(directory)
    throw error
  }
  const stopUpkeep = startUpkeep({
    directory,
    full,
    adopted: adopted.map((left) => left.path),
    firstNeeded: () => unposted.firstNeeded(numbering.last),
    limits: {
      retentionMs: options.retentionMs ?? RETENTION_MS,
      retentionBytes: options.retentionBytes ?? RETENTION_BYTES,
    },
    clock,
    files,
    log,
  })
  return {
    progress(record) {
      const at = append('P', record.event)
      unposted.progressed(record.hold.rid, at, clock.monotonic())
    },
    capture,
    sync: () => writer.sync(),
    isWritable: () => writer.isWritable(),
    unpostedCount: () => unposted.size(),
    member,
    inherited: adopted.flatMap((left) => (left.member === undefined ? [] : [left.member])),
    unposted: () => readUnposted({ files, directory, writer, unposted, full }),
    async advance(check) {
      if (isAdvancing) return
      isAdvancing = true
      try {
        const isAnyPosted = await unposted.check(check)
        if (!isAnyPosted || !writer.isWritable()) return
        crashPoint('before_cursor')
        append('K', ((unposted.firstCapture() ?? numbering.last + 1) - 1).toString())
      } finally {
        isAdvancing = false
      }
    },
    async close() {
      stopUpkeep()
      await writer.close()
    },
  }
}

type Parts = {
  readonly writer: JournalWriter
  readonly unposted: Unposted
  readonly numbering: { last: number }
  readonly log: Logger
}

function createAppender({ writer, unposted, numbering, log }: Parts) {
  function append(type: RecordType, payload: string): number {
    if (payload.length > MAX_PAYLOAD_CHARS) {
      throw new AppError('internal_error', { cause: new Error('too long for a journal record') })
    }
    numbering.last += 1
    writer.append(encodeRecord({ type, seq: numbering.last, payload }))
    return numbering.last
  }
  return {
    append,
    capture(event: string): void {
      const subject = identify(event)
      const seq = append('C', event)
      if (subject) unposted.captured({ seq, ...subject })
      else log.error({ seq }, 'a capture without a request id was written')
    },
  }
}

type Reading = {
  readonly files: JournalFiles
  readonly directory: string
  readonly writer: JournalWriter
  readonly unposted: Unposted
  readonly full: readonly FullSegment[]
}

async function* readUnposted({ files, directory, writer, unposted, full }: Reading): AsyncGenerator<string> {
  await writer.written()
  const first = unposted.firstCapture()
  if (first === undefined) return
  const passed = new Set(full.filter((segment) => segment.lastSeq < first).map((segment) => segment.path))
  for (const path of await listSegments(files, directory)) {
    if (passed.has(path)) continue
    for (const record of (await readFrom(files, path)).records) {
      if (record.type === 'C' && unposted.has(record.seq)) yield record.payload
    }
  }
}
