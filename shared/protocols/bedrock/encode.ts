import type { Model } from '#shared/catalog/model.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type { Conversation, FunctionTool, ResponseFormat } from '#shared/protocols/middle-form/conversation.ts'
import { hasCacheMarks, hasCallMembers } from '#shared/protocols/middle-form/conversation.ts'
import { joinedTexts } from '#shared/protocols/middle-form/joined-texts.ts'
import { UNKNOWN_TO_CLAUDE } from '#shared/protocols/middle-form/sampling-knobs.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import { asksForThought, thinkingOf } from '#shared/protocols/middle-form/thinking.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { AMAZON_EVENT_STREAM } from './event-stream.ts'
import { encoded } from './signature.ts'
import { cachePoint, converseTurns } from './turns.ts'

/** The highest temperature of this protocol. */
const MAX_TEMPERATURE = 1
/** The efforts of OpenAI's open models. */
const EFFORTS: ReadonlySet<string> = new Set(['low', 'medium', 'high'])

/** The path of a model. A name may be an ARN, whose slashes are escaped. */
export function conversePath(providerModel: string, isStreamed: boolean): string {
  return `/model/${encoded(providerModel)}/${isStreamed ? 'converse-stream' : 'converse'}`
}

/** Writes a conversation as a request of Converse. Parts that it cannot express are left out and named. */
export function encodeConverse(conversation: Conversation, plan: EncodePlan): EncodedRequest {
  const { spelling, sampling, isStreamed } = conversation
  const { model } = plan.target
  const { providerModel } = plan.offer
  const adapted = [...conversation.adaptedParams]
  const adapt = (name: string) => adapted.push(spelling[name] ?? name)
  for (const [name, key] of UNKNOWN_TO_CLAUDE) if (sampling[key] !== undefined) adapt(name)
  if (conversation.maxTokens !== plan.maxOutputTokens) adapt('max_tokens')
  if (conversation.user !== undefined) adapt('user')
  if (hasCallMembers(conversation)) adapt('tool_calls')
  const maker = makerOf(model, providerModel)
  const hasCaches = maker === 'anthropic' || maker === 'amazon'
  if (!hasCaches && hasCacheMarks(conversation)) adapt('cache_control')
  const { system, messages } = converseTurns(conversation, hasCaches)
  const inference = [`"maxTokens":${plan.maxOutputTokens}`]
  const fields: string[] = []
  sampleInto({ inference, fields }, { conversation, plan, maker, adapt })
  const stop = stopOf(conversation, model, adapt)
  if (stop.length > 0) inference.push(`"stopSequences":${JSON.stringify(stop)}`)
  const members = [
    `"messages":${messages}`,
    system === '' ? '' : `"system":[${system}]`,
    `"inferenceConfig":{${inference.join(',')}}`,
    toolConfig(conversation, { model, hasCaches }, adapt),
    fields.length === 0 ? '' : `"additionalModelRequestFields":{${fields.join(',')}}`,
    // Claude reports the sequence at which it stopped on request.
    stop.length > 0 && maker === 'anthropic' ? '"additionalModelResponseFieldPaths":["/stop_sequence"]' : '',
    formatMember(conversation.responseFormat),
    tierMember(conversation, adapt),
  ]
  return {
    path: conversePath(providerModel, isStreamed),
    body: `{${joinedTexts(members)}}`,
    contentType: JSON_REQUEST.contentType,
    accept: isStreamed ? AMAZON_EVENT_STREAM : JSON_REQUEST.accept,
    adaptedParams: [...new Set(adapted)],
  }
}

type Adapt = (name: string) => void

/** The maker of a model, by the name at the provider (`us.anthropic.claude-…`) or, for an ARN, by the catalogue. */
function makerOf({ lab }: Model, providerModel: string): string {
  const [, maker] =
    /^(?:arn:[^/]{1,200}\/)?(?:(?:[a-z]{2,6}|us-gov)\.)?([a-z][a-z0-9]{2,20})\./.exec(providerModel) ?? []
  return maker ?? lab
}

type ToolFacts = { readonly model: Model; readonly hasCaches: boolean }

/**
 * The tools and the choice among them. The protocol refuses calls in a history without tools, so removed tools are
 * named again.
 */
function toolConfig(conversation: Conversation, { model, hasCaches }: ToolFacts, adapt: Adapt): string {
  const { tools, toolChoice, parallelToolCalls } = conversation
  const called = calledTools(conversation)
  const isTaken = takesMember(model, 'tools')
  if (tools.length > 0 && !isTaken) adapt('tools')
  if (toolChoice !== undefined && tools.length > 0 && !isTaken) adapt('tool_choice')
  if (parallelToolCalls === false && toolChoice !== 'none') adapt('parallel_tool_calls')
  const offered = isTaken && toolChoice !== 'none' ? tools : []
  const offeredNames = new Set(offered.map(({ name }) => name))
  const missingNames = called.filter((name) => !offeredNames.has(name))
  if (offered.length === 0 && missingNames.length === 0) return ''
  if (toolChoice === 'none' && missingNames.length > 0) adapt('tool_choice')
  if (offered.some(({ isStrict }) => isStrict === true)) adapt('tools.strict')
  const toolTexts = [
    ...offered.map((tool) => toolText(tool, hasCaches)),
    ...missingNames.map((name) => toolText(tools.find((tool) => tool.name === name) ?? goneTool(name), false)),
  ]
  const choice =
    offered.length === 0 || toolChoice === undefined || toolChoice === 'none' || toolChoice === 'auto'
      ? ''
      : `,"toolChoice":${toolChoice === 'required' ? '{"any":{}}' : JSON.stringify({ tool: { name: toolChoice.name } })}`
  return `"toolConfig":{"tools":[${toolTexts.join(',')}]${choice}}`
}

/** The names of the tools that earlier turns called. */
function calledTools({ turns }: Conversation): readonly string[] {
  const names = new Set<string>()
  for (const { parts } of turns) for (const part of parts) if (part.kind === 'toolCall') names.add(part.name)
  return [...names]
}

function goneTool(name: string): FunctionTool {
  return { name, description: undefined, schema: { type: 'object' } }
}

function toolText({ name, description, schema, cacheControl }: FunctionTool, hasCaches: boolean): string {
  const descriptionMember =
    description === undefined || description === '' ? '' : `"description":${JSON.stringify(description)},`
  const typed = schema['type'] === undefined ? { type: 'object', ...schema } : schema
  const tool = `{"toolSpec":{"name":${JSON.stringify(name)},${descriptionMember}"inputSchema":{"json":${JSON.stringify(typed)}}}}`
  return cacheControl !== undefined && hasCaches ? `${tool},${cachePoint(cacheControl)}` : tool
}

type Sampling = {
  readonly conversation: Conversation
  readonly plan: EncodePlan
  readonly maker: string
  readonly adapt: Adapt
}

/** Writes the sampling and the reasoning: the parameters of all models, and those of some makers. */
function sampleInto(
  { inference, fields }: { readonly inference: string[]; readonly fields: string[] },
  { conversation, plan, maker, adapt }: Sampling,
): void {
  const { temperature, topP, topK } = conversation.sampling
  const { model } = plan.target
  const isClaude = maker === 'anthropic'
  const thinking = isClaude ? thinkingOf(conversation, plan) : undefined
  const effort = maker === 'openai' ? effortOf(conversation) : undefined
  if (thinking !== undefined) fields.push(`"thinking":${JSON.stringify(thinking)}`)
  else if (effort !== undefined) fields.push(`"reasoning_effort":${JSON.stringify(effort)}`)
  else if (asksForThought(conversation)) adapt('reasoning')
  const isFree = thinking === undefined
  if (temperature !== undefined) {
    if (isFree && takesMember(model, 'temperature')) {
      inference.push(`"temperature":${Math.min(temperature, MAX_TEMPERATURE)}`)
    } else adapt('temperature')
    if (temperature > MAX_TEMPERATURE) adapt('temperature')
  }
  if (topP !== undefined) {
    // Claude takes either `temperature` or `topP`.
    const isSecond = isClaude && temperature !== undefined
    if (isFree && !isSecond && takesMember(model, 'top_p')) inference.push(`"topP":${topP}`)
    else adapt('top_p')
  }
  if (topK !== undefined) {
    if (isFree && isClaude && takesMember(model, 'top_k')) fields.push(`"top_k":${topK}`)
    else adapt('top_k')
  }
}

function effortOf(conversation: Conversation): string | undefined {
  const { effort = '' } = conversation.reasoning ?? {}
  return asksForThought(conversation) && EFFORTS.has(effort) ? effort : undefined
}

function stopOf({ stop }: Conversation, model: Model, adapt: Adapt): readonly string[] {
  // Claude refuses a sequence of white space alone.
  const stops = takesMember(model, 'stop') ? stop.filter((text) => text.trim() !== '') : []
  if (stops.length < stop.length) adapt('stop')
  return stops
}

/** The tier, which comes here only with a price and the seller's permission. */
function tierMember({ serviceTier }: Conversation, adapt: Adapt): string {
  if (serviceTier === 'priority' || serviceTier === 'flex') return `"serviceTier":{"type":"${serviceTier}"}`
  if (serviceTier !== undefined) adapt('service_tier')
  return ''
}

function formatMember(format: ResponseFormat | undefined): string {
  if (format?.kind !== 'schema') return ''
  const { name, schema, description } = format
  const jsonSchema = { schema: JSON.stringify(schema), name, ...(description !== undefined && { description }) }
  return `"outputConfig":${JSON.stringify({ textFormat: { type: 'json_schema', structure: { jsonSchema } } })}`
}
