import type { IncomingHttpHeaders } from 'node:http'
import type { Demand, RawRequest, RoutingHints } from '#data-plane/call.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'
import type { MicroUsd } from '#shared/money.ts'
import { MAX_MICRO_USD, microUsd } from '#shared/money.ts'

/** The most providers that one hint may name. */
const MAX_HINT_ENTRIES = 200
const MAX_HINT_LENGTH = 2_048

/** Body fields that steer routing: none of them is ever forwarded. */
export const ROUTING_FIELDS: ReadonlySet<string> = new Set([
  'provider',
  'provider_url',
  'provider_base_url',
  'providers_blocked',
  'provider_order',
  'allow_untrusted',
  'min_discount_pct',
  'max_price_per_1m',
  'usage',
  'session_id',
])

/**
 * Members of OpenRouter's `provider` object that promise facts about a seller which this market cannot promise, each
 * with the values that ask for nothing. Members that only tune a preference (`max_price`, `preferred_*`) are ignored.
 */
const UNKEPT_PROMISES: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['zdr', [false]],
  ['data_collection', ['allow']],
  ['enforce_distillable_text', [false]],
  ['quantizations', []],
  ['require_parameters', [false]],
])

/** The values of OpenRouter's `sort`; true puts speed before price. `throughput` and `latency` use the same figure. */
const SORTS: ReadonlyMap<unknown, boolean> = new Map([
  ['price', false],
  ['throughput', true],
  ['latency', true],
])

const NO_HINTS: RoutingHints = { only: [], blocked: [], order: [], allowsUntrusted: undefined }

/**
 * Parses the routing fields of a text request: `provider` as a name, a list or OpenRouter's object, the two URL forms,
 * the block list, the order and the trust switch. Malformed fields are refused, never ignored.
 */
export function readHints(body: Readonly<Record<string, unknown>>): RoutingHints {
  if (!hasHint(body)) return NO_HINTS
  const only: (readonly string[])[] = []
  const blocked = readNames(body['providers_blocked'], 'providers_blocked') ?? []
  const order = readNames(body['provider_order'], 'provider_order') ?? []
  const provider = body['provider']
  let isFirstOnly = false
  let isFastestFirst: boolean | undefined
  if (isRecord(provider)) {
    checkPromises(provider)
    isFastestFirst = readSort(provider['sort'])
    const onlyNames = readNames(provider['only'], 'provider.only') ?? []
    if (onlyNames.length > 0) only.push(onlyNames)
    blocked.push(...(readNames(provider['ignore'], 'provider.ignore') ?? []))
    const objectOrder = readNames(provider['order'], 'provider.order') ?? []
    order.push(...objectOrder)
    if (readSwitch(provider['allow_fallbacks'], 'provider.allow_fallbacks') === false) {
      // OpenRouter's order is the whole list when fallbacks are not allowed; without an order the first offer is.
      if (objectOrder.length > 0) only.push(objectOrder)
      else isFirstOnly = true
    }
  } else {
    const names = readNames(provider, 'provider')
    if (names && names.length > 0) only.push(names)
  }
  for (const field of ['provider_url', 'provider_base_url'] as const) {
    const url = body[field]
    if (url === undefined || url === null) continue
    if (typeof url !== 'string' || url === '' || url.length > MAX_HINT_LENGTH) throw unreadable(field)
    only.push([url])
  }
  const allowsUntrusted = readSwitch(body['allow_untrusted'], 'allow_untrusted')
  const session = readSession(body)
  return {
    only,
    blocked,
    order,
    allowsUntrusted,
    ...(isFirstOnly ? { isFirstOnly } : {}),
    ...(isFastestFirst === undefined ? {} : { isFastestFirst }),
    ...(session === undefined ? {} : { session }),
  }
}

function checkPromises(provider: Readonly<Record<string, unknown>>): void {
  for (const [name, harmless] of UNKEPT_PROMISES) {
    const value = provider[name]
    if (value === undefined || value === null || harmless.includes(value)) continue
    if (Array.isArray(value) && value.length === 0) continue
    throw new AppError('invalid_request', {
      message: `provider.${name} asks for a guarantee about sellers that this market does not have.`,
      param: `provider.${name}`,
    })
  }
}

/** A word, or an object that has it as `by`. */
function readSort(sort: unknown): boolean | undefined {
  if (sort === undefined || sort === null) return undefined
  const isFast = SORTS.get(isRecord(sort) ? sort['by'] : sort)
  if (isFast === undefined) throw unreadable('provider.sort')
  return isFast
}

function hasHint(body: Readonly<Record<string, unknown>>): boolean {
  return (
    body['provider'] !== undefined ||
    body['provider_url'] !== undefined ||
    body['provider_base_url'] !== undefined ||
    body['providers_blocked'] !== undefined ||
    body['provider_order'] !== undefined ||
    body['allow_untrusted'] !== undefined ||
    body['session_id'] !== undefined ||
    body['prompt_cache_key'] !== undefined
  )
}

function readNames(value: unknown, param: string): string[] | undefined {
  if (value === undefined || value === null) return undefined
  const list = Array.isArray(value) ? value : [value]
  if (list.length > MAX_HINT_ENTRIES) throw unreadable(param)
  const names: string[] = []
  for (const name of list) {
    if (typeof name !== 'string' || name.trim() === '' || name.length > MAX_HINT_LENGTH) throw unreadable(param)
    names.push(name)
  }
  return names
}

function readSwitch(value: unknown, param: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw unreadable(param)
  return value
}

/** Our own name for a conversation has precedence over OpenAI's, which also goes to the provider. */
function readSession(body: Readonly<Record<string, unknown>>): string | undefined {
  const session = body['session_id']
  if (session !== undefined && session !== null) {
    if (typeof session !== 'string' || session === '' || session.length > MAX_HINT_LENGTH)
      throw unreadable('session_id')
    return session
  }
  const cacheKey = body['prompt_cache_key']
  return typeof cacheKey === 'string' && cacheKey !== '' ? cacheKey : undefined
}

function unreadable(param: string): AppError {
  return new AppError('invalid_request', { message: `${param} cannot be read.`, param })
}

/**
 * The minimum discounts of a request in whole percent: the body's field, the header and the path segment. The pipeline
 * chooses the strictest, because the key may have one, too.
 */
export function readFloors(
  body: Readonly<Record<string, unknown>>,
  headers: IncomingHttpHeaders,
  pathFloorPercent: number | undefined,
): readonly (number | undefined)[] {
  const floor = body['min_discount_pct'] ?? undefined
  const header = headers['x-min-discount']
  if (floor === undefined && header === undefined && pathFloorPercent === undefined) return []
  if (floor !== undefined && (typeof floor !== 'number' || !Number.isInteger(floor) || floor < 0 || floor > 100)) {
    throw new AppError('invalid_minimum_discount', { param: 'min_discount_pct' })
  }
  return [floor, header === undefined ? undefined : parseFloor(header), pathFloorPercent]
}

/** Reads plain digits from 0 to 100 without leading zeros. Throws `invalid_minimum_discount`. */
export function parseFloor(text: string | readonly string[]): number {
  if (typeof text !== 'string' || !/^(?:0|[1-9]\d?|100)$/.test(text)) throw new AppError('invalid_minimum_discount')
  return Number(text)
}

/** The buyer's own ceiling for this call, from `X-MKT-Max-Cost-Micro`: a whole number of micro-USD. */
export function readMaxCost(headers: IncomingHttpHeaders): MicroUsd | undefined {
  const header = headers['x-mkt-max-cost-micro']
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !/^(?:0|[1-9]\d{0,13})$/.test(header) || BigInt(header) >= MAX_MICRO_USD) {
    throw new AppError('invalid_request', {
      message: 'X-MKT-Max-Cost-Micro must be a whole number of micro-USD.',
      param: 'X-MKT-Max-Cost-Micro',
    })
  }
  return microUsd(BigInt(header))
}

/** The limits that every paid request sets for its route and its cost. */
export type Routing = Pick<Demand, 'hints' | 'floorPercents' | 'maxCostMicro'>

/**
 * Reads the routing of a call from the members of its body, or its form, and the headers. Throws as {@link readHints}
 * and the other readers do.
 */
export function readRouting(members: Readonly<Record<string, unknown>>, raw: RawRequest): Routing {
  return {
    hints: readHints(members),
    floorPercents: readFloors(members, raw.headers, raw.pathFloorPercent),
    maxCostMicro: readMaxCost(raw.headers),
  }
}
