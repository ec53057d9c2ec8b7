import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Journal } from '#data-plane/call.ts'
import type { Clock } from '#shared/clock.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { adoptLeftDirectories, createBootDirectory, touchLock } from './boot-lock.ts'
import type { RecordType } from './record.ts'
import { encodeRecord, MAX_PAYLOAD_BYTES, readSegment } from './record.ts'
import { listSegments, readDirectory } from './segments.ts'
import type { Captured } from './unposted.ts'
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
  /** Nodes whose processes are gone and whose captures are in this journal now. */
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
  readonly clock: Clock
  readonly log: Logger
  /** Goes on in spite of a damaged record in the middle of what a dead process left. */
  readonly acceptsDamage?: boolean
  readonly segmentBytes?: number
  /** Posted segments are kept this long, for a Postgres that went back in time, but never more bytes than that. */
  readonly retentionMs?: number
  readonly retentionBytes?: number
}

const RETENTION_MS = 48 * HOUR
const RETENTION_BYTES = 4 * 1024 * 1024 * 1024
const UPKEEP_INTERVAL_MS = 1 * MINUTE
/** Written into a directory that was taken over once its captures are safe in the own one. */
const FINISHED_FILE = 'finished'

/**
 * Opens the journal of this boot in a directory of its own and takes over what dead processes left: their unposted
 * captures are written again here, and a call that had progress but no capture is captured as of its last progress.
 * Throws AppError when a damaged record lies where a death cannot have put it, unless `acceptsDamage`.
 */
export async function openJournal(options: Options): Promise<OpenJournal> {
  const { dir, node, boot, clock, log } = options
  const directory = await createBootDirectory(dir, boot, node)
  const unposted = createUnposted()
  const full: { readonly path: string; readonly lastSeq: number; readonly at: number }[] = []
  let seq = 0
  let isAdvancing = false
  const writer = await openWriter({
    directory,
    log,
    segmentBytes: options.segmentBytes ?? SEGMENT_BYTES,
    onFull: (path) => full.push({ path, lastSeq: seq, at: clock.now() }),
  })

  function append(type: RecordType, payload: string): number {
    if (payload.length > MAX_PAYLOAD_BYTES / 4) throw new AppError('internal_error', { cause: new Error('too long') })
    seq += 1
    writer.append(encodeRecord({ type, seq, payload }))
    return seq
  }

  function capture(event: string): void {
    const subject = identify(event)
    const at = append('C', event)
    if (subject) unposted.captured({ seq: at, ...subject })
    else log.error({ seq: at }, 'a capture without a request id was written')
  }

  const adopted = await adoptLeftDirectories(dir, boot, clock.now())
  for (const { path } of adopted) await takeOver(path, { capture, writer, log, acceptsDamage: options.acceptsDamage })

  const kept = adopted.map((left) => left.path)
  const upkeep = setInterval(() => {
    const limits = { retentionMs: RETENTION_MS, retentionBytes: RETENTION_BYTES, ...definedOf(options) }
    Promise.all([
      touchLock(directory, clock.now()),
      prune(full, unposted.firstNeeded(seq), limits, clock.now()),
      removeFinished(kept, limits.retentionMs, clock.now()),
    ]).catch((error: unknown) => log.warn({ cause: describeCause(error) }, 'upkeep of the journal failed'))
  }, UPKEEP_INTERVAL_MS)
  upkeep.unref()

  return {
    progress(record) {
      const at = append('P', record.event)
      unposted.progressed(record.hold.rid, at, clock.monotonic())
    },
    capture,
    sync: () => writer.sync(),
    isWritable: () => writer.isWritable(),
    unpostedCount: () => unposted.size(),
    inherited: adopted.flatMap((left) => (left.node === undefined || left.node === node ? [] : [left.node])),
    async *unposted() {
      await writer.written()
      const first = unposted.firstCapture()
      if (first === undefined) return
      const passed = new Set(full.filter((segment) => segment.lastSeq < first).map((segment) => segment.path))
      for (const path of await listSegments(directory)) {
        if (passed.has(path)) continue
        for (const record of readSegment(await readFile(path)).records) {
          if (record.type === 'C' && unposted.has(record.seq)) yield record.payload
        }
      }
    },
    async advance(check) {
      if (isAdvancing) return
      isAdvancing = true
      try {
        const isAnyPosted = await unposted.check(check)
        if (isAnyPosted && writer.isWritable()) append('K', ((unposted.firstCapture() ?? seq + 1) - 1).toString())
      } finally {
        isAdvancing = false
      }
    },
    async close() {
      clearInterval(upkeep)
      await writer.close()
    },
  }
}

function definedOf({ retentionMs, retentionBytes }: Options): Partial<Limits> {
  return {
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(retentionBytes === undefined ? {} : { retentionBytes }),
  }
}

type Limits = { readonly retentionMs: number; readonly retentionBytes: number }

type TakeOver = {
  capture(event: string): void
  readonly writer: JournalWriter
  readonly log: Logger
  readonly acceptsDamage: boolean | undefined
}

async function takeOver(left: string, { capture, writer, log, acceptsDamage }: TakeOver): Promise<void> {
  const finished = join(left, FINISHED_FILE)
  if (await exists(finished)) return
  const captures = new Map<string, { readonly seq: number; readonly event: string }>()
  const running = new Map<string, string>()
  let posted = 0
  for await (const { type, seq, payload } of readDirectory(left, acceptsDamage ?? false)) {
    if (type === 'K') posted = Math.max(posted, Number(payload))
    const rid = type === 'P' || type === 'C' ? identify(payload)?.rid : undefined
    if (rid === undefined) continue
    if (type === 'P' && !captures.has(rid)) running.set(rid, payload)
    if (type === 'C') {
      running.delete(rid)
      captures.set(rid, { seq, event: payload })
    }
  }
  const unposted = [...captures.values()].filter((entry) => entry.seq > posted)
  for (const { event } of unposted) capture(event)
  for (const event of running.values()) capture(event)
  await writer.sync()
  await writeFile(finished, '')
  log.info({ captures: unposted.length, running: running.size }, 'took over the journal of a dead process')
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Removes full segments that nobody needs: old enough, or the oldest of too many. */
async function prune(
  full: { readonly path: string; readonly lastSeq: number; readonly at: number }[],
  firstNeeded: number,
  limits: Limits,
  now: number,
): Promise<void> {
  const sizes = await Promise.all(full.map(async ({ path }) => (await stat(path)).size))
  let kept = sizes.reduce((total, size) => total + size, 0)
  while (full.length > 0) {
    const [oldest] = full
    if (!oldest || oldest.lastSeq >= firstNeeded) return
    if (now - oldest.at < limits.retentionMs && kept <= limits.retentionBytes) return
    await rm(oldest.path, { force: true })
    kept -= sizes.shift() ?? 0
    full.shift()
  }
}

async function removeFinished(kept: string[], retentionMs: number, now: number): Promise<void> {
  for (const left of [...kept]) {
    const age = await stat(join(left, FINISHED_FILE)).then(
      (file) => now - file.mtimeMs,
      () => 0,
    )
    if (age < retentionMs) continue
    await rm(left, { recursive: true, force: true })
    kept.splice(kept.indexOf(left), 1)
  }
}
