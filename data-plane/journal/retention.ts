import { join } from 'node:path'
import type { Cancel, Time } from '#shared/clock.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { touchLock } from './boot-lock.ts'
import type { JournalFiles } from './files.ts'
import { isMissing } from './files.ts'
import { FINISHED_FILE } from './take-over.ts'

/** Posted segments are kept for this time in case Postgres goes back in time. */
export const RETENTION_MS = 48 * HOUR
export const RETENTION_BYTES = 4 * 1024 * 1024 * 1024
const UPKEEP_INTERVAL_MS = 1 * MINUTE

/** A segment that gets no more records. Its records have numbers up to `lastSeq`. */
export type FullSegment = { readonly path: string; readonly lastSeq: number; readonly at: number }

export type RetentionLimits = { readonly retentionMs: number; readonly retentionBytes: number }

type Upkeep = {
  readonly directory: string
  readonly full: FullSegment[]
  /** Directories that were taken over. Later ones are added to the same list. */
  readonly adopted: readonly string[]
  /** The lowest sequence number that a start after a crash would need. */
  firstNeeded(): number
  readonly limits: RetentionLimits
  readonly clock: Time
  readonly files: JournalFiles
  readonly log: Logger
  /** Called when the directory of this process is gone. */
  onGone(): void
}

/** Once a minute, shows that the owner lives and removes useless segments. The returned function ends it. */
export function startUpkeep(upkeep: Upkeep): Cancel {
  const { directory, clock, files, log } = upkeep
  const removedPaths = new Set<string>()
  return clock.every(UPKEEP_INTERVAL_MS, () => {
    const touched = touchLock(files, directory, clock.now()).catch((error: unknown) => {
      if (!isMissing(error)) throw error
      log.error({}, 'the directory of the journal is gone')
      upkeep.onGone()
    })
    Promise.all([touched, prune(upkeep), removeFinished(upkeep, removedPaths)]).catch((error: unknown) =>
      log.warn({ cause: describeCause(error) }, 'upkeep of the journal failed'),
    )
  })
}

/**
 * Removes full segments that are no longer needed, when they are old enough or when there are too many bytes, oldest
 * first.
 */
async function prune({ files, full, limits, clock, firstNeeded }: Upkeep): Promise<void> {
  const needed = firstNeeded()
  const sizes = await Promise.all(full.map(async ({ path }) => (await files.status(path))?.bytes ?? 0))
  let totalBytes = sizes.reduce((total, size) => total + size, 0)
  while (full.length > 0) {
    const [oldest] = full
    if (!oldest || oldest.lastSeq >= needed) return
    if (clock.now() - oldest.at < limits.retentionMs && totalBytes <= limits.retentionBytes) return
    await files.remove(oldest.path)
    totalBytes -= sizes.shift() ?? 0
    full.shift()
  }
}

async function removeFinished({ files, adopted, limits, clock }: Upkeep, removedPaths: Set<string>): Promise<void> {
  for (const directory of adopted) {
    if (removedPaths.has(directory)) continue
    const finished = await files.status(join(directory, FINISHED_FILE))
    if (finished === undefined || clock.now() - finished.changedAt < limits.retentionMs) continue
    await files.remove(directory)
    removedPaths.add(directory)
  }
}
