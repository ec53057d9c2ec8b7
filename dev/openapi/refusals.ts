import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { systemClock } from '#shared/clock.ts'
import { ERRORS } from '#shared/error-table.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError, ERROR_CODES } from '#shared/errors.ts'
import { createIds } from '#shared/ids.ts'
import type { Json } from './json-schema.ts'

/** The shapes of errors: those of calls (`v1`, `messages`), and those of account paths. */
export type ErrorShape = 'v1' | 'account' | 'seller' | 'messages'
const ERROR_SHAPES: readonly ErrorShape[] = ['v1', 'account', 'seller', 'messages']

/** Codes that only calls are refused with, so no account path lists them. */
export const CALL_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_minimum_discount',
  'unsupported_parameter',
  'context_length_exceeded',
  'unresolvable_file_reference',
  'too_many_input_images',
  'invalid_image_input',
  'image_required',
  'mask_not_supported',
  'invalid_target_url',
  'unexpected_path',
  'provider_unpriceable',
  'job_route_required',
  'platform_route_refused',
  'policy_refused',
  'payment_required',
  'key_cap_reached',
  'budget_reached',
  'cost_ceiling_reached',
  'no_sellers_for_model',
  'no_resource_offer',
  'trait_unavailable',
  'job_not_found',
  'seller_cap_reached',
  'no_healthy_sellers',
  'minimum_discount_not_met',
  'offers_unhealthy',
  'upstream_rejected',
])

const WORDS: Readonly<Record<number, string>> = {
  400: 'The request is invalid.',
  401: 'The credentials are missing or invalid.',
  402: 'A payment is required.',
  403: 'The credentials do not allow this request.',
  404: 'Not found.',
  405: 'The path does not take this method.',
  409: 'The request conflicts with the current state.',
  410: 'The resource is retired or expired.',
  413: 'The body is too large.',
  415: 'The content type is not supported.',
  429: 'Too many requests. Retry after the time in Retry-After.',
  500: 'The market failed.',
  502: 'The provider failed.',
  503: 'The service is unavailable. Retry after the time in Retry-After.',
  504: 'The provider did not answer in time.',
}
/** The statuses whose answers say when to retry. */
const LATER: readonly number[] = [429, 503]

/** The codes of the one error table, by their status in a shape. */
export function codesByStatus(shape: ErrorShape): ReadonlyMap<number, readonly ErrorCode[]> {
  const rid = createIds(systemClock).requestId()
  const codesOf = new Map<number, ErrorCode[]>()
  const isOfCalls = shape === 'v1' || shape === 'messages'
  for (const code of ERROR_CODES) {
    if (!isOfCalls && CALL_CODES.has(code)) continue
    const status = shape === 'messages' ? messagesEnvelope(new AppError(code), rid).status : ERRORS[code].status
    codesOf.set(status, [...(codesOf.get(status) ?? []), code])
  }
  return codesOf
}

/** The name of the response of a shape with a status: `v1_404`. */
export function refusalName(shape: ErrorShape, status: number): string {
  return `${shape}_${status}`
}

/** Every refusal, under its name. */
export function refusalResponses(): Json {
  const answers: [string, Json][] = []
  for (const shape of ERROR_SHAPES) {
    for (const [status, codes] of [...codesByStatus(shape)].sort(([left], [right]) => left - right)) {
      answers.push([refusalName(shape, status), responseOf(shape, status, codes)])
    }
  }
  return Object.fromEntries(answers)
}

function responseOf(shape: ErrorShape, status: number, codes: readonly ErrorCode[]): Json {
  const headers = {
    'x-request-id': { $ref: '#/components/headers/x-request-id' },
    ...(LATER.includes(status) ? { 'retry-after': { $ref: '#/components/headers/retry-after' } } : {}),
  }
  const list = codes.map((code) => `- \`${code}\`: ${ERRORS[code].message}`).join('\n')
  const schema = bodyOf(shape, codes)
  const isChallenge = shape === 'v1' && status === 402
  return {
    description: `${WORDS[status] ?? 'Refused.'}\n\n${list}`,
    headers,
    content: {
      'application/json': {
        schema: isChallenge ? { anyOf: [schema, { $ref: '#/components/schemas/PaymentRequired' }] } : schema,
      },
    },
  }
}

function bodyOf(shape: ErrorShape, codes: readonly ErrorCode[]): Json {
  const code = { type: 'string', enum: codes }
  const text = { type: 'string' }
  const facts =
    shape === 'seller' ? { detail: { type: 'object' } } : { param: { type: ['string', 'null'] }, type: text }
  const error = {
    type: 'object',
    required: ['code', 'message', ...(shape === 'seller' ? [] : ['type'])],
    properties: { code, message: text, ...facts },
  }
  return {
    type: 'object',
    required: ['error', 'request_id'],
    properties: { ...(shape === 'messages' ? { type: { const: 'error' } } : {}), error, request_id: text },
  }
}

/** The answer of a paid path to a call without a key (x402, version 2). */
export const PAYMENT_REQUIRED: Json = {
  type: 'object',
  description: 'The price of a call in x402’s form, or the reason why the market refused a payment.',
  required: ['x402Version', 'error', 'accepts', 'resource', 'request_id'],
  properties: {
    x402Version: { const: 2 },
    error: { type: 'string', description: '`payment_required`, or the reason why the market refused the payment.' },
    accepts: {
      type: 'array',
      items: {
        type: 'object',
        required: ['scheme', 'network', 'asset', 'amount', 'payTo', 'maxTimeoutSeconds', 'extra'],
        properties: {
          scheme: { enum: ['upto', 'exact'] },
          network: { type: 'string' },
          asset: { type: 'string' },
          amount: { type: 'string', description: 'Micro-USD, the units of the token.' },
          payTo: { type: 'string' },
          maxTimeoutSeconds: { type: 'integer' },
          extra: { type: 'object' },
        },
      },
    },
    resource: { type: 'object' },
    extensions: { type: 'object' },
    request_id: { type: 'string' },
  },
}
