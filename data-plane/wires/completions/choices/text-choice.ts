import { isGiven, isRecord } from '#shared/json-members.ts'
import { isReason, isText } from '#shared/protocols/answers/chat-choice.ts'
import type { TextChoice } from './choice.ts'
import { choiceIndex, reasonWord } from './choice.ts'

/** Reads a choice of the completions protocol, whole or a piece of it. */
export function readTextChoice(choice: unknown): TextChoice | undefined {
  if (!isRecord(choice)) return undefined
  const { text, logprobs, finish_reason: reason } = choice
  const index = choiceIndex(choice['index'], 0)
  if (index === undefined) return undefined
  if (!isText(text) || !isReason(reason) || (isGiven(logprobs) && !isRecord(logprobs))) return undefined
  return {
    index,
    text: typeof text === 'string' ? text : '',
    reasoning: '',
    logprobs: isRecord(logprobs) ? JSON.stringify(logprobs) : 'null',
    reason: reasonWord(reason),
  }
}
