import type { Content } from '#data-plane/wires/content.ts'
import { wordOf } from '#data-plane/wires/sampling.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import type { ToolCallPart, ToolResultPart } from '#shared/protocols/middle-form/conversation.ts'
import { customArguments } from '#shared/protocols/middle-form/tool-origin.ts'
import { readParts } from './content-parts.ts'
import { foundNames, functionName, SEARCH } from './tools.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Items of tools that ran elsewhere, and of lists. A search by the buyer has an id and is parsed before. A model
 * without such a tool can do nothing with them.
 */
export const LEFT_OUT: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'computer_call',
  'computer_call_output',
  'tool_search_call',
  'tool_search_output',
  'program',
  'program_output',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'ghost_snapshot',
])

/** Items that replace turns, and that only their maker can read. Without them the conversation would be incomplete. */
export const UNREADABLE: ReadonlySet<string> = new Set(['compaction', 'compaction_summary', 'compaction_trigger'])

/** Calls of tools that ran at the buyer's, each with the member of its action. */
const ACTIONS: ReadonlyMap<string, readonly [name: string, member: string]> = new Map([
  ['local_shell_call', ['local_shell', 'action']],
  ['shell_call', ['shell', 'action']],
  ['apply_patch_call', ['apply_patch', 'operation']],
])

const OUTPUTS: ReadonlySet<string> = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
  'mcp_call',
])

/** The call in an item. Undefined without one. */
export function readCall(item: Json, type: string, param: string): ToolCallPart | undefined {
  if (type === 'tool_search_call') return readSearch(item)
  const action = ACTIONS.get(type)
  if (action !== undefined) {
    const [name, member] = action
    const id = wordOf(item['call_id']) ?? wordIn(item, 'id', param)
    return { kind: 'toolCall', id, name, input: JSON.stringify(item[member] ?? {}) }
  }
  if (type !== 'function_call' && type !== 'custom_tool_call' && type !== 'mcp_call') return undefined
  const isCustom = type === 'custom_tool_call'
  const input = textIn(item, isCustom ? 'input' : 'arguments', param)
  const namespace = wordOf(item[type === 'mcp_call' ? 'server_label' : 'namespace'])
  return {
    kind: 'toolCall',
    id: wordIn(item, type === 'mcp_call' ? 'id' : 'call_id', param),
    name: functionName(wordIn(item, 'name', param), namespace),
    input: isCustom ? customArguments(input) : input,
  }
}

/** A search that the buyer ran. Undefined for a search that ran elsewhere, which has no id to answer. */
function readSearch(item: Json): ToolCallPart | undefined {
  const id = wordOf(item['call_id'])
  const args = item['arguments']
  const input = typeof args === 'string' ? args : JSON.stringify(args ?? {})
  return id === undefined ? undefined : { kind: 'toolCall', id, name: SEARCH, input }
}

/** The result of a search: the names under which the model may call the tools, which are added to the others. */
function readFound(item: Json, content: Content): ToolResultPart | undefined {
  const callId = wordOf(item['call_id'])
  if (callId === undefined) return undefined
  const names = Array.isArray(item['tools']) ? foundNames(item['tools']) : []
  const text = names.length === 0 ? 'No tools were found.' : `These tools can be called now: ${names.join(', ')}.`
  return { kind: 'toolResult', callId, parts: readParts(text, 'input', content), isError: false }
}

type Place = { readonly param: string; readonly content: Content }

/** The result of a call in an item. Undefined without one. */
export function readResult(item: Json, type: string, { param, content }: Place): ToolResultPart | undefined {
  if (type === 'tool_search_output') return readFound(item, content)
  if (!OUTPUTS.has(type)) return undefined
  const { status, error } = item
  const hasFailed = status === 'failed' || wordOf(error) !== undefined
  // A shell's output is a list of each command's output, which is no content.
  const output = type === 'shell_call_output' ? JSON.stringify(item['output'] ?? []) : item['output']
  const mayLack = type === 'apply_patch_call_output' || type === 'mcp_call'
  const outputValue = mayLack ? (output ?? error ?? wordOf(status) ?? '') : output
  return {
    kind: 'toolResult',
    callId: callIdOf(item, type, param),
    parts: readParts(outputValue, `${param}.output`, content),
    isError: hasFailed,
  }
}

function callIdOf(item: Json, type: string, param: string): string {
  if (type === 'mcp_call') return wordIn(item, 'id', param)
  const id = wordOf(item['call_id'])
  // The SDK's type of a local shell's output identifies its call by `id`.
  return id === undefined && type === 'local_shell_call_output'
    ? wordIn(item, 'id', param)
    : wordIn(item, 'call_id', param)
}

function wordIn(item: Json, name: string, param: string): string {
  const word = wordOf(item[name])
  if (word === undefined) throw invalidMember(`${param}.${name}`, `The item needs a ${name}.`)
  return word
}

function textIn(item: Json, name: string, param: string): string {
  const text = item[name]
  if (typeof text !== 'string') throw invalidMember(`${param}.${name}`, `${name} must be a text.`)
  return text
}
