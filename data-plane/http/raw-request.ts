import type { FastifyRequest } from 'fastify'
import type { RawRequest, RequestHead } from '#data-plane/call.ts'
import type { Clock } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { networkOf } from '#shared/network-address.ts'
import { readFloor, splitFloor } from './path-floor.ts'
import type { Row } from './row.ts'

const MAX_QUERY_CHARS = 8_192
export const NO_BODY = Buffer.alloc(0)
const NO_QUERY = new URLSearchParams()
/** A request as the router passes it to a row. */
export type RowRequest = FastifyRequest<{ Params: Record<string, string> }>

/** The rules for reading the requests of one mounted path. */
export type ReadingRules = {
  readonly clock: Clock
  /** The beginning of the path that a `min{N}` segment follows; undefined for a path without one. */
  readonly floorBehind: Row['floorBehind']
  /** Picks the row's own parameters out of the router's. */
  readParams(routed: Readonly<Record<string, string>>): Readonly<Record<string, string>>
}

/**
 * Reads the head of a request for a row. The path is taken as sent, so nothing in it is decoded twice. Throws
 * `invalid_minimum_discount`.
 */
export function readRequestHead(request: RowRequest, requestId: RequestId, reading: ReadingRules): RequestHead {
  const { clock, floorBehind } = reading
  const { raw } = request
  const url = raw.url ?? '/'
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const floored = floorBehind === undefined ? undefined : splitFloor(path, floorBehind)
  // The router also accepts a floor in an encoded spelling. Only the plain spelling is valid.
  if (floorBehind !== undefined && floored === undefined) throw new AppError('invalid_minimum_discount')
  return {
    requestId,
    method: raw.method ?? 'GET',
    path: floored === undefined ? path : floored.rest,
    query: at < 0 ? NO_QUERY : new URLSearchParams(url.slice(at + 1, at + 1 + MAX_QUERY_CHARS)),
    params: reading.readParams(request.params),
    headers: raw.headers,
    pathFloorPercent: floored && readFloor(floored.floor),
    receivedAt: clock.now(),
    startedAt: clock.monotonic(),
    peer: () => networkOf(request.ip),
  }
}

/**
 * Copies member by member: this object is made for every call, and a literal with a spread takes some twenty times
 * longer.
 */
export function withBody(head: RequestHead, body: Buffer): RawRequest {
  const { requestId, method, path, query, params, headers, pathFloorPercent, receivedAt, startedAt, peer } = head
  return { requestId, method, path, query, params, headers, pathFloorPercent, receivedAt, startedAt, peer, body }
}

/** Throws `unsupported_media_type` unless the body is plain JSON in UTF-8. A request without a body needs no type. */
export function checkJsonHeaders(headers: RawRequest['headers']): void {
  const type = headers['content-type']
  if (type === undefined && !hasBody(headers)) return
  if (type !== 'application/json' && !isJsonType(type ?? '')) {
    throw new AppError('unsupported_media_type', { message: 'The body must be application/json in UTF-8.' })
  }
  checkPlainBody(headers)
}

/** True for a request that declares a body. */
export function hasBody(headers: RawRequest['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Throws `unsupported_media_type` for a compressed body. */
export function checkPlainBody(headers: RawRequest['headers']): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new AppError('unsupported_media_type', { message: 'The body must not be compressed.' })
  }
}

function isJsonType(type: string): boolean {
  const [name = '', ...parameters] = type.toLowerCase().split(';')
  if (name.trim() !== 'application/json') return false
  return parameters.every((parameter) => {
    const [key = '', value = ''] = parameter.split('=', 2)
    return key.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim())
  })
}
