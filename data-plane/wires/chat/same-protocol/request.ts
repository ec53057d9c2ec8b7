import type { ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import type { ChatRequest } from '#data-plane/wires/chat/read-request.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { FUNCTIONS, leftOutTools } from '#data-plane/wires/left-out-tools.ts'
import { isSealed, mayHoldSeal } from '#data-plane/wires/turn-seal.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import type { Model } from '#shared/catalog/model.ts'
import { takesParameter } from '#shared/catalog/model.ts'
import { elementTexts, isRecord, lastMembers, listOf, readJsonObject } from '#shared/json-members.ts'
import { CACHE_MARKS } from '#shared/members/of-text.ts'
import { forwardPath, modelNameAt } from '#shared/protocols/index.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'

type Json = Readonly<Record<string, unknown>>

/** Members that are always written here, whatever the buyer sent. */
const REWRITTEN: ReadonlySet<string> = new Set([
  'model',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
])

/**
 * The request for a seller with the OpenAI protocol. The buyer's members stay byte for byte, except the model's name,
 * the output limit and the stream options, which the market writes. Members for routing, unknown members and members
 * that the model does not support are left out.
 */
export function encodeChatRequest(request: ChatRequest, plan: ModelPlan): UpstreamRequest {
  const { model } = plan.target
  const adapted: string[] = []
  const tools = functionTools(request.body['tools'])
  const leftOut = leftOutFor(plan.offer, request.askedMembers)
  const losesMarks = request.content.hasCacheMarks === true && plan.offer.id !== null && !sellsCacheWrites(plan)
  const hasSeals = mayHoldSeal(request.text)
  const limitName = limitParameter(request.body, model)
  let text = `{"model":${JSON.stringify(modelNameAt(plan.offer))}`
  for (const member of lastMembers(request.members)) {
    const { key } = member
    if (REWRITTEN.has(key) || ROUTING_FIELDS.has(key) || request.body[key] === null) continue
    if (leftOut.has(key) || !takesMember(model, key)) {
      adapted.push(key)
      continue
    }
    if (tools !== undefined && (key === 'tools' || isLeftOver(key, request.body[key], tools))) {
      if (key === 'tools') adapted.push(...leftOutTools(listOf(request.body['tools']), FUNCTIONS))
      else adapted.push(key)
      if (key === 'tools' && tools.length > 0)
        text += `,"tools":${JSON.stringify(losesMarks ? tools.map(withoutMarks) : tools)}`
      continue
    }
    if (losesMarks && (key === 'messages' || key === 'tools')) {
      const list = listOf(request.body[key]).map(withoutMarks)
      text += `,"${key}":${JSON.stringify(hasSeals ? list.map(withoutSeals) : list)}`
      continue
    }
    if (hasSeals && key === 'messages') {
      text += `,"messages":[${elementTexts(request.text.slice(member.start, member.end)).map(withoutSealsIn).join(',')}]`
      continue
    }
    text += `,${JSON.stringify(key)}:${request.text.slice(member.start, member.end).trim()}`
  }
  if (losesMarks) adapted.push('cache_control')
  if (hasSeals) adapted.push('reasoning_details')
  if (request.maxTokens !== plan.maxOutputTokens) adapted.push(limitName)
  text += `,"${limitName}":${plan.maxOutputTokens}`
  text += request.isStreamed ? ',"stream":true,"stream_options":{"include_usage":true}}' : '}'
  return {
    path: forwardPath(plan.offer, 'chat'),
    body: text,
    contentType: 'application/json',
    accept: request.isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: adapted,
  }
}

/** False for a model whose price list has no cache writes. Its sellers receive no cache marks. */
function sellsCacheWrites({ target }: ModelPlan): boolean {
  return target.price.unitPrices.cacheWrite !== undefined
}

/** A message or a tool without cache marks on it and on its parts. */
function withoutMarks(holder: unknown): unknown {
  if (!isRecord(holder)) return holder
  const keptMembers: Record<string, unknown> = {}
  for (const name in holder) {
    if (!MARKS.has(name))
      keptMembers[name] = name === 'content' || name === 'function' ? within(holder[name]) : holder[name]
  }
  return keptMembers
}

function within(value: unknown): unknown {
  return Array.isArray(value) ? value.map(withoutMarks) : withoutMarks(value)
}

/** A message without reasoning that another seller's account has sealed, which this one cannot read. */
function withoutSeals(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message['reasoning_details'])) return message
  const { reasoning_details: details, ...rest } = message
  const keptDetails = Array.isArray(details) ? details.filter((detail) => !isSealedDetail(detail)) : []
  return keptDetails.length === 0 ? rest : { ...rest, reasoning_details: keptDetails }
}

function isSealedDetail(detail: unknown): boolean {
  const data = isRecord(detail) ? detail['data'] : undefined
  return typeof data === 'string' && isSealed(data)
}

function withoutSealsIn(message: string): string {
  return mayHoldSeal(message) ? JSON.stringify(withoutSeals(readJsonObject(message))) : message
}

const MARKS: ReadonlySet<string> = new Set(CACHE_MARKS)

/** The tools that are functions, when others had to be left out. Undefined when all may stay unchanged. */
function functionTools(tools: unknown): Json[] | undefined {
  if (!Array.isArray(tools)) return undefined
  const keptTools = tools.filter(isRecord).filter(({ type }) => type === 'function')
  return keptTools.length === tools.length ? undefined : keptTools
}

/** True for the choice of a tool that was left out. Providers refuse such a choice, so the choice is left out, too. */
function isLeftOver(key: string, value: unknown, keptTools: readonly Json[]): boolean {
  if (key !== 'tool_choice' && key !== 'parallel_tool_calls') return false
  if (keptTools.length === 0) return true
  if (key === 'parallel_tool_calls' || !isRecord(value)) return false
  const chosenFunction = value['function']
  const name = isRecord(chosenFunction) ? chosenFunction['name'] : undefined
  return !keptTools.some((tool) => isRecord(tool['function']) && tool['function']['name'] === name)
}

function limitParameter(body: Readonly<Record<string, unknown>>, model: Model): 'max_tokens' | 'max_completion_tokens' {
  if (body['max_tokens'] !== undefined && body['max_tokens'] !== null) return 'max_tokens'
  if (body['max_completion_tokens'] !== undefined && body['max_completion_tokens'] !== null) {
    return 'max_completion_tokens'
  }
  const prefersNew = takesParameter(model, 'max_completion_tokens') && !takesParameter(model, 'max_tokens')
  return prefersNew ? 'max_completion_tokens' : 'max_tokens'
}
