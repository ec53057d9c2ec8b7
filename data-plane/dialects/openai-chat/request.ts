import type { AttemptPlan, UpstreamRequest } from '#data-plane/call.ts'
import type { JsonMember } from '#data-plane/dialects/json-members.ts'
import { isRecord, lastMembers } from '#data-plane/dialects/json-members.ts'
import type { Model } from '#shared/catalog/model.ts'
import { takesParameter } from '#shared/catalog/model.ts'

/** A chat request that can be forwarded by editing its own text. */
export type EditableRequest = {
  readonly text: string
  readonly members: readonly JsonMember[]
  readonly body: Readonly<Record<string, unknown>>
  readonly isStreamed: boolean
  readonly maxTokens: number | undefined
}

/** Parameters that go only to models which list them, and the names under which a model may list each. */
const GATED: ReadonlyMap<string, readonly string[]> = new Map([
  ...[
    'temperature',
    'top_p',
    'top_k',
    'top_a',
    'min_p',
    'frequency_penalty',
    'presence_penalty',
    'repetition_penalty',
    'seed',
    'stop',
    'logit_bias',
    'logprobs',
    'top_logprobs',
    'reasoning_effort',
    'reasoning',
    'verbosity',
    'web_search_options',
  ].map((name): [string, readonly string[]] => [name, [name]]),
  ['tools', ['tools']],
  ['tool_choice', ['tools']],
  ['parallel_tool_calls', ['tools']],
  ['functions', ['tools']],
  ['function_call', ['tools']],
  ['response_format', ['response_format', 'structured_outputs']],
])

/** Members that we write ourselves, whatever the buyer sent. */
const REWRITTEN: ReadonlySet<string> = new Set([
  'model',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
])

const parameterSets = new WeakMap<Model, ReadonlySet<string>>()

/**
 * The request for a seller who speaks the OpenAI protocol. What a buyer said stays byte for byte; only the model's name,
 * the output limit and the stream options are ours, and what routing reads or the model does not take is left out.
 */
export function encodeChatRequest(
  request: EditableRequest,
  routingFields: ReadonlySet<string>,
  plan: AttemptPlan,
): UpstreamRequest {
  const { model } = plan.target
  const adapted: string[] = []
  const limitName = limitParameter(request.body, model)
  let text = `{"model":${JSON.stringify(plan.offer.providerModel)}`
  for (const member of lastMembers(request.members)) {
    const { key } = member
    if (REWRITTEN.has(key) || routingFields.has(key) || request.body[key] === null) continue
    if (!takesMember(model, key)) {
      adapted.push(key)
      continue
    }
    const edited = key === 'tools' ? functionTools(request.body[key]) : undefined
    if (edited !== undefined) adapted.push(key)
    if (edited === '[]') continue
    text += `,${JSON.stringify(key)}:${edited ?? request.text.slice(member.start, member.end).trim()}`
  }
  if (request.maxTokens !== plan.maxOutputTokens) adapted.push(limitName)
  text += `,"${limitName}":${plan.maxOutputTokens}`
  text += request.isStreamed ? ',"stream":true,"stream_options":{"include_usage":true}}' : '}'
  return {
    path: '/chat/completions',
    body: text,
    contentType: 'application/json',
    accept: request.isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: adapted,
  }
}

/** Whether a model takes a member of the request by what its catalogue entry lists. */
export function takesMember(model: Model, key: string): boolean {
  // It may stand in a model's list and is still never forwarded on this wire.
  if (key === 'include_reasoning') return false
  const names = GATED.get(key)
  if (names === undefined) return true
  let known = parameterSets.get(model)
  if (known === undefined) {
    known = new Set(model.parameters)
    parameterSets.set(model, known)
  }
  // A catalogue entry that lists nothing says nothing.
  return known.size === 0 || names.some((name) => known.has(name))
}

/** The tools as JSON text where some are not functions and had to go; undefined where all may stay as they came. */
function functionTools(tools: unknown): string | undefined {
  if (!Array.isArray(tools)) return undefined
  const kept = tools.filter((tool) => isRecord(tool) && tool['type'] === 'function')
  return kept.length === tools.length ? undefined : JSON.stringify(kept)
}

function limitParameter(body: Readonly<Record<string, unknown>>, model: Model): 'max_tokens' | 'max_completion_tokens' {
  if (body['max_tokens'] !== undefined && body['max_tokens'] !== null) return 'max_tokens'
  if (body['max_completion_tokens'] !== undefined && body['max_completion_tokens'] !== null) {
    return 'max_completion_tokens'
  }
  const prefersNew = takesParameter(model, 'max_completion_tokens') && !takesParameter(model, 'max_tokens')
  return prefersNew ? 'max_completion_tokens' : 'max_tokens'
}
