import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import {
  choiceFault,
  contentOf,
  deltaFault,
  isReason,
  refusalOf,
  thoughtOf,
} from '#shared/protocols/answers/chat-choice.ts'
import type { TextChoice } from './choice.ts'
import { choiceIndex, reasonWord } from './choice.ts'

/** Reads a choice of a whole chat answer as one of a text completion. */
export function readChatChoice(choice: unknown, place: number): TextChoice | undefined {
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message) || choiceFault(choice) !== undefined) return undefined
  return textChoice(choice, message, place)
}

/** Reads a piece of a streamed chat answer as one of a text completion. */
export function readChatPiece(choice: unknown): TextChoice | undefined {
  if (!isRecord(choice) || !isReason(choice['finish_reason'])) return undefined
  // A whole answer in place of a stream holds messages.
  const { delta = choice['message'] } = choice
  if (!isRecord(delta)) return textChoice(choice, NO_DELTA, 0)
  return deltaFault(delta) === undefined ? textChoice(choice, delta, 0) : undefined
}

const NO_DELTA: JsonObject = {}

function textChoice(choice: JsonObject, message: JsonObject, place: number): TextChoice | undefined {
  const index = choiceIndex(choice['index'], place)
  const { finish_reason: reason } = choice
  // Some providers report a failure within a stream in this way.
  if (index === undefined || reason === 'error') return undefined
  return {
    index,
    text: contentOf(message) + refusalOf(message),
    reasoning: thoughtOf(message),
    logprobs: 'null',
    reason: reasonWord(reason),
  }
}
