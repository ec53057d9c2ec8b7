import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Transform } from 'node:stream'
import { AppError } from '#shared/errors.ts'

/** Bytes of forms that may be in memory at once: failover needs a file again, so it is kept until its call is over. */
export const MAX_SPOOLED_BYTES = 268_435_456

/** Room for the bodies that are kept until their calls are over. */
export type BodySpool = {
  /**
   * Takes room for a request's body, all of `limitBytes` where it does not say its length. Answers with what gives the
   * room back. Throws `request_too_large`, and `overloaded` while there is no room.
   */
  reserve(request: IncomingMessage, limitBytes: number): () => void
}

export function createBodySpool(maxBytes: number): BodySpool {
  let used = 0
  return {
    reserve(request, limitBytes) {
      const bytes = declaredLength(request) ?? limitBytes
      if (bytes > limitBytes) throw new AppError('request_too_large')
      if (used + bytes > maxBytes) {
        throw new AppError('overloaded', {
          detail: { limit_source: 'process', limit_scope: 'platform', resets_at: null },
          retryAfterSeconds: 1,
        })
      }
      used += bytes
      let isGivenBack = false
      return () => {
        if (!isGivenBack) used -= bytes
        isGivenBack = true
      }
    },
  }
}

/**
 * Up to here a body is kept in the pieces in which it came; then room is made for all that was announced, or may come:
 * what is not written is no memory yet.
 */
const LARGE_BYTES = 1_048_576

/**
 * Reads a body into one piece of memory, so that a large one is never held twice. Throws `request_too_large`,
 * and `invalid_request` for a cut one.
 */
export function readWholeBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const declared = declaredLength(request)
    let whole: Buffer | undefined
    let chunks: Buffer[] = []
    let bytes = 0
    // Methods, not functions of their own: this is done for every call, and the loader names each function as it is made.
    const listen = {
      data(chunk: Buffer) {
        if (bytes + chunk.length > limitBytes) {
          request.off('data', listen.data)
          refuse(request, reject)
          return
        }
        if (whole === undefined) chunks.push(chunk)
        else chunk.copy(whole, bytes)
        bytes += chunk.length
        if (whole === undefined && bytes >= LARGE_BYTES) {
          whole = Buffer.allocUnsafe(declared ?? limitBytes)
          joinInto(whole, chunks)
          chunks = []
        }
      },
      end() {
        const [only] = chunks
        if (whole !== undefined) resolve(whole.subarray(0, bytes))
        else resolve(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes))
      },
      // After the end this rejects what is settled already, which does nothing.
      close() {
        if (!request.readableEnded) reject(cutBody())
      },
      error(cause: unknown) {
        reject(cutBody(cause))
      },
    }
    // Whoever left before is heard no more.
    if (request.destroyed) reject(cutBody())
    else if (declared !== undefined && declared > limitBytes) refuse(request, reject)
    else {
      request.on('data', listen.data)
      // Not once: each comes once by itself, and a listener that goes costs twice one that stays.
      request.on('end', listen.end)
      request.on('close', listen.close)
      request.on('error', listen.error)
    }
  })
}

/**
 * A body as it comes, of which nothing is held. Past the limit the stream ends with `request_too_large`, with
 * `invalid_request` where the body is cut. Throws `request_too_large` for one that says so itself.
 */
export function limitBody(request: IncomingMessage, limitBytes: number): Readable {
  if ((declaredLength(request) ?? 0) > limitBytes) {
    request.resume()
    throw new AppError('request_too_large')
  }
  let bytes = 0
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= limitBytes) done(null, chunk)
      else done(new AppError('request_too_large'))
    },
  })
  // A call may be refused before anybody reads its body, which then ends unheard.
  limited.on('error', () => undefined)
  request.pipe(limited)
  request.on('close', () => {
    if (!request.readableEnded) limited.destroy(cutBody())
  })
  // Whoever no longer reads it lets the rest come, unread.
  limited.on('close', () => {
    request.unpipe(limited)
    request.resume()
  })
  return limited
}

/** What is still being sent is let come, unread. */
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

function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}
