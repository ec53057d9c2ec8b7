import type { Socket } from 'node:net'
import { AppError } from '#shared/errors.ts'
import type { Ids } from '#shared/ids.ts'
import { openAiEnvelope } from './wires/envelopes/openai.ts'

/** Refuses what the HTTP parser could not read, in our envelope, and closes: nothing after it can be trusted. */
export function refuseBrokenRequest(ids: Ids): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    const code = 'code' in error ? String(error.code) : ''
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const [status, reason, text] = refusalOf(code)
    const id = ids.requestId()
    const { body } = openAiEnvelope(new AppError('invalid_request', { message: text }), id)
    socket.end(
      `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
        `x-request-id: ${id}\r\nconnection: close\r\n\r\n${body}`,
    )
  }
}

function refusalOf(code: string): readonly [status: number, reason: string, text: string] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return [431, 'Request Header Fields Too Large', 'The headers are larger than accepted here.']
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'The request did not arrive in time.']
  return [400, 'Bad Request', 'The request is not valid HTTP.']
}
