import { cacheControlOf } from '#data-plane/wires/cache-control.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { DESCRIBED, leftOutTools } from '#data-plane/wires/left-out-tools.ts'
import { flagOf, wordOf } from '#data-plane/wires/sampling.ts'
import type { AnswerContext } from '#data-plane/wires/translate.ts'
import { NO_FORMAT } from '#data-plane/wires/translate.ts'
import { isSealed } from '#data-plane/wires/turn-seal.ts'
import { isRecord } from '#shared/json-members.ts'
import { serviceOf } from '#shared/members/surcharge.ts'
import type {
  AssistantPart,
  Conversation,
  ConversationTurn,
  DataSource,
  FilePart,
  FunctionTool,
  ImagePart,
  ReasoningSettings,
  ResponseFormat,
  TextPart,
  ToolChoice,
  ToolOrigins,
  UrlSource,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { renamedTools, sellerName } from '#shared/protocols/middle-form/tool-origin.ts'
import { leftOutKinds, searchResultText } from './block-kinds.ts'
import type { MessagesRequest } from './read-request.ts'

type Json = Readonly<Record<string, unknown>>

/** Members that the middle form holds or that decide the form of the answer. */
const SAID: ReadonlySet<string> = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'stream',
  'tools',
  'tool_choice',
  'thinking',
  'metadata',
  'output_config',
  'output_format',
])

/** This wire's names for parameters with another name at OpenAI. */
const SPELLING: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  reasoning: 'thinking',
  reasoning_effort: 'thinking',
  user: 'metadata',
  parallel_tool_calls: 'tool_choice',
  max_completion_tokens: 'max_tokens',
  response_format: 'output_config',
  tool_calls: 'messages.tool_use',
  reasoning_details: 'messages.redacted_thinking',
}

/**
 * A message request in the middle form, for sellers of other protocols. Parameters that the form cannot hold are
 * reported as left out.
 */
export function toConversation({ body, content, isStreamed, maxTokens }: MessagesRequest): Conversation {
  const tools = readTools(body['tools'])
  const origins = originsOf(body['tools'])
  const bodyTools: readonly unknown[] = Array.isArray(body['tools']) ? body['tools'] : []
  const choice = body['tool_choice']
  const messages = listOf(body['messages'])
  const { metadata, stop_sequences: stops } = body
  const unsaid = Object.keys(body).filter(
    (name) => !SAID.has(name) && !ROUTING_FIELDS.has(name) && body[name] !== null && body[name] !== undefined,
  )
  return {
    system: [
      ...systemParts(body['system']),
      ...messages.filter(isSystem).flatMap((turn) => systemParts(turn['content'])),
    ],
    turns: messages
      .filter((turn) => !isSystem(turn))
      .map(turnOf)
      .filter(({ parts }) => parts.length > 0),
    tools,
    toolChoice: readChoice(choice),
    origins,
    parallelToolCalls: isRecord(choice) && choice['disable_parallel_tool_use'] === true ? false : undefined,
    sampling: {
      ...(typeof body['temperature'] === 'number' ? { temperature: body['temperature'] } : {}),
      ...(typeof body['top_p'] === 'number' ? { topP: body['top_p'] } : {}),
      ...(typeof body['top_k'] === 'number' ? { topK: body['top_k'] } : {}),
    },
    stop: Array.isArray(stops) ? stops.filter((stop) => typeof stop === 'string') : [],
    responseFormat: formatOf(body),
    reasoning: readThinking(body['thinking']) ?? readEffort(body['output_config']),
    ...serviceOf(body),
    user: isRecord(metadata) ? wordOf(metadata['user_id']) : undefined,
    maxTokens,
    isStreamed,
    spelling: SPELLING,
    adaptedParams: [
      ...unsaid,
      ...(tools.length < bodyTools.length ? leftOutTools(bodyTools, DESCRIBED) : []),
      ...leftOutKinds(content),
      ...(origins.size > 0 ? ['tools.name'] : []),
    ],
  }
}

/** The format of a request's answer, under its present name or that of the beta. */
export function formatOf(body: Json): ResponseFormat | undefined {
  const config = body['output_config']
  const format = (isRecord(config) ? config['format'] : undefined) ?? body['output_format']
  if (!isRecord(format) || format['type'] !== 'json_schema' || !isRecord(format['schema'])) return undefined
  return { kind: 'schema', name: 'answer', schema: format['schema'], isStrict: true }
}

/** The parts of the conversation that decide the reading of its answer. */
export function askedOf({ body, isStreamed }: MessagesRequest): AnswerContext {
  const responseFormat = formatOf(body)
  const origins = originsOf(body['tools'])
  if (responseFormat === undefined) return { isStreamed, ...NO_FORMAT, origins }
  return {
    isStreamed,
    responseFormat,
    tools: readTools(body['tools']),
    toolChoice: readChoice(body['tool_choice']),
    origins,
  }
}

/** OpenAI has no level above `high`. */
function readEffort(config: unknown): ReasoningSettings | undefined {
  const effort = isRecord(config) ? wordOf(config['effort']) : undefined
  return effort === undefined ? undefined : { effort: effort === 'max' || effort === 'xhigh' ? 'high' : effort }
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

function systemParts(system: unknown): TextPart[] {
  if (typeof system === 'string') return [{ kind: 'text', text: system }]
  return listOf(system).flatMap(textPart)
}

function textPart(block: Json): TextPart[] {
  const { text } = block
  return typeof text === 'string' ? [{ kind: 'text', text, ...cacheControlOf(block) }] : []
}

/** Instructions among the turns. Other protocols have them in front. */
function isSystem({ role }: Json): boolean {
  return role === 'system'
}

function turnOf({ role, content }: Json): ConversationTurn {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
  return role === 'assistant'
    ? { role: 'assistant', parts: blocks.flatMap(assistantPart) }
    : { role: 'user', parts: blocks.flatMap(userPart) }
}

function assistantPart(block: Json): AssistantPart[] {
  switch (block['type']) {
    case 'tool_use': {
      const input = isRecord(block['input']) ? JSON.stringify(block['input']) : '{}'
      return [
        {
          kind: 'toolCall',
          id: wordOf(block['id']) ?? '',
          name: sellerName(wordOf(block['name']) ?? ''),
          input,
          ...cacheControlOf(block),
        },
      ]
    }
    case 'thinking': {
      const signature = wordOf(block['signature'])
      const text = wordOf(block['thinking']) ?? ''
      return [{ kind: 'reasoning', text, ...(signature === undefined ? {} : { signature }) }]
    }
    case 'search_result':
      return textPart({ ...block, text: searchResultText(block) })
    case 'compaction':
      return textPart({ text: block['content'] })
    case 'redacted_thinking': {
      const data = wordOf(block['data']) ?? ''
      return [{ kind: 'reasoning', text: '', ...(isSealed(data) ? { sealed: data } : { redacted: data }) }]
    }
    default:
      return textPart(block)
  }
}

function userPart(block: Json): UserPart[] {
  if (block['type'] !== 'tool_result') return shownPart(block)
  const { content } = block
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
  return [
    {
      kind: 'toolResult',
      callId: wordOf(block['tool_use_id']) ?? '',
      parts: blocks.flatMap(shownPart),
      isError: block['is_error'] === true,
      ...cacheControlOf(block),
    },
  ]
}

function shownPart(block: Json): (TextPart | ImagePart | FilePart)[] {
  const source = isRecord(block['source']) ? block['source'] : {}
  switch (block['type']) {
    case 'image':
      return [{ kind: 'image', source: sourceOf(source), ...cacheControlOf(block) }]
    case 'document': {
      const name = wordOf(block['title'])
      const context = wordOf(block['context'])
      // A document in plain text is passed as text.
      if (source['type'] === 'text')
        return [...aboutDocument(name, context), ...textPart({ ...block, text: source['data'] })]
      if (source['type'] === 'content') {
        const { content } = source
        const shown = typeof content === 'string' ? textPart({ text: content }) : listOf(content).flatMap(shownPart)
        return [...aboutDocument(name, context), ...shown]
      }
      const file = { kind: 'file' as const, source: sourceOf(source), ...cacheControlOf(block) }
      return [...aboutDocument(undefined, context), { ...file, ...(name !== undefined && { name }) }]
    }
    case 'search_result':
      return textPart({ ...block, text: searchResultText(block) })
    case 'compaction':
      return textPart({ text: block['content'] })
    default:
      return textPart(block)
  }
}

/** Title and context of a document as a text in front of it. Other protocols have no members for them. */
function aboutDocument(title: string | undefined, context: string | undefined): TextPart[] {
  const lines = [
    ...(title === undefined ? [] : [`Document: ${title}`]),
    ...(context === undefined ? [] : [`Context: ${context}`]),
  ]
  return lines.length === 0 ? [] : [{ kind: 'text', text: lines.join('\n') }]
}

function sourceOf(source: Json): DataSource | UrlSource {
  const url = wordOf(source['url'])
  if (url !== undefined) return { kind: 'url', url }
  return { kind: 'data', mediaType: wordOf(source['media_type']) ?? '', data: wordOf(source['data']) ?? '' }
}

function readTools(tools: unknown): FunctionTool[] {
  return listOf(tools).flatMap((tool) => {
    const schema = tool['input_schema']
    // Tools of the protocol's own types (computer, editor) belong to the models of one maker: no other model could use
    // them.
    if (!isFunctionTool(tool) || !isRecord(schema)) return []
    const name = sellerName(wordOf(tool['name']) ?? '')
    const isStrict = flagOf(tool['strict'])
    const described = { name, description: wordOf(tool['description']), schema }
    return [{ ...described, ...(isStrict !== undefined && { isStrict }), ...cacheControlOf(tool) }]
  })
}

/** The buyer's names of tools whose names other protocols refuse. */
function originsOf(tools: unknown): ToolOrigins {
  return renamedTools(listOf(tools).flatMap((tool) => (isFunctionTool(tool) ? (wordOf(tool['name']) ?? '') : [])))
}

/** True for tools that a buyer has described: without a type, or of type `custom`. */
function isFunctionTool(tool: Json): boolean {
  const { type } = tool
  return type === undefined || type === null || type === 'custom'
}

function readChoice(choice: unknown): ToolChoice | undefined {
  const kind = isRecord(choice) ? choice['type'] : choice
  if (kind === 'auto' || kind === 'none') return kind
  if (kind === 'any') return 'required'
  const name = isRecord(choice) && kind === 'tool' ? wordOf(choice['name']) : undefined
  return name === undefined ? undefined : { name: sellerName(name) }
}

function readThinking(thinking: unknown): ReasoningSettings | undefined {
  if (!isRecord(thinking)) return undefined
  const budget = thinking['budget_tokens']
  if (thinking['type'] === 'disabled') return { isEnabled: false }
  return { isEnabled: true, summary: 'auto', ...(typeof budget === 'number' ? { maxTokens: budget } : {}) }
}
