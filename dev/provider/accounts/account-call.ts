import type { IncomingHttpHeaders } from 'node:http'
import type { SampleJobBook } from '#dev/provider/jobs.ts'

/** A call on an account that its owner lends. */
export type AccountCall = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The parsed JSON. Undefined for any other body. */
  readonly body: unknown
  readonly bytes: Buffer
  readonly jobs: SampleJobBook
  /** Pictures and files of jobs are below it. */
  readonly origin: string
  /** True on the host of a queue, where a run is submitted without waiting for its end. */
  readonly isQueue: boolean
  /** The node to which chain reads are forwarded. Undefined without one. */
  readonly chainUrl: string | undefined
}

/** The address of a picture, which is drawn when it is downloaded. */
export function pictureUrl(origin: string, text: string, { width, height }: { width: number; height: number }): string {
  return `${origin}/files/${width}x${height}/${encodeURIComponent(text.slice(0, 60))}.png`
}
