import { isUtf8 } from 'node:buffer'
import { MAX_RPC_BATCH } from '#shared/catalog/resources.ts'
import { AppError } from '#shared/errors.ts'
import type { JsonMember } from '#shared/json-members.ts'
import { isRecord, memberText, scanElements, scanMembers } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import type { Route } from '#shared/resources/compile-resource.ts'
import { rpcUnits } from '#shared/resources/quote-resource.ts'
import type { Rewrite } from './decoder.ts'

/** A body of JSON-RPC 2.0 in the form for the provider, its price in units, and the way back of the answers. */
export type RpcBatch = {
  /** The same requests under ids of our own. */
  readonly bytes: Buffer
  /** The unchanged requests, for the rules of fences. */
  readonly requests: readonly unknown[]
  readonly units: number
  readonly rewrite: Rewrite
}

/** A request of a batch. Its id is the buyer's own text, undefined for a notification, which has no answer. */
type RpcRequest = { readonly id: string | undefined; readonly method: string; readonly params: string | undefined }

const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])
const MAX_ID_CHARS = 256
const MAX_METHOD_CHARS = 80

/**
 * Parses one request or a batch of JSON-RPC 2.0. Each request is forwarded under its index in the batch as its id, so
 * that duplicate ids stay apart and answers come back in order. Only the four members of a request are forwarded, so
 * that no parser can find another method in it than the priced one. Throws AppError: `invalid_json`, `invalid_request`,
 * `platform_route_refused` for a method that is not on the list.
 */
export function readRpc(route: Pick<Route, 'rpc'>, bytes: Buffer): RpcBatch {
  const read = isUtf8(bytes) ? readParts(bytes.toString('utf8')) : undefined
  if (read === undefined) throw new AppError('invalid_json')
  const { parts, isBatch } = read
  if (parts.length === 0 || parts.length > MAX_RPC_BATCH) {
    throw invalid(`A batch must have 1 to ${MAX_RPC_BATCH} requests.`)
  }
  const requests: RpcRequest[] = []
  let units = 0
  let body = ''
  for (const [place, part] of parts.entries()) {
    const request = readRequest(read.text, part)
    requests.push(request)
    units += priceOf(route, request.method)
    body += place === 0 ? writeRequest(request, place) : `,${writeRequest(request, place)}`
  }
  return {
    bytes: Buffer.from(isBatch ? `[${body}]` : body),
    requests: parts.map(({ value }) => value),
    units,
    rewrite: (answer) => rewrite(requests, isBatch, answer),
  }
}

/** A request or an answer: its value, and its members in the text of the whole. */
type Part = { readonly value: unknown; readonly members: readonly JsonMember[] }

/** Splits a text in one scan and one parse. Undefined for a text that is not JSON or nests too deep. */
function readParts(text: string) {
  const isBatch = /^\s*\[/.test(text)
  // The scan checks the depth, so it precedes any object.
  const members = isBatch ? scanElements(text) : [scanMembers(text)]
  const value = members?.[0] && parseJson(text)
  if (value === undefined) return undefined
  const values: readonly unknown[] = isBatch && Array.isArray(value) ? value : [value]
  const parts: Part[] = values.map((each, at) => ({ value: each, members: members?.[at] ?? [] }))
  return { text, isBatch, parts }
}

function readRequest(text: string, { value, members }: Part): RpcRequest {
  if (!isRecord(value)) throw invalid('A request of JSON-RPC must be an object.')
  const names = new Set<string>()
  for (const { key } of members) {
    if (!MEMBERS.has(key)) throw invalid('A request may have only jsonrpc, id, method and params.')
    if (names.has(key)) throw invalid('A request of JSON-RPC must name each member once.')
    names.add(key)
  }
  const { jsonrpc, id, method, params } = value
  if (jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0".', 'jsonrpc')
  if (typeof method !== 'string' || method === '' || method.length > MAX_METHOD_CHARS) {
    throw invalid('method must be the name of a method.', 'method')
  }
  if (params !== undefined && (typeof params !== 'object' || params === null)) {
    throw invalid('params must be a list or an object.', 'params')
  }
  const idText = memberText(text, members, 'id')
  // A number beyond the range of numbers has no text that an answer could repeat.
  const isId = id === null || typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))
  if (idText !== undefined && (!isId || idText.length > MAX_ID_CHARS)) {
    throw invalid(`id must be a text, a number or null, of at most ${MAX_ID_CHARS} characters.`, 'id')
  }
  return { id: idText, method, params: memberText(text, members, 'params') }
}

function priceOf(route: Pick<Route, 'rpc'>, method: string): number {
  const units = rpcUnits(route, method)
  if (units !== undefined) return units
  throw new AppError('platform_route_refused', {
    message: `The method ${JSON.stringify(method)} is not forwarded.`,
    param: 'method',
    detail: { limit_source: 'platform_fence', limit_scope: 'platform', resets_at: null },
  })
}

function writeRequest({ id, method, params }: RpcRequest, place: number): string {
  const idPart = id === undefined ? '' : `"id":${place},`
  const paramsPart = params === undefined ? '' : `,"params":${params}`
  return `{"jsonrpc":"2.0",${idPart}"method":${JSON.stringify(method)}${paramsPart}}`
}

/** Puts the provider's answers in the order of the requests, under the buyer's ids. */
function rewrite(requests: readonly RpcRequest[], isBatch: boolean, bytes: Buffer): ReturnType<Rewrite> {
  const isAnswered = requests.some(({ id }) => id !== undefined)
  if (!isAnswered) return { bytes: Buffer.alloc(0) }
  const read = readParts(bytes.toString('utf8').trim())
  if (read === undefined || read.isBatch !== isBatch) return BROKEN
  const answers = new Map<number, string>()
  for (const part of read.parts) {
    const place = placeOf(part, requests)
    const idText = saidIn(read.text, part)
    if (place === undefined || idText === undefined || answers.has(place)) return BROKEN
    answers.set(place, idText)
  }
  let answerText = ''
  for (const [place, { id }] of requests.entries()) {
    if (id === undefined) continue
    const answer = answers.get(place)
    if (answer === undefined) return BROKEN
    answerText += `${answerText === '' ? '' : ','}{"jsonrpc":"2.0","id":${id},${answer}}`
  }
  return { bytes: Buffer.from(isBatch ? `[${answerText}]` : answerText) }
}

const BROKEN: ReturnType<Rewrite> = { failure: malformed('not the answers to the requests') }

/** The index of the request that an answer belongs to. Undefined when no request waits for it. */
function placeOf({ value }: Part, requests: readonly RpcRequest[]): number | undefined {
  const place = isRecord(value) ? value['id'] : undefined
  return typeof place === 'number' && requests[place]?.id !== undefined ? place : undefined
}

/** The unchanged result or error of an answer. */
function saidIn(text: string, { value, members }: Part): string | undefined {
  if (isRecord(value) && isRecord(value['error'])) return `"error":${memberText(text, members, 'error')}`
  const result = memberText(text, members, 'result')
  return result === undefined ? undefined : `"result":${result}`
}

function invalid(message: string, param?: string): AppError {
  return new AppError('invalid_request', { message, ...(param === undefined ? {} : { param }) })
}
