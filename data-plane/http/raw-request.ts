import type { FastifyRequest } from 'fastify'
import type { RawRequest } from '#data-plane/call.ts'
import type { Clock } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'

const MAX_QUERY_CHARS = 8_192
const NOTHING = Buffer.alloc(0)
const NO_QUERY = new URLSearchParams()
const FLOOR_SEGMENT = /^\/min(0|[1-9]\d?|100)(?=\/)/
/** The messages wire carries its floor behind its own first segment. */
const COMPAT = '/compat'

/** The minimum discount in a path's first segment, on the messages wire in its second. Throws `invalid_minimum_discount` for a segment that is no floor. */
export function readPathFloor(path: string): { floorPercent: number | undefined; rest: string } {
  const prefix = path.startsWith(`${COMPAT}/min`) ? COMPAT : ''
  const from = path.slice(prefix.length)
  if (!from.startsWith('/min')) return { floorPercent: undefined, rest: path }
  const match = FLOOR_SEGMENT.exec(from)
  if (!match) throw new AppError('invalid_minimum_discount')
  return { floorPercent: Number(match[1]), rest: prefix + from.slice(match[0].length) }
}

/** What of a request any protocol may look at. The path is read as it came: nothing in it is decoded twice. */
export function readRawRequest(request: FastifyRequest, requestId: RequestId, clock: Clock): RawRequest {
  const { raw, body } = request
  const url = raw.url ?? '/'
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const { floorPercent, rest } = readPathFloor(path)
  return {
    requestId,
    method: raw.method ?? 'GET',
    path: rest,
    query: at < 0 ? NO_QUERY : new URLSearchParams(url.slice(at + 1, at + 1 + MAX_QUERY_CHARS)),
    params: {},
    headers: raw.headers,
    body: Buffer.isBuffer(body) ? body : NOTHING,
    pathFloorPercent: floorPercent,
    receivedAt: clock.now(),
    startedAt: clock.monotonic(),
  }
}

/** Throws `unsupported_media_type` unless the body is plain JSON in UTF-8. */
export function checkJsonHeaders(headers: RawRequest['headers']): void {
  const type = headers['content-type']
  if (type !== 'application/json' && !isJsonType(type ?? '')) {
    throw new AppError('unsupported_media_type', { message: 'The body must be application/json in UTF-8.' })
  }
  checkPlainBody(headers)
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

/**
 * Refuses what two readers of a request could read in two ways: a second Authorization or Host header, a target that is
 * not a path. Answers with the error, or undefined when all is well.
 */
export function checkFraming(rawHeaders: readonly string[], url: string): AppError | undefined {
  if (!url.startsWith('/')) return new AppError('invalid_request', { message: 'The request target is a path.' })
  let authorizations = 0
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations++
    else if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (authorizations > 1 || hosts > 1) {
    return new AppError('invalid_request', { message: 'Authorization and Host are given once.' })
  }
  return undefined
}

/** The hosts of the site and of the API, each with its port where it has one; one and the same when they share it. */
export type Hosts = { readonly base: string; readonly api: string }

/** Where site and API have hosts of their own, each answers its own paths only. */
export function isOtherHost({ base, api }: Hosts, host: string | undefined, url: string): boolean {
  if (base === api || host === undefined) return false
  const isSitePath = /^\/(?:api\/inference|api\/x402|x402|\.well-known)(?:\/|$)/.test(url)
  const isApiPath = /^\/(?:v1|min|compat|resources|api\/markets)/.test(url)
  return (host === api && isSitePath) || (host === base && isApiPath)
}
