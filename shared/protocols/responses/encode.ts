import type { Model } from '#shared/catalog/model.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type {
  Conversation,
  FunctionTool,
  ResponseFormat,
  Sampling,
  ToolChoice,
  ToolOrigins,
} from '#shared/protocols/middle-form/conversation.ts'
import { hasCacheMarks, hasCallMembers } from '#shared/protocols/middle-form/conversation.ts'
import { takenExtras } from '#shared/protocols/middle-form/taken-extras.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import { grammarOf } from '#shared/protocols/middle-form/tool-origin.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'
import { EVENT_STREAM, JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import type { Adapt } from '#shared/protocols/responses-form.ts'
import { fixedMembers, RESPONSES_PATH, reasoningOf } from '#shared/protocols/responses-form.ts'
import { inputItems } from './items.ts'

/** The smallest output limit that the protocol takes, in tokens. */
export const LEAST_OUTPUT_TOKENS = 16

/** Parameters that this protocol lacks: OpenAI's name in chats, and the member of the middle form. */
const UNSAID: readonly (readonly [name: string, key: keyof Sampling])[] = [
  ['top_k', 'topK'],
  ['min_p', 'minP'],
  ['seed', 'seed'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
  ['repetition_penalty', 'repetitionPenalty'],
  ['logit_bias', 'logitBias'],
]

const CUSTOM: ReadonlySet<string> = new Set(['tools.custom', 'tools.format'])

/**
 * Writes a conversation as a request of OpenAI's responses. The provider stores nothing of it, and reasoning is
 * returned encrypted. Parts that the protocol lacks are left out and named.
 */
export function encodeResponses(conversation: Conversation, plan: EncodePlan): EncodedRequest {
  const { spelling, sampling, stop, system, turns, isStreamed } = conversation
  const { extras, adaptedParams } = takenExtras(conversation, plan.target.model)
  // Custom tools are written unchanged.
  const adapted = adaptedParams.filter((name) => !CUSTOM.has(name))
  const adapt: Adapt = (name) => adapted.push(spelling[name] ?? name)
  for (const [name, key] of UNSAID) if (sampling[key] !== undefined) adapt(name)
  if (stop.length > 0) adapt('stop')
  if (conversation.maxTokens !== plan.maxOutputTokens) adapt('max_tokens')
  if (hasCacheMarks(conversation)) adapt('cache_control')
  if (hasCallMembers(conversation)) adapt('tool_calls')
  const instructions = system.map(({ text }) => text).join('\n\n')
  const body = {
    model: plan.offer.providerModel,
    ...(instructions !== '' && { instructions }),
    input: inputItems(turns, conversation.origins),
    ...settingsOf({ ...conversation, extras }, plan.target.model, adapt),
    ...fixedMembers(plan, isStreamed),
  }
  return {
    path: RESPONSES_PATH,
    body: JSON.stringify(body),
    contentType: JSON_REQUEST.contentType,
    accept: isStreamed ? EVENT_STREAM : JSON_REQUEST.accept,
    adaptedParams: [...new Set(adapted)],
  }
}

function settingsOf(conversation: Conversation, model: Model, adapt: Adapt): object {
  const { sampling, tools, toolChoice, parallelToolCalls, responseFormat, origins, user, serviceTier } = conversation
  const { verbosity, ...cached } = conversation.extras ?? {}
  const takes = (name: string, value: unknown) => {
    if (value === undefined) return false
    if (takesMember(model, name)) return true
    adapt(name)
    return false
  }
  const format = takes('response_format', responseFormat) ? formatBody(responseFormat) : undefined
  const reasoning = reasoningOf(conversation, model, adapt)
  const isList = tools.length > 0
  return {
    ...(takes('temperature', sampling.temperature) && { temperature: sampling.temperature }),
    ...(takes('top_p', sampling.topP) && { top_p: sampling.topP }),
    ...(isList && takes('tools', tools) && { tools: tools.map((tool) => toolBody(tool, origins)) }),
    ...(isList && takes('tool_choice', toolChoice) && { tool_choice: toolChoice && choiceBody(toolChoice, origins) }),
    ...(isList && takes('parallel_tool_calls', parallelToolCalls) && { parallel_tool_calls: parallelToolCalls }),
    ...((format ?? verbosity) !== undefined && { text: { format, verbosity } }),
    ...(reasoning !== undefined && { reasoning }),
    ...(user !== undefined && { user }),
    ...cached,
    ...(serviceTier !== undefined && { service_tier: serviceTier }),
  }
}

/** Tools of this protocol are strict by default; tools of every other protocol are not. */
function toolBody({ name, description, schema, isStrict = false }: FunctionTool, origins: ToolOrigins): object {
  const custom = origins.get(name)?.custom
  if (custom !== undefined) {
    const grammar = grammarOf(custom.format)
    return { type: 'custom', name, description: custom.description, format: grammar && { type: 'grammar', ...grammar } }
  }
  return { type: 'function', name, description, parameters: schema, strict: isStrict }
}

function choiceBody(choice: ToolChoice, origins: ToolOrigins): unknown {
  if (typeof choice === 'string') return choice
  return { type: origins.get(choice.name)?.custom === undefined ? 'function' : 'custom', name: choice.name }
}

function formatBody(format: ResponseFormat | undefined): object | undefined {
  if (format?.kind !== 'schema') return format && { type: 'json_object' }
  const { name, schema, isStrict, description } = format
  return { type: 'json_schema', name, description, schema, strict: isStrict }
}
