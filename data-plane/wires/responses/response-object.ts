import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { costMembers, INPUT_AND_OUTPUT } from '#data-plane/wires/usage-json.ts'
import { isRecord, memberText } from '#shared/json-members.ts'
import type { AnswerReader } from '#shared/protocols/middle-form/answer.ts'
import { cacheReadTokens, cacheWriteTokens, inputTokens, outputTokens } from '#shared/usage.ts'
import type { ResponsesRequest } from './read-request.ts'
import { UNNAMED_FORMAT } from './read-request.ts'

/** The progress of a response, with its parts as JSON text. */
export type ResponseState = {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  /** Items, separated by commas. */
  readonly output: string
  readonly usage?: string
  readonly incompleteDetails?: string
  readonly error?: string
}

/** Writes a response object; the members that repeat the request are made once. */
export type ResponseWriter = (state: ResponseState) => string

/** The writer of one answer's response object, at its beginning and at its end. */
export function responseWriter(
  request: ResponsesRequest,
  plan: ModelPlan,
  reported: AnswerReader['reported'],
): ResponseWriter {
  const { rid, createdAt, target, offer } = plan
  const head = `{"id":"resp_${rid}","object":"response","created_at":${createdAt},"completed_at":null`
  const model = `"model":${JSON.stringify(target.id)},"provider":${JSON.stringify(offer.provider)}`
  const echo = echoMembers(request)
  return ({ status, output, usage = 'null', incompleteDetails = 'null', error = 'null' }) =>
    `${head},"status":"${status}","error":${error},"incomplete_details":${incompleteDetails},${model},` +
    `"output":[${output}],"usage":${usage},"service_tier":${JSON.stringify(reported().serviceTier ?? 'default')},${echo}}`
}

/** The members that repeat the request: as given, or the applied default. */
function echoMembers({ json, keptTools }: ResponsesRequest): string {
  const { text, members, body } = json
  const memberOr = (name: string, otherwise: string) => {
    const value = body[name] === null ? undefined : memberText(text, members, name)
    return `"${name}":${value ?? otherwise}`
  }
  return [
    '"background":false',
    memberOr('frequency_penalty', '0'),
    memberOr('instructions', 'null'),
    memberOr('max_output_tokens', 'null'),
    memberOr('max_tool_calls', 'null'),
    memberOr('metadata', '{}'),
    memberOr('parallel_tool_calls', 'true'),
    memberOr('presence_penalty', '0'),
    '"previous_response_id":null',
    memberOr('prompt_cache_key', 'null'),
    `"reasoning":${reasoningText(body['reasoning'])}`,
    memberOr('safety_identifier', 'null'),
    // Nothing is kept here, whatever the request says.
    '"store":false',
    memberOr('temperature', '1'),
    `"text":${formatText(body['text'])}`,
    memberOr('tool_choice', '"auto"'),
    toolsText(keptTools ?? body['tools'], keptTools !== undefined) ?? memberOr('tools', '[]'),
    '"top_logprobs":0',
    memberOr('top_p', '1'),
    memberOr('truncation', '"disabled"'),
    memberOr('user', 'null'),
  ].join(',')
}

/**
 * The tools of a request, when some lack a member that clients require of a response: functions state whether they are
 * strict, and their parameters. Undefined when the request's own text will do, which a changed list does not have.
 */
function toolsText(tools: unknown, isChanged: boolean): string | undefined {
  if (!Array.isArray(tools)) return undefined
  const whole = tools.map((tool) => (isRecord(tool) && tool['type'] === 'function' ? wholeFunction(tool) : tool))
  const isOwn = !isChanged && whole.every((tool, at) => tool === tools[at])
  return isOwn ? undefined : `"tools":${JSON.stringify(whole)}`
}

function wholeFunction(tool: Readonly<Record<string, unknown>>): object {
  const { strict, parameters } = tool
  if (typeof strict === 'boolean' && parameters !== undefined) return tool
  return { ...tool, parameters: parameters ?? null, strict: strict ?? false }
}

function reasoningText(value: unknown): string {
  const { effort = null, summary = null } = isRecord(value) ? value : {}
  return JSON.stringify({ effort, summary })
}

function formatText(value: unknown): string {
  const text = isRecord(value) ? value : {}
  const { format } = text
  const whole = isRecord(format) && format['type'] === 'json_schema' ? { name: UNNAMED_FORMAT, ...format } : format
  return JSON.stringify({ ...text, format: whole ?? { type: 'text' } })
}

/** The `usage` of this wire: the provider's figures as metered, and their cost. */
export function usageText(receipt: Receipt): string {
  const { usage } = receipt
  const input = inputTokens(usage)
  const output = outputTokens(usage)
  return (
    `{"input_tokens":${input},"input_tokens_details":{"cached_tokens":${cacheReadTokens(usage)},` +
    `"cache_write_tokens":${cacheWriteTokens(usage)}},"output_tokens":${output},` +
    `"output_tokens_details":{"reasoning_tokens":${usage.reasoning ?? 0}},"total_tokens":${input + output},` +
    `${costMembers(receipt, INPUT_AND_OUTPUT)}}`
  )
}
