import { z } from 'zod'

const PartSchema = z.looseObject({ type: z.string(), text: z.string().optional() })
const MessageSchema = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(PartSchema), z.null()]).optional(),
})
const JsonSchema = z.record(z.string(), z.unknown())
const ToolSchema = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), parameters: JsonSchema.optional() }),
})

const BodySchema = z
  .looseObject({
    model: z.string(),
    messages: z.array(MessageSchema).min(1),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    max_tokens: z.number().int().positive().nullish(),
    max_completion_tokens: z.number().int().positive().nullish(),
    stop: z.union([z.string(), z.array(z.string())]).nullish(),
    tools: z.array(ToolSchema).nullish(),
    tool_choice: z
      .union([z.string(), z.looseObject({ function: z.looseObject({ name: z.string() }).optional() })])
      .nullish(),
    response_format: z
      .looseObject({ type: z.string(), json_schema: z.looseObject({ schema: JsonSchema.optional() }).optional() })
      .nullish(),
    reasoning_effort: z.string().nullish(),
    n: z.number().int().min(1).max(8).nullish(),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.number().int().min(0).max(20).nullish(),
  })
  .refine(
    ({ tools, tool_choice: choice }) => choice == null || (tools ?? []).length > 0,
    'tool_choice is only allowed with tools',
  )
type Body = z.infer<typeof BodySchema>

/** A function the model may call, with the JSON schema of its arguments. */
export type SampleTool = { readonly name: string; readonly parameters: Readonly<Record<string, unknown>> }

/** The parts of a chat completion request that the sample provider needs. */
export type SampleChatRequest = {
  readonly model: string
  readonly isStream: boolean
  readonly wantsUsage: boolean
  /** The text of the user's last message. */
  readonly question: string
  /** The whole text of the prompt in order, with the tools. It is counted and cached. */
  readonly prompt: string
  readonly imageCount: number
  readonly maxTokens: number | undefined
  readonly stops: readonly string[]
  /** The tool to call in this answer, if any. */
  readonly toolToCall: SampleTool | undefined
  /** The last answer of the model in the conversation, as the client sent it back. */
  readonly lastAnswer: Readonly<Record<string, unknown>> | undefined
  /** The JSON schema that the answer must follow, if any. */
  readonly answerSchema: Readonly<Record<string, unknown>> | undefined
  readonly mustReason: boolean
  /** The number of answers. All are the same. */
  readonly choices: number
  /** The number of other tokens beside each token's probability. Undefined when no probabilities are requested. */
  readonly logprobs: number | undefined
}

/** Reads a request of OpenAI's chat completions. Undefined when the body is not one. */
export function readChatRequest(body: unknown): SampleChatRequest | undefined {
  const parsed = BodySchema.safeParse(body)
  return parsed.success ? describe(parsed.data) : undefined
}

function describe(body: Body): SampleChatRequest {
  const texts = body.messages.map((message) => textOf(message.content))
  const question = texts[body.messages.findLastIndex((message) => message.role === 'user')] ?? ''
  const tools = body.tools ?? []
  const isAnswerToTool = body.messages.at(-1)?.role === 'tool'
  return {
    model: body.model,
    isStream: body.stream === true,
    wantsUsage: body.stream_options?.include_usage === true,
    question,
    prompt: texts.join('\n') + (tools.length > 0 ? JSON.stringify(tools) : ''),
    imageCount: body.messages.reduce((count, message) => count + imagesIn(message.content), 0),
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    stops: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
    toolToCall: chooseTool(body, question, isAnswerToTool),
    lastAnswer: body.messages.findLast(({ role }) => role === 'assistant'),
    answerSchema: schemaOf(body),
    mustReason: typeof body.reasoning_effort === 'string' && body.reasoning_effort !== 'none',
    choices: body.n ?? 1,
    logprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : undefined,
  }
}

function schemaOf(body: Body): Readonly<Record<string, unknown>> | undefined {
  const format = body.response_format
  if (format?.type === 'json_schema') return format.json_schema?.schema ?? { type: 'object' }
  return format?.type === 'json_object' ? { type: 'object', properties: { answer: { type: 'string' } } } : undefined
}

function textOf(content: Body['messages'][number]['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('')
}

function imagesIn(content: Body['messages'][number]['content']): number {
  return Array.isArray(content) ? content.filter((part) => part.type === 'image_url').length : 0
}

/**
 * Always picks a named or required tool. With `auto` it picks the tool that the question mentions, and none once a tool
 * has answered.
 */
function chooseTool(body: Body, question: string, isAnswerToTool: boolean): SampleTool | undefined {
  const tools = (body.tools ?? []).map((tool) => ({
    name: tool.function.name,
    parameters: tool.function.parameters ?? {},
  }))
  const choice = body.tool_choice ?? 'auto'
  if (typeof choice !== 'string') return tools.find((tool) => tool.name === choice.function?.name) ?? tools[0]
  if (choice === 'none') return undefined
  if (choice === 'required') return tools[0]
  if (isAnswerToTool) return undefined
  const text = question.toLowerCase()
  const mentioned = tools.find((tool) =>
    tool.name
      .toLowerCase()
      .split(/[_\W]+/)
      .some((word) => word.length > 3 && text.includes(word)),
  )
  return mentioned ?? (/\b(tool|function)\b/.test(text) ? tools[0] : undefined)
}
