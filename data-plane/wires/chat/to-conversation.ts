import { cacheControlOf } from '#data-plane/wires/cache-control.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { FUNCTIONS, leftOutTools } from '#data-plane/wires/left-out-tools.ts'
import { flagOf, readSampling, readStop, SAMPLING_FIELDS, wordOf } from '#data-plane/wires/sampling.ts'
import type { AnswerContext } from '#data-plane/wires/translate.ts'
import { NO_FORMAT } from '#data-plane/wires/translate.ts'
import { isSealed } from '#data-plane/wires/turn-seal.ts'
import { isRecord } from '#shared/json-members.ts'
import { serviceOf } from '#shared/members/surcharge.ts'
import { opaqueMembers } from '#shared/protocols/answers/call-pieces.ts'
import type {
  AssistantPart,
  Conversation,
  ConversationTurn,
  FunctionTool,
  ReasoningPart,
  ReasoningSettings,
  ResponseFormat,
  TextPart,
  ToolCallPart,
  ToolChoice,
  ToolOrigins,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { NO_ORIGINS, readDataUrl } from '#shared/protocols/middle-form/conversation.ts'
import { extrasIn } from '#shared/protocols/middle-form/taken-extras.ts'
import { renamedTools, sellerName } from '#shared/protocols/middle-form/tool-origin.ts'
import type { ChatRequest } from './read-request.ts'

type Json = Readonly<Record<string, unknown>>

/** Members that the middle form holds, that decide the form of the answer, or that no provider ever receives. */
const SAID: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning',
  'reasoning_effort',
  'user',
  'stop',
  'n',
  'service_tier',
  ...SAMPLING_FIELDS,
])

/** The format that a request asks its answer in. Undefined when it asks for none. */
export function formatOf({ body }: ChatRequest): ResponseFormat | undefined {
  return readFormat(body['response_format'])
}

/** The parts of the conversation that decide the reading of its answer. */
export function askedOf(request: ChatRequest): AnswerContext {
  const { body, isStreamed } = request
  const responseFormat = formatOf(request)
  const { tools, origins } = readTools(request)
  if (responseFormat === undefined) return { isStreamed, ...NO_FORMAT, origins }
  return { isStreamed, responseFormat, origins, tools, toolChoice: readToolChoice(body['tool_choice']) }
}

/**
 * A chat request in the middle form, for sellers of other protocols. Parameters that the form cannot hold are
 * reported as left out.
 */
export function toConversation(request: ChatRequest): Conversation {
  const { body, isStreamed, maxTokens } = request
  const { system, turns } = readMessages(body['messages'])
  const { tools, origins, leftOut } = readTools(request)
  const toolChoice = readToolChoice(body['tool_choice'])
  const isChoiceLost = toolChoice === undefined && body['tool_choice'] != null
  const unsaid = Object.keys(body).filter(
    (name) => !SAID.has(name) && !ROUTING_FIELDS.has(name) && body[name] !== null && body[name] !== undefined,
  )
  return {
    system,
    turns,
    tools,
    toolChoice,
    origins,
    parallelToolCalls: flagOf(body['parallel_tool_calls']),
    sampling: readSampling(body),
    stop: readStop(body['stop']),
    responseFormat: readFormat(body['response_format']),
    reasoning: readReasoning(body),
    extras: extrasIn(body),
    user: wordOf(body['user']),
    ...serviceOf(body),
    maxTokens,
    isStreamed,
    spelling: {},
    adaptedParams: [
      ...unsaid,
      ...leftOut,
      ...(isChoiceLost ? ['tool_choice'] : []),
      ...(tools.some(({ name }) => (origins.get(name)?.name ?? name) !== name) ? ['tools.name'] : []),
    ],
  }
}

function readMessages(messages: unknown): { system: TextPart[]; turns: ConversationTurn[] } {
  const system: TextPart[] = []
  const turns: ConversationTurn[] = []
  for (const message of Array.isArray(messages) ? messages : []) {
    if (!isRecord(message)) continue
    switch (message['role']) {
      case 'system':
      case 'developer':
        for (const part of userParts(message['content'])) if (part.kind === 'text') system.push(part)
        break
      case 'assistant':
        turns.push({ role: 'assistant', parts: assistantParts(message) })
        break
      case 'tool':
      case 'function':
        turns.push({ role: 'user', parts: [resultOf(message)] })
        break
      default:
        turns.push({ role: 'user', parts: userParts(message['content']) })
    }
  }
  return { system, turns }
}

function resultOf(message: Json): UserPart {
  const parts = userParts(message['content']).filter((part) => part.kind !== 'toolResult')
  // The older form names its function only, and has one call a turn.
  const callId = wordOf(message['tool_call_id']) ?? `call_${wordOf(message['name']) ?? '0'}`
  return { kind: 'toolResult', callId, parts, isError: false }
}

function userParts(content: unknown): UserPart[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.flatMap((part) => (isRecord(part) ? userPart(part) : []))
}

function userPart(part: Json): UserPart[] {
  const cacheControl = cacheControlOf(part)
  const { type, text } = part
  if (typeof text === 'string') return [{ kind: 'text', text, ...cacheControl }]
  if (type === 'refusal') return typeof part['refusal'] === 'string' ? [{ kind: 'text', text: part['refusal'] }] : []
  if (type === 'file' || type === 'input_file') {
    const file = isRecord(part['file']) ? part['file'] : part
    const data = wordOf(file['file_data']) ?? wordOf(file['file_url'])
    if (data === undefined) return []
    const name = wordOf(file['filename'])
    return [{ kind: 'file', source: sourceOf(data), ...(name === undefined ? {} : { name }), ...cacheControl }]
  }
  const image = part['image_url']
  const url = wordOf(isRecord(image) ? image['url'] : image)
  if (url === undefined) return []
  const detail = isRecord(image) ? wordOf(image['detail']) : undefined
  return [{ kind: 'image', source: sourceOf(url), ...(detail === undefined ? {} : { detail }), ...cacheControl }]
}

function sourceOf(url: string) {
  return readDataUrl(url) ?? { kind: 'url' as const, url }
}

/** Reasoning first, then text, then calls: the order in which a turn is made. */
function assistantParts(message: Json): AssistantPart[] {
  const textParts = userParts(message['content']).filter((part) => part.kind === 'text')
  const refusal = wordOf(message['refusal'])
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : []
  const single = message['function_call']
  return [
    ...reasoningParts(message),
    ...textParts,
    ...(refusal === undefined ? [] : [{ kind: 'text' as const, text: refusal }]),
    ...calls.flatMap((call) => (isRecord(call) ? callPart(call['id'], call['function'], opaqueMembers(call)) : [])),
    ...(isRecord(single) ? callPart(`call_${wordOf(single['name']) ?? '0'}`, single) : []),
  ]
}

function callPart(id: unknown, fn: unknown, members?: Json): ToolCallPart[] {
  if (!isRecord(fn) || typeof fn['name'] !== 'string') return []
  const args = fn['arguments']
  const input = typeof args === 'string' ? args : isRecord(args) ? JSON.stringify(args) : ''
  return [
    { kind: 'toolCall', id: wordOf(id) ?? 'call_0', name: sellerName(fn['name']), input, ...(members && { members }) },
  ]
}

/** Reasoning under any of its three names; only the details carry the data that their maker expects back. */
function reasoningParts(message: Json): ReasoningPart[] {
  const details = message['reasoning_details']
  if (Array.isArray(details) && details.length > 0) {
    return joinedThoughts(details)
  }
  const text = wordOf(message['reasoning_content']) ?? wordOf(message['reasoning'])
  return text === undefined ? [] : [{ kind: 'reasoning', text }]
}

/**
 * The reasoning in details. Reasoning that only another maker than Anthropic can read stays unchanged. A stream sends a
 * block of reasoning in pieces, and its signature after them: they are joined here.
 */
function joinedThoughts(details: readonly unknown[]): ReasoningPart[] {
  const thoughts: {
    kind: 'reasoning'
    text: string
    signature?: string
    redacted?: string
    details?: readonly Json[]
    sealed?: string
  }[] = []
  let place: unknown
  for (const detail of details) {
    if (!isRecord(detail)) continue
    const { index } = detail
    const redacted = wordOf(detail['data'])
    if (redacted !== undefined) {
      const before = thoughts.at(-1)
      const isOfOthers = !/^(?:anthropic|$)/.test(wordOf(detail['format']) ?? '')
      // Our seal ends the visible reasoning before it.
      if (!isSealed(redacted))
        thoughts.push({ kind: 'reasoning', text: '', ...(isOfOthers ? { details: [detail] } : { redacted }) })
      else if (before !== undefined && isOpen(before)) before.sealed = redacted
      else thoughts.push({ kind: 'reasoning', text: '', sealed: redacted })
      continue
    }
    const text = wordOf(detail['text']) ?? wordOf(detail['summary']) ?? ''
    const signature = wordOf(detail['signature'])
    const last = index === place ? thoughts.at(-1) : undefined
    place = index
    const mayJoin = last !== undefined && (last.redacted ?? last.details ?? last.sealed) === undefined
    if (mayJoin && (last.signature === undefined || text === '')) {
      last.text += text
      if (signature !== undefined) last.signature = (last.signature ?? '') + signature
    } else if (text !== '' || signature !== undefined) {
      thoughts.push({ kind: 'reasoning', text, ...(signature !== undefined && { signature }) })
    }
  }
  return thoughts
}

function isOpen({ signature, redacted, details, sealed }: ReasoningPart): boolean {
  return (signature ?? redacted ?? details ?? sealed) === undefined
}

type Tools = {
  readonly tools: readonly FunctionTool[]
  readonly origins: ToolOrigins
  readonly leftOut: readonly string[]
}

function readTools({ body, custom }: ChatRequest): Tools {
  const toolOrigins = custom?.origins ?? NO_ORIGINS
  const tools = body['tools']
  if (!Array.isArray(tools)) return { tools: [], origins: toolOrigins, leftOut: [] }
  const functionTools = tools.flatMap((tool) => (isRecord(tool) ? functionTool(tool) : []))
  const renamed = renamedTools(functionTools.map(({ name }) => name))
  return {
    tools: renamed.size === 0 ? functionTools : functionTools.map((tool) => ({ ...tool, name: sellerName(tool.name) })),
    origins: withRenamed(toolOrigins, renamed),
    leftOut: functionTools.length < tools.length ? leftOutTools(tools, FUNCTIONS) : [],
  }
}

function withRenamed(toolOrigins: ToolOrigins, renamed: ToolOrigins): ToolOrigins {
  if (renamed.size === 0) return toolOrigins
  const own = [...renamed].map(([name, origin]) => [name, toolOrigins.get(origin.name) ?? origin] as const)
  return new Map([...toolOrigins, ...own])
}

function functionTool(tool: Json): FunctionTool[] {
  const fn = tool['function']
  if (tool['type'] !== 'function' || !isRecord(fn) || typeof fn['name'] !== 'string') return []
  const isStrict = flagOf(fn['strict'])
  return [
    {
      name: fn['name'],
      description: wordOf(fn['description']),
      schema: isRecord(fn['parameters']) ? fn['parameters'] : { type: 'object', properties: {} },
      ...(isStrict === undefined ? {} : { isStrict }),
      ...cacheControlOf(tool),
    },
  ]
}

function readToolChoice(choice: unknown): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  if (choice === 'any') return 'required'
  if (!isRecord(choice)) return undefined
  const fn = choice['function']
  const name = wordOf(isRecord(fn) ? fn['name'] : choice['name'])
  return name === undefined ? undefined : { name: sellerName(name) }
}

function readFormat(format: unknown): ResponseFormat | undefined {
  if (!isRecord(format)) return undefined
  if (format['type'] === 'json_object') return { kind: 'json' }
  const jsonSchema = format['json_schema']
  if (format['type'] !== 'json_schema' || !isRecord(jsonSchema) || !isRecord(jsonSchema['schema'])) return undefined
  const description = wordOf(jsonSchema['description'])
  return {
    kind: 'schema',
    name: wordOf(jsonSchema['name']) ?? 'answer',
    schema: jsonSchema['schema'],
    isStrict: flagOf(jsonSchema['strict']),
    ...(description === undefined ? {} : { description }),
  }
}

function readReasoning(body: Json): ReasoningSettings | undefined {
  const reasoning = isRecord(body['reasoning']) ? body['reasoning'] : {}
  const effort = wordOf(body['reasoning_effort']) ?? wordOf(reasoning['effort'])
  const maxTokens = reasoning['max_tokens']
  const isEnabled = flagOf(reasoning['enabled'])
  if (effort === undefined && typeof maxTokens !== 'number' && isEnabled === undefined) return undefined
  // The `reasoning` object asks for visible reasoning, unless it says otherwise. An effort alone does not ask for it.
  const isShown = isRecord(body['reasoning']) && reasoning['exclude'] !== true && isEnabled !== false
  return {
    ...(isShown && { summary: wordOf(reasoning['summary']) ?? 'auto' }),
    ...(effort === undefined ? {} : { effort }),
    ...(typeof maxTokens === 'number' ? { maxTokens } : {}),
    ...(isEnabled === undefined ? {} : { isEnabled }),
  }
}
