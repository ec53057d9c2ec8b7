import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#shared/clock.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { touchLock } from './boot-lock.ts'
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
  readonly clock: Clock
  readonly log: Logger
}

/** Shows that the owner lives and removes what nobody needs, once a minute; the answer ends it. */
export function startUpkeep({ directory, full, adopted, firstNeeded, limits, clock, log }: Upkeep): () => void {
  const kept = [...adopted]
  const timer = setInterval(() => {
    Promise.all([
      touchLock(directory, clock.now()),
      prune(full, firstNeeded(), limits, clock.now()),
      removeFinished(kept, limits.retentionMs, clock.now()),
    ]).catch((error: unknown) => log.warn({ cause: describeCause(error) }, 'upkeep of the journal failed'))
  }, UPKEEP_INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Removes full segments that nobody needs: old enough, or the oldest of too many. */
async function prune(full: FullSegment[], firstNeeded: number, limits: Limits, now: number): Promise<void> {
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
