import type { ServerResponse } from 'node:http'
import { SECOND } from '#shared/clock.ts'

/**
 * Bytes of a refused body that are received unread, and the milliseconds that they may take. Then the connection
 * closes.
 */
const MAX_DISCARDED_BYTES = 67_108_864
const MAX_DISCARD_MS = 30 * SECOND

/**
 * Sends the whole text of a refusal, and ends the answer once the client has sent its body. Most clients read nothing
 * before that, and lose the refusal when the connection closes under them.
 */
export function endAfterBody(response: ServerResponse, text: string): void {
  const { req: request } = response
  if (request.complete || request.destroyed) {
    response.end(text)
    return
  }
  let bytes = 0
  const timer = setTimeout(close, MAX_DISCARD_MS).unref()
  function close(): void {
    clearTimeout(timer)
    request.off('data', count)
    if (!response.writableEnded) response.end()
  }
  function count(chunk: Buffer): void {
    bytes += chunk.length
    if (bytes > MAX_DISCARDED_BYTES) close()
  }
  response.write(text)
  request.on('data', count)
  request.on('end', close)
  request.on('close', close)
  request.resume()
}
