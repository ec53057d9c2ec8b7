import type { Model } from '#shared/catalog/model.ts'
import { takesParameter } from '#shared/catalog/model.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type {
  Conversation,
  FunctionTool,
  ResponseFormat,
  Sampling,
  ToolChoice,
} from '#shared/protocols/middle-form/conversation.ts'
import { hasCacheMarks } from '#shared/protocols/middle-form/conversation.ts'
import { effortOf } from '#shared/protocols/middle-form/effort.ts'
import { SAMPLING_KNOBS } from '#shared/protocols/middle-form/sampling-knobs.ts'
import { takenExtras } from '#shared/protocols/middle-form/taken-extras.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'
import { chatMessages } from './messages.ts'
import { PATHS } from './paths.ts'

const SAMPLING: readonly (readonly [name: string, key: keyof Sampling])[] = [
  ...SAMPLING_KNOBS,
  ['logit_bias', 'logitBias'],
]

/**
 * Writes a conversation as a chat request of the OpenAI protocol. Parts that the model does not accept are left out and
 * named.
 */
export function encodeConversation(conversation: Conversation, plan: EncodePlan): EncodedRequest {
  const { model } = plan.target
  const { spelling } = conversation
  const { extras, adaptedParams } = takenExtras(conversation, model)
  const adapted = [...adaptedParams]
  const limitName = takesNewLimit(model) ? 'max_completion_tokens' : 'max_tokens'
  const messages = chatMessages(conversation, model)
  if (hasCacheMarks(conversation)) adapted.push('cache_control')
  let body = `{"model":${JSON.stringify(plan.offer.providerModel)},"messages":${messages}`
  for (const [name, value] of parametersOf(conversation, model)) {
    if (value !== undefined && takesMember(model, name)) body += `,"${name}":${JSON.stringify(value)}`
    else adapted.push(spelling[name] ?? name)
  }
  for (const name in extras) body += `,"${name}":${JSON.stringify(extras[name])}`
  if (conversation.maxTokens !== plan.maxOutputTokens) adapted.push(spelling[limitName] ?? limitName)
  body += `,"${limitName}":${plan.maxOutputTokens}`
  body += conversation.isStreamed ? ',"stream":true,"stream_options":{"include_usage":true}}' : '}'
  return {
    path: PATHS.chat,
    body,
    contentType: 'application/json',
    accept: conversation.isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: [...new Set(adapted)],
  }
}

function takesNewLimit(model: Model): boolean {
  return takesParameter(model, 'max_completion_tokens') && !takesParameter(model, 'max_tokens')
}

function* parametersOf(conversation: Conversation, model: Model): Iterable<readonly [name: string, value: unknown]> {
  const {
    sampling,
    answers = 1,
    stop,
    tools,
    toolChoice,
    parallelToolCalls,
    responseFormat,
    user,
    serviceTier,
  } = conversation
  for (const [name, key] of SAMPLING) if (sampling[key] !== undefined) yield [name, sampling[key]]
  if (answers > 1) yield ['n', answers]
  if (stop.length > 0) yield ['stop', stop]
  if (tools.length > 0) {
    yield ['tools', tools.map(toolBody)]
    if (toolChoice !== undefined) yield ['tool_choice', choiceBody(toolChoice)]
    if (parallelToolCalls !== undefined) yield ['parallel_tool_calls', parallelToolCalls]
  }
  if (responseFormat !== undefined) yield ['response_format', formatBody(responseFormat)]
  yield* reasoningOf(conversation, model)
  if (user !== undefined) yield ['user', user]
  if (serviceTier !== undefined) yield ['service_tier', serviceTier]
}

function toolBody({ name, description, schema, isStrict }: FunctionTool): object {
  return { type: 'function', function: { name, description, parameters: schema, strict: isStrict } }
}

function choiceBody(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } }
}

function formatBody(format: ResponseFormat): object {
  if (format.kind === 'json') return { type: 'json_object' }
  const { name, schema, isStrict, description } = format
  return { type: 'json_schema', json_schema: { name, description, schema, strict: isStrict } }
}

/** The reasoning settings in the form that the model's entry lists. Left out for a model that lists none. */
function* reasoningOf({ reasoning }: Conversation, model: Model): Iterable<readonly [name: string, value: unknown]> {
  if (reasoning === undefined) return
  const { effort, maxTokens, isEnabled } = reasoning
  if (takesParameter(model, 'reasoning_effort')) {
    if (isEnabled === false) return
    const word = effortOf(reasoning)
    if (word !== undefined) yield ['reasoning_effort', word]
  } else if (takesParameter(model, 'reasoning')) {
    yield ['reasoning', { effort, max_tokens: maxTokens, enabled: isEnabled }]
  } else if (effort !== undefined || maxTokens !== undefined) yield ['reasoning', undefined]
}
