import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import type { Content } from '#data-plane/wires/content.ts'
import { textBytesOf } from '#data-plane/wires/content.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import { checkParameter, readMaxTokens } from '#data-plane/wires/parameters.ts'
import { keepIntegers } from '#data-plane/wires/whole-integers.ts'
import { mustBe } from '#shared/invalid-member.ts'
import { isGiven } from '#shared/json-members.ts'
import { CHAT_MEMBERS } from '#shared/members/of-text.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'
import type { AsFunctions } from './custom-tools.ts'
import { withoutCustomTools } from './custom-tools.ts'
import { checkMessages, noteToolMarks } from './messages.ts'

const MAX_MODALITIES = 8

/** A parsed chat request: its own text, the place of each member in it, and the facts for routing. */
export type ChatRequest = JsonBody &
  Routing & {
    readonly model: string
    readonly isStreamed: boolean
    readonly maxTokens: number | undefined
    readonly choices: number
    readonly content: Content
    readonly textBytes: number
    readonly messageCount: number
    /** True when the answer is to hold images. */
    readonly wantsPictures: boolean
    /** Set when custom tools have become functions. */
    readonly custom: Pick<AsFunctions, 'origins' | 'adaptedParams'> | undefined
    readonly askedMembers: AskedMembers
  }

/** Reads the body of a chat request. Throws AppError: `invalid_json`, `invalid_request`, `request_too_large` … */
export function readChatRequest(raw: RawRequest): ChatRequest {
  const json = keepIntegers(readJsonBody(raw, 'messages'))
  const model = readModelName(json.body['model'])
  for (const name in json.body) checkParameter(name, json.body[name])
  const custom = withoutCustomTools(json)
  const { text, bytes, hasStandIns, members, body } = custom === undefined ? json : custom.json
  const messages = body['messages']
  const content = checkMessages(messages, json)
  noteToolMarks(body['tools'], content)
  const choices = body['n']
  const routing = readRouting(body, raw)
  return {
    model,
    isStreamed: body['stream'] === true,
    maxTokens: readMaxTokens(body),
    choices: typeof choices === 'number' ? choices : 1,
    content,
    textBytes: textBytesOf(raw.body, content),
    wantsPictures: asksForPictures(body['modalities']),
    messageCount: Array.isArray(messages) ? messages.length : 1,
    custom,
    askedMembers: readMembers(CHAT_MEMBERS, body),
    hints: routing.hints,
    floorPercents: routing.floorPercents,
    maxCostMicro: routing.maxCostMicro,
    text,
    bytes,
    hasStandIns,
    members,
    body,
    integerMark: json.integerMark,
  }
}

/** OpenRouter's way to request images in a chat: `modalities` with `image` among them. */
function asksForPictures(modalities: unknown): boolean {
  if (!isGiven(modalities)) return false
  const isList = Array.isArray(modalities) && modalities.length > 0 && modalities.length <= MAX_MODALITIES
  if (!isList || !modalities.every((word) => typeof word === 'string')) {
    throw mustBe('modalities', `a list of 1 to ${MAX_MODALITIES} words`)
  }
  return modalities.includes('image')
}
