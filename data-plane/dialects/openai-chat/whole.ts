import type { BadAnswer, Decoder, ReportedUsage } from '#data-plane/call.ts'
import type { JsonMember } from '../json-members.ts'
import { isRecord, scanMembers } from '../json-members.ts'
import { chatUsageJson, mergeUsage } from '../usage.ts'
import type { DecoderOptions } from './decoder.ts'
import { errorInside, knownFinishReason } from './decoder.ts'

/** Top members of a provider's answer that pass beside the choices. */
const PASSED = ['system_fingerprint', 'service_tier'] as const

/**
 * A whole answer: kept until the provider is done, then rebuilt from an allow-list of members. The choices stay the
 * provider's own text; id, model and usage are ours.
 */
export function wholeDecoder({ plan, errorBody }: DecoderOptions): Decoder {
  const chunks: Buffer[] = []
  const reported: ReportedUsage = { insaneFields: 0 }
  let text = ''
  let choices = ''
  let extra = ''
  let finishReason: string | null = null
  let contentBytes = 0
  let reasoningBytes = 0
  let failure: BadAnswer | undefined

  function readChoices(list: readonly unknown[]): void {
    for (const choice of list) {
      if (!isRecord(choice) || !isRecord(choice['message'])) {
        failure = malformed('a choice without a message')
        return
      }
      finishReason ??= knownFinishReason(choice['finish_reason'])
      const reasoning = bytesOf(choice['message']['reasoning_content']) || bytesOf(choice['message']['reasoning'])
      reasoningBytes += reasoning
      contentBytes += reasoning
      for (const name of ['content', 'refusal', 'tool_calls', 'function_call', 'audio', 'images']) {
        contentBytes += bytesOf(choice['message'][name])
      }
    }
  }

  function read(): void {
    const members = scanMembers(text)
    if (members === undefined) {
      failure = malformed('too deep, or cut')
      return
    }
    const body = parse(text)
    if (!isRecord(body)) {
      failure = malformed('not a JSON object')
      return
    }
    failure = errorInside(body)
    const list = body['choices']
    if (failure) return
    if (!Array.isArray(list) || list.length === 0) {
      failure = malformed('no choices')
      return
    }
    readChoices(list)
    mergeUsage(reported, body['usage'])
    choices = valueText(text, members, 'choices')
    for (const name of PASSED) {
      const value = body[name]
      if (typeof value === 'string' && value.length <= 200) extra += `,"${name}":${JSON.stringify(value)}`
    }
  }

  return {
    push(chunk) {
      chunks.push(chunk)
      return ''
    },
    end() {
      text = chunks.length === 1 && chunks[0] ? chunks[0].toString('utf8') : Buffer.concat(chunks).toString('utf8')
      read()
    },
    contentPieces: () => (contentBytes > 0 ? 1 : 0),
    isDone: () => false,
    failure: () => failure,
    ending: () => ({
      reported,
      finishReason: finishReason === 'length' && plan.isCeilingBound ? 'cost_ceiling_reached' : finishReason,
      contentBytes,
      reasoningBytes,
    }),
    stop: () => undefined,
    finish: (receipt) =>
      `{"id":"chatcmpl-${plan.rid}","object":"chat.completion","created":${plan.createdAt},` +
      `"model":${JSON.stringify(plan.target.model.id)},"choices":${choices},"usage":${chatUsageJson(receipt)}${extra}}`,
    fail: (error) => errorBody(error, plan.rid),
    keepAlive: () => '',
  }
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
