import { isUtf8 } from 'node:buffer'
import { MAX_RPC_BATCH } from '#shared/catalog/resources.ts'
import { AppError } from '#shared/errors.ts'
import type { JsonMember } from '#shared/json-members.ts'
import { elementTexts, isRecord, memberText, scanMembers } from '#shared/json-members.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import type { Route } from '#shared/resources/compile-resource.ts'
import { rpcUnits } from '#shared/resources/quote-resource.ts'
import type { Rewrite } from './decoder.ts'

/** A body of JSON-RPC 2.0 as it goes to the provider, its price in units, and the way back of the answers. */
export type RpcBatch = {
  /** The same requests under ids of our own. */
  readonly body: string
  readonly units: number
  readonly rewrite: Rewrite
}

/** One request. Its id is the buyer's own text, undefined for a notification, which nobody answers. */
type RpcRequest = { readonly id: string | undefined; readonly method: string; readonly params: string | undefined }

const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])
const MAX_ID_CHARS = 256
const MAX_METHOD_CHARS = 80

/**
 * Reads one request or a batch of JSON-RPC 2.0. Each request goes on under its place in the batch as its id, so that ids
 * which the buyer gave twice stay apart and answers come back in order. Only the four members of a request go on, so that
 * nobody can read another method in it than the one that is priced here. Throws AppError: `invalid_json`,
 * `invalid_request`, `platform_route_refused` for a method that is not on the list.
 */
export function readRpc(route: Pick<Route, 'rpc'>, bytes: Buffer): RpcBatch {
  const text = bytes.toString('utf8')
  // The scan finds out about depth, so it comes before anything is built.
  const isTooDeep = scanMembers(text) === undefined
  if (!isUtf8(bytes) || isTooDeep) throw new AppError('invalid_json')
  const body = parse(text)
  const isBatch = Array.isArray(body)
  if (isBatch && (body.length === 0 || body.length > MAX_RPC_BATCH)) {
    throw invalid(`A batch has 1 to ${MAX_RPC_BATCH} requests.`)
  }
  const texts = isBatch ? elementTexts(text) : [text.trim()]
  const requests = texts.map(readRequest)
  let units = 0
  for (const { method } of requests) units += priced(route, method)
  const written = requests.map(writeRequest)
  return {
    body: isBatch ? `[${written.join()}]` : (written[0] ?? ''),
    units,
    rewrite: (answer) => rewrite(requests, isBatch, answer),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError('invalid_json')
  }
}

function readRequest(text: string): RpcRequest {
  const request = parse(text)
  const members = scanMembers(text) ?? []
  if (!isRecord(request)) throw invalid('A request of JSON-RPC is an object.')
  const names = members.map(({ key }) => key)
  if (new Set(names).size < names.length) throw invalid('A request of JSON-RPC names no member twice.')
  if (names.some((name) => !MEMBERS.has(name))) throw invalid('A request has jsonrpc, id, method and params alone.')
  const { jsonrpc, id, method, params } = request
  if (jsonrpc !== '2.0') throw invalid('jsonrpc is "2.0".', 'jsonrpc')
  if (typeof method !== 'string' || method === '' || method.length > MAX_METHOD_CHARS) {
    throw invalid('method is the name of a method.', 'method')
  }
  if (params !== undefined && (typeof params !== 'object' || params === null)) {
    throw invalid('params is a list or an object.', 'params')
  }
  const idText = names.includes('id') ? memberText(text, members, 'id') : undefined
  const isId = id === null || typeof id === 'string' || typeof id === 'number'
  if (idText !== undefined && (!isId || idText.length > MAX_ID_CHARS)) {
    throw invalid(`id is a text, a number or null, of at most ${MAX_ID_CHARS} characters.`, 'id')
  }
  return { id: idText, method, params: memberText(text, members, 'params') }
}

function priced(route: Pick<Route, 'rpc'>, method: string): number {
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

/** Puts the provider's answers in the order of the requests, under the ids that the buyer gave. */
function rewrite(requests: readonly RpcRequest[], isBatch: boolean, bytes: Buffer): ReturnType<Rewrite> {
  const isAnswered = requests.some(({ id }) => id !== undefined)
  if (!isAnswered) return { bytes: Buffer.alloc(0) }
  const text = bytes.toString('utf8').trim()
  const texts = isBatch ? (text.startsWith('[') ? elementTexts(text) : []) : [text]
  const answers = new Map<number, string>()
  for (const each of texts) {
    const read = readAnswer(each)
    if (read === undefined || requests[read.place]?.id === undefined || answers.has(read.place)) return BROKEN
    answers.set(read.place, read.said)
  }
  const written: string[] = []
  for (const [place, { id }] of requests.entries()) {
    if (id === undefined) continue
    const said = answers.get(place)
    if (said === undefined) return BROKEN
    written.push(`{"jsonrpc":"2.0","id":${id},${said}}`)
  }
  return { bytes: Buffer.from(isBatch ? `[${written.join()}]` : (written[0] ?? '')) }
}

const BROKEN: ReturnType<Rewrite> = { failure: malformed('not the answers to the requests') }

/** The place of the request that an answer is to, and its result or error as it came. */
function readAnswer(text: string): { readonly place: number; readonly said: string } | undefined {
  const members = scanMembers(text)
  const answer = members === undefined ? undefined : tryParse(text)
  if (members === undefined || !isRecord(answer)) return undefined
  const { id } = answer
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) return undefined
  const said = saidIn(text, members, answer)
  return said === undefined ? undefined : { place: id, said }
}

function saidIn(text: string, members: readonly JsonMember[], answer: Readonly<Record<string, unknown>>) {
  const { error } = answer
  if (isRecord(error)) return `"error":${memberText(text, members, 'error')}`
  const result = memberText(text, members, 'result')
  return result === undefined ? undefined : `"result":${result}`
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function invalid(message: string, param?: string): AppError {
  return new AppError('invalid_request', { message, ...(param === undefined ? {} : { param }) })
}
