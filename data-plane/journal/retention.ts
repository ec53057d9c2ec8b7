import { join } from 'node:path'
import type { Cancel, Time } from '#shared/clock.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { touchLock } from './boot-lock.ts'
import type { JournalFiles } from './files.ts'
import { FINISHED_FILE } from './take-over.ts'

/** Posted segments are kept for a Postgres that went back in time. */
export const RETENTION_MS = 48 * HOUR
export const RETENTION_BYTES = 4 * 1024 * 1024 * 1024
const UPKEEP_INTERVAL_MS = 1 * MINUTE

/** A segment to which nothing is added any more; its records have numbers up to `lastSeq`. */
export type FullSegment = { readonly path: string; readonly lastSeq: number; readonly at: number }

export type Limits = { readonly retentionMs: number; readonly retentionBytes: number }

type Upkeep = {
  readonly directory: string
  readonly full: FullSegment[]
  /** Directories that were taken over. */
  readonly adopted: readonly string[]
  /** The lowest sequence number that a start after a kill would need. */
  firstNeeded(): number
  readonly limits: Limits
  readonly clock: Time
  readonly files: JournalFiles
  readonly log: Logger
}

/** Shows that the owner lives and removes what nobody needs, once a minute; the answer ends it. */
export function startUpkeep(upkeep: Upkeep): Cancel {
  const { directory, full, adopted, firstNeeded, limits, clock, files, log } = upkeep
  const kept = [...adopted]
  return clock.every(UPKEEP_INTERVAL_MS, () => {
    Promise.all([
      touchLock(files, directory, clock.now()),
      prune(files, full, firstNeeded(), { ...limits, now: clock.now() }),
      removeFinished(files, kept, clock.now() - limits.retentionMs),
    ]).catch((error: unknown) => log.warn({ cause: describeCause(error) }, 'upkeep of the journal failed'))
  })
}

/** Removes full segments that nobody needs: old enough, or the oldest of too many. */
async function prune(
  files: JournalFiles,
  full: FullSegment[],
  firstNeeded: number,
  { retentionMs, retentionBytes, now }: Limits & { now: number },
): Promise<void> {
  const sizes = await Promise.all(full.map(async ({ path }) => (await files.status(path))?.bytes ?? 0))
  let kept = sizes.reduce((total, size) => total + size, 0)
  while (full.length > 0) {
    const [oldest] = full
    if (!oldest || oldest.lastSeq >= firstNeeded) return
    if (now - oldest.at < retentionMs && kept <= retentionBytes) return
    await files.remove(oldest.path)
    kept -= sizes.shift() ?? 0
    full.shift()
  }
}

async function removeFinished(files: JournalFiles, kept: string[], before: number): Promise<void> {
  for (const left of [...kept]) {
    const finished = await files.status(join(left, FINISHED_FILE))
    if (finished === undefined || finished.changedAt > before) continue
    await files.remove(left)
    kept.splice(kept.indexOf(left), 1)
  }
}
