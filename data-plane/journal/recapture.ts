import { join } from 'node:path'
import type { LedgerRestore } from '#shared/contract/money-scripts.ts'
import type { Logger } from '#shared/logger.ts'
import type { JournalFiles } from './files.ts'
import { readCapturesSince } from './segments.ts'
import { identify } from './take-over.ts'
import type { RecordSubject } from './unposted.ts'

/** Captures that are written again between two waits for the disk. */
const STRETCH = 1_000

type Parts = {
  /** The directory of this process. */
  readonly directory: string
  readonly files: JournalFiles
  capture(subject: RecordSubject, event: string): void
  /** Resolves when all captures are on the disk. */
  sync(): Promise<void>
  /** True for a capture of this journal that is not known to be posted. */
  isUnposted(seq: number): boolean
  readonly log: Logger
}

/**
 * Captures calls again that a ledger had posted and lost in a restore. From then on such captures are unposted like any
 * other. A capture that the ledger still has is still booked only once.
 */
export type Recapture = {
  /**
   * Goes through this journal and the directories that it took over. Does nothing for the restore that it handled last.
   */
  since(restore: LedgerRestore, directories: readonly string[]): Promise<void>
  /**
   * The number of times that captures were made unposted again. Rails whose captures are not in the gate settle theirs
   * again.
   */
  times(): number
  /** Goes through a directory that was just taken over, if the ledger was restored. */
  takenOver(directory: string): Promise<void>
}

export function createRecapture(parts: Parts): Recapture {
  const { directory, files, log } = parts
  /** The last restore, and the one that this process has handled. */
  let restore: LedgerRestore | undefined
  let ledgerRestore: LedgerRestore | undefined
  let times = 0

  /** Later heirs skip a directory with this mark. Its cursors are those of the present ledger. */
  const markOf = (path: string, { at }: LedgerRestore) => join(path, `recaptured-${at}`)

  async function takenOver(deadDirectory: string): Promise<void> {
    if (restore === undefined) return
    const mark = markOf(deadDirectory, restore)
    if ((await files.status(deadDirectory)) === undefined || (await files.status(mark)) !== undefined) return
    await captureAgain(parts, deadDirectory, restore.to)
    await files.write(mark, '')
    times += 1
  }

  return {
    times: () => times,
    takenOver,
    async since(step, directories) {
      if (ledgerRestore?.at === step.at) return
      restore = step
      const count = await captureAgain(parts, directory, step.to)
      await files.write(markOf(directory, step), '')
      for (const path of directories) await takenOver(path)
      ledgerRestore = step
      times += 1
      log.warn({ captures: count, restoredTo: step.to }, 'captured again the calls that the ledger may have lost')
    },
  }
}

/**
 * Captures calls again that the ledger may have lost. An unposted call is skipped: that includes calls that end
 * meanwhile, and calls that this function itself has captured.
 */
async function captureAgain(parts: Parts, directory: string, instant: number): Promise<number> {
  const { files, capture, sync, isUnposted } = parts
  const isOwn = directory === parts.directory
  let count = 0
  for await (const { seq, payload } of readCapturesSince(files, directory, instant)) {
    const subject = isOwn && isUnposted(seq) ? undefined : identify(payload)
    if (subject === undefined) continue
    capture(subject, payload)
    count += 1
    if (count % STRETCH === 0) await sync()
  }
  await sync()
  return count
}
