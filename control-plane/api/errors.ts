import type { TRPC_ERROR_CODE_KEY } from '@trpc/server'
import { SECOND } from '#shared/clock.ts'
import type { AppError, ErrorCode } from '#shared/errors.ts'
import { toSnakeName, toSnakeSentence } from '#shared/field-names.ts'

/** The envelope of errors on a REST path: the buyer's /v1 one, or the seller's. */
export type RestEnvelope = 'v1' | 'seller'

export type RestError = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

/** An error as a REST answer. */
export function toRestError(error: AppError, envelope: RestEnvelope, requestId: string): RestError {
  return {
    status: error.status,
    headers: retryHeaders(error),
    body: envelope === 'seller' ? sellerBody(error, requestId) : v1Body(error, requestId),
  }
}

function sellerBody(error: AppError, requestId: string): object {
  const { code, detail, param } = error
  const message = toSnakeSentence(error.message, param)
  const facts = { ...(param === undefined ? {} : { param: toSnakeName(param) }), ...restProblems(error), ...detail }
  const hasFacts = Object.keys(facts).length > 0
  return { error: { code, message, ...(hasFacts ? { detail: facts } : {}) }, request_id: requestId }
}

function v1Body(error: AppError, requestId: string): object {
  const { type, code, detail, param } = error
  const message = toSnakeSentence(error.message, param)
  const paramMember = param === undefined ? {} : { param: toSnakeName(param) }
  const facts = { ...detail, ...restProblems(error) }
  return { error: { ...facts, type, code, message, ...paramMember, request_id: requestId }, request_id: requestId }
}

function restProblems({ problems }: AppError): object {
  const faults = problems.map(({ param, message }) => ({
    param: param === null ? null : toSnakeName(param),
    message: toSnakeSentence(message, param),
  }))
  return faults.length === 0 ? {} : { problems: faults }
}

/** The headers that say when to retry. */
export function retryHeaders({ retryAfterSeconds, detail }: AppError): Record<string, string> {
  const resetsAt = detail['resets_at']
  return {
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    ...(typeof resetsAt === 'number' ? { 'x-ratelimit-reset': String(Math.ceil(resetsAt / SECOND)) } : {}),
  }
}

/** The arguments of a connection, for the fields that an operation's page has. */
const PAGE_ARGUMENTS: { readonly [Field in string]?: string } = { maxItems: 'first', nextToken: 'after' }

/** The members beside the message of a GraphQL error. The request id is in the header. */
export function toGraphQLExtensions(error: AppError): Record<string, unknown> {
  const { code, status, detail, param, problems, retryAfterSeconds } = error
  return {
    code,
    status,
    ...(param === undefined ? {} : { param: PAGE_ARGUMENTS[param] ?? param }),
    ...(problems.length === 0 ? {} : { problems }),
    ...(Object.keys(detail).length === 0 ? {} : { detail }),
    ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }),
  }
}

/** tRPC's code for each HTTP status of the error table. Clients see our own code beside it. */
const TRPC_CODES: { readonly [Status in number]?: TRPC_ERROR_CODE_KEY } = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  410: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
  504: 'GATEWAY_TIMEOUT',
}

export function toTrpcCode(error: AppError): TRPC_ERROR_CODE_KEY {
  return TRPC_CODES[error.status] ?? 'INTERNAL_SERVER_ERROR'
}

/** The code for a door's own refusal, such as a body that is too large or an unknown path. */
export function codeOfStatus(status: number): ErrorCode {
  switch (status) {
    case 404:
      return 'not_found'
    case 405:
      return 'method_not_allowed'
    case 413:
      return 'request_too_large'
    case 415:
      return 'unsupported_media_type'
    default:
      return status >= 400 && status < 500 ? 'invalid_request' : 'internal_error'
  }
}
