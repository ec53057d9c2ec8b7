import type { Decoder, InlinedSource, ModelPlan, Receipt } from '#data-plane/call.ts'
import { wholeHead } from '#data-plane/wires/chat/frames.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { fullLength, piecesOf } from '#data-plane/wires/inlined-data.ts'
import { chatUsageJson } from '#data-plane/wires/usage-json.ts'
import type { WholeAnswer } from '#data-plane/wires/whole-answer.ts'
import { gatherAround, gatherWhole, readAnswerText, readWholeAnswer } from '#data-plane/wires/whole-answer.ts'
import { isRecord, memberText } from '#shared/json-members.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import { malformed, NO_OBJECT } from '#shared/protocols/answers/bad-answer.ts'
import { choiceFault } from '#shared/protocols/answers/chat-choice.ts'
import { errorInside, openAiFinishReason } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import { foundMembers } from './found-pages.ts'
import { regularChoice } from './regular-choice.ts'

const MAX_PASSED_CHARS = 200
const NOTHING_INLINED: InlinedSource = { bytes: [], hasStandIns: false }
/** Members of a message that are content. */
const CONTENT = ['content', 'refusal', 'tool_calls', 'function_call', 'audio'] as const

type Answer = {
  readonly reported: ReportedUsage
  /** The provider's choices as text, and the other permitted members. */
  choices: string
  extra: string
  finishReason: string | null
  contentBytes: number
  reasoningBytes: number
  /** The place of large images' data. */
  inlined: InlinedSource
  failure: BadAnswer | undefined
}

/**
 * A whole answer: kept until the provider has finished, then rebuilt from an allow-list of members. The choices stay
 * the provider's own text; id, model and usage are the market's.
 */
export function wholeDecoder(plan: ModelPlan, count: number): Decoder {
  const answer: Answer = {
    reported: { insaneFields: 0 },
    choices: '',
    extra: '',
    finishReason: null,
    contentBytes: 0,
    reasoningBytes: 0,
    inlined: NOTHING_INLINED,
    failure: undefined,
  }
  const read = (wholeAnswer: WholeAnswer | undefined) => {
    readAnswer(answer, wholeAnswer, { plan, count })
    return answer
  }
  const hasPictures = plan.target.model.outputModalities.includes('image')
  const whole = hasPictures
    ? gatherAround((around) => {
        answer.inlined = around?.source ?? NOTHING_INLINED
        return read(around && readAnswerText(around.text))
      })
    : gatherWhole((bytes) => read(readWholeAnswer(bytes)))
  const write = (receipt: Receipt) =>
    `${wholeHead(plan)}${answer.choices},"usage":${chatUsageJson(receipt)}${answer.extra}}`
  return {
    ending() {
      const { finishReason } = answer
      return {
        reported: answer.reported,
        finishReason: finishReason === 'length' && plan.isCeilingBound ? 'cost_ceiling_reached' : finishReason,
        contentBytes: answer.contentBytes,
        reasoningBytes: answer.reasoningBytes,
      }
    },
    finish: write,
    whole: hasPictures ? { pieces: (receipt) => piecesOf(write(receipt), answer.inlined) } : undefined,
    fail(error) {
      return openAiErrorBody(error, plan.rid)
    },
    push: whole.push,
    end: whole.end,
    contentPieces: whole.contentPieces,
    isDone: whole.isDone,
    failure: whole.failure,
    stop: whole.stop,
    keepAlive: whole.keepAlive,
  }
}

type Bounds = { readonly plan: ModelPlan; readonly count: number }

function readAnswer(
  answer: Answer,
  wholeAnswer: WholeAnswer | undefined,
  { plan: { isCeilingBound }, count }: Bounds,
): void {
  if (wholeAnswer === undefined) {
    answer.failure = NO_OBJECT
    return
  }
  const { text, members, body } = wholeAnswer
  answer.failure = errorInside(body)
  if (answer.failure) return
  const list = body['choices']
  if (!Array.isArray(list) || list.length < count) {
    answer.failure = malformed('fewer choices than were asked for')
    return
  }
  const choices: unknown[] = []
  for (const choice of list) {
    answer.failure = choiceFault(choice)
    if (answer.failure) return
    const regular = regularChoice(choice)
    readChoice(answer, regular)
    choices.push(regular)
  }
  mergeAnswerUsage(answer.reported, body)
  const isChanged = choices.some((choice, place) => choice !== list[place])
  if (isCeilingBound) answer.choices = JSON.stringify(choices.map(withReason))
  else answer.choices = isChanged ? JSON.stringify(choices) : (memberText(text, members, 'choices') ?? '[]')
  // A reader of this wire always finds the fingerprint; null when the provider gives none.
  answer.extra = `,"system_fingerprint":${passedText(body['system_fingerprint']) ?? 'null'}`
  const tier = passedText(body['service_tier'])
  if (tier !== undefined) answer.extra += `,"service_tier":${tier}`
  answer.extra += foundMembers(body)
}

/** A text of the provider as JSON, if it is short enough. */
function passedText(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= MAX_PASSED_CHARS ? JSON.stringify(value) : undefined
}

/** Reads a choice that has no fault. */
function readChoice(answer: Answer, choice: unknown): void {
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) return
  answer.finishReason ??= openAiFinishReason(choice['finish_reason'])
  const bytesOf = (value: unknown) => contentBytes(value, answer.inlined)
  const reasoning = bytesOf(message['reasoning_content']) || bytesOf(message['reasoning'])
  answer.reasoningBytes += reasoning
  answer.contentBytes += reasoning
  for (const name of CONTENT) answer.contentBytes += bytesOf(message[name])
  const { images } = message
  if (Array.isArray(images) && images.length > 0) {
    answer.reported.images = (answer.reported.images ?? 0) + images.length
    // An image counts as one byte, because its bytes say nothing about its tokens.
    answer.contentBytes += images.length
  }
}

/** A choice that the buyer's own ceiling has shortened shows that beside its reason. */
function withReason(choice: unknown): unknown {
  if (!isRecord(choice) || choice['finish_reason'] !== 'length') return choice
  return { ...choice, native_finish_reason: 'cost_ceiling_reached' }
}

function contentBytes(value: unknown, { hasStandIns }: InlinedSource): number {
  if (value === null || value === undefined || value === '') return 0
  if (Array.isArray(value) && value.length === 0) return 0
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  return hasStandIns ? bytes + fullLength(text) - text.length : bytes
}
