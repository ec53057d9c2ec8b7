import type { AttemptPlan, UpstreamRequest } from '#data-plane/call.ts'
import type { JsonMember } from '#data-plane/dialects/json-members.ts'
import { isRecord, lastMembers } from '#data-plane/dialects/json-members.ts'
import { takesMember } from '#data-plane/dialects/openai-chat/request.ts'
import { MIN_THINKING_TOKENS } from './thinking.ts'

/** A message request that can be forwarded by editing its own text. */
export type EditableMessages = {
  readonly text: string
  readonly members: readonly JsonMember[]
  readonly body: Readonly<Record<string, unknown>>
  readonly isStreamed: boolean
  readonly maxTokens: number
}

/** Members that go on as they came, each under the name by which a model may list it; others nobody has asked for. */
const PASSED: ReadonlyMap<string, string> = new Map([
  ['messages', ''],
  ['system', ''],
  ['metadata', ''],
  ['output_config', ''],
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_k', 'top_k'],
  ['stop_sequences', 'stop'],
  ['tools', 'tools'],
  ['tool_choice', 'tools'],
  ['thinking', ''],
])

/** Members that are ours or that we write ourselves: nothing is said of them. */
const OWN: ReadonlySet<string> = new Set(['model', 'max_tokens', 'stream'])

/**
 * The request for a seller who speaks the messages protocol. What a buyer said stays byte for byte; the model's name and
 * the output limit are ours, tools that are no functions are left out, and so is what the protocol knows by beta headers
 * only, which are not forwarded.
 */
export function encodeMessagesRequest(
  request: EditableMessages,
  routingFields: ReadonlySet<string>,
  plan: AttemptPlan,
): UpstreamRequest {
  const { body, isStreamed } = request
  const adapted: string[] = []
  let text = `{"model":${JSON.stringify(plan.offer.providerModel)},"max_tokens":${plan.maxOutputTokens}`
  for (const member of lastMembers(request.members)) {
    const { key } = member
    if (OWN.has(key) || routingFields.has(key) || body[key] === null) continue
    const listed = PASSED.get(key)
    if (listed === undefined || (listed !== '' && !takesMember(plan.target.model, listed))) {
      adapted.push(key)
      continue
    }
    const edited = editedMember(key, body[key], plan)
    if (edited !== undefined) adapted.push(key)
    if (edited === '') continue
    text += `,${JSON.stringify(key)}:${edited ?? request.text.slice(member.start, member.end).trim()}`
  }
  if (request.maxTokens !== plan.maxOutputTokens) adapted.push('max_tokens')
  text += isStreamed ? ',"stream":true}' : '}'
  return {
    path: '/messages',
    body: text,
    contentType: 'application/json',
    accept: isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: adapted,
  }
}

/** A member that may not stay as it came, empty to leave it out; undefined where it may. */
function editedMember(key: string, value: unknown, { maxOutputTokens }: AttemptPlan): string | undefined {
  if (key === 'tools' && Array.isArray(value)) {
    const kept = value.filter((tool) => isRecord(tool) && (tool['type'] ?? 'custom') === 'custom')
    if (kept.length === value.length) return undefined
    return kept.length === 0 ? '' : JSON.stringify(kept)
  }
  if (key === 'tool_choice' && typeof value === 'string') return JSON.stringify({ type: value })
  if (key === 'thinking' && isRecord(value) && typeof value['budget_tokens'] === 'number') {
    // A limit that was lowered leaves less to think with.
    if (value['budget_tokens'] < maxOutputTokens) return undefined
    if (maxOutputTokens <= MIN_THINKING_TOKENS) return ''
    return JSON.stringify({ ...value, budget_tokens: maxOutputTokens - 1 })
  }
  return undefined
}
