import type { AttemptPlan, BadAnswer, Decoder, ReportedUsage } from '#data-plane/call.ts'
import type { JsonMember } from '#data-plane/dialects/json-members.ts'
import { isRecord, scanMembers } from '#data-plane/dialects/json-members.ts'
import { chatUsageJson, mergeUsage } from '#data-plane/dialects/usage.ts'
import type { DecoderOptions } from './decoder.ts'
import { errorInside, knownFinishReason } from './decoder.ts'

/** Top members of a provider's answer that pass beside the choices. */
const PASSED = ['system_fingerprint', 'service_tier'] as const
const MAX_PASSED_CHARS = 200
/** Members of a message that are content. */
const CONTENT = ['content', 'refusal', 'tool_calls', 'function_call', 'audio', 'images'] as const

type Answer = {
  readonly reported: ReportedUsage
  /** The provider's choices as text, and what else may pass. */
  choices: string
  extra: string
  finishReason: string | null
  contentBytes: number
  reasoningBytes: number
  failure: BadAnswer | undefined
}

/**
 * A whole answer: kept until the provider is done, then rebuilt from an allow-list of members. The choices stay the
 * provider's own text; id, model and usage are ours.
 */
export function wholeDecoder({ plan, errorBody }: DecoderOptions): Decoder {
  const chunks: Buffer[] = []
  const answer: Answer = {
    reported: { insaneFields: 0 },
    choices: '',
    extra: '',
    finishReason: null,
    contentBytes: 0,
    reasoningBytes: 0,
    failure: undefined,
  }
  return {
    push(chunk) {
      chunks.push(chunk)
      return ''
    },
    end() {
      readAnswer(answer, textOf(chunks), plan)
    },
    contentPieces() {
      return answer.contentBytes > 0 ? 1 : 0
    },
    isDone() {
      return false
    },
    failure() {
      return answer.failure
    },
    ending() {
      const { finishReason } = answer
      return {
        reported: answer.reported,
        finishReason: finishReason === 'length' && plan.isCeilingBound ? 'cost_ceiling_reached' : finishReason,
        contentBytes: answer.contentBytes,
        reasoningBytes: answer.reasoningBytes,
      }
    },
    stop() {
      // A whole answer is taken whole.
    },
    finish(receipt) {
      return (
        `{"id":"chatcmpl-${plan.rid}","object":"chat.completion","created":${plan.createdAt},` +
        `"model":${JSON.stringify(plan.target.model.id)},"choices":${answer.choices},` +
        `"usage":${chatUsageJson(receipt)}${answer.extra}}`
      )
    },
    fail(error) {
      return errorBody(error, plan.rid)
    },
    keepAlive() {
      return ''
    },
  }
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks
  return (chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)).toString('utf8')
}

function readAnswer(answer: Answer, text: string, { isCeilingBound }: AttemptPlan): void {
  const members = scanMembers(text)
  const body = members === undefined ? undefined : parse(text)
  if (members === undefined || !isRecord(body)) {
    answer.failure = malformed('not a JSON object of a sane depth')
    return
  }
  answer.failure = errorInside(body)
  if (answer.failure) return
  const list = body['choices']
  if (!Array.isArray(list) || list.length === 0) {
    answer.failure = malformed('no choices')
    return
  }
  for (const choice of list) readChoice(answer, choice)
  mergeUsage(answer.reported, body['usage'])
  answer.choices = isCeilingBound ? JSON.stringify(list.map(withReason)) : valueText(text, members, 'choices')
  for (const name of PASSED) {
    const value = body[name]
    if (typeof value === 'string' && value.length <= MAX_PASSED_CHARS)
      answer.extra += `,"${name}":${JSON.stringify(value)}`
  }
}

function readChoice(answer: Answer, choice: unknown): void {
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) {
    answer.failure = malformed('a choice without a message')
    return
  }
  answer.finishReason ??= knownFinishReason(choice['finish_reason'])
  const reasoning = bytesOf(message['reasoning_content']) || bytesOf(message['reasoning'])
  answer.reasoningBytes += reasoning
  answer.contentBytes += reasoning
  for (const name of CONTENT) answer.contentBytes += bytesOf(message[name])
}

/** A choice that the buyer's own ceiling has shortened says so beside its reason. */
function withReason(choice: unknown): unknown {
  if (!isRecord(choice) || choice['finish_reason'] !== 'length') return choice
  return { ...choice, native_finish_reason: 'cost_ceiling_reached' }
}

function malformed(text: string): BadAnswer {
  return { kind: 'malformed', status: 502, text }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The text of the last member of that name, which is the one that JSON.parse read. */
function valueText(text: string, members: readonly JsonMember[], key: string): string {
  let found = '[]'
  for (const member of members) if (member.key === key) found = text.slice(member.start, member.end).trim()
  return found
}

function bytesOf(value: unknown): number {
  if (value === null || value === undefined || value === '') return 0
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (Array.isArray(value) && value.length === 0) return 0
  return Buffer.byteLength(JSON.stringify(value))
}
