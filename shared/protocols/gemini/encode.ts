import type { Model } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import { wholeModelPath } from '#shared/protocols/google-model.ts'
import type { Conversation, FunctionTool, ToolChoice } from '#shared/protocols/middle-form/conversation.ts'
import { hasCacheMarks } from '#shared/protocols/middle-form/conversation.ts'
import { joinedTexts } from '#shared/protocols/middle-form/joined-texts.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'
import { EVENT_STREAM, JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { contentsOf, isUntyped, UNTYPED } from './contents.ts'
import { writtenName } from './function-names.ts'
import { nameOf } from './generation.ts'
import { thinkingOf } from './thinking.ts'

/** The most texts at which an answer may end. */
const MAX_STOPS = 5
/** Seeds have 32 bits. */
const MAX_SEED = 2_147_483_647
/** Parameters without a member in this protocol: OpenAI's name, and the member of the middle form. */
const UNSAID = [
  ['min_p', 'minP'],
  ['repetition_penalty', 'repetitionPenalty'],
  ['logit_bias', 'logitBias'],
] as const
/** Numeric parameters: OpenAI's name, the member of the middle form, and that of this protocol. */
const KNOBS = [
  ['temperature', 'temperature', 'temperature'],
  ['top_p', 'topP', 'topP'],
  ['top_k', 'topK', 'topK'],
  ['seed', 'seed', 'seed'],
  ['frequency_penalty', 'frequencyPenalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty', 'presencePenalty'],
] as const

type Adapt = (name: string) => void

/** The path of a model's method. A name may be that of a tuned model, or the whole one of Vertex AI. */
export function modelPath(providerModel: string, method: string): string {
  const whole = wholeModelPath(providerModel, method)
  if (whole !== undefined) return whole
  const [, place = 'models', name = providerModel] = /^(models|tunedModels)\/(.+)$/.exec(providerModel) ?? []
  return `/${place}/${encodeURIComponent(name)}:${method}`
}

/** Writes a conversation as a request of Gemini's own protocol. Parts that it cannot say are left out and named. */
export function encodeGemini(conversation: Conversation, plan: EncodePlan): EncodedRequest {
  const { spelling, sampling, isStreamed, serviceTier, turns } = conversation
  // The address of a picture may lead to a video, which costs a thousand times the amount held for a picture.
  if (turns.some(({ parts }) => parts.some(isUntyped)))
    throw new AppError('invalid_request', { message: UNTYPED, param: 'messages' })
  const adapted = [...conversation.adaptedParams]
  const adapt = (name: string) => adapted.push(spelling[name] ?? name)
  for (const [name, key] of UNSAID) if (sampling[key] !== undefined) adapt(name)
  if (conversation.maxTokens !== plan.maxOutputTokens) adapt('max_tokens')
  if (conversation.user !== undefined) adapt('user')
  if (hasCacheMarks(conversation)) adapt('cache_control')
  const { contents, system } = contentsOf(conversation, nameOf(plan))
  const members = [
    `"contents":${contents}`,
    system === '' ? '' : `"systemInstruction":{"parts":[${system}]}`,
    ...toolMembers(conversation, plan.target.model, adapt),
    `"generationConfig":${JSON.stringify(generationConfig(conversation, plan, adapt))}`,
    serviceTier === undefined ? '' : `"serviceTier":${JSON.stringify(serviceTier)}`,
  ]
  return {
    ...JSON_REQUEST,
    path: modelPath(plan.offer.providerModel, isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    body: `{${joinedTexts(members)}}`,
    accept: isStreamed ? EVENT_STREAM : JSON_REQUEST.accept,
    adaptedParams: [...new Set(adapted)],
  }
}

function toolMembers({ tools, toolChoice, parallelToolCalls }: Conversation, model: Model, adapt: Adapt): string[] {
  if (tools.length === 0) return []
  if (!takesMember(model, 'tools')) {
    adapt('tools')
    if (toolChoice !== undefined) adapt('tool_choice')
    if (parallelToolCalls !== undefined) adapt('parallel_tool_calls')
    return []
  }
  if (tools.some(({ isStrict }) => isStrict === true)) adapt('tools.strict')
  // No member of this protocol limits a turn to one call.
  if (parallelToolCalls === false) adapt('parallel_tool_calls')
  const list = `"tools":[{"functionDeclarations":[${tools.map(toolText).join(',')}]}]`
  if (toolChoice === undefined) return [list]
  return [list, `"toolConfig":${JSON.stringify({ functionCallingConfig: callingConfig(toolChoice) })}`]
}

function callingConfig(choice: ToolChoice): object {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [writtenName(choice.name)] }
  return { mode: choice === 'required' ? 'ANY' : choice === 'none' ? 'NONE' : 'AUTO' }
}

function toolText({ name, description, schema }: FunctionTool): string {
  const descriptionMember = description === undefined ? '' : `,"description":${JSON.stringify(description)}`
  const parameters = isEmpty(schema) ? '' : `,"parametersJsonSchema":${JSON.stringify(schema)}`
  return `{"name":${JSON.stringify(writtenName(name))}${descriptionMember}${parameters}}`
}

/** Members of a schema that say nothing of an object without properties. */
const SILENT: ReadonlySet<string> = new Set(['type', 'properties', 'additionalProperties', 'required', '$schema'])

/** True for the schema of a function without arguments. The protocol wants none for it. */
function isEmpty(schema: FunctionTool['schema']): boolean {
  const { properties } = schema
  const isBare = typeof properties !== 'object' || properties === null || Object.keys(properties).length === 0
  return isBare && Object.keys(schema).every((name) => SILENT.has(name)) && schema['additionalProperties'] !== true
}

function generationConfig(conversation: Conversation, plan: EncodePlan, adapt: Adapt): object {
  const { sampling, responseFormat: format } = conversation
  const { model } = plan.target
  const config: Record<string, unknown> = { maxOutputTokens: plan.maxOutputTokens }
  for (const [name, key, geminiName] of KNOBS) {
    const value = sampling[key]
    if (value === undefined) continue
    const isSeed = name !== 'seed' || (Number.isSafeInteger(value) && Math.abs(value) <= MAX_SEED)
    if (isSeed && takesMember(model, name)) config[geminiName] = value
    else adapt(name)
  }
  const stops = stopsOf(conversation, model, adapt)
  if (stops.length > 0) config['stopSequences'] = stops
  if (format !== undefined) config['responseMimeType'] = 'application/json'
  if (format?.kind === 'schema') config['responseJsonSchema'] = format.schema
  // No buyer's wire takes a picture out of the middle form, so none is made.
  if (model.outputModalities.includes('image')) config['responseModalities'] = ['TEXT']
  const { config: thinkingConfig, isChanged } = thinkingOf(conversation, plan)
  if (isChanged) adapt('reasoning')
  if (thinkingConfig !== undefined) config['thinkingConfig'] = thinkingConfig
  return config
}

function stopsOf({ stop }: Conversation, model: Model, adapt: Adapt): readonly string[] {
  const stops = takesMember(model, 'stop') ? stop.filter((text) => text !== '').slice(0, MAX_STOPS) : []
  if (stops.length < stop.length) adapt('stop')
  return stops
}
