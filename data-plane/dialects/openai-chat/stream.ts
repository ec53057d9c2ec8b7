import type { BadAnswer, Decoder, ReportedUsage } from '#data-plane/call.ts'
import { isRecord } from '../json-members.ts'
import { createSseReader } from '../sse.ts'
import { chatUsageJson, mergeUsage } from '../usage.ts'
import type { DecoderOptions } from './decoder.ts'
import { errorInside, knownFinishReason } from './decoder.ts'
import type { DeltaState } from './delta.ts'
import { deltaText, newDeltaState } from './delta.ts'

/** More answers than this in one stream are not read. */
const MAX_CHOICES = 8
/** A comment with a single newline: it dispatches no event, not even an empty one. */
const KEEP_ALIVE = ': keep-alive\n'

type Choice = { readonly delta: DeltaState; finishReason: string | null }

/**
 * A streamed answer. Every frame is rebuilt from an allow-list of fields on one data line; frames without content are
 * not sent (the role rides with the first content), the finish reason and the usage are kept for the end.
 */
export function streamDecoder({ plan, errorBody }: DecoderOptions): Decoder {
  const head =
    `data: {"id":"chatcmpl-${plan.rid}","object":"chat.completion.chunk","created":${plan.createdAt},` +
    `"model":${JSON.stringify(plan.target.model.id)},"choices":[`
  const reported: ReportedUsage = { insaneFields: 0 }
  const choices: (Choice | undefined)[] = []
  const counts = { contentBytes: 0, reasoningBytes: 0 }
  let pieces = 0
  let out = ''
  let isDone = false
  let isStopped = false
  let failure: BadAnswer | undefined

  function takeChoice(choice: unknown): void {
    if (!isRecord(choice)) return
    const index = choice['index'] ?? 0
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) return
    let state = choices[index]
    if (state === undefined) {
      state = { delta: newDeltaState(counts), finishReason: null }
      choices[index] = state
    }
    const delta = choice['delta']
    const text = isRecord(delta) ? deltaText(delta, state.delta) : ''
    if (text !== '') {
      const logprobs = choice['logprobs']
      const extra = logprobs === undefined || logprobs === null ? '' : `,"logprobs":${JSON.stringify(logprobs)}`
      out += `${head}{"index":${index},"delta":{${text}}${extra},"finish_reason":null}]}\n\n`
      pieces++
    }
    const reason = choice['finish_reason']
    if (reason === 'error') failure = { kind: 'error', status: 502, text: '' }
    else if (reason !== null && reason !== undefined) state.finishReason = knownFinishReason(reason)
  }

  function takeFrame(data: string): void {
    const frame: unknown = JSON.parse(data)
    if (!isRecord(frame)) {
      failure = { kind: 'malformed', status: 502, text: 'a frame that is not an object' }
      return
    }
    failure = errorInside(frame)
    if (failure) return
    if (frame['usage'] !== undefined && frame['usage'] !== null) mergeUsage(reported, frame['usage'])
    const list = frame['choices']
    if (Array.isArray(list)) for (const choice of list) takeChoice(choice)
  }

  const reader = createSseReader((data) => {
    if (data === '[DONE]') {
      isDone = true
      return false
    }
    try {
      takeFrame(data)
    } catch {
      failure = { kind: 'malformed', status: 502, text: 'a frame that is not JSON' }
    }
    return failure === undefined
  })

  /** What each answer ended with; one that had content and no reason has simply stopped, or been stopped. */
  function finishReasonOf(choice: Choice | undefined): string {
    if (isStopped) return 'length'
    return choice?.finishReason ?? (choice?.delta.hasToolCalls === true ? 'tool_calls' : 'stop')
  }

  function hasFinished(): boolean {
    return choices.length > 0 && choices.every((choice) => choice === undefined || choice.finishReason !== null)
  }

  function finishFrames(): string {
    let frames = ''
    for (let index = 0; index < Math.max(1, choices.length); index++) {
      if (choices.length > 0 && choices[index] === undefined) continue
      const reason = finishReasonOf(choices[index])
      const native = reason === 'length' && plan.isCeilingBound ? ',"native_finish_reason":"cost_ceiling_reached"' : ''
      frames += `${head}{"index":${index},"delta":{},"finish_reason":"${reason}"${native}}]}\n\n`
    }
    return frames
  }

  return {
    push(chunk) {
      if (isDone || failure) return ''
      reader.push(chunk)
      if (reader.isTooLong()) failure = { kind: 'malformed', status: 502, text: 'an event that is too long' }
      const ready = out
      out = ''
      return ready
    },
    end() {
      if (isDone || isStopped || failure) return
      reader.end()
      if (!isDone && !failure && !hasFinished()) failure = { kind: 'cut', status: 502, text: 'the stream has no end' }
    },
    contentPieces: () => pieces,
    isDone: () => isDone,
    failure: () => failure,
    ending() {
      const reason = pieces === 0 && !hasFinished() ? null : finishReasonOf(choices.find((one) => one !== undefined))
      return {
        reported,
        finishReason: reason === 'length' && plan.isCeilingBound ? 'cost_ceiling_reached' : reason,
        contentBytes: counts.contentBytes,
        reasoningBytes: counts.reasoningBytes,
      }
    },
    stop() {
      isStopped = true
      isDone = true
    },
    finish(receipt) {
      const rest = out
      out = ''
      return `${rest}${finishFrames()}${head}],"usage":${chatUsageJson(receipt)}}\n\ndata: [DONE]\n\n`
    },
    fail: (error) => `data: ${errorBody(error, plan.rid)}\n\n`,
    keepAlive: () => KEEP_ALIVE,
  }
}
