import { join } from 'node:path'
import type { Logger } from '#shared/logger.ts'
import type { JournalFiles } from './files.ts'
import { readDirectory } from './segments.ts'
import { identify } from './unposted.ts'
import type { JournalWriter } from './writer.ts'

/** Written into a directory that was taken over once its captures are safe in the own one. */
export const FINISHED_FILE = 'finished'

type TakeOver = {
  readonly files: JournalFiles
  capture(event: string): void
  readonly writer: JournalWriter
  readonly log: Logger
  readonly acceptsDamage: boolean | undefined
}

/**
 * Captures again, in the own journal, what a dead process had captured and nobody posted, and captures what it left
 * running as of its last progress, which favours the buyer.
 */
export async function takeOver(left: string, ports: TakeOver): Promise<void> {
  const { files, capture, writer, log, acceptsDamage } = ports
  const finished = join(left, FINISHED_FILE)
  if ((await files.status(finished)) !== undefined) return
  const captures = new Map<string, { readonly seq: number; readonly event: string }>()
  const running = new Map<string, string>()
  let posted = 0
  for await (const { type, seq, payload } of readDirectory(files, left, acceptsDamage ?? false)) {
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
  await files.write(finished, '')
  log.info({ captures: unposted.length, running: running.size }, 'took over the journal of a dead process')
}
