import type { Model } from '#shared/catalog/model.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type { MessagesForm } from '#shared/protocols/messages-form.ts'
import type { Conversation, FunctionTool, ResponseFormat } from '#shared/protocols/middle-form/conversation.ts'
import { hasCallMembers } from '#shared/protocols/middle-form/conversation.ts'
import { joinedTexts } from '#shared/protocols/middle-form/joined-texts.ts'
import { UNKNOWN_TO_CLAUDE } from '#shared/protocols/middle-form/sampling-knobs.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import { asksForThought, thinkingOf } from '#shared/protocols/middle-form/thinking.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'
import { cacheMark, messagesOf } from './turns.ts'

/** The highest temperature of this protocol. */
const MAX_TEMPERATURE = 1
const MAX_USER_CHARS = 256

/**
 * Writes a conversation as a request of the messages protocol. Parts that the protocol lacks are left out and named.
 */
export function encodeMessages(conversation: Conversation, plan: EncodePlan, form: MessagesForm): EncodedRequest {
  const { spelling, sampling, isStreamed } = conversation
  const { model } = plan.target
  const region = form.takesRegion ? conversation.region : undefined
  const placedNames = new Set([
    ...(region === undefined ? [] : ['inference_geo']),
    ...(conversation.speed ? ['speed'] : []),
  ])
  const adapted = conversation.adaptedParams.filter((name) => !placedNames.has(name))
  const adapt = (name: string) => adapted.push(spelling[name] ?? name)
  for (const [name, key] of UNKNOWN_TO_CLAUDE) if (sampling[key] !== undefined) adapt(name)
  if (conversation.maxTokens !== plan.maxOutputTokens) adapt('max_tokens')
  if (conversation.serviceTier !== undefined) adapt('service_tier')
  if (hasCallMembers(conversation)) adapt('tool_calls')
  const { system, messages } = messagesOf(conversation, form)
  const members = [
    form.opening(plan.offer.providerModel),
    `"max_tokens":${plan.maxOutputTokens}`,
    `"messages":${messages}`,
    system === '' ? '' : `"system":[${system}]`,
    ...toolMembers(conversation, model, adapt),
    ...samplingMembers(conversation, plan, adapt),
    stopMember(conversation, model, adapt),
    userMember(conversation, adapt),
    formatMember(conversation.responseFormat),
    conversation.speed === undefined ? '' : `"speed":"${conversation.speed}"`,
    region === undefined ? '' : `"inference_geo":${JSON.stringify(region)}`,
    isStreamed ? '"stream":true' : '',
  ]
  return {
    path: form.path(plan.offer.providerModel, isStreamed),
    body: `{${joinedTexts(members)}}`,
    contentType: 'application/json',
    accept: isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: [...new Set(adapted)],
  }
}

type Adapt = (name: string) => void

function toolMembers({ tools, toolChoice, parallelToolCalls }: Conversation, model: Model, adapt: Adapt): string[] {
  if (tools.length === 0) return []
  if (!takesMember(model, 'tools')) {
    adapt('tools')
    if (toolChoice !== undefined) adapt('tool_choice')
    if (parallelToolCalls !== undefined) adapt('parallel_tool_calls')
    return []
  }
  if (tools.some(({ isStrict }) => isStrict === true)) adapt('tools.strict')
  const list = `"tools":[${tools.map(toolText).join(',')}]`
  const isSingle = parallelToolCalls === false && toolChoice !== 'none'
  if (toolChoice === undefined && !isSingle) return [list]
  const single = isSingle ? { disable_parallel_tool_use: true } : {}
  const choice =
    typeof toolChoice === 'object'
      ? { type: 'tool', name: toolChoice.name }
      : { type: toolChoice === 'required' ? 'any' : (toolChoice ?? 'auto') }
  return [list, `"tool_choice":${JSON.stringify({ ...choice, ...single })}`]
}

function toolText({ name, description, schema, cacheControl }: FunctionTool): string {
  const descriptionMember = description === undefined ? '' : `,"description":${JSON.stringify(description)}`
  // This protocol refuses a schema without a type.
  const typed = schema['type'] === undefined ? { type: 'object', ...schema } : schema
  return `{"name":${JSON.stringify(name)}${descriptionMember},"input_schema":${JSON.stringify(typed)}${cacheMark(cacheControl)}}`
}

/** The reasoning budget and the sampling members. A model with reasoning accepts no temperature and no top_k. */
function samplingMembers(conversation: Conversation, plan: EncodePlan, adapt: Adapt): string[] {
  const { temperature, topP, topK } = conversation.sampling
  const { model } = plan.target
  const thinking = thinkingOf(conversation, plan)
  if (thinking === undefined && asksForThought(conversation)) adapt('reasoning')
  const knobs = [
    ['temperature', temperature === undefined ? undefined : Math.min(temperature, MAX_TEMPERATURE)],
    ['top_p', topP],
    ['top_k', topK],
  ] as const
  const members = thinking === undefined ? [] : [`"thinking":${JSON.stringify(thinking)}`]
  for (const [name, value] of knobs) {
    if (value === undefined) continue
    // Claude takes either `temperature` or `top_p`.
    const isSecond = name === 'top_p' && temperature !== undefined
    if (thinking !== undefined || isSecond || !takesMember(model, name)) adapt(name)
    else members.push(`"${name}":${JSON.stringify(value)}`)
  }
  if (temperature !== undefined && temperature > MAX_TEMPERATURE) adapt('temperature')
  return members
}

function stopMember({ stop }: Conversation, model: Model, adapt: Adapt): string {
  // The protocol refuses a sequence of white space alone.
  const stops = takesMember(model, 'stop') ? stop.filter((text) => text.trim() !== '') : []
  if (stops.length < stop.length) adapt('stop')
  return stops.length === 0 ? '' : `"stop_sequences":${JSON.stringify(stops)}`
}

function userMember({ user }: Conversation, adapt: Adapt): string {
  if (user === undefined) return ''
  if (user.length <= MAX_USER_CHARS) return `"metadata":${JSON.stringify({ user_id: user })}`
  adapt('user')
  return ''
}

function formatMember(format: ResponseFormat | undefined): string {
  if (format?.kind !== 'schema') return ''
  return `"output_config":${JSON.stringify({ format: { type: 'json_schema', schema: format.schema } })}`
}
