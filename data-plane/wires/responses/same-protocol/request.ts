import type { ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { isAbsent } from '#data-plane/wires/responses/parameters.ts'
import type { ResponsesRequest } from '#data-plane/wires/responses/read-request.ts'
import { SAMPLING_FIELDS } from '#data-plane/wires/sampling.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import { isRecord, lastMembers } from '#shared/json-members.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import { EVENT_STREAM, JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { fixedMembers, RESPONSES_PATH, reasoningOf } from '#shared/protocols/responses-form.ts'
import { passedItems } from './passed-items.ts'
import { isChoiceAmong, passedTools } from './passed-tools.ts'

/**
 * Members that are forwarded unchanged, each with the name by which a model may list it. The name is empty for a member
 * that no model lists.
 */
const PASSED: ReadonlyMap<string, string> = new Map([
  ['input', ''],
  ['instructions', ''],
  ['text', ''],
  ['reasoning', ''],
  ['tools', 'tools'],
  ['tool_choice', 'tools'],
  ['parallel_tool_calls', 'tools'],
  ['max_tool_calls', 'tools'],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['metadata', ''],
  ['user', ''],
  ['safety_identifier', ''],
  ['prompt_cache_key', ''],
  ['prompt_cache_retention', ''],
  ['prompt_cache_options', ''],
  ['service_tier', ''],
])
/** Members that are always written here, or whose only accepted value is the default. */
const OWN: ReadonlySet<string> = new Set([
  'model',
  'max_output_tokens',
  'stream',
  'stream_options',
  'store',
  'include',
  'background',
  'n',
  'top_logprobs',
])

/** Members that no seller receives. Input is never shortened, and the others belong to chats. */
const UNSAID: ReadonlySet<string> = new Set(['truncation', 'stop', ...SAMPLING_FIELDS])

type MemberEdit = { readonly request: ResponsesRequest; readonly plan: ModelPlan; readonly adapted: string[] }

/**
 * The buyer's own request, edited. The buyer's members stay byte for byte; the market sets the model's name, the output
 * limit and `store`. Members that the model does not take, tools that run at the provider and unknown members are left
 * out and named.
 */
export function encodeResponsesRequest(request: ResponsesRequest, plan: ModelPlan): UpstreamRequest {
  const { json, conversation } = request
  const { text, members, body } = json
  const adapted: string[] = []
  const unknown = leftOutFor(plan.offer, request.askedMembers)
  let written = `{"model":${JSON.stringify(plan.offer.providerModel)}`
  for (const { key, start, end } of lastMembers(members)) {
    if (OWN.has(key) || ROUTING_FIELDS.has(key) || isAbsent(body[key])) continue
    const isAllowed = request.askedMembers.unknown.has(key) && !unknown.has(key) && !UNSAID.has(key)
    const memberKind = PASSED.get(key) ?? (isAllowed ? '' : undefined)
    if (memberKind === undefined || (memberKind !== '' && !takesMember(plan.target.model, memberKind))) {
      if (key !== 'truncation' || body[key] === 'auto') adapted.push(key)
      continue
    }
    const value = memberFor(key, text.slice(start, end).trim(), { request, plan, adapted })
    if (value !== undefined) written += `,${JSON.stringify(key)}:${value}`
  }
  if (conversation.maxTokens !== plan.maxOutputTokens) adapted.push('max_output_tokens')
  written += `,${JSON.stringify(fixedMembers(plan, conversation.isStreamed)).slice(1)}`
  return {
    path: RESPONSES_PATH,
    body: written,
    contentType: JSON_REQUEST.contentType,
    accept: conversation.isStreamed ? EVENT_STREAM : JSON_REQUEST.accept,
    adaptedParams: [...new Set(adapted)],
  }
}

/** The text of a member for the seller. Undefined for one that is left out. */
function memberFor(key: string, text: string, { request, plan, adapted }: MemberEdit): string | undefined {
  const { json, conversation } = request
  const { body } = json
  switch (key) {
    case 'input': {
      const { input } = body
      if (!Array.isArray(input)) return text
      const inputItems = passedItems(text, input, plan)
      adapted.push(...inputItems.leftOut)
      return inputItems.text
    }
    case 'tools': {
      const toolEntries = passedTools(body['tools'])
      if (toolEntries === undefined) return text
      adapted.push(...toolEntries.leftOut)
      return toolEntries.kept.length === 0 ? undefined : JSON.stringify(toolEntries.kept)
    }
    case 'tool_choice': {
      if (isChoiceAmong(body[key], keptTools(body['tools']))) return text
      adapted.push(key)
      return undefined
    }
    case 'parallel_tool_calls':
    case 'max_tool_calls':
      if (keptTools(body['tools']).length > 0) return text
      adapted.push(key)
      return undefined
    case 'text':
      return textFor(body[key], text, { request, plan, adapted })
    case 'reasoning': {
      const reasoning = reasoningOf(conversation, plan.target.model, (name) => adapted.push(name))
      return reasoning && JSON.stringify(reasoning)
    }
    case 'service_tier':
      return conversation.serviceTier === undefined ? undefined : text
    default:
      return text
  }
}

function keptTools(tools: unknown): readonly unknown[] {
  return passedTools(tools)?.kept ?? (Array.isArray(tools) ? tools : [])
}

/** The form of the answer: its format, and its verbosity if the model takes one. */
function textFor(value: unknown, text: string, { plan, adapted }: MemberEdit): string | undefined {
  if (!isRecord(value)) return undefined
  const { format, verbosity, ...others } = value
  const takesVerbosity = isAbsent(verbosity) || takesMember(plan.target.model, 'verbosity')
  if (!takesVerbosity) adapted.push('text.verbosity')
  for (const name in others) if (!isAbsent(others[name])) adapted.push(`text.${name}`)
  if (takesVerbosity && Object.keys(others).length === 0) return text
  const keptMembers = {
    ...(!isAbsent(format) && { format }),
    ...(takesVerbosity && !isAbsent(verbosity) && { verbosity }),
  }
  return Object.keys(keptMembers).length === 0 ? undefined : JSON.stringify(keptMembers)
}
