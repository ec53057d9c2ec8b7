import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Transform } from 'node:stream'
import { AppError } from '#shared/errors.ts'
import type { JsonGauge } from '#shared/json-gauge.ts'

/** Counts the room for large bodies. Failover needs them again, so they are kept until their calls are over. */
export type BodySpool = {
  /**
   * Takes room for a request's body. A body without a declared length takes all of `limitBytes`. The returned function
   * frees the room. Throws `request_too_large`, and `overloaded` while there is no room.
   */
  reserve(request: IncomingMessage, limitBytes: number): () => void
}

export function createBodySpool(maxBytes: number): BodySpool {
  let usedBytes = 0
  return {
    reserve(request, limitBytes) {
      const bytes = declaredLength(request) ?? limitBytes
      if (bytes > limitBytes) throw new AppError('request_too_large')
      if (usedBytes + bytes > maxBytes) {
        throw new AppError('overloaded', {
          detail: { limit_source: 'process', limit_scope: 'platform', resets_at: null },
          retryAfterSeconds: 1,
        })
      }
      usedBytes += bytes
      let isGivenBack = false
      return () => {
        if (!isGivenBack) usedBytes -= bytes
        isGivenBack = true
      }
    },
  }
}

/**
 * A smaller body is kept in its received pieces. A larger one gets a buffer of the declared length or the limit. The
 * system allots memory only to the part that is written.
 */
const LARGE_BYTES = 1_048_576

/** The observers of a body while it arrives. An error that one throws refuses the body. */
export type BodyWatch = {
  /** Takes each part of it before it is kept. */
  readonly gauge?: JsonGauge | undefined
  /** Called once for a large body, before the buffer for it is made. */
  onLarge?(): void
}

/**
 * Reads a body into one buffer, so that a large one is never held twice. Throws `request_too_large`, `invalid_request`
 * for a body that was cut, and the errors of its observers.
 */
export function readWholeBody(request: IncomingMessage, limitBytes: number, watch: BodyWatch = {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const declared = declaredLength(request)
    let whole: Buffer | undefined
    let chunks: Buffer[] = []
    let bytes = 0
    // The listeners are methods, not functions. The object is made for every call, and the loader names each function
    // on creation.
    const listen = {
      data(chunk: Buffer) {
        if (bytes + chunk.length > limitBytes) {
          request.off('data', listen.data)
          refuse(request, reject)
          return
        }
        try {
          watch.gauge?.add(chunk)
          if (whole === undefined) chunks.push(chunk)
          else chunk.copy(whole, bytes)
          bytes += chunk.length
          if (whole === undefined && bytes >= LARGE_BYTES) {
            watch.onLarge?.()
            whole = Buffer.allocUnsafe(declared ?? limitBytes)
            joinInto(whole, chunks)
            chunks = []
          }
        } catch (thrown) {
          request.off('data', listen.data)
          request.resume()
          reject(thrown)
        }
      },
      end() {
        const [only] = chunks
        if (whole !== undefined) resolve(whole.subarray(0, bytes))
        else resolve(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes))
      },
      // After the end this rejects a settled promise, which does nothing.
      close() {
        if (!request.readableEnded) reject(cutBody())
      },
      error(cause: unknown) {
        reject(cutBody(cause))
      },
    }
    // A client that left before now sends no further event.
    if (request.destroyed) reject(cutBody())
    else if (declared !== undefined && declared > limitBytes) refuse(request, reject)
    else {
      request.on('data', listen.data)
      // These listeners are not `once`: each event comes once anyway, and the removal of a listener costs twice as
      // much.
      request.on('end', listen.end)
      request.on('close', listen.close)
      request.on('error', listen.error)
    }
  })
}

/**
 * Passes a body on as it arrives and holds none of it. The stream fails with `request_too_large` past the limit, and
 * with `invalid_request` when the body is cut. Throws `request_too_large` for a declared length that is too large.
 */
export function limitBody(request: IncomingMessage, limitBytes: number, onPiece?: (chunk: Buffer) => void): Readable {
  if ((declaredLength(request) ?? 0) > limitBytes) {
    request.resume()
    throw new AppError('request_too_large')
  }
  let bytes = 0
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      onPiece?.(chunk)
      if (bytes <= limitBytes) done(null, chunk)
      else done(new AppError('request_too_large'))
    },
  })
  // A call may be refused before its body is read. Then no other listener handles its error.
  limited.on('error', () => undefined)
  request.pipe(limited)
  request.on('close', () => {
    if (!request.readableEnded) limited.destroy(cutBody())
  })
  // When its reader stops, the rest of the body is received unread.
  limited.on('close', () => {
    request.unpipe(limited)
    request.resume()
  })
  return limited
}

/** Refuses a body. The rest of it is received unread. */
function refuse(request: IncomingMessage, reject: (error: AppError) => void): void {
  request.resume()
  reject(new AppError('request_too_large'))
}

function cutBody(cause?: unknown): AppError {
  return new AppError('invalid_request', { message: 'The request body is cut.', cause })
}

function joinInto(whole: Buffer, chunks: readonly Buffer[]): void {
  let at = 0
  for (const chunk of chunks) at += chunk.copy(whole, at)
}

/** Undefined for a body without a declared length. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}
