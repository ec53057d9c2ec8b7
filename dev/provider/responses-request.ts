import { z } from 'zod'
import { openThought } from './sealed-thought.ts'

const Json = z.record(z.string(), z.unknown())
const InputText = z.strictObject({ type: z.literal('input_text'), text: z.string() })
const InputPart = z.discriminatedUnion('type', [
  InputText,
  z.strictObject({
    type: z.literal('input_image'),
    image_url: z.string().min(1),
    detail: z.enum(['low', 'high', 'auto', 'original']).optional(),
  }),
  z.strictObject({
    type: z.literal('input_file'),
    filename: z.string().optional(),
    file_data: z.string().optional(),
    file_url: z.string().optional(),
  }),
])
const OutputPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('output_text'), text: z.string() }),
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
])
const CallId = z.string().min(1).max(64)
const Status = { status: z.enum(['in_progress', 'completed', 'incomplete']).optional() }
const Type = { type: z.literal('message').optional(), ...Status }
const Message = z.union([
  z.strictObject({ ...Type, role: z.literal('user'), content: z.union([z.string(), z.array(InputPart).min(1)]) }),
  z.strictObject({
    ...Type,
    role: z.enum(['system', 'developer']),
    content: z.union([z.string(), z.array(InputText).min(1)]),
  }),
  z.strictObject({
    ...Type,
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(OutputPart).min(1)]),
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
])
const Reasoning = z.strictObject({
  type: z.literal('reasoning'),
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  encrypted_content: z.string().min(1),
})
const Call = z.strictObject({
  type: z.literal('function_call'),
  ...Status,
  call_id: CallId,
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
  arguments: z.string(),
})
const CustomCall = z.strictObject({
  type: z.literal('custom_tool_call'),
  ...Status,
  call_id: CallId,
  name: z.string().min(1),
  input: z.string(),
})
const Output = z.strictObject({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  ...Status,
  call_id: CallId,
  output: z.union([z.string(), z.array(InputPart)]),
})
const Item = z.union([Message, Reasoning, Call, CustomCall, Output])
const Tool = z.union([
  z.strictObject({
    type: z.literal('function'),
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    description: z.string().nullish(),
    parameters: Json.nullable(),
    strict: z.boolean().nullish(),
  }),
  z.strictObject({
    type: z.literal('custom'),
    name: z.string().min(1),
    description: z.string().optional(),
    format: Json.optional(),
  }),
])
const Format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string().min(1),
    description: z.string().optional(),
    schema: Json,
    strict: z.boolean().nullish(),
  }),
])

/** The body's schema. It refuses unknown members, because that protocol does. */
const Body = z.strictObject({
  model: z.string(),
  instructions: z.string().nullish(),
  input: z.union([z.string().min(1), z.array(Item).min(1)]),
  tools: z.array(Tool).nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string(), name: z.string().optional() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  text: z.strictObject({ format: Format.optional(), verbosity: z.enum(['low', 'medium', 'high']).nullish() }).nullish(),
  reasoning: z.strictObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  max_output_tokens: z.number().int().min(16).nullish(),
  store: z.boolean().nullish(),
  include: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: Json.nullish(),
  service_tier: z.string().nullish(),
  metadata: Json.nullish(),
  max_tool_calls: z.number().int().nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
})
type Body = z.infer<typeof Body>
type Item = z.infer<typeof Item>

/** A request that the protocol refuses. */
export type BadResponsesRequest = { readonly message: string; readonly param: string; readonly code: string | null }

/** The same request as a chat, and the members that its answer repeats. */
export type ReadResponsesRequest = {
  readonly chat: Readonly<Record<string, unknown>>
  readonly echo: Readonly<Record<string, unknown>>
  /** True where thoughts are sent in a form that can be sent back. */
  readonly isSealing: boolean
  /** Names of tools whose input is free text. */
  readonly customTools: ReadonlySet<string>
}

/**
 * Reads a request of OpenAI's responses as the same request in chat, which behaviours know. Returned thoughts open only
 * for the account that made them.
 */
export function readResponses(body: unknown, account: string): ReadResponsesRequest | BadResponsesRequest {
  const parsed = Body.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return bad(issue?.path.join('.') ?? '', issue?.message ?? 'invalid')
  }
  const { data } = parsed
  const items = typeof data.input === 'string' ? [{ role: 'user' as const, content: data.input }] : data.input
  const fault = faultOf(data, items)
  if (fault !== undefined) return fault
  const messages = messagesOf(items, account)
  if (messages === undefined) {
    return {
      message: 'The encrypted content could not be verified. Reason: Encrypted content organization_id did not match.',
      param: 'input',
      code: 'invalid_encrypted_content',
    }
  }
  const system = data.instructions ? [{ role: 'system', content: data.instructions }] : []
  return {
    chat: chatOf(data, [...system, ...messages]),
    echo: echoOf(data),
    isSealing: data.include?.includes('reasoning.encrypted_content') === true,
    customTools: new Set((data.tools ?? []).filter(({ type }) => type === 'custom').map(({ name }) => name)),
  }
}

function bad(param: string, message: string): BadResponsesRequest {
  return { param, message: `Invalid '${param}': ${message}.`, code: null }
}

/** Checks the rules that the schema cannot express. */
function faultOf({ tools, tool_choice: choice, store }: Body, items: readonly Item[]): BadResponsesRequest | undefined {
  if (store !== false && items.some((item) => 'type' in item && item.type === 'reasoning')) {
    return bad('store', 'encrypted reasoning is for calls that are not stored')
  }
  if (choice != null && choice !== 'none' && !tools?.length) return bad('tool_choice', 'only with tools')
  for (const [index, tool] of (tools ?? []).entries()) {
    if (tool.type !== 'function' || tool.strict === false) continue
    if (tool.parameters?.['additionalProperties'] !== false) {
      return bad(`tools[${index}].parameters`, "'additionalProperties' is required to be supplied and to be false")
    }
  }
  const called = new Set<string>()
  for (const [index, item] of items.entries()) {
    if (!('type' in item)) continue
    if (item.type === 'function_call' || item.type === 'custom_tool_call') called.add(item.call_id)
    if (
      (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') &&
      !called.has(item.call_id)
    ) {
      return bad('input', `No tool call found for function call output with call_id ${item.call_id}`)
    }
    if (item.type === 'reasoning' && !isFollowed(items.slice(index + 1))) {
      return bad('input', `Item ${index} of type 'reasoning' was provided without its required following item`)
    }
  }
  const answeredIds = items.flatMap((item) => ('output' in item ? [item.call_id] : []))
  const open = [...called].find((id) => !answeredIds.includes(id))
  return open === undefined ? undefined : bad('input', `No tool output found for function call ${open}`)
}

function isFollowed(rest: readonly Item[]): boolean {
  const next = rest.find((item) => !('type' in item) || item.type !== 'reasoning')
  if (next === undefined) return false
  return 'role' in next ? next.role === 'assistant' : next.type === 'function_call' || next.type === 'custom_tool_call'
}

/** The turns of a chat. Undefined for a thought of another account. */
function messagesOf(items: readonly Item[], account: string): object[] | undefined {
  const messages: { role: string; [member: string]: unknown }[] = []
  const turn = () => {
    const last = messages.at(-1)
    if (last?.role === 'assistant') return last
    const made = { role: 'assistant', content: null }
    messages.push(made)
    return made as (typeof messages)[number]
  }
  let extra: object | undefined
  for (const item of items) {
    if ('role' in item) {
      if (item.role === 'assistant') turn()['content'] = wordsOf(item.content)
      else messages.push({ role: item.role === 'developer' ? 'system' : item.role, content: partsOf(item.content) })
    } else if (item.type === 'reasoning') {
      const thought = openThought(item.encrypted_content, account)
      if (thought === undefined) return undefined
      turn()['reasoning_content'] = thought.text
      extra = thought.extra
    } else if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      const args = item.type === 'function_call' ? item.arguments : JSON.stringify({ input: item.input })
      const one = turn()
      const calls = Array.isArray(one['tool_calls']) ? one['tool_calls'] : []
      const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: args }, ...extra }
      one['tool_calls'] = [...calls, call]
    } else messages.push({ role: 'tool', tool_call_id: item.call_id, content: partsOf(item.output) })
  }
  return messages
}

function partsOf(content: string | readonly z.infer<typeof InputPart>[]): unknown {
  if (typeof content === 'string') return content
  return content.map((part) => {
    if (part.type === 'input_text') return { type: 'text', text: part.text }
    return part.type === 'input_image' ? { type: 'image_url' } : { type: 'file' }
  })
}

function wordsOf(content: string | readonly z.infer<typeof OutputPart>[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join('')
}

function chatOf(data: Body, messages: readonly object[]): Readonly<Record<string, unknown>> {
  const tools = (data.tools ?? []).map((tool) => ({
    type: 'function',
    function: {
      name: tool.name,
      parameters:
        tool.type === 'function'
          ? (tool.parameters ?? {})
          : { type: 'object', properties: { input: { type: 'string' } } },
    },
  }))
  const choice = data.tool_choice
  return {
    model: data.model,
    messages,
    stream: data.stream ?? false,
    stream_options: { include_usage: true },
    ...(data.max_output_tokens == null ? {} : { max_tokens: data.max_output_tokens }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(choice == null || tools.length === 0
      ? {}
      : { tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } } }),
    ...(data.reasoning?.effort == null ? {} : { reasoning_effort: data.reasoning.effort }),
    ...formatOf(data.text?.format),
  }
}

function formatOf(format: z.infer<typeof Format> | undefined): object {
  if (format === undefined || format.type === 'text') return {}
  const { type } = format
  return { response_format: type === 'json_schema' ? { type, json_schema: { schema: format.schema } } : { type } }
}

/** The members of a response that repeat its request. */
function echoOf(data: Body): Readonly<Record<string, unknown>> {
  return {
    instructions: data.instructions ?? null,
    metadata: data.metadata ?? {},
    parallel_tool_calls: data.parallel_tool_calls ?? true,
    temperature: data.temperature ?? 1,
    tool_choice: data.tool_choice ?? 'auto',
    tools: data.tools ?? [],
    top_p: data.top_p ?? 1,
    max_output_tokens: data.max_output_tokens ?? null,
    previous_response_id: null,
    reasoning: { effort: data.reasoning?.effort ?? null, summary: data.reasoning?.summary ?? null },
    service_tier: data.service_tier ?? 'default',
    store: data.store ?? true,
    text: data.text ?? { format: { type: 'text' } },
    truncation: data.truncation ?? 'disabled',
    user: data.user ?? null,
  }
}
