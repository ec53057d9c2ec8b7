import { z } from 'zod'
import type { ConverseCall } from './bedrock-call.ts'

const Json = z.record(z.string(), z.unknown())
const Words = z.string().refine((text) => text.trim() !== '', 'text content must hold non-whitespace')
const Bytes = z.strictObject({ bytes: z.base64().min(1) })
const Text = z.strictObject({ text: Words })
const CachePoint = z.strictObject({
  cachePoint: z.strictObject({ type: z.literal('default'), ttl: z.enum(['5m', '1h']).optional() }),
})
const Picture = z.strictObject({
  image: z.strictObject({ format: z.enum(['png', 'jpeg', 'gif', 'webp']), source: Bytes }),
})
const Document = z.strictObject({
  document: z.strictObject({
    format: z.enum(['csv', 'doc', 'docx', 'html', 'md', 'pdf', 'txt', 'xls', 'xlsx']),
    name: z
      .string()
      .max(200)
      .regex(/^[A-Za-z0-9()[\]-]+(?: [A-Za-z0-9()[\]-]+)*$/),
    source: Bytes,
  }),
})
const ToolUseId = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/)
const ToolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/)
const Call = z.strictObject({ toolUse: z.strictObject({ toolUseId: ToolUseId, name: ToolName, input: Json }) })
const Result = z.strictObject({
  toolResult: z.strictObject({
    toolUseId: ToolUseId,
    content: z.array(z.union([Text, z.strictObject({ json: Json }), Picture, Document])).min(1),
    status: z.enum(['success', 'error']).optional(),
  }),
})
const Thought = z.strictObject({
  reasoningContent: z.union([
    z.strictObject({ reasoningText: z.strictObject({ text: z.string(), signature: z.string().min(1) }) }),
    z.strictObject({ redactedContent: z.base64().min(1) }),
  ]),
})
const Block = z.union([Text, CachePoint, Picture, Document, Call, Result, Thought])
const Message = z.strictObject({ role: z.enum(['user', 'assistant']), content: z.array(Block).min(1) })
const ToolSpec = z.strictObject({
  name: ToolName,
  description: z.string().min(1).optional(),
  inputSchema: z.strictObject({ json: z.looseObject({ type: z.literal('object') }) }),
})

/** The body's schema. It refuses unknown members, because that protocol does. */
const BodySchema = z.strictObject({
  messages: z.array(Message).min(1),
  system: z.array(z.union([Text, CachePoint])).optional(),
  inferenceConfig: z
    .strictObject({
      maxTokens: z.number().int().positive().optional(),
      temperature: z.number().min(0).max(1).optional(),
      topP: z.number().min(0).max(1).optional(),
      stopSequences: z.array(z.string().min(1)).optional(),
    })
    .optional(),
  toolConfig: z
    .strictObject({
      tools: z.array(z.union([z.strictObject({ toolSpec: ToolSpec }), CachePoint])).min(1),
      toolChoice: z
        .union([
          z.strictObject({ auto: z.strictObject({}) }),
          z.strictObject({ any: z.strictObject({}) }),
          z.strictObject({ tool: z.strictObject({ name: ToolName }) }),
        ])
        .optional(),
    })
    .optional(),
  additionalModelRequestFields: Json.optional(),
  additionalModelResponseFieldPaths: z.array(z.string().startsWith('/')).optional(),
  serviceTier: z.strictObject({ type: z.enum(['priority', 'default', 'flex', 'reserved']) }).optional(),
  outputConfig: z
    .strictObject({
      textFormat: z.strictObject({
        type: z.literal('json_schema'),
        structure: z.strictObject({
          jsonSchema: z.strictObject({
            schema: z.string(),
            name: z.string().optional(),
            description: z.string().optional(),
          }),
        }),
      }),
    })
    .optional(),
})
type Body = z.infer<typeof BodySchema>
type Turn = z.infer<typeof Message>

/**
 * Reads a request of Converse and returns the same request as a chat, which behaviours know. Returns a text with the
 * reason for an invalid request.
 */
export function chatOfConverse(
  body: unknown,
  { model, isStreamed }: ConverseCall,
): Readonly<Record<string, unknown>> | string {
  const parsed = BodySchema.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`
  }
  const { data } = parsed
  const fault = faultOf(data)
  if (fault !== undefined) return fault
  const { messages, system = [], inferenceConfig = {}, toolConfig, additionalModelRequestFields: fields = {} } = data
  const words = system.flatMap((block) => ('text' in block ? [block.text] : [])).join('\n')
  const schema = data.outputConfig?.textFormat.structure.jsonSchema.schema
  return {
    model,
    max_tokens: inferenceConfig.maxTokens,
    messages: [...(words === '' ? [] : [{ role: 'system', content: words }]), ...messages.flatMap(chatMessages)],
    stream: isStreamed,
    stream_options: { include_usage: true },
    stop: inferenceConfig.stopSequences,
    tools: toolConfig?.tools.flatMap((tool) =>
      'toolSpec' in tool
        ? [{ type: 'function', function: { name: tool.toolSpec.name, parameters: tool.toolSpec.inputSchema.json } }]
        : [],
    ),
    tool_choice: choiceOf(toolConfig?.toolChoice),
    reasoning_effort: thinks(fields) ? 'medium' : undefined,
    response_format:
      schema === undefined
        ? undefined
        : { type: 'json_schema', json_schema: { name: 'answer', schema: JSON.parse(schema) as unknown } },
  }
}

const EnabledThinking = z.object({ type: z.literal('enabled') })

function thinks({ thinking }: Readonly<Record<string, unknown>>): boolean {
  return EnabledThinking.safeParse(thinking).success
}

/** Checks what the schema cannot: the order of roles, results that answer calls, tools for a history with calls. */
function faultOf({
  messages,
  toolConfig,
  inferenceConfig,
  additionalModelRequestFields = {},
}: Body): string | undefined {
  if (messages[0]?.role !== 'user') return 'A conversation must start with a user message.'
  if (thinks(additionalModelRequestFields) && inferenceConfig?.temperature !== undefined) {
    return 'temperature: may only be set to 1 when thinking is enabled'
  }
  const toolNames = new Set<string>()
  for (const [index, { role, content }] of messages.entries()) {
    if (messages[index - 1]?.role === role) return 'A conversation must alternate between user and assistant roles.'
    const calls = callsOf(messages[index - 1])
    const results = content.flatMap((block) => ('toolResult' in block ? [block.toolResult.toolUseId] : []))
    if (results.some((id) => !calls.includes(id))) return `messages.${index}: unexpected toolUseId in toolResult`
    if (calls.some((id) => !results.includes(id))) return `messages.${index}: toolUse without toolResult`
    const usesTools = results.length > 0 || content.some((block) => 'toolUse' in block)
    if (usesTools && toolConfig === undefined) return 'The toolConfig field must be defined when using toolUse blocks.'
    const documents = content.flatMap((block) => ('document' in block ? [block.document.name] : []))
    if (documents.length > 0 && !content.some((block) => 'text' in block)) return 'A document needs a text block.'
    if (documents.some((name) => toolNames.has(name))) return 'Document names must be unique.'
    for (const name of documents) toolNames.add(name)
  }
  return undefined
}

function callsOf(turn: Turn | undefined): readonly string[] {
  return turn?.content.flatMap((block) => ('toolUse' in block ? [block.toolUse.toolUseId] : [])) ?? []
}

function chatMessages({ role, content }: Turn): object[] {
  const results = content.flatMap((block) =>
    'toolResult' in block
      ? [{ role: 'tool', content: block.toolResult.content.map((part) => ('text' in part ? part.text : '')).join('') }]
      : [],
  )
  const parts = content.flatMap((block) => {
    if ('text' in block) return [{ type: 'text', text: block.text }]
    return 'image' in block ? [{ type: 'image_url' }] : []
  })
  return parts.length === 0 && results.length > 0 ? results : [{ role, content: parts }, ...results]
}

function choiceOf(choice: NonNullable<Body['toolConfig']>['toolChoice']): unknown {
  if (choice === undefined) return undefined
  if ('tool' in choice) return { type: 'function', function: { name: choice.tool.name } }
  return 'any' in choice ? 'required' : 'auto'
}
