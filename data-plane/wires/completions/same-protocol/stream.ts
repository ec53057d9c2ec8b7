import type { Decoder, Ending, ModelPlan, Receipt } from '#data-plane/call.ts'
import { frameHead } from '#data-plane/wires/completions/answer-text.ts'
import { endMembers, failedStream, KEEP_ALIVE, streamEnd } from '#data-plane/wires/openai-frames.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import type { StreamState } from '#shared/protocols/answers/frames.ts'
import { frameReader } from '#shared/protocols/answers/frames.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'
import { readChoice } from './choice.ts'

type State = StreamState & {
  readonly plan: ModelPlan
  readonly head: string
  readonly reported: ReportedUsage
  /** The finish reason of each choice, null until it is known. */
  readonly reasons: (string | null)[]
  out: string
  pieces: number
  contentBytes: number
  isStopped: boolean
}

/** A streamed answer of the completions protocol itself, rebuilt frame by frame; the end of each choice comes last. */
export function nativeStreamDecoder(plan: ModelPlan, count: number): Decoder {
  const state: State = {
    plan,
    head: frameHead(plan),
    reported: { insaneFields: 0 },
    reasons: Array.from({ length: count }, () => null),
    out: '',
    pieces: 0,
    contentBytes: 0,
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
    finish: (receipt) => finish(state, receipt),
    fail: (error) => failedStream(error, plan.rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

function takeFrame(state: State, frame: JsonObject): void {
  state.failure = errorInside(frame)
  if (state.failure) return
  const { usage, choices } = frame
  mergeUsage(state.reported, usage)
  for (const given of Array.isArray(choices) ? choices : []) {
    const choice = readChoice(given)
    if (choice === undefined) {
      state.failure = malformed('a choice that nobody can read')
      return
    }
    const { index, text, logprobs, reason } = choice
    // Nobody asked for it.
    if (index >= state.reasons.length) continue
    if (text !== '') {
      state.out +=
        `${state.head}{"index":${index},"text":${JSON.stringify(text)},"logprobs":${logprobs},` +
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
    frames += `${state.head}{"index":${index},"text":"","logprobs":null,${end}}]}\n\n`
  }
  return frames + streamEnd(state.head, receipt)
}
