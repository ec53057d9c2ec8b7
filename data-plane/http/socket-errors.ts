import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { AppError } from '#shared/errors.ts'
import type { Ids } from '#shared/ids.ts'
import { overloaded } from './admission.ts'

/**
 * Refuses a request that the HTTP parser could not read, in our envelope, and closes the connection. Nothing after it
 * can be trusted.
 */
export function refuseBrokenRequest(ids: Ids): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    const code = 'code' in error ? String(error.code) : ''
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    socket.end(refusalText(ids, refusalOf(code)))
  }
}

/** Refuses a request whose body is too slow and closes the connection. Later bytes are dropped. */
export function refuseSlowBody(ids: Ids, socket: Socket): void {
  const text = refusalText(ids, [408, 'Request Timeout', 'The body came too slowly.'])
  socket.end(text, () => socket.destroy())
}

/** Refuses a request that waits behind too many others of its connection. The connection closes with the answer. */
export function refusePipelined(ids: Ids): (response: ServerResponse) => void {
  return (response) => {
    const id = ids.requestId()
    const { status, headers, body } = openAiEnvelope(overloaded('connection'), id)
    response.writeHead(status, { ...headers, 'x-request-id': id, connection: 'close' })
    response.end(body)
  }
}

function refusalText(ids: Ids, [status, reason, text]: Refusal): string {
  const id = ids.requestId()
  const { body } = openAiEnvelope(new AppError('invalid_request', { message: text }), id)
  return (
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `x-request-id: ${id}\r\nconnection: close\r\n\r\n${body}`
  )
}

type Refusal = readonly [status: number, reason: string, text: string]

function refusalOf(code: string): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return [431, 'Request Header Fields Too Large', 'The headers are larger than accepted here.']
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'The request did not arrive in time.']
  return [400, 'Bad Request', 'The request is not valid HTTP.']
}
