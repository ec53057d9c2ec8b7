import type { AttemptPlan, BadAnswer, Decoder, Ending, Receipt, ReportedUsage } from '#data-plane/call.ts'
import { readFrame } from '#data-plane/dialects/answer-reading.ts'
import { malformed, NO_END, TOO_LONG } from '#data-plane/dialects/bad-answer.ts'
import type { JsonObject } from '#data-plane/dialects/json-members.ts'
import { errorInside } from '#data-plane/dialects/openai-chat/decoder.ts'
import { createSseReader } from '#data-plane/dialects/sse.ts'
import { mergeUsage } from '#data-plane/dialects/usage.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { answerHead, endMembers, KEEP_ALIVE, streamEnd } from './answer-text.ts'
import { readChoice } from './native-choice.ts'

type State = {
  readonly plan: AttemptPlan
  readonly head: string
  readonly reported: ReportedUsage
  /** The finish reason of each choice, null until it is known. */
  readonly reasons: (string | null)[]
  out: string
  pieces: number
  contentBytes: number
  isDone: boolean
  isStopped: boolean
  failure: BadAnswer | undefined
}

/** A streamed answer of the completions protocol itself, rebuilt frame by frame; the end of each choice comes last. */
export function nativeStreamDecoder(plan: AttemptPlan, count: number): Decoder {
  const state: State = {
    plan,
    head: answerHead(plan),
    reported: { insaneFields: 0 },
    reasons: Array.from({ length: count }, () => null),
    out: '',
    pieces: 0,
    contentBytes: 0,
    isDone: false,
    isStopped: false,
    failure: undefined,
  }
  const reader = createSseReader((data) => takeData(state, data))
  return {
    push(chunk) {
      if (state.isDone || state.failure) return ''
      reader.push(chunk)
      if (reader.isTooLong()) state.failure = TOO_LONG
      const ready = state.out
      state.out = ''
      return ready
    },
    end() {
      if (state.isDone || state.failure) return
      reader.end()
      if (!state.isDone && !state.failure && state.reasons.includes(null)) state.failure = NO_END
    },
    contentPieces: () => state.pieces,
    isDone: () => state.isDone,
    failure: () => state.failure,
    ending: () => endingOf(state),
    stop() {
      state.isStopped = true
      state.isDone = true
    },
    finish: (receipt) => finish(state, receipt),
    fail: (error) => `data: ${openAiErrorBody(error, plan.rid)}\n\ndata: [DONE]\n\n`,
    keepAlive: () => KEEP_ALIVE,
  }
}

function takeData(state: State, data: string): boolean {
  if (data === '[DONE]') {
    state.isDone = true
    return false
  }
  const frame = readFrame(data)
  if (typeof frame === 'string') state.failure = malformed(frame)
  else takeFrame(state, frame)
  return state.failure === undefined
}

function takeFrame(state: State, frame: JsonObject): void {
  state.failure = errorInside(frame)
  if (state.failure) return
  const { usage, choices } = frame
  mergeUsage(state.reported, usage)
  for (const given of Array.isArray(choices) ? choices : []) {
    const choice = readChoice(given, state.reasons.length)
    if (choice === undefined) continue
    const { index, text, logprobs, reason } = choice
    if (text !== '') {
      state.out +=
        `data: ${state.head}{"index":${index},"text":${JSON.stringify(text)},"logprobs":${logprobs},` +
        `"finish_reason":null}]}\n\n`
      state.contentBytes += Buffer.byteLength(text)
      state.pieces++
    }
    if (reason !== null) state.reasons[index] = reason
  }
}

function reasonOf({ isStopped, reasons }: State, index: number): string {
  return reasons[index] ?? (isStopped ? 'length' : 'stop')
}

function endingOf(state: State): Ending {
  const { reported, contentBytes, plan, pieces, reasons } = state
  const isBlank = pieces === 0 && reasons.includes(null)
  const isLength = state.isStopped || reasons.includes('length')
  const reason = isLength ? 'length' : reasonOf(state, 0)
  return {
    reported,
    finishReason: isBlank ? null : isLength && plan.isCeilingBound ? 'cost_ceiling_reached' : reason,
    contentBytes,
    reasoningBytes: 0,
  }
}

function finish(state: State, receipt: Receipt): string {
  let frames = state.out
  state.out = ''
  for (const index of state.reasons.keys()) {
    const reason = reasonOf(state, index)
    const end = endMembers(reason, reason === 'length' && state.plan.isCeilingBound)
    frames += `data: ${state.head}{"index":${index},"text":"","logprobs":null,${end}}]}\n\n`
  }
  return frames + streamEnd(state.head, receipt)
}
