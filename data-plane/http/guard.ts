import { AppError } from '#shared/errors.ts'
import { CORS_HEADERS } from './http-reply.ts'
import { checkFraming } from './raw-request.ts'
import type { Method } from './row.ts'
import type { Exchange } from './send-error.ts'

/** Node gives names and values one after another, so a hundred header lines are two hundred entries. */
const MAX_RAW_HEADERS = 200
const MAX_URL_CHARS = 8_192
const PREFLIGHT_SECONDS = 86_400

/** Answers a preflight. The answer is the same for every path. */
export function answerPreflight({ request, reply }: Exchange, methods: readonly Method[]): void {
  reply
    .code(204)
    .headers({
      ...CORS_HEADERS,
      'x-request-id': request.id,
      'access-control-allow-methods': [...methods, 'OPTIONS'].join(', '),
      'access-control-allow-headers': request.raw.headers['access-control-request-headers'] ?? '*',
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    })
    .send()
}

/**
 * Finds a fault that any request may have, whatever it asks for. `status` is set when it differs from the error's own.
 */
export function faultOf({ rawHeaders, url = '/' }: Exchange['request']['raw']): Fault | undefined {
  if (rawHeaders.length > MAX_RAW_HEADERS) {
    return { error: new AppError('request_too_large', { message: 'Too many header lines.' }), status: 431 }
  }
  if (url.length > MAX_URL_CHARS) {
    const message = `The request target has at most ${MAX_URL_CHARS} characters.`
    return { error: new AppError('invalid_request', { message }) }
  }
  const error = checkFraming(rawHeaders, url)
  return error && { error }
}

type Fault = { readonly error: AppError; readonly status?: number }
