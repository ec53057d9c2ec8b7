import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import { takeCount } from '#shared/protocols/answers/reported-usage.ts'
import type { AnswerReader, FinishReason } from '#shared/protocols/middle-form/answer.ts'
import { answerReader, newReading } from '#shared/protocols/middle-form/answer-reading.ts'

const REASONS: Readonly<Record<string, FinishReason>> = { MAX_TOKENS: 'length', SAFETY: 'contentFilter' }

/** Reads the first candidate. Streamed or whole, each object has the same shape; a finish reason ends a stream. */
export function contentsReader(isStreamed: boolean): AnswerReader {
  const state = { hasFinished: false, ...newReading() }
  const take = (body: JsonObject) => {
    state.failure = errorInside(body)
    if (state.failure) return
    const { candidates, usageMetadata: usage } = body
    const input = takeCount(state.reported, usage, 'promptTokenCount')
    if (input !== undefined) state.reported.inputTokens = input
    const output = takeCount(state.reported, usage, 'candidatesTokenCount')
    if (output !== undefined) state.reported.outputTokens = output
    const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined
    if (!isRecord(first)) return
    const text = textIn(first['content'])
    if (text !== '') state.events.push({ kind: 'text', text })
    const reason = first['finishReason']
    if (typeof reason !== 'string' || state.hasFinished) return
    state.hasFinished = true
    state.events.push({ kind: 'finish', reason: REASONS[reason] ?? 'stop', stopSequence: null })
  }
  const grammar = { takeFrame: take, takeWhole: take, takeDoneMark: () => true, takeStop: () => state.hasFinished }
  return answerReader(state, grammar, isStreamed)
}

function textIn(content: unknown): string {
  const parts: unknown = isRecord(content) ? content['parts'] : undefined
  if (!Array.isArray(parts)) return ''
  let text = ''
  for (const part of parts) if (isRecord(part) && typeof part['text'] === 'string') text += part['text']
  return text
}
