import type { Readable } from 'node:stream'
import type { RequestId } from '#shared/ids.ts'

/** The name of a media file: the request that made it, and its index in the answer. */
export type ArtifactId = { readonly rid: RequestId; readonly index: number }

/** The name under which stores keep a file. */
export const STORED_NAME = /^[0-9A-Z]{26}-\d{1,2}$/

export function nameOfArtifact({ rid, index }: ArtifactId): string {
  return `${rid}-${index}`
}

/** A file to store. Its bytes may be in memory, or come from a source that is read no faster than stored. */
export type NewArtifact = {
  /** The account or the wallet that paid. Only this payer's key opens the file. */
  readonly owner: string
  readonly contentType: string
  /** The store has finished a piece when it asks for the next one. */
  readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
  /** Unix milliseconds of its expiry at the latest. */
  readonly until?: number
  /** True for a file of an answer. For any other file, the record of its job says who may read it. */
  readonly isOfAnswer?: boolean
}

export type ArtifactFacts = {
  readonly owner: string
  readonly contentType: string
  readonly bytes: number
  /** A tag that changes with the content. */
  readonly tag: string
  /** Unix milliseconds. */
  readonly expiresAt: number
  readonly isOfAnswer: boolean
}

/** Positions of the first and the last byte of a part. */
export type ByteRange = { readonly first: number; readonly last: number }

/** A stored file that one reader has open. The reader takes one stream or closes the file. */
export type OpenArtifact = {
  readonly facts: ArtifactFacts
  /** Reads the file, or a part of it. The end of the stream closes the file. */
  stream(range?: ByteRange): Readable
  close(): Promise<void>
}

/** Bounds of a store. */
export type ArtifactLimits = {
  /** Bytes of one file, of all files of one owner, and of all files. */
  readonly fileBytes: number
  readonly ownerBytes: number
  readonly totalBytes: number
  /** Milliseconds for which a file is kept. */
  readonly keepMs: number
}

/** The bound that refused a file. */
export const ARTIFACT_BOUNDS = ['artifact_file', 'artifact_owner', 'artifact_store'] as const
export type ArtifactBound = (typeof ARTIFACT_BOUNDS)[number]

/** Figures of a store. Refusals are by the bound that refused. */
export type ArtifactFigures = {
  readonly files: number
  readonly bytes: number
  readonly swept: number
  readonly refused: ReadonlyMap<ArtifactBound, number>
}

/** A place for media files. */
export type ArtifactStore = {
  /**
   * Stores a file; a file of the same name is replaced. A file that cannot be stored whole leaves nothing, and its
   * source is ended. Throws AppError `service_unavailable` over a bound, named in `limit_source`.
   */
  put(id: ArtifactId, artifact: NewArtifact): Promise<ArtifactFacts>
  /** Opens a file; undefined for a missing or expired file. */
  open(id: ArtifactId): Promise<OpenArtifact | undefined>
  /** Removes a file. A missing file is no error. */
  remove(id: ArtifactId): Promise<void>
  figures(): ArtifactFigures
  close(): Promise<void>
}

/** The expiry of a file that is stored now, in Unix milliseconds. */
export function endOfArtifact(
  { keepMs }: ArtifactLimits,
  { until = Number.POSITIVE_INFINITY }: NewArtifact,
  now: number,
): number {
  return Math.min(now + keepMs, until)
}
