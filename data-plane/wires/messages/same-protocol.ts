import type { ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { DESCRIBED, leftOutTools } from '#data-plane/wires/left-out-tools.ts'
import { isRecord, lastMembers, listOf, memberText } from '#shared/json-members.ts'
import { regionOf } from '#shared/members/surcharge.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import type { MessagesForm } from '#shared/protocols/messages-form.ts'
import { noAddress } from '#shared/protocols/messages-form.ts'
import { MIN_THINKING_TOKENS } from '#shared/protocols/middle-form/conversation.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import { withoutForeignBlocks } from './block-kinds.ts'
import type { MessagesRequest } from './read-request.ts'
import { isSearchTool, usesOf } from './search-tools.ts'

/**
 * Members that are forwarded unchanged, each with the name by which a model may list it. The name is empty for a member
 * that no model lists.
 */
const PASSED: ReadonlyMap<string, string> = new Map([
  ['messages', ''],
  ['system', ''],
  ['metadata', ''],
  ['output_config', ''],
  ['output_format', ''],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_k', 'top_k'],
  ['stop_sequences', 'stop'],
  ['tools', 'tools'],
  ['tool_choice', 'tools'],
  ['thinking', ''],
  ['speed', ''],
  ['inference_geo', ''],
])

type Json = Readonly<Record<string, unknown>>

/** The market's own members, and members that are always written here: they are not reported. */
const OWN: ReadonlySet<string> = new Set(['model', 'max_tokens', 'stream'])

/**
 * The messages protocol as the provider speaks it, if it does. The request's own text is then forwarded, so that
 * nothing is lost that the middle form has no place for. The answer still goes through the middle form, because its
 * events are written anew in either case. Only such an answer shows reasoning: it has the signatures that its maker
 * expects in the next turn.
 */
export function sameProtocolOf({ offer }: ModelPlan): MessagesForm | undefined {
  return chatCodecOf(offer).messages
}

/**
 * The buyer's own request, edited. The buyer's members stay byte for byte; the market sets the model's name and the
 * output limit. Tools that are no functions are left out, except the search when searches have a price. Features of
 * beta headers are left out, too, because those headers are not forwarded.
 */
export function encodeMessagesRequest(request: MessagesRequest, plan: ModelPlan, form: MessagesForm): UpstreamRequest {
  if (request.content.hasAddresses === true && !form.takesUrls) throw noAddress()
  const { body, isStreamed } = request
  const adapted: string[] = []
  const tools = ownTools(body['tools'], plan.target.price.unitPrices.searches !== undefined)
  const turns = withoutForeignBlocks(memberText(request.text, request.members, 'messages') ?? '[]', request.content)
  let text = `{${form.opening(plan.offer.providerModel)},"max_tokens":${plan.maxOutputTokens}`
  for (const member of lastMembers(request.members)) {
    const { key } = member
    if (OWN.has(key) || ROUTING_FIELDS.has(key) || body[key] === null) continue
    const memberKind = PASSED.get(key)
    if (memberKind === undefined || (memberKind !== '' && !takesMember(plan.target.model, memberKind))) {
      adapted.push(key)
      continue
    }
    if (tools !== undefined && (key === 'tools' || isLeftOver(key, body[key], tools))) {
      if (key === 'tools') adapted.push(...namesOfLeftOut(listOf(body['tools']), tools))
      else adapted.push(key)
      if (key === 'tools' && tools.length > 0) text += `,"tools":${JSON.stringify(tools)}`
      continue
    }
    if (turns !== undefined && key === 'messages') {
      adapted.push(...turns.leftOut)
      text += `,"messages":${turns.turns}`
      continue
    }
    const edited = isUnsaid(key, body[key], form) ? '' : editedMember(key, body, plan)
    if (edited !== undefined) adapted.push(key)
    if (edited === '') continue
    const name = key === 'output_format' ? 'output_config' : key
    text += `,${JSON.stringify(name)}:${edited ?? request.text.slice(member.start, member.end).trim()}`
  }
  if (request.maxTokens !== plan.maxOutputTokens) adapted.push('max_tokens')
  text += isStreamed ? ',"stream":true}' : '}'
  return {
    path: form.path(plan.offer.providerModel, isStreamed),
    body: text,
    contentType: 'application/json',
    accept: isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: adapted,
  }
}

/**
 * True for a setting that the provider does not receive: the standard speed, any region, or a region that its host
 * decides.
 */
function isUnsaid(key: string, value: unknown, { takesRegion }: MessagesForm): boolean {
  if (key === 'speed') return value !== 'fast'
  return key === 'inference_geo' && (!takesRegion || regionOf(value) === undefined)
}

/** A changed member, empty to leave it out; undefined for a member that stays. */
function editedMember(key: string, body: Json, { maxOutputTokens }: ModelPlan): string | undefined {
  const value = body[key]
  // The name of the beta needs its header. The format goes under its present name.
  if (key === 'output_format') {
    const config = body['output_config']
    return isRecord(config) ? '' : JSON.stringify({ format: value })
  }
  if (key === 'output_config' && isRecord(value) && value['format'] == null && isRecord(body['output_format'])) {
    return JSON.stringify({ ...value, format: body['output_format'] })
  }
  if (key === 'tool_choice' && typeof value === 'string') return JSON.stringify({ type: value })
  if (key === 'thinking' && isRecord(value) && typeof value['budget_tokens'] === 'number') {
    // A lowered limit leaves less for reasoning.
    if (value['budget_tokens'] < maxOutputTokens) return undefined
    if (maxOutputTokens <= MIN_THINKING_TOKENS) return ''
    return JSON.stringify({ ...value, budget_tokens: maxOutputTokens - 1 })
  }
  return undefined
}

/**
 * The tools that the buyer described and the search that it pays for, when others were left out or a search has no
 * bound. A search among tools is left out, too, so no tool waits to be found. Undefined when all may stay unchanged.
 */
function ownTools(tools: unknown, paysSearches: boolean): Json[] | undefined {
  if (!Array.isArray(tools)) return undefined
  const keptTools = tools
    .filter(isRecord)
    .filter((tool) => (tool['type'] ?? 'custom') === 'custom' || (paysSearches && isSearchTool(tool)))
  if (keptTools.length === tools.length && !keptTools.some(isDeferred) && !keptTools.some(isUnbounded)) return undefined
  return keptTools.map(({ defer_loading: _, ...tool }) =>
    isUnbounded(tool) ? { ...tool, max_uses: usesOf(tool) } : tool,
  )
}

/** True for a search that may be made more often than the call's hold covers. */
function isUnbounded(tool: Json): boolean {
  return isSearchTool(tool) && tool['max_uses'] !== usesOf(tool)
}

/** The names of the parts that the list of tools has lost. The list itself is named only when a tool was left out. */
function namesOfLeftOut(tools: readonly unknown[], keptTools: readonly Json[]): readonly string[] {
  const searches = keptTools.filter(isSearchTool)
  const kinds = leftOutTools(tools, new Set([...DESCRIBED, ...searches.map(({ type }) => type)]))
  const isBounded = searches.length > 0 && tools.some((tool) => isRecord(tool) && isUnbounded(tool))
  return [
    ...(kinds.length > 1 ? kinds : []),
    ...(tools.some(isDeferred) ? ['tools.defer_loading'] : []),
    ...(isBounded ? ['tools.max_uses'] : []),
  ]
}

function isDeferred(tool: unknown): boolean {
  return isRecord(tool) && tool['defer_loading'] === true
}

/** True for a choice among left-out tools, which providers refuse. It is left out, too. */
function isLeftOver(key: string, value: unknown, keptTools: readonly Json[]): boolean {
  if (key !== 'tool_choice') return false
  if (keptTools.length === 0) return true
  return isRecord(value) && value['type'] === 'tool' && !keptTools.some(({ name }) => name === value['name'])
}
