import { basename, join } from 'node:path'
import type { Logger } from '#shared/logger.ts'
import type { JournalFiles } from './files.ts'
import { readSegments, surveyDirectory } from './segments.ts'
import type { RecordSubject } from './unposted.ts'

/** Marks a directory that was taken over, once its captures are durable in this process's journal. */
export const FINISHED_FILE = 'finished'
/** Captures that are written again between two waits for the disk. */
const STRETCH = 1_000

type TakeOver = {
  readonly files: JournalFiles
  capture(subject: RecordSubject, event: string): void
  /** Resolves when all captures are on the disk. */
  sync(): Promise<void>
  readonly log: Logger
  readonly acceptsDamage: boolean
}

/**
 * Captures again, in this process's journal, the unposted captures of a dead process. Calls that it left running are
 * captured as of their last progress, which favours the buyer. Of two captures of one call the first counts. Returns
 * false when an earlier heir has done so in its own journal. Throws AppError when the directory is damaged, see {@link
 * surveyDirectory}.
 */
export async function takeOver(directory: string, ports: TakeOver): Promise<boolean> {
  const { files, capture, sync, log, acceptsDamage } = ports
  const finished = join(directory, FINISHED_FILE)
  if ((await files.status(finished)) !== undefined) return false
  const { segments, postedSeq, needed, cut, lostBytes } = await surveyDirectory(files, directory, acceptsDamage)
  if (lostBytes > 0)
    log.error(
      { directory: basename(directory), lost: lostBytes },
      'the disk changed records of a dead process: they are lost',
    )
  if (cut)
    log.warn(
      { segment: basename(cut.path), byte: cut.at },
      'a dead process left a cut record at the end of its journal',
    )
  let count = 0
  const captured = new Set<string>()
  const running = new Map<string, { readonly subject: RecordSubject; readonly event: string }>()
  for await (const { type, seq, payload } of readSegments(files, segments, needed)) {
    const subject = type === 'K' ? undefined : identify(payload)
    if (subject === undefined || captured.has(subject.rid)) continue
    if (type === 'P') {
      running.set(subject.rid, { subject, event: payload })
      continue
    }
    running.delete(subject.rid)
    captured.add(subject.rid)
    if (seq <= postedSeq) continue
    capture(subject, payload)
    count += 1
    if (count % STRETCH === 0) await sync()
  }
  for (const { subject, event } of running.values()) capture(subject, event)
  await sync()
  await files.write(finished, '')
  log.info({ captures: count, running: running.size }, 'took over the journal of a dead process')
  return true
}

/**
 * Finds the request id, rail and account id of a usage event without parsing it. A quote inside a JSON string is always
 * escaped, and these three come before any member that the rail adds.
 */
export function identify(event: string): RecordSubject | undefined {
  const rid = fieldOf(event, '"rid":"')
  const rail = fieldOf(event, '"rail":"')
  if (rid === undefined || rail === undefined) return undefined
  return { rid, rail, account: fieldOf(event, '"account":"') ?? null }
}

function fieldOf(event: string, opening: string): string | undefined {
  const start = event.indexOf(opening)
  if (start === -1) return undefined
  const from = start + opening.length
  const end = event.indexOf('"', from)
  if (end === -1) return undefined
  // The id is copied. A slice would keep the whole event in memory for as long as the id is remembered.
  return Buffer.from(event.slice(from, end), 'latin1').toString('latin1')
}
