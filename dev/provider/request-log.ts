import type { IncomingHttpHeaders } from 'node:http'

const MAX_KEPT_REQUESTS = 1_000
/** Larger bodies are counted and not stored. */
const MAX_KEPT_BODY_CHARS = 65_536

/** A request in the form that the provider received. */
export type ReceivedRequest = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The parsed body. Undefined without a body, for a body that is not JSON, or for one that is too large to store. */
  readonly body: unknown
  readonly bodyBytes: number
}

/** The last requests, oldest first, and the number of all requests. */
export type RequestLog = {
  readonly add: (request: ReceivedRequest) => void
  readonly list: () => readonly ReceivedRequest[]
  readonly count: () => number
  readonly reset: () => void
}

export function createRequestLog(): RequestLog {
  const kept: ReceivedRequest[] = []
  let total = 0
  return {
    add: (request) => {
      kept[total % MAX_KEPT_REQUESTS] =
        request.bodyBytes > MAX_KEPT_BODY_CHARS ? { ...request, body: undefined } : request
      total += 1
    },
    list: () => {
      const oldest = total > MAX_KEPT_REQUESTS ? total % MAX_KEPT_REQUESTS : 0
      return [...kept.slice(oldest), ...kept.slice(0, oldest)]
    },
    count: () => total,
    reset: () => {
      kept.length = 0
      total = 0
    },
  }
}
