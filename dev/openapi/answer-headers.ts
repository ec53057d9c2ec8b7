import type { Json } from './json-schema.ts'
import type { ErrorShape } from './refusals.ts'
import { codesByStatus, refusalName } from './refusals.ts'

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const header = (description: string, schema: Json): Json => ({ description, schema })

/** Headers of answers, under their names. */
export const HEADERS: Json = {
  'x-request-id': header('The id of this request: quote it when you report an error.', text),
  'retry-after': header('Seconds to wait.', count),
  'x-ratelimit-limit': header('Calls that one window of the rate limit allows.', count),
  'x-ratelimit-remaining': header('Calls that are left in this window.', count),
  'x-ratelimit-reset': header('When the next window begins, in Unix seconds.', count),
  'x-generation-id': header('The same as x-request-id.', text),
  'x-mkt-served-by': header('marketplace, own_key or fallback_key.', text),
  'x-mkt-provider-family': header('The provider that answered.', text),
  'x-mkt-marketplace-status': header('served or filtered.', text),
  'x-mkt-marketplace-attempts': header('Offers that were tried.', text),
  'x-mkt-routing-decision-ms': header('Milliseconds that the choice of the offer took.', text),
  'x-mkt-overhead-ms': header('Milliseconds that the marketplace itself spent on the call.', text),
  'x-mkt-adapted-params': header('Parameters that were left out or changed for the seller.', text),
  'x-mkt-buyer-cost-micro': header('The cost of the call, in micro-USD; in the last event of a stream of text.', text),
  'x-mkt-list-cost-micro': header('The list price of the same usage, in micro-USD.', text),
  etag: header('The tag of this answer: send it in If-None-Match.', text),
  'cache-control': header('How long caches may keep the answer.', text),
  location: header('The address of the file.', text),
}

/** References to headers by their names. */
export function headersNamed(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
export const PAID_HEADERS = Object.keys(HEADERS).filter(
  (name) => name.startsWith('x-mkt-') || name.includes('generation'),
)

/** The responses for an operation's refusals, by status. */
export function refusalsOf(shape: ErrorShape, statuses: readonly number[]): Json {
  const known = codesByStatus(shape)
  const listed = [...new Set(statuses)].filter((status) => known.has(status)).sort((left, right) => left - right)
  return Object.fromEntries(
    listed.map((status) => [String(status), { $ref: `#/components/responses/${refusalName(shape, status)}` }]),
  )
}
