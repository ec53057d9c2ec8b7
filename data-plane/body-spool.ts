import type { IncomingMessage } from 'node:http'
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

/** Reads a body into one piece of memory of its own size. Throws `request_too_large`, and `invalid_request` for a cut one. */
export function readWholeBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cut = (cause?: unknown) =>
      reject(new AppError('invalid_request', { message: 'The request body is cut.', cause }))
    // Whoever left before is heard no more.
    if (request.destroyed) {
      cut()
      return
    }
    const declared = declaredLength(request)
    const whole = declared === undefined ? undefined : Buffer.allocUnsafe(declared)
    const chunks: Buffer[] = []
    let bytes = 0
    const take = (chunk: Buffer): void => {
      if (bytes + chunk.length > (declared ?? limitBytes)) {
        request.off('data', take)
        request.resume()
        reject(new AppError('request_too_large'))
        return
      }
      if (whole === undefined) chunks.push(chunk)
      else chunk.copy(whole, bytes)
      bytes += chunk.length
    }
    request.on('data', take)
    request.once('end', () => resolve(whole === undefined ? Buffer.concat(chunks, bytes) : whole.subarray(0, bytes)))
    // After the end this rejects what is settled already, which does nothing.
    request.once('close', () => cut())
    request.once('error', cut)
  })
}

function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}
