import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { errorFrame, KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven, readJsonObject } from '#shared/json-members.ts'
import { malformed, NO_OBJECT } from '#shared/protocols/answers/bad-answer.ts'
import type { StreamState } from '#shared/protocols/answers/frames.ts'
import { frameReader } from '#shared/protocols/answers/frames.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { heardJson, mergeHeard } from './heard-usage.ts'

type State = StreamState & {
  readonly reported: ReportedUsage
  readonly chunks: Buffer[]
  /** True when a provider answers whole although a stream was requested. */
  isWhole: boolean
  text: string
  pieces: number
  contentBytes: number
  /** Events to send. */
  out: string
}

/** A transcript as OpenAI streams it: deltas of text, and one last event with all of it, its duration and its cost. */
export function streamedTranscript(plan: ModelPlan): Decoder {
  const state: State = {
    reported: { insaneFields: 0 },
    chunks: [],
    isWhole: false,
    text: '',
    pieces: 0,
    contentBytes: 0,
    out: '',
    isDone: false,
    failure: undefined,
  }
  const frames = frameReader(state, {
    takeFrame: (event) => takeEvent(state, event),
    // No content follows this mark, but it does not end the answer. Only the last event does.
    takeDoneMark: () => false,
    takeStop: () => false,
  })
  return {
    head: {
      contentType: () => 'text/event-stream; charset=utf-8',
      takes({ status, contentType }) {
        state.isWhole = contentType.includes('json')
        return status === 200 && (state.isWhole || contentType.startsWith('text/event-stream'))
      },
    },
    push(chunk) {
      if (state.isWhole) state.chunks.push(chunk)
      else frames.push(chunk)
      return takeOut(state)
    },
    end() {
      if (state.isWhole) readWhole(state)
      else frames.end()
    },
    contentPieces: () => state.pieces,
    isDone: () => state.isDone && !state.isWhole,
    failure: () => state.failure,
    ending: () => ({
      reported: state.reported,
      finishReason: state.isDone ? 'stop' : null,
      contentBytes: state.contentBytes,
      reasoningBytes: 0,
    }),
    stop() {
      // A transcript ends where its audio does.
    },
    finish(receipt) {
      const last = `{"type":"transcript.text.done","text":${JSON.stringify(state.text)},"usage":${heardJson(receipt, plan)}}`
      return `${takeOut(state)}data: ${last}\n\n`
    },
    fail: (error) => errorFrame(error, plan.rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

function takeOut(state: State): string {
  const { out } = state
  state.out = ''
  return out
}

function takeEvent(state: State, event: JsonObject): void {
  state.failure = errorInside(event)
  if (state.failure) return
  const { delta, text } = event
  if (event['type'] === 'transcript.text.delta') {
    if (typeof delta === 'string') addText(state, delta, event['logprobs'])
    else if (isGiven(delta)) state.failure = malformed('a delta that is no text')
  }
  if (event['type'] !== 'transcript.text.done') return
  if (isGiven(text) && typeof text !== 'string') {
    state.failure = malformed('no text')
    return
  }
  // A provider that sends only the last event sends its whole text there.
  if (typeof text === 'string' && state.pieces === 0) addText(state, text, undefined)
  mergeHeard(state.reported, event)
  state.isDone = true
}

function addText(state: State, delta: string, logprobs: unknown): void {
  if (delta === '') return
  state.text += delta
  state.pieces++
  state.contentBytes += Buffer.byteLength(delta)
  const more = Array.isArray(logprobs) ? `,"logprobs":${JSON.stringify(logprobs)}` : ''
  state.out += `data: {"type":"transcript.text.delta","delta":${JSON.stringify(delta)}${more}}\n\n`
}

function readWhole(state: State): void {
  const body = readJsonObject(Buffer.concat(state.chunks).toString('utf8'))
  state.failure = body === undefined ? NO_OBJECT : errorInside(body)
  if (body === undefined || state.failure) return
  if (typeof body['text'] !== 'string') {
    state.failure = malformed('no text')
    return
  }
  addText(state, body['text'], body['logprobs'])
  mergeHeard(state.reported, body)
  state.isDone = true
}
