import type { Time } from '#shared/clock.ts'
import { MINUTE } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { ArtifactFigures, ArtifactLimits, NewArtifact } from './artifact-store.ts'
import type { ArtifactTally } from './artifact-tally.ts'
import { createArtifactTally } from './artifact-tally.ts'

const SWEEP_MS = MINUTE

/** The pieces of a file that is being stored. They count against the bounds until `leave`. */
export type FileIntake = {
  readonly pieces: AsyncIterable<Uint8Array>
  /** Bytes that were passed on so far. */
  bytes(): number
  leave(): void
}

/** The room for the files of a store: its bounds, and the sweeps that make room. */
export type ArtifactRoom = {
  readonly tally: ArtifactTally
  /**
   * Passes the pieces of a file on as far as the bounds allow. Throws AppError `service_unavailable` at the piece that
   * exceeds a bound, if a sweep could make no room for it.
   */
  takeIn(artifact: Pick<NewArtifact, 'owner' | 'pieces'>): FileIntake
  figures(): ArtifactFigures
  close(): Promise<void>
}

type Parts = {
  readonly limits: ArtifactLimits
  readonly clock: Time
  readonly log: Logger
  /** Records what is stored, and removes what has expired. Returns the number of expired files. */
  sweep(tally: ArtifactTally): Promise<number>
}

/** Opens the room of a store. It is swept now, every minute, and at a bound; never twice at once. */
export function openArtifactRoom({ limits, clock, log, sweep: sweepStore }: Parts): ArtifactRoom {
  const tally = createArtifactTally(limits)
  let swept = 0
  let sweeping: Promise<void> | undefined
  const sweep = () => {
    sweeping ??= sweepStore(tally)
      .then((removedCount) => {
        swept += removedCount
      })
      .catch((error: unknown) => log.warn({ err: error }, 'media files could not be swept'))
      .finally(() => {
        sweeping = undefined
      })
    return sweeping
  }
  void sweep()
  const stop = clock.every(SWEEP_MS, () => void sweep())
  return {
    tally,
    takeIn({ owner, pieces }) {
      let bytes = 0
      async function* within() {
        for await (const piece of pieces) {
          if (tally.boundOver(owner, piece.length, bytes) !== undefined) await sweep()
          const bound = tally.boundOver(owner, piece.length, bytes)
          if (bound !== undefined) throw tally.refuse(bound)
          tally.reserve(owner, piece.length)
          bytes += piece.length
          yield piece
        }
      }
      return { pieces: within(), bytes: () => bytes, leave: () => tally.reserve(owner, -bytes) }
    },
    figures: () => ({ files: tally.files.size, bytes: tally.bytes(), swept, refused: tally.refused }),
    async close() {
      stop()
      await sweeping
    },
  }
}
