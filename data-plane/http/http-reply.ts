import type { ServerResponse } from 'node:http'
import type { BuyerReply } from '#data-plane/call.ts'
import { MINUTE } from '#shared/clock.ts'
import type { RequestId } from '#shared/ids.ts'
import { endAfterBody } from './end-after-body.ts'
import type { Voice } from './row.ts'

/** Response headers that scripts of another origin may read. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'x-generation-id',
  'x-mkt-served-by',
  'x-mkt-provider-family',
  'x-mkt-marketplace-status',
  'x-mkt-marketplace-attempts',
  'x-mkt-routing-decision-ms',
  'x-mkt-overhead-ms',
  'x-mkt-buyer-cost-micro',
  'x-mkt-list-cost-micro',
  'x-mkt-adapted-params',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'retry-after',
  'payment-required',
  'x-payment-required',
  'payment-response',
  'x-payment-response',
  'www-authenticate',
  'payment-receipt',
  'x-payment-problem',
].join(', ')

/** Headers of every answer. Any origin may read it, and none may send cookies. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED,
}

const CORS_LINES: readonly string[] = Object.entries(CORS_HEADERS).flat()

/** The id of a request, under each header name that clients of its path expect. */
export function idHeaders({ idHeader }: Pick<Voice, 'idHeader'>, id: string): Readonly<Record<string, string>> {
  return idHeader === undefined ? { 'x-request-id': id } : { 'x-request-id': id, [idHeader]: id }
}

const TOO_LARGE = 413
/** An answer of this status has no body and no length. */
const NO_CONTENT = 204

/** Milliseconds for which a buyer may read nothing of a large answer. */
const SEND_IDLE_MS = MINUTE

/** Bytes that may wait for a slow buyer before the provider is paused. */
const MAX_BUFFERED_BYTES = 262_144

/**
 * Writes an answer straight to Node's response, because the framework's own sending would copy every chunk of a stream.
 */
export function createHttpReply(response: ServerResponse, requestId: RequestId, voice: Voice): BuyerReply {
  let isStarted = false
  let announced: readonly string[] = []
  const { idHeader } = voice
  const flatHeaders = (headers: Readonly<Record<string, string>>) => flatten(requestId, idHeader, headers)
  return {
    start(headers, status = 200, trailers = []) {
      if (isStarted || response.destroyed) return
      isStarted = true
      const flat = flatHeaders(headers)
      // A body of known length has no trailers, and neither has HTTP/1.0.
      const mayTrail = response.useChunkedEncodingByDefault && headers['content-length'] === undefined
      if (mayTrail && trailers.length > 0) {
        announced = trailers
        flat.push('trailer', trailers.join(', '))
      }
      response.writeHead(status, flat)
    },
    write(part) {
      if (response.destroyed || response.writableEnded) return true
      response.write(part)
      return response.writableLength < MAX_BUFFERED_BYTES
    },
    end(text, trailers = {}) {
      if (response.destroyed || response.writableEnded) return
      if (announced.length > 0)
        response.addTrailers(Object.entries(trailers).filter(([name]) => announced.includes(name)))
      response.end(text)
    },
    cut() {
      response.destroy()
    },
    whole(status, headers, body) {
      if (isStarted || response.destroyed) return
      isStarted = true
      const flat = flatHeaders(headers)
      if (status !== NO_CONTENT) flat.push('content-length', String(byteLength(body)))
      const isBodyRefused = status === TOO_LARGE
      if (isBodyRefused) flat.push('connection', 'close')
      response.writeHead(status, flat)
      if (typeof body !== 'string') sendPieces(response, body)
      else if (isBodyRefused) endAfterBody(response, body)
      else response.end(body)
    },
    isStarted() {
      return isStarted
    },
    isGone() {
      return response.destroyed && !response.writableFinished
    },
    onGone(listener) {
      response.on('close', () => {
        if (!response.writableEnded) listener()
      })
    },
    onDrain(listener) {
      response.on('drain', listener)
    },
    onClosed(listener) {
      response.on('close', listener)
    },
  }
}

function byteLength(body: string | readonly Buffer[]): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.reduce((sum, piece) => sum + piece.length, 0)
}

/** Sends a short answer at once. Pieces of a large one wait for their buyer. */
function sendPieces(response: ServerResponse, pieces: readonly Buffer[]): void {
  const [first, second] = pieces
  if (second === undefined && (first?.length ?? 0) < MAX_BUFFERED_BYTES) response.end(first)
  else writePieces(response, pieces)
}

/**
 * Sends pieces as they are in memory: Node keeps waiting bytes as views of them. A buyer who reads none for `idleMs` is
 * cut, because a large answer takes memory that others wait for.
 */
export function writePieces(response: ServerResponse, pieces: readonly Buffer[], idleMs = SEND_IDLE_MS): void {
  response.setTimeout(idleMs, () => response.destroy())
  for (const piece of pieces) response.write(piece)
  response.end()
}

/** Lists names and values one after another. Node writes this form without any look-up. */
function flatten(
  requestId: RequestId,
  idHeader: Voice['idHeader'],
  headers: Readonly<Record<string, string>>,
): string[] {
  const flat = ['x-request-id', requestId, 'x-generation-id', requestId, ...CORS_LINES]
  if (idHeader !== undefined) flat.push(idHeader, requestId)
  for (const name in headers) flat.push(name, headers[name] ?? '')
  return flat
}
