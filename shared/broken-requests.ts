import type { Socket } from 'node:net'
import type { Time } from './clock.ts'
import { AppError } from './errors.ts'
import { CONNECTION_LIMITS, KEEP_ALIVE_MS } from './http-head.ts'

/** The body of a refusal in the envelope of its server, and the id of the refused request. */
export type RefusalBody = { readonly id: string; readonly body: string }

export type BrokenRequests = {
  /** Handles an error of the HTTP parser. */
  refuse(error: Error, socket: Socket): void
  /** Closes the connections on which nothing was sent. */
  close(): void
}

/**
 * Refuses requests that the HTTP parser could not read, and closes their connections: nothing after such a request can
 * be trusted. `writeBody` writes the body of a refusal.
 *
 * A connection on which nothing was sent gets no answer. Clients open connections ahead, and would take the answer for
 * that of their next request (RFC 9110, section 15.5.9). Such a connection stays open as long as one that is idle
 * between two requests. Its first byte begins the time for a head anew.
 */
export function createBrokenRequests(
  writeBody: (error: AppError) => RefusalBody,
  clock: Pick<Time, 'after'>,
): BrokenRequests {
  const unused = new Set<Socket>()
  function keep(socket: Socket): void {
    const cancel = clock.after(KEEP_ALIVE_MS - CONNECTION_LIMITS.headersTimeout, () => {
      if (socket.bytesRead === 0) socket.destroy()
    })
    unused.add(socket)
    socket.once('close', () => {
      cancel()
      unused.delete(socket)
    })
  }
  return {
    refuse(error, socket) {
      const code = 'code' in error ? String(error.code) : ''
      if (code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else if (code === LATE_HEAD && socket.bytesRead === 0) keep(socket)
      else socket.end(writeRefusal(refusalOf(code), writeBody))
    },
    close() {
      for (const socket of unused) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}

/** The parser's code for a request whose head or body took too long. */
const LATE_HEAD = 'ERR_HTTP_REQUEST_TIMEOUT'

type Refusal = readonly [status: number, reason: string, text: string]

/** The bytes of a refusal without a response object. */
export function writeRefusal([status, reason, text]: Refusal, writeBody: (error: AppError) => RefusalBody): string {
  const { id, body } = writeBody(new AppError('invalid_request', { message: text }))
  return (
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `x-request-id: ${id}\r\nconnection: close\r\n\r\n${body}`
  )
}

function refusalOf(code: string): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return [431, 'Request Header Fields Too Large', 'The headers are larger than accepted here.']
  }
  if (code === LATE_HEAD) return [408, 'Request Timeout', 'The request did not arrive in time.']
  return [400, 'Bad Request', 'The request is not valid HTTP.']
}
