import type { Decoder, Ending, ModelPlan, Receipt } from '#data-plane/call.ts'
import { frameHead } from '#data-plane/wires/chat/frames.ts'
import { endMembers, failedStream, KEEP_ALIVE, streamEnd } from '#data-plane/wires/openai-frames.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import { isReason, wrongType } from '#shared/protocols/answers/chat-choice.ts'
import type { FrameReader, StreamState } from '#shared/protocols/answers/frames.ts'
import { frameReader } from '#shared/protocols/answers/frames.ts'
import { errorInside, openAiFinishReason } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import { MAX_EVENT_CHARS, MAX_PICTURE_EVENT_CHARS } from '#shared/protocols/answers/sse.ts'
import type { DeltaState } from './delta.ts'
import { deltaText, newDeltaState, restText } from './delta.ts'
import { foundMembers } from './found-pages.ts'
import { isMistakenReason } from './regular-choice.ts'

/** Most choices that are read of one stream. */
const MAX_CHOICES = 8

type Choice = { readonly delta: DeltaState; finishReason: string | null }

type State = StreamState & {
  readonly plan: ModelPlan
  /** Choices that the provider was asked for. */
  readonly count: number
  /** The beginning of every frame. */
  readonly head: string
  readonly reported: ReportedUsage
  readonly choices: (Choice | undefined)[]
  readonly counts: DeltaState['counts']
  pieces: number
  /** The members with found pages, as in the last frame that has any. */
  members: string
  out: string
  isStopped: boolean
}

/**
 * A streamed answer. Every frame is rebuilt from an allow-list of fields on one data line; frames without content are
 * not sent (the role comes with the first content), and the finish reason and the usage are kept for the end.
 */
export function streamDecoder(plan: ModelPlan, count: number): Decoder {
  const state: State = {
    plan,
    count,
    head: frameHead(plan),
    reported: { insaneFields: 0 },
    choices: [],
    counts: { contentBytes: 0, reasoningBytes: 0, pictures: 0 },
    pieces: 0,
    members: '',
    out: '',
    isDone: false,
    isStopped: false,
    failure: undefined,
  }
  const grammar = {
    takeFrame: (frame: JsonObject) => takeFrame(state, frame),
    takeDoneMark() {
      state.isDone = true
      addRest(state)
      return false
    },
    takeStop() {
      addRest(state)
      return hasFinished(state)
    },
  }
  const makesPictures = plan.target.model.outputModalities.includes('image')
  const frames = frameReader(state, grammar, makesPictures ? MAX_PICTURE_EVENT_CHARS : MAX_EVENT_CHARS)
  return {
    push(chunk) {
      return push(state, frames, chunk)
    },
    end() {
      frames.end()
    },
    contentPieces() {
      return state.pieces
    },
    isDone() {
      return state.isDone
    },
    failure() {
      return state.failure
    },
    ending() {
      return endingOf(state)
    },
    stop() {
      state.isStopped = true
      state.isDone = true
    },
    finish(receipt) {
      return finish(state, receipt)
    },
    fail(error) {
      return failedStream(error, plan.rid)
    },
    keepAlive() {
      return KEEP_ALIVE
    },
  }
}

function push(state: State, frames: FrameReader, chunk: Buffer): string {
  frames.push(chunk)
  const ready = state.out
  state.out = ''
  return ready
}

function takeFrame(state: State, frame: JsonObject): void {
  state.failure = errorInside(frame)
  if (state.failure) return
  const { choices } = frame
  mergeAnswerUsage(state.reported, frame)
  const members = foundMembers(frame)
  if (members !== '') state.members = members
  if (Array.isArray(choices)) for (const choice of choices) takeChoice(state, choice)
}

function takeChoice(state: State, choice: unknown): void {
  if (!isRecord(choice)) {
    state.failure = wrongType('choices')
    return
  }
  const index = choice['index'] ?? 0
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) return
  let knownChoice = state.choices[index]
  if (knownChoice === undefined) {
    knownChoice = { delta: newDeltaState(state.counts), finishReason: null }
    state.choices[index] = knownChoice
  }
  // A whole answer in place of a stream holds messages.
  const { delta = choice['message'], logprobs, finish_reason: reason } = choice
  const text = isRecord(delta) ? deltaText(delta, knownChoice.delta) : ''
  if (knownChoice.delta.unreadable !== undefined || !isReason(reason)) {
    state.failure = wrongType(knownChoice.delta.unreadable ?? 'finish_reason')
    return
  }
  if (text !== '') {
    const extra = logprobs === undefined || logprobs === null ? '' : `,"logprobs":${JSON.stringify(logprobs)}`
    state.out += `${state.head}{"index":${index},"delta":{${text}}${extra},"finish_reason":null}]}\n\n`
    state.pieces++
  }
  if (reason === 'error') state.failure = { kind: 'error', status: 502, text: '' }
  else if (reason !== null && reason !== undefined) knownChoice.finishReason = openAiFinishReason(reason)
}

/** Adds the pieces of calls that no choice has shown. */
function addRest(state: State): void {
  for (const [index, choice] of state.choices.entries()) {
    const text = choice === undefined ? '' : restText(choice.delta)
    if (text !== '') state.out += `${state.head}{"index":${index},"delta":{${text}},"finish_reason":null}]}\n\n`
  }
}

function hasFinished({ choices, count }: State): boolean {
  let finished = 0
  for (const choice of choices) {
    if (choice === undefined) continue
    if (choice.finishReason === null) return false
    finished++
  }
  return finished >= count
}

/** The finish reason of a choice. A choice with content and no reason has simply stopped, or was stopped. */
function finishReasonOf({ isStopped }: State, choice: Choice | undefined): string {
  if (isStopped) return 'length'
  const hasCalls = choice?.delta.hasToolCalls === true || choice?.delta.hasFunctionCall === true
  const reason = choice?.finishReason ?? (hasCalls ? 'tool_calls' : 'stop')
  return isMistakenReason(reason, hasCalls) ? 'stop' : reason
}

function endingOf(state: State): Ending {
  const { reported, counts, choices, pieces, plan } = state
  const isBlank = pieces === 0 && !hasFinished(state)
  const first = choices.find((choice) => choice !== undefined)
  const reason = isBlank ? null : finishReasonOf(state, first)
  if (counts.pictures > 0) reported.images = counts.pictures
  return {
    reported,
    finishReason: reason === 'length' && plan.isCeilingBound ? 'cost_ceiling_reached' : reason,
    contentBytes: counts.contentBytes,
    reasoningBytes: counts.reasoningBytes,
  }
}

/** The terminal frame of every answer, then exactly one frame with the usage and its cost. */
function finish(state: State, receipt: Receipt): string {
  const { head, choices, plan, members } = state
  let frames = state.out
  state.out = ''
  for (let index = 0; index < Math.max(1, choices.length); index++) {
    if (choices.length > 0 && choices[index] === undefined) continue
    const reason = finishReasonOf(state, choices[index])
    const end = endMembers(reason, reason === 'length' && plan.isCeilingBound)
    frames += `${head}{"index":${index},"delta":{},${end}}]${members}}\n\n`
  }
  return frames + streamEnd(head, receipt)
}
