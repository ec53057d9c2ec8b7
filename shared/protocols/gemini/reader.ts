import type { JsonObject } from '#shared/json-members.ts'
import { elementTexts, isGiven, isRecord, memberTextIn } from '#shared/json-members.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import { callId } from '#shared/protocols/answers/call-id.ts'
import { isName, isText, wrongType } from '#shared/protocols/answers/chat-choice.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import { keepServedTier } from '#shared/protocols/answers/reported-usage.ts'
import type { AnswerReader, FinishReason } from '#shared/protocols/middle-form/answer.ts'
import type { Reading } from '#shared/protocols/middle-form/answer-reading.ts'
import { answerReader, newReading } from '#shared/protocols/middle-form/answer-reading.ts'
import { blockedPrompt } from './blocked-prompt.ts'
import { readName } from './function-names.ts'
import { signedDetail, signedMembers } from './signatures.ts'
import { mergeGeminiUsage } from './usage.ts'

/** The most calls that are read from one answer. */
const MAX_CALLS = 128
const MAX_ANSWER_ID_CHARS = 40
/** The header with the service tier that served the call. */
const TIER_HEADER = 'x-gemini-service-tier'

type State = Reading & {
  /** The ids of its calls so far. */
  readonly ids: Set<string>
  calls: number
  finish: FinishReason | undefined
  /** The answer's own id. */
  id: unknown
  /** The usage of the latest event. It is read once at the end, because each event of a stream repeats it. */
  usage: JsonObject | undefined
}

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['MAX_TOKENS', 'length'],
  ...[
    'SAFETY',
    'RECITATION',
    'LANGUAGE',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'OTHER',
    'MODEL_ARMOR',
    'IMAGE_SAFETY',
    'IMAGE_PROHIBITED_CONTENT',
    'IMAGE_RECITATION',
    'IMAGE_OTHER',
    'NO_IMAGE',
  ].map((word): [string, FinishReason] => [word, 'contentFilter']),
])

/** Finish reasons of an answer that failed inside the model. Another attempt may succeed. */
const SPOILT: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
])

/** Reads an answer in Gemini's own protocol as events. Each event of a stream is a whole answer with the next parts. */
export function geminiReader(isStreamed: boolean): AnswerReader {
  const state: State = { ids: new Set(), calls: 0, finish: undefined, id: undefined, usage: undefined, ...newReading() }
  const grammar = {
    takeFrame: (chunk: JsonObject, text: string) => takeAnswer(state, chunk, text),
    // The protocol has no end mark. Some proxies add that of another one.
    takeDoneMark: () => true,
    takeStop() {
      if (state.finish !== undefined) addFinish(state)
      return state.finish !== undefined
    },
    takeWhole(body: JsonObject, text: string) {
      takeAnswer(state, body, text)
      // An answer that ends without text still has its finish reason.
      if (state.events.length === 0 && state.finish === undefined) state.failure ??= malformed('no candidates')
      if (!state.failure) addFinish(state)
    },
  }
  return {
    ...answerReader(state, grammar, isStreamed),
    reported() {
      readUsage(state)
      return state.reported
    },
    takeHeaders: (headers) => keepServedTier(state.reported, headers[TIER_HEADER]),
  }
}

function takeAnswer(state: State, answer: JsonObject, text: string): void {
  state.failure = errorInside(answer) ?? blockedPrompt(answer['promptFeedback'])
  if (state.failure) return
  const { candidates, responseId, usageMetadata } = answer
  if (isRecord(usageMetadata)) holdUsage(state, usageMetadata)
  if (responseId !== undefined) state.id = responseId
  if (isGiven(candidates) && !Array.isArray(candidates)) state.failure = wrongType('candidates')
  const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined
  if (isGiven(first) && !isRecord(first)) state.failure = wrongType('candidates')
  if (!isRecord(first) || state.failure) return
  const { content, finishReason } = first
  const parts = isRecord(content) ? content['parts'] : content
  if (Array.isArray(parts)) takeParts(state, parts, text)
  else if (isGiven(parts)) state.failure = wrongType('content')
  if (!isText(finishReason)) state.failure ??= wrongType('finishReason')
  if (typeof finishReason === 'string' && !state.failure) takeReason(state, finishReason)
}

/** Keeps the usage of an event. Figures that the event leaves out keep their earlier values. */
function holdUsage(state: State, usage: JsonObject): void {
  for (const name in state.usage) {
    if (name in usage) continue
    readUsage(state)
    break
  }
  state.usage = usage
}

function readUsage(state: State): void {
  mergeGeminiUsage(state.reported, state.usage)
  state.usage = undefined
}

function takeReason(state: State, reason: string): void {
  if (reason === 'FINISH_REASON_UNSPECIFIED') return
  if (SPOILT.has(reason)) {
    const text = JSON.stringify({ error: { code: 'internal', message: `The answer ended with ${reason}.` } })
    state.failure = { kind: 'error', status: 502, text }
  } else state.finish = REASONS.get(reason) ?? 'stop'
}

function takeParts(state: State, parts: readonly unknown[], text: string): void {
  let texts: readonly string[] | undefined
  for (let index = 0; index < parts.length && !state.failure; index++) {
    const part: unknown = parts[index]
    if (!isRecord(part)) state.failure = malformed('an unreadable part')
    else if (part['functionCall'] === undefined) takePart(state, part)
    else {
      texts ??= partTexts(text)
      takePart(state, part, texts[index])
    }
  }
}

/** The texts of the first candidate's parts, unchanged. */
function partTexts(text: string): readonly string[] {
  const [candidate = ''] = elementTexts(memberTextIn(text, 'candidates') ?? '')
  return elementTexts(memberTextIn(memberTextIn(candidate, 'content') ?? '', 'parts') ?? '')
}

/** `own` is the part's own text where the part is a call, so that the call's input is passed on unchanged. */
function takePart(state: State, part: JsonObject, own?: string): void {
  const { events } = state
  const { text, thought, functionCall: call, thoughtSignature: signature } = part
  if (!isText(signature)) state.failure = wrongType('thoughtSignature')
  const ownSignature = typeof signature === 'string' && signature !== '' ? signature : undefined
  if (isGiven(call)) {
    takeCall(state, call, ownSignature, own)
    return
  }
  if (!isText(text)) state.failure = wrongType('text')
  if (state.failure) return
  if (typeof text === 'string' && text !== '') events.push({ kind: thought === true ? 'reasoning' : 'text', text })
  if (ownSignature !== undefined) events.push({ kind: 'reasoning', text: '', details: [signedDetail(ownSignature)] })
}

function takeCall(state: State, call: unknown, signature: string | undefined, own: string | undefined): void {
  const isRead = isRecord(call) && isName(call['name']) && isText(call['id']) && isArguments(call['args'])
  if (!isRead) {
    state.failure = malformed('an unreadable call')
    return
  }
  if (state.calls >= MAX_CALLS) return
  const { id, name, args } = call
  const index = state.calls++
  const answer = typeof state.id === 'string' ? state.id.replace(/[^\w-]/g, '').slice(0, MAX_ANSWER_ID_CHARS) : ''
  const prefix = answer === '' ? 'call' : `call_${answer}`
  state.events.push({
    kind: 'toolStart',
    index,
    id: callId(state.ids, id, `${prefix}_${index}`),
    name: readName(String(name)),
    ...(signature !== undefined && { members: signedMembers(signature) }),
  })
  const text = inputText(args, own)
  if (text !== '') state.events.push({ kind: 'toolInput', index, text })
}

/** True for an object of arguments, and for none. A value of another type would be lost. */
function isArguments(args: unknown): boolean {
  return !isGiven(args) || isRecord(args)
}

/** The arguments of a call, unchanged. Empty for a call without arguments. */
function inputText(args: unknown, own: string | undefined): string {
  if (!isRecord(args)) return ''
  const text = own === undefined ? undefined : memberTextIn(memberTextIn(own, 'functionCall') ?? '', 'args')
  return text ?? JSON.stringify(args)
}

function addFinish({ events, finish }: State): void {
  events.push({ kind: 'finish', reason: finish ?? 'stop', stopSequence: null })
}
