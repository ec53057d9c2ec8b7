import type { Decoder, Ending, ModelPlan } from '#data-plane/call.ts'
import { frameHead } from '#data-plane/wires/completions/answer-text.ts'
import { endMembers, failedStream, KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import type { StreamState } from '#shared/protocols/answers/frames.ts'
import { frameReader } from '#shared/protocols/answers/frames.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { ChoiceReaders } from './choice.ts'
import { thoughtMember } from './choice.ts'

type State = StreamState & {
  readonly plan: ModelPlan
  readonly readers: ChoiceReaders
  readonly head: string
  readonly reported: ReportedUsage
  /** The finish reason of each choice, null until it is known. */
  readonly reasons: (string | null)[]
  out: string
  pieces: number
  contentBytes: number
  reasoningBytes: number
  isStopped: boolean
}

/**
 * The choices of a streamed answer without its usage, rebuilt frame by frame. The end of each choice comes last. The
 * reader reads a piece of a choice.
 */
export function streamedChoices(plan: ModelPlan, readers: ChoiceReaders): Decoder {
  const state: State = {
    plan,
    readers,
    head: frameHead(plan),
    reported: { insaneFields: 0 },
    reasons: Array.from({ length: readers.count }, () => null),
    out: '',
    pieces: 0,
    contentBytes: 0,
    reasoningBytes: 0,
    isDone: false,
    isStopped: false,
    failure: undefined,
  }
  const frames = frameReader(state, {
    takeFrame: (frame) => takeFrame(state, frame),
    takeDoneMark() {
      state.isDone = true
      return false
    },
    takeStop: () => !state.reasons.includes(null),
  })
  return {
    push(chunk) {
      frames.push(chunk)
      const ready = state.out
      state.out = ''
      return ready
    },
    end: frames.end,
    contentPieces: () => state.pieces,
    isDone: () => state.isDone,
    failure: () => state.failure,
    ending: () => endingOf(state),
    stop() {
      state.isStopped = true
      state.isDone = true
    },
    finish: () => finish(state),
    fail: (error) => failedStream(error, plan.rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

function takeFrame(state: State, frame: JsonObject): void {
  state.failure = errorInside(frame)
  if (state.failure) return
  const { readers } = state
  const { choices } = frame
  mergeAnswerUsage(state.reported, frame)
  for (const frameChoice of Array.isArray(choices) ? choices : []) {
    const choice = readers.read(frameChoice, 0)
    if (choice === undefined) {
      state.failure = malformed('an unreadable choice')
      return
    }
    const { index, text, reasoning, logprobs, reason } = choice
    // The request has no such choice.
    if (index >= state.reasons.length) continue
    if (text !== '' || reasoning !== '') {
      const textMembers = `"text":${JSON.stringify(text)}${thoughtMember(reasoning)},"logprobs":${logprobs}`
      state.out += `${state.head}{"index":${readers.first + index},${textMembers},"finish_reason":null}]}\n\n`
      const thought = Buffer.byteLength(reasoning)
      state.reasoningBytes += thought
      state.contentBytes += Buffer.byteLength(text) + thought
      state.pieces++
    }
    if (reason !== null) state.reasons[index] = reason
  }
}

function reasonOf({ isStopped, reasons }: State, index: number): string {
  return reasons[index] ?? (isStopped ? 'length' : 'stop')
}

function endingOf(state: State): Ending {
  const { reported, contentBytes, reasoningBytes, plan, pieces, reasons } = state
  const isBlank = pieces === 0 && reasons.includes(null)
  const isLength = state.isStopped || reasons.includes('length')
  const reason = isLength ? 'length' : reasonOf(state, 0)
  return {
    reported,
    finishReason: isBlank ? null : isLength && plan.isCeilingBound ? 'cost_ceiling_reached' : reason,
    contentBytes,
    reasoningBytes,
  }
}

function finish(state: State): string {
  let frames = state.out
  state.out = ''
  for (const index of state.reasons.keys()) {
    const reason = reasonOf(state, index)
    const end = endMembers(reason, reason === 'length' && state.plan.isCeilingBound)
    frames += `${state.head}{"index":${state.readers.first + index},"text":"","logprobs":null,${end}}]}\n\n`
  }
  return frames
}
