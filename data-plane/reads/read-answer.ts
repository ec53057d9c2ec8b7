import { createHash } from 'node:crypto'

export type ReadAnswer = {
  readonly json: string
  /** Seconds for which anybody may keep the body. Zero means that nobody may. */
  readonly maxAgeSeconds: number
  /** The ETag of an answer that is given again, so that it is computed only once. */
  readonly etag?: string
  /** Members of the query with a value that the answer does not heed. */
  readonly ignored?: readonly string[]
}

export function etagOf(json: string): string {
  return `"${createHash('sha1').update(json).digest('base64url')}"`
}
