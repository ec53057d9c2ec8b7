import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import { piecesOf } from '#data-plane/wires/inlined-data.ts'
import { readAnyBody } from '#data-plane/wires/json-body.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord, scanMembers } from '#shared/json-members.ts'
import type { CompiledResource, Fill, Good, RouteMatch } from '#shared/resources/compile-resource.ts'
import { fillValue, isDue } from '#shared/resources/quote-resource.ts'
import { namesakeIn, readsOf } from '#shared/resources/request-fences.ts'
import type { ForwardAddress } from './address.ts'
import type { Rewrite } from './decoder.ts'
import { findRepeatedMember } from './repeated-members.ts'
import { readRpc } from './rpc.ts'

/** A parsed body: its value for the rules, and its form for the provider. */
export type Sent = {
  readonly body: unknown
  /** Bytes of the received body. Infinity for a stream of unknown length. */
  readonly size: number
  /** Undefined for no body, and for one that is passed on as it arrives. */
  readonly pieces: readonly Buffer[] | undefined
  /** A JSON body with its text, to which members can be added. */
  readonly json: JsonBody | undefined
  /** The members that were added for the buyer. */
  readonly filled: readonly string[]
  readonly rpc: { readonly requests: readonly unknown[]; readonly units: number; readonly rewrite: Rewrite } | undefined
}

const NOTHING: Sent = { body: undefined, size: 0, pieces: undefined, json: undefined, filled: [], rpc: undefined }

/**
 * Reads the body of a call. A body that a rule examines is parsed here or refused, whatever its media type, its method
 * or its transfer, so that no form of a request gets another price or passes a fence. Throws AppError:
 * `unsupported_media_type`, `invalid_json`, `invalid_request`, `platform_route_refused`.
 */
export function readSent(raw: RawRequest, resource: CompiledResource, { match, route, query }: ForwardAddress): Sent {
  const reads = readsOf(resource, match, route)
  const sentBody = readBody(
    raw,
    match,
    reads.some(({ body }) => body !== undefined),
  )
  const namesake = namesakeIn(reads, { body: sentBody.body, query })
  if (namesake === undefined) return sentBody
  const name = namesake.name.slice(0, MAX_SHOWN_CHARS)
  const message = `The ${namesake.part} names ${JSON.stringify(name)}, which differs in letter case alone from a member that counts.`
  throw new AppError('invalid_request', { message, param: name })
}

const MAX_SHOWN_CHARS = 100

function readBody(raw: RawRequest, { route }: RouteMatch, isLookedInto: boolean): Sent {
  const { stream, body: bytes } = raw
  if (raw.method === 'GET' && (stream !== undefined || bytes.length > 0)) {
    throw new AppError('invalid_request', { message: 'A GET request to a provider must not have a body.' })
  }
  if (route.rpc !== undefined) {
    if (stream !== undefined) throw unreadable()
    const { bytes: rewritten, requests, units, rewrite } = readRpc(route, bytes)
    return { ...NOTHING, size: rewritten.length, pieces: [rewritten], rpc: { requests, units, rewrite } }
  }
  if (stream !== undefined) {
    if (isLookedInto) throw unreadable()
    const length = raw.headers['content-length']
    // A body without a length cannot be priced by it.
    return { ...NOTHING, size: length === undefined ? Number.POSITIVE_INFINITY : Number(length) }
  }
  if (bytes.length === 0) return NOTHING
  const json = readAnyBody(raw)
  const repeated = findRepeatedMember(json.text)
  if (repeated !== undefined) {
    const name = repeated.slice(0, MAX_SHOWN_CHARS)
    const message = `The body names ${JSON.stringify(name)} twice in one object.`
    throw new AppError('invalid_request', { message, param: name })
  }
  return { ...NOTHING, body: json.body, size: bytes.length, pieces: [bytes], json }
}

function unreadable(): AppError {
  const message = 'The body decides the price of this call, so it must be application/json in UTF-8.'
  return new AppError('unsupported_media_type', { message })
}

/**
 * The request with the members that its route adds: a limit that the buyer left open, and the request for usage.
 * Everything else stays byte for byte.
 */
export function filledFor(match: RouteMatch, good: Good, query: URLSearchParams, sentBody: Sent): Sent {
  const { fills } = match.route
  let { json } = sentBody
  const filled: string[] = []
  for (const fill of fills) {
    if (json === undefined || !isDue(fill, match, { body: json.body, query })) continue
    const value = fillValue(fill, match, good, { body: json.body, query, size: sentBody.size })
    const next = value === undefined ? undefined : withMember(json, fill, value)
    if (next === undefined) continue
    json = next
    filled.push(fill.within ?? fill.member)
  }
  if (json === undefined || filled.length === 0) return sentBody
  return { ...sentBody, body: json.body, json, pieces: piecesOf(json.text, json), filled }
}

/** The text with a member that is set. Undefined when its holder is no object. */
function withMember(json: JsonBody, { member, within }: Fill, value: number | boolean): JsonBody | undefined {
  const name = within ?? member
  const before = json.body[name] ?? undefined
  if (within !== undefined && before !== undefined && !isRecord(before)) return undefined
  const next = within === undefined ? value : { ...(isRecord(before) ? before : {}), [member]: value }
  const text = withValue(json, name, JSON.stringify(next))
  return { ...json, text, members: scanMembers(text) ?? [], body: { ...json.body, [name]: next } }
}

function withValue({ text, members }: JsonBody, name: string, value: string): string {
  const standing = members.find(({ key }) => key === name)
  if (standing !== undefined) return text.slice(0, standing.start) + value + text.slice(standing.end)
  const start = text.indexOf('{') + 1
  return `${text.slice(0, start)}${JSON.stringify(name)}:${value}${members.length > 0 ? ',' : ''}${text.slice(start)}`
}
