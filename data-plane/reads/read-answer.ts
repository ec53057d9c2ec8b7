import { createHash } from 'node:crypto'

export type ReadAnswer = {
  readonly json: string
  /** Seconds for which shared caches may keep the body. Zero forbids it. */
  readonly maxAgeSeconds: number
  /** The ETag of a repeated answer, so that it is computed only once. */
  readonly etag?: string
  /** Members of the query whose value has no effect on the answer. */
  readonly ignored?: readonly string[]
}

export function etagOf(json: string): string {
  return `"${createHash('sha1').update(json).digest('base64url')}"`
}
