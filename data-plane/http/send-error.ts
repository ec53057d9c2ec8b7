import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, toAppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { parseRequestId } from '#shared/ids.ts'
import { CORS_HEADERS, idHeaders } from './http-reply.ts'
import type { Voice } from './row.ts'

/** Responds with an error in the envelope of its path. `status` replaces the error's own. */
export function sendError(exchange: Exchange, voice: Voice, error: AppError, status?: number): void {
  const { request, reply } = exchange
  const { headers, body, ...refusal } = voice.envelope(error, requestIdOf(request))
  // The connection closes and the rest of the body is received unread, because a client that is still sending would not
  // read the refusal.
  if (error.code === 'request_too_large') reply.header('connection', 'close')
  reply
    .code(status ?? refusal.status)
    .headers({ ...CORS_HEADERS, ...idHeaders(voice, request.id), ...headers })
    .send(body)
}

/** A request and its reply. */
export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/** The request id that the framework made by our own rule. */
export function requestIdOf(request: FastifyRequest): RequestId {
  const id = parseRequestId(request.id)
  if (id === undefined) throw new AppError('internal_error')
  return id
}

/** Translates an error of the framework into an error of the market. */
export function fromFramework(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('request_too_large')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return new AppError('invalid_request')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AppError('not_found')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return new AppError('unsupported_media_type')
    case 'FST_REPLY_FROM_SERVICE_UNAVAILABLE':
    case 'FST_REPLY_FROM_GATEWAY_TIMEOUT':
    case 'FST_REPLY_FROM_INTERNAL_SERVER_ERROR':
    case 'FST_REPLY_FROM_UND_ERR':
      return new AppError('service_unavailable', { cause: thrown, retryAfterSeconds: 2 })
    default:
      return toAppError(thrown)
  }
}
