import { z } from 'zod'
import { SEARCH_TYPE } from './messages-search.ts'

const Json = z.record(z.string(), z.unknown())
const Cache = { cache_control: z.strictObject({ type: z.literal('ephemeral'), ttl: z.string().optional() }).nullish() }
const TextBlock = z.strictObject({ type: z.literal('text'), text: z.string().min(1), ...Cache })
const Source = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('base64'), media_type: z.string().min(1), data: z.string().min(1) }),
  z.strictObject({ type: z.literal('url'), url: z.string().min(1) }),
  z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
])
const ImageBlock = z.strictObject({ type: z.literal('image'), source: Source, ...Cache })
const Citations = { citations: z.strictObject({ enabled: z.boolean().optional() }).nullish() }
const DocumentBlock = z.strictObject({
  type: z.literal('document'),
  source: Source,
  title: z.string().nullish(),
  ...Citations,
  ...Cache,
})
const SearchResultBlock = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(TextBlock).min(1),
  ...Citations,
  ...Cache,
})
const ReferenceBlock = z.strictObject({ type: z.literal('tool_reference'), tool_name: z.string().min(1), ...Cache })
const CallId = z.string().regex(/^[a-zA-Z0-9_-]+$/)
const Block = z.discriminatedUnion('type', [
  TextBlock,
  ImageBlock,
  DocumentBlock,
  z.strictObject({ type: z.literal('tool_use'), id: CallId, name: z.string().min(1), input: Json, ...Cache }),
  z.strictObject({
    type: z.literal('tool_result'),
    tool_use_id: CallId,
    content: z
      .union([z.string(), z.array(z.union([TextBlock, ImageBlock, DocumentBlock, SearchResultBlock, ReferenceBlock]))])
      .optional(),
    is_error: z.boolean().optional(),
    ...Cache,
  }),
  SearchResultBlock,
  z.strictObject({
    type: z.literal('server_tool_use'),
    id: CallId,
    name: z.enum(['web_search', 'web_fetch', 'code_execution']),
    input: Json,
    ...Cache,
  }),
  z.strictObject({
    type: z.literal('web_search_tool_result'),
    tool_use_id: CallId,
    content: z.array(z.looseObject({ type: z.literal('web_search_result'), url: z.string() })),
    ...Cache,
  }),
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string().min(1) }),
])
const Message = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string().min(1), z.array(Block).min(1)]),
})
const Choice = z.looseObject({ type: z.enum(['auto', 'any', 'tool', 'none']), name: z.string().optional() })

/** The body's schema. It refuses unknown members, because that protocol does. */
const BodySchema = z.strictObject({
  model: z.string(),
  max_tokens: z.number().int().positive(),
  messages: z.array(Message).min(1),
  system: z.union([z.string(), z.array(TextBlock)]).optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.number().int().optional(),
  stop_sequences: z.array(z.string().min(1)).optional(),
  stream: z.boolean().optional(),
  tools: z
    .array(
      z.union([
        z.strictObject({
          type: z.string().regex(SEARCH_TYPE),
          name: z.literal('web_search'),
          max_uses: z.number().int().positive(),
          allowed_domains: z.array(z.string()).optional(),
          blocked_domains: z.array(z.string()).optional(),
          user_location: z.looseObject({ type: z.literal('approximate') }).optional(),
          ...Cache,
        }),
        z.looseObject({
          name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
          input_schema: z.looseObject({ type: z.literal('object') }),
        }),
      ]),
    )
    .optional(),
  tool_choice: Choice.optional(),
  thinking: z.looseObject({ type: z.string(), budget_tokens: z.number().int().min(1_024).optional() }).optional(),
  metadata: z.strictObject({ user_id: z.string().nullish() }).optional(),
  output_config: z
    .strictObject({
      format: z.strictObject({ type: z.literal('json_schema'), schema: Json }).optional(),
      effort: z.enum(['low', 'medium', 'high', 'max']).optional(),
    })
    .optional(),
})
type Body = z.infer<typeof BodySchema>
type Turn = z.infer<typeof Message>

/**
 * Reads a request of the messages protocol and returns the same request as a chat, which behaviours know. Returns a
 * text with the reason for an invalid request.
 */
export function chatOfMessages(body: unknown): Readonly<Record<string, unknown>> | string {
  const parsed = BodySchema.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`
  }
  const { data } = parsed
  const fault = faultOf(data)
  if (fault !== undefined) return fault
  const system = typeof data.system === 'string' ? data.system : (data.system ?? []).map(({ text }) => text).join('\n')
  return {
    model: data.model,
    max_tokens: data.max_tokens,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...data.messages.flatMap(chatMessages)],
    stream: data.stream,
    stream_options: { include_usage: true },
    stop: data.stop_sequences,
    searches: data.tools?.some((tool) => !('input_schema' in tool)),
    tools: data.tools?.flatMap((tool) =>
      'input_schema' in tool
        ? [{ type: 'function', function: { name: tool.name, parameters: tool.input_schema } }]
        : [],
    ),
    tool_choice: choiceOf(data.tool_choice),
    reasoning_effort: data.thinking?.type === 'enabled' ? 'medium' : undefined,
    response_format: formatOf(data.output_config),
  }
}

/**
 * Checks what the schema cannot: results answer the calls of the previous turn, and the reasoning budget fits the
 * limit.
 */
function faultOf({
  messages,
  thinking,
  temperature,
  max_tokens: limit,
  tools,
  tool_choice: choice,
}: Body): string | undefined {
  if (choice !== undefined && (tools === undefined || tools.length === 0)) return 'tool_choice: only with tools'
  const budget = thinking?.budget_tokens
  if (thinking?.type === 'enabled' && (budget === undefined || budget >= limit))
    return 'thinking.budget_tokens: too large'
  if (thinking?.type === 'enabled' && temperature !== undefined && temperature !== 1) return 'temperature: only 1 here'
  if (thinking?.type === 'enabled' && (choice?.type === 'any' || choice?.type === 'tool')) return 'tool_choice: forced'
  for (const [index, message] of messages.entries()) {
    const calls = callsOf(messages[index - 1])
    const blocks = typeof message.content === 'string' ? [] : message.content
    const results = blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []))
    if (results.some((id) => !calls.includes(id))) return `messages.${index}: unexpected tool_use_id in tool_result`
    if (calls.some((id) => !results.includes(id))) return `messages.${index}: tool_use without tool_result`
    const firstOther = blocks.findIndex(({ type }) => type !== 'tool_result')
    if (firstOther >= 0 && blocks.slice(firstOther).some(({ type }) => type === 'tool_result')) {
      return `messages.${index}: tool_result blocks must come first`
    }
  }
  return undefined
}

function callsOf(turn: Turn | undefined): readonly string[] {
  if (turn?.role !== 'assistant' || typeof turn.content === 'string') return []
  return turn.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
}

function chatMessages({ role, content }: Turn): object[] {
  if (typeof content === 'string') return [{ role, content }]
  const results = content.flatMap((block) =>
    block.type === 'tool_result' ? [{ role: 'tool', content: wordsOf(block.content) }] : [],
  )
  const parts = content.flatMap((block) => {
    if (block.type === 'text') return [{ type: 'text', text: block.text }]
    return block.type === 'image' ? [{ type: 'image_url' }] : []
  })
  return parts.length === 0 && results.length > 0 ? results : [{ role, content: parts }, ...results]
}

function wordsOf(content: string | readonly { readonly type: string; readonly text?: string }[] | undefined): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('')
}

function choiceOf(choice: Body['tool_choice']): unknown {
  if (choice === undefined) return undefined
  if (choice.type === 'tool') return { type: 'function', function: { name: choice.name } }
  return choice.type === 'any' ? 'required' : choice.type
}

function formatOf(config: Body['output_config']): unknown {
  const schema = config?.format?.schema
  return schema === undefined ? undefined : { type: 'json_schema', json_schema: { name: 'answer', schema } }
}
