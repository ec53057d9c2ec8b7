import { isUtf8 } from 'node:buffer'
import type { RawRequest, RoutingHints } from '#data-plane/call.ts'
import type { JsonMember } from '#data-plane/dialects/json-members.ts'
import { isRecord, MAX_JSON_DEPTH, scanMembers } from '#data-plane/dialects/json-members.ts'
import { readFloors, readHints, readMaxCost } from '#data-plane/wires/hints.ts'
import { AppError } from '#shared/errors.ts'
import type { MicroUsd } from '#shared/money.ts'
import type { Content } from './messages.ts'
import { checkMessages } from './messages.ts'
import { checkParameter, readMaxTokens } from './parameters.ts'

/** A chat request as it was read: its own text, where each member stands in it, and what routing needs. */
export type ChatRequest = {
  readonly text: string
  readonly members: readonly JsonMember[]
  readonly body: Readonly<Record<string, unknown>>
  readonly model: string
  readonly isStreamed: boolean
  readonly maxTokens: number | undefined
  readonly choices: number
  readonly content: Content
  readonly textBytes: number
  readonly messageCount: number
  readonly hints: RoutingHints
  readonly floorPercents: readonly (number | undefined)[]
  readonly maxCostMicro: MicroUsd | undefined
}

const MAX_MODEL_CHARS = 160
/** The most members that the body's object may have. */
const MAX_MEMBERS = 200
const BOM = 0xfeff

/** Reads the body of a chat request. Throws AppError: `invalid_json`, `invalid_request`, `request_too_large` … */
export function readChatRequest(raw: RawRequest): ChatRequest {
  const { text, members, body } = readBody(raw.body)
  const model = body['model']
  if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL_CHARS) {
    throw new AppError('invalid_request', { message: 'model must be the name of a model.', param: 'model' })
  }
  for (const name in body) checkParameter(name, body[name])
  const messages = body['messages']
  const content = checkMessages(messages)
  const choices = body['n']
  return {
    text,
    members,
    body,
    model,
    isStreamed: body['stream'] === true,
    maxTokens: readMaxTokens(body),
    choices: typeof choices === 'number' ? choices : 1,
    content,
    textBytes: Math.max(0, raw.body.length - content.inlinedChars),
    messageCount: Array.isArray(messages) ? messages.length : 1,
    hints: readHints(body),
    floorPercents: readFloors(body, raw.headers, raw.pathFloorPercent),
    maxCostMicro: readMaxCost(raw.headers),
  }
}

function readBody(bytes: Buffer): Pick<ChatRequest, 'text' | 'members' | 'body'> {
  if (!isUtf8(bytes)) throw new AppError('invalid_json', { message: 'The request body is not valid UTF-8.' })
  let text = bytes.toString('utf8')
  if (text.charCodeAt(0) === BOM) text = text.slice(1)
  const members = scanMembers(text)
  if (members === undefined) {
    throw new AppError('invalid_json', { message: `The request body is cut or nests deeper than ${MAX_JSON_DEPTH}.` })
  }
  if (members.length > MAX_MEMBERS)
    throw new AppError('invalid_request', { message: 'The request body has too many members.' })
  const body = parse(text)
  if (!isRecord(body)) throw new AppError('invalid_request', { message: 'The request body is a JSON object.' })
  if (members.some(({ key }) => key === '__proto__')) {
    throw new AppError('invalid_request', { message: 'The request body has a member named __proto__.' })
  }
  return { text, members, body }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError('invalid_json')
  }
}
