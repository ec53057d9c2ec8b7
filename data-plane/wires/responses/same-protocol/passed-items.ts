import type { ModelPlan } from '#data-plane/call.ts'
import { hasCacheMark } from '#data-plane/wires/content.ts'
import { makerOf } from '#data-plane/wires/maker-of.ts'
import { splitId } from '#data-plane/wires/turn-seal.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { elementTexts, isGiven, isRecord } from '#shared/json-members.ts'
import { encryptedIn, shortId } from '#shared/protocols/responses-form.ts'
import { isPassedTool } from './passed-tools.ts'

/** Items of the input that a seller of this protocol receives unchanged, each with its member for content. */
const PASSED: ReadonlyMap<unknown, string> = new Map([
  ['message', 'content'],
  ['reasoning', ''],
  ['function_call', ''],
  ['function_call_output', 'output'],
  ['custom_tool_call', ''],
  ['custom_tool_call_output', 'output'],
  ['local_shell_call', ''],
  ['local_shell_call_output', 'output'],
  ['shell_call', ''],
  ['shell_call_output', ''],
  ['apply_patch_call', ''],
  ['apply_patch_call_output', 'output'],
  ['tool_search_call', ''],
  ['tool_search_output', ''],
  ['additional_tools', ''],
])
/** Parts of each role's content in the protocol's own spelling. */
const USERS: ReadonlySet<unknown> = new Set(['input_text', 'input_image', 'input_file'])
const MODELS: ReadonlySet<unknown> = new Set(['output_text', 'refusal'])
/** Lists without parts: the text of reasoning, which is not forwarded, and the output of each shell command. */
const PLAIN_LISTS: ReadonlySet<string> = new Set(['reasoning.content', 'shell_call_output.output'])
const CALL = /_call$/

function typeOf({ type, role }: JsonObject): unknown {
  return type ?? (role === undefined ? undefined : 'message')
}

/**
 * True for an item that is wholly in the protocol's own spelling, and that costs no more than its tokens.
 */
function isOwn(item: unknown): boolean {
  if (!isRecord(item) || hasCacheMark(item)) return false
  const type = typeOf(item)
  const member = PASSED.get(type)
  const { role, tools, environment } = item
  if (member === undefined || (isGiven(environment) && !isLocal(environment))) return false
  if (type === 'tool_search_call' || type === 'tool_search_output') {
    if (typeof item['call_id'] !== 'string') return false
  }
  if (isGiven(tools) && !(Array.isArray(tools) && tools.every(isPassedTool))) return false
  // Parts in another member would be neither parsed nor counted.
  const hasStray = ['content', 'output'].some(
    (name) => name !== member && isGiven(item[name]) && !PLAIN_LISTS.has(`${String(type)}.${name}`),
  )
  if (hasStray) return false
  const content = item[member]
  if (!Array.isArray(content)) return true
  const partTypes = role === 'assistant' ? MODELS : USERS
  return content.every((part) => isRecord(part) && partTypes.has(part['type']) && !hasCacheMark(part))
}

function isLocal(environment: unknown): boolean {
  return isRecord(environment) && environment['type'] === 'local'
}

/** True for an input whose items a seller of this protocol may all receive. */
export function isOwnInput(input: unknown): boolean {
  return typeof input === 'string' || (Array.isArray(input) && input.every(isOwn))
}

type Opening = Pick<ModelPlan, 'offer' | 'seal'> & { readonly dropped: Set<string> }

/**
 * The items as JSON text: byte for byte, with two exceptions. Ids are left out, because no provider keeps the items.
 * Reasoning is sent in the form of its maker, and reasoning of another account is left out and named.
 */
export function passedItems(
  text: string,
  items: readonly unknown[],
  { offer, seal }: Pick<ModelPlan, 'offer' | 'seal'>,
): { readonly text: string; readonly leftOut: readonly string[] } {
  const opening: Opening = { offer, seal, dropped: new Set() }
  const texts = elementTexts(text)
  const itemTexts = items.flatMap((item, at) => {
    if (!isRecord(item)) return []
    if (item['type'] === 'reasoning') return isFollowed(items.slice(at + 1)) ? openedThought(item, opening) : []
    const edited = editedItem(item, opening)
    return [edited === undefined ? (texts[at] ?? '') : JSON.stringify(edited)]
  })
  return { text: `[${itemTexts.join(',')}]`, leftOut: [...opening.dropped] }
}

/** The protocol refuses reasoning that no output of the model follows. */
function isFollowed(rest: readonly unknown[]): boolean {
  const next = rest.find((item) => isRecord(item) && item['type'] !== 'reasoning')
  return isRecord(next) && (next['role'] === 'assistant' || CALL.test(String(next['type'])))
}

/**
 * Members of items and of their parts. Clients add other members to received items, and providers refuse those members.
 */
const MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'role',
  'content',
  'phase',
  'status',
  'call_id',
  'name',
  'namespace',
  'arguments',
  'input',
  'output',
  'action',
  'operation',
  'environment',
  'execution',
  'tools',
  'max_output_length',
])
const PART_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'annotations',
  'logprobs',
  'refusal',
  'image_url',
  'detail',
  'filename',
  'file_data',
  'file_url',
])

/** A changed item. Undefined for an item that needs no change. */
function editedItem(item: JsonObject, { dropped }: Opening): JsonObject | undefined {
  const { call_id: callId, content } = item
  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const isPlain = hasOnly(item, MEMBERS) && parts.every((part) => isRecord(part) && hasOnly(part, PART_MEMBERS))
  const edited: Record<string, unknown> = isPlain ? { ...item } : only(item, MEMBERS)
  if (!isPlain && parts.length > 0)
    edited['content'] = parts.map((part) => (isRecord(part) ? only(part, PART_MEMBERS) : part))
  if (typeof callId !== 'string') return isPlain ? undefined : edited
  const { id: own, seal } = splitId(callId)
  // Calls of this protocol seal no members, so this seal belongs to another protocol.
  if (seal !== undefined) dropped.add('input.function_call')
  edited['call_id'] = shortId(own)
  return isPlain && edited['call_id'] === callId ? undefined : edited
}

function hasOnly(holder: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name in holder) if (!names.has(name)) return false
  return true
}

function only(holder: JsonObject, names: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(holder).filter(([name]) => names.has(name)))
}

function openedThought(
  { encrypted_content: sealed, summary }: JsonObject,
  { offer, seal, dropped }: Opening,
): string[] {
  const openedSeal = typeof sealed === 'string' ? seal.open(sealed) : undefined
  const isMakers = openedSeal?.maker === makerOf(offer)
  const encrypted =
    isMakers && openedSeal.content.kind === 'thought' ? encryptedIn({ details: openedSeal.content.details ?? [] }) : []
  if (encrypted.length === 0 && isGiven(sealed)) dropped.add('input.reasoning')
  return encrypted.map((data, at) =>
    JSON.stringify({ type: 'reasoning', summary: at === 0 ? (summary ?? []) : [], encrypted_content: data }),
  )
}
