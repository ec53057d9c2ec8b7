import type { AttemptPlan, BadAnswer, Decoder, ReportedUsage } from '#data-plane/call.ts'
import { readFrame } from '#data-plane/dialects/answer-reading.ts'
import { malformed, NO_END, NO_OBJECT, TOO_LONG } from '#data-plane/dialects/bad-answer.ts'
import type { JsonObject } from '#data-plane/dialects/json-members.ts'
import { isRecord, readJsonObject } from '#data-plane/dialects/json-members.ts'
import { errorInside } from '#data-plane/dialects/openai-chat/decoder.ts'
import { createSseReader } from '#data-plane/dialects/sse.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { durationJson, mergeDuration } from './reported-duration.ts'

/** One comment line and no event: what every reader of such streams passes over. */
const KEEP_ALIVE = ': keep-alive\n'

type State = {
  readonly reported: ReportedUsage
  readonly chunks: Buffer[]
  /** True where a provider answers whole although a stream was asked for. */
  isWhole: boolean
  text: string
  pieces: number
  contentBytes: number
  /** Events to be sent. */
  out: string
  isDone: boolean
  failure: BadAnswer | undefined
}

/** A transcript as OpenAI streams it: deltas of text, and one last event with all of it, its time and its cost. */
export function streamedTranscript(plan: AttemptPlan): Decoder {
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
  const reader = createSseReader((data) => takeEvent(state, data))
  return {
    contentType: () => 'text/event-stream; charset=utf-8',
    takesType(given) {
      state.isWhole = given.includes('json')
      return state.isWhole || given.startsWith('text/event-stream')
    },
    push(chunk) {
      if (state.isWhole) state.chunks.push(chunk)
      else reader.push(chunk)
      if (reader.isTooLong()) state.failure ??= TOO_LONG
      return takeOut(state)
    },
    end() {
      if (state.isWhole) readWhole(state)
      else reader.end()
      if (!state.isDone) state.failure ??= NO_END
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
      const last = `{"type":"transcript.text.done","text":${JSON.stringify(state.text)},"usage":${durationJson(receipt)}}`
      return `${takeOut(state)}data: ${last}\n\n`
    },
    fail: (error) => `data: ${openAiErrorBody(error, plan.rid)}\n\n`,
    keepAlive: () => KEEP_ALIVE,
  }
}

function takeOut(state: State): string {
  const { out } = state
  state.out = ''
  return out
}

function takeEvent(state: State, data: string): boolean {
  if (data === '[DONE]') return false
  const event = readFrame(data)
  if (typeof event === 'string') {
    state.failure = malformed(event)
    return false
  }
  state.failure = errorOf(event)
  if (state.failure) return false
  const { delta, text } = event
  if (event['type'] === 'transcript.text.delta' && typeof delta === 'string') addText(state, delta, event['logprobs'])
  if (event['type'] !== 'transcript.text.done') return true
  // Who sends the end alone has still sent the text.
  if (typeof text === 'string' && state.pieces === 0) addText(state, text, undefined)
  mergeDuration(state.reported, event)
  state.isDone = true
  return false
}

/** An error among the events, in either of its two shapes. */
function errorOf(event: JsonObject): BadAnswer | undefined {
  return errorInside(event['type'] === 'error' && !isRecord(event['error']) ? { error: event } : event)
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
  mergeDuration(state.reported, body)
  state.isDone = true
}
