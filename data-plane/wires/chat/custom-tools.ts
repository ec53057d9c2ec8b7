import type { JsonBody } from '#data-plane/call.ts'
import { wordOf } from '#data-plane/wires/sampling.ts'
import { AppError } from '#shared/errors.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord, lastMembers, scanMembers } from '#shared/json-members.ts'
import type { ToolOrigin, ToolOrigins } from '#shared/protocols/middle-form/conversation.ts'
import { customArguments, customAsFunction, grammarOf } from '#shared/protocols/middle-form/tool-origin.ts'

/** A request whose custom tools have become functions, for sellers that support no others. */
export type AsFunctions = {
  readonly json: JsonBody
  readonly origins: ToolOrigins
  readonly adaptedParams: readonly string[]
}

/**
 * The request with a function for each custom tool, for each call of one and for a choice of one. Undefined for a
 * request without any. Throws `invalid_request`.
 */
export function withoutCustomTools(json: JsonBody): AsFunctions | undefined {
  const { body } = json
  const { tools, tool_choice: choice, messages } = body
  const hasTools = Array.isArray(tools) && tools.some(isCustom)
  const hasCalls = Array.isArray(messages) && messages.some(hasCustomCall)
  if (!hasTools && !hasCalls) return undefined
  checkAnswers(body)
  const origins = new Map<string, ToolOrigin>()
  const adapted = new Set<string>()
  const edits = new Map<string, unknown>()
  if (hasTools) {
    const functions = tools.map((tool, index) => toolAsFunction(tool, `tools[${index}]`, { origins, adapted }))
    checkNames(tools, origins)
    edits.set('tools', functions)
    if (isRecord(choice)) edits.set('tool_choice', choiceAsFunction(choice))
  }
  if (hasCalls) edits.set('messages', messages.map(messageAsFunctions))
  return { json: edited(json, edits), origins, adaptedParams: [...adapted] }
}

function isCustom(tool: unknown): boolean {
  return isRecord(tool) && tool['type'] === 'custom'
}

function hasCustomCall(message: unknown): boolean {
  const calls = isRecord(message) ? message['tool_calls'] : undefined
  return Array.isArray(calls) && calls.some(isCustom)
}

/**
 * The answer is parsed call by call, so parts that only OpenAI's own form of an answer has cannot accompany the calls.
 */
function checkAnswers({ n, logprobs, audio, modalities }: JsonObject): void {
  const [param] = [
    ...(typeof n === 'number' && n > 1 ? ['n'] : []),
    ...(logprobs === true ? ['logprobs'] : []),
    ...(isRecord(audio) ? ['audio'] : []),
    ...(Array.isArray(modalities) && modalities.includes('image') ? ['modalities'] : []),
  ]
  if (param === undefined) return
  throw new AppError('invalid_request', { message: `${param} cannot be asked for beside custom tools.`, param })
}

type Findings = { readonly origins: Map<string, ToolOrigin>; readonly adapted: Set<string> }

function toolAsFunction(tool: unknown, param: string, { origins, adapted }: Findings): unknown {
  if (!isRecord(tool) || !isCustom(tool)) return tool
  const custom = isRecord(tool['custom']) ? tool['custom'] : {}
  const name = wordOf(custom['name'])
  if (name === undefined) {
    throw new AppError('invalid_request', { message: 'A custom tool needs a name.', param: `${param}.custom.name` })
  }
  const { format } = custom
  const description = wordOf(custom['description'])
  origins.set(name, { name, isCustom: true, custom: { description, format } })
  adapted.add('tools.custom')
  if (grammarOf(format) !== undefined) adapted.add('tools.format')
  const { description: longDescription, schema } = customAsFunction({ name, description, format })
  return { type: 'function', function: { name, description: longDescription, parameters: schema } }
}

/** A call is matched by its function's name, so a custom tool shares its name with no other tool. */
function checkNames(tools: readonly unknown[], origins: ToolOrigins): void {
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    const holder = isRecord(tool) ? (tool['custom'] ?? tool['function']) : undefined
    const name = isRecord(holder) ? wordOf(holder['name']) : undefined
    if (name === undefined) continue
    if (names.has(name) && origins.has(name)) {
      throw new AppError('invalid_request', { message: 'Two tools have the same name.', param: `tools[${index}]` })
    }
    names.add(name)
  }
}

function choiceAsFunction(choice: JsonObject): unknown {
  const allowedTools = choice['allowed_tools']
  if (choice['type'] === 'allowed_tools' && isRecord(allowedTools) && Array.isArray(allowedTools['tools'])) {
    return { ...choice, allowed_tools: { ...allowedTools, tools: allowedTools['tools'].map(toolName) } }
  }
  return toolName(choice)
}

/** The name of a custom tool. */
function toolName(tool: unknown): unknown {
  if (!isRecord(tool) || !isCustom(tool)) return tool
  const custom = isRecord(tool['custom']) ? tool['custom'] : tool
  return { type: 'function', function: { name: custom['name'] } }
}

function messageAsFunctions(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message['tool_calls']) || !hasCustomCall(message)) return message
  return { ...message, tool_calls: message['tool_calls'].map(callAsFunction) }
}

function callAsFunction(call: unknown): unknown {
  if (!isRecord(call) || !isCustom(call) || !isRecord(call['custom'])) return call
  const { name, input } = call['custom']
  const text = typeof input === 'string' ? input : ''
  return { id: call['id'], type: 'function', function: { name, arguments: customArguments(text) } }
}

/** The request with other values for some members. The other members stay letter by letter. */
function edited(json: JsonBody, edits: ReadonlyMap<string, unknown>): JsonBody {
  const members: string[] = []
  for (const { key, start, end } of lastMembers(json.members)) {
    const value = edits.has(key) ? JSON.stringify(edits.get(key)) : json.text.slice(start, end)
    members.push(`${JSON.stringify(key)}:${value}`)
  }
  const text = `{${members.join(',')}}`
  return { ...json, text, members: scanMembers(text) ?? [], body: { ...json.body, ...Object.fromEntries(edits) } }
}
