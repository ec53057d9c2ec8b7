import { AppError } from '#shared/errors.ts'
import type { ArtifactBound, ArtifactLimits } from './artifact-store.ts'
import { ARTIFACT_BOUNDS } from './artifact-store.ts'

const RETRY_SECONDS = 60

/** The facts about a file that bounds depend on. */
export type TalliedFile = { readonly owner: string; readonly bytes: number; readonly expiresAt: number }

/** Counts the bytes of files by owner and in all, including files that are being written. */
export type ArtifactTally = {
  readonly files: ReadonlyMap<string, TalliedFile>
  /** Counts a stored file. It replaces a file of the same name. */
  add(name: string, file: TalliedFile): void
  drop(name: string): void
  /** The names of expired files, the oldest first. */
  over(now: number): readonly string[]
  /** The bound that this many more bytes of a file would exceed. */
  boundOver(owner: string, more: number, fileBytes: number): ArtifactBound | undefined
  /** Reserves bytes of a file that is being written; a negative number releases them. */
  reserve(owner: string, bytes: number): void
  /** Counts a refusal and makes its error. */
  refuse(bound: ArtifactBound): AppError
  bytes(): number
  readonly refused: ReadonlyMap<ArtifactBound, number>
}

export function createArtifactTally(limits: ArtifactLimits): ArtifactTally {
  const files = new Map<string, TalliedFile>()
  const owners = new Map<string, number>()
  const refusals = new Map<ArtifactBound, number>(ARTIFACT_BOUNDS.map((bound) => [bound, 0]))
  let total = 0
  const reserve = (owner: string, bytes: number) => {
    total += bytes
    const remaining = (owners.get(owner) ?? 0) + bytes
    if (remaining > 0) owners.set(owner, remaining)
    else owners.delete(owner)
  }
  const drop = (name: string) => {
    const file = files.get(name)
    if (file === undefined) return
    files.delete(name)
    reserve(file.owner, -file.bytes)
  }
  return {
    files,
    add(name, file) {
      drop(name)
      files.set(name, file)
      reserve(file.owner, file.bytes)
    },
    drop,
    over(now) {
      const expiredFiles = [...files].filter(([, { expiresAt }]) => expiresAt <= now)
      return expiredFiles.sort(([, a], [, b]) => a.expiresAt - b.expiresAt).map(([name]) => name)
    },
    boundOver(owner, more, fileBytes) {
      if (fileBytes + more > limits.fileBytes) return 'artifact_file'
      if ((owners.get(owner) ?? 0) + more > limits.ownerBytes) return 'artifact_owner'
      return total + more > limits.totalBytes ? 'artifact_store' : undefined
    },
    reserve,
    refuse(bound) {
      refusals.set(bound, (refusals.get(bound) ?? 0) + 1)
      return new AppError('service_unavailable', {
        message: 'The media file cannot be stored.',
        detail: { limit_source: bound },
        retryAfterSeconds: RETRY_SECONDS,
      })
    },
    bytes: () => total,
    refused: refusals,
  }
}
