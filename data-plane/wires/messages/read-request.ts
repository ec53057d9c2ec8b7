import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import type { Content } from '#data-plane/wires/content.ts'
import { newContent, textBytesOf } from '#data-plane/wires/content.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import { keepIntegers } from '#data-plane/wires/whole-integers.ts'
import { SERVICE_MEMBERS } from '#shared/members/of-text.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'
import { checkMessages, checkSystem, noteToolMarks } from './content.ts'
import { checkParameters, checkThinking, readMaxTokens } from './parameters.ts'

/** A message request, before anything about money and routing. */
export type MessageInput = JsonBody & {
  readonly model: string
  readonly content: Content
  readonly messageCount: number
}

/** A parsed message request. */
export type MessagesRequest = MessageInput &
  Routing & {
    readonly isStreamed: boolean
    readonly maxTokens: number
    readonly textBytes: number
    readonly askedMembers: AskedMembers
  }

/** Parses the model, the turns, the instructions and the parameters: all that a token count needs. */
export function readSaid(raw: RawRequest): MessageInput {
  const json = keepIntegers(readJsonBody(raw, 'messages'))
  const { body } = json
  const model = readModelName(body['model'])
  checkParameters(body)
  const content = newContent(json)
  checkSystem(body['system'], content)
  checkMessages(body['messages'], content)
  noteToolMarks(body['tools'], content)
  const messages = body['messages']
  return { ...json, model, content, messageCount: Array.isArray(messages) ? messages.length : 1 }
}

/** Reads the body of a message request. Throws AppError: `invalid_json`, `invalid_request`, `request_too_large` … */
export function readMessagesRequest(raw: RawRequest): MessagesRequest {
  const messageInput = readSaid(raw)
  const { body, content } = messageInput
  const maxTokens = readMaxTokens(body)
  checkThinking(body['thinking'], maxTokens)
  return {
    isStreamed: body['stream'] === true,
    maxTokens,
    textBytes: textBytesOf(raw.body, content),
    askedMembers: readMembers(SERVICE_MEMBERS, body),
    ...messageInput,
    ...readRouting(body, raw),
  }
}
