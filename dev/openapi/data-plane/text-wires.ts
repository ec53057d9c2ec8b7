import { z } from 'zod'
import type { DataRoute } from './route.ts'
import { CALL_REFUSALS, Cost, Count, ROUTING, STREAM } from './route.ts'

/** Limits and ranges that the wires check. Unknown members are forwarded to the provider. */
const Sampling = z.object({
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  seed: Count.nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(16)]).nullish(),
  user: z.string().max(4_096).nullish(),
})
const Limit = Count.min(1).nullish()
const Tool = z.looseObject({ type: z.string() })
const Model = z.string().min(1).describe('A model of GET /v1/models under any of its names.')
const Message = z
  .looseObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })).max(2_000)]).nullish(),
  })
  .meta({ id: 'ChatMessage', description: 'A message of a conversation in OpenAI’s chat protocol.' })
const ChatRequest = z
  .looseObject({
    model: Model,
    messages: z.array(Message).min(1).max(10_000),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({}).nullish(),
    max_tokens: Limit,
    max_completion_tokens: Limit,
    n: Count.min(1).max(8).nullish(),
    tools: z.array(Tool).max(512).nullish(),
    tool_choice: z.union([z.string(), z.looseObject({})]).nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    response_format: z.looseObject({ type: z.string() }).nullish(),
    modalities: z.array(z.string()).min(1).max(8).nullish().describe('With "image", the answer holds pictures.'),
    reasoning_effort: z.string().nullish(),
    reasoning: z.looseObject({}).nullish(),
    ...Sampling.shape,
    ...ROUTING,
  })
  .meta({
    id: 'ChatRequest',
    description: 'A call in OpenAI’s chat protocol, with the routing members of this market.',
  })

const Usage = Cost.extend({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_tokens_details: z.record(z.string(), Count),
  completion_tokens_details: z.record(z.string(), Count),
}).meta({ id: 'ChatUsage', description: 'The tokens and the cost of a chat call.' })
const Answer = z.looseObject({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  tool_calls: z
    .array(
      z.object({
        id: z.string(),
        type: z.literal('function'),
        function: z.object({ name: z.string(), arguments: z.string() }),
      }),
    )
    .optional(),
})
const ChatAnswer = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: Count,
    model: z.string(),
    provider: z.string().describe('The provider that answered.'),
    system_fingerprint: z.string().nullable(),
    choices: z.array(
      z.object({
        index: Count,
        message: Answer,
        finish_reason: z.string().nullable(),
        logprobs: z.unknown().optional(),
      }),
    ),
    usage: Usage,
  })
  .meta({
    id: 'ChatAnswer',
    description: 'A whole answer in OpenAI’s chat protocol. Its usage has the cost of the call.',
  })

const CompletionRequest = z
  .looseObject({
    model: Model,
    prompt: z.union([z.string(), z.array(z.string()).min(1).max(128)]),
    stream: z.boolean().nullish(),
    max_tokens: Limit,
    n: Count.min(1).max(8).nullish(),
    echo: z.boolean().nullish(),
    suffix: z.string().nullish(),
    logprobs: z.union([Count.min(0).max(5), z.literal(false)]).nullish(),
    ...Sampling.shape,
    ...ROUTING,
  })
  .meta({ id: 'CompletionRequest', description: 'A call in OpenAI’s completions protocol: one prompt or several.' })
const CompletionAnswer = z
  .object({
    id: z.string(),
    object: z.literal('text_completion'),
    created: Count,
    model: z.string(),
    provider: z.string(),
    choices: z.array(
      z.looseObject({ index: Count, text: z.string(), logprobs: z.unknown(), finish_reason: z.string().nullable() }),
    ),
    usage: Usage,
  })
  .meta({ id: 'CompletionAnswer', description: 'A whole answer in OpenAI’s completions protocol.' })

const ResponseRequest = z
  .looseObject({
    model: Model,
    input: z.union([z.string(), z.array(z.looseObject({}))]),
    instructions: z.string().nullish(),
    stream: z.boolean().nullish(),
    max_output_tokens: Limit,
    tools: z.array(Tool).nullish(),
    tool_choice: z.union([z.string(), z.looseObject({})]).nullish(),
    text: z.looseObject({}).nullish(),
    reasoning: z.looseObject({}).nullish(),
    store: z.boolean().nullish().describe('Accepted. The answer says false, because nothing is stored.'),
    metadata: z.record(z.string(), z.unknown()).nullish(),
    ...ROUTING,
  })
  .meta({
    id: 'ResponseRequest',
    description: 'A call in OpenAI’s responses protocol, with the routing members of this market.',
  })
const ResponseAnswer = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: Count,
    status: z.enum(['completed', 'incomplete', 'failed']),
    model: z.string(),
    output: z.array(z.looseObject({ type: z.enum(['message', 'reasoning', 'function_call']), id: z.string() })),
    usage: Cost.extend({
      input_tokens: Count,
      output_tokens: Count,
      total_tokens: Count,
      input_tokens_details: z.record(z.string(), Count),
      output_tokens_details: z.record(z.string(), Count),
    }),
  })
  .meta({
    id: 'ResponseAnswer',
    description: 'A whole answer in OpenAI’s responses protocol. Its usage has the cost of the call.',
  })

const MessageBody = {
  model: Model,
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content: z.unknown() })).min(1),
  system: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  tools: z.array(z.looseObject({})).nullish(),
}
const MessageRequest = z
  .looseObject({
    ...MessageBody,
    max_tokens: Count.min(1),
    stream: z.boolean().nullish(),
    temperature: z.number().min(0).max(1).nullish(),
    stop_sequences: z.array(z.string()).max(64).nullish(),
    tool_choice: z.looseObject({}).nullish(),
    thinking: z.looseObject({ type: z.string() }).nullish(),
    ...ROUTING,
  })
  .meta({
    id: 'MessageRequest',
    description: 'A call in Anthropic’s messages protocol, with the routing members of this market.',
  })
const MessageAnswer = z
  .object({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(z.looseObject({ type: z.enum(['text', 'thinking', 'redacted_thinking', 'tool_use']) })),
    stop_reason: z.string().nullable(),
    stop_sequence: z.string().nullable(),
    usage: Cost.extend({
      input_tokens: Count,
      cache_creation_input_tokens: Count,
      cache_creation: z.object({ ephemeral_5m_input_tokens: Count, ephemeral_1h_input_tokens: Count }),
      cache_read_input_tokens: Count,
      output_tokens: Count,
    }),
  })
  .meta({
    id: 'MessageAnswer',
    description: 'A whole answer in Anthropic’s messages protocol. Its usage has the cost of the call.',
  })

const hello = [{ role: 'user', content: 'Say hello.' }]
const answers = (whole: z.ZodType) => ({ 'application/json': whole, 'text/event-stream': STREAM })
const paidRoute = { method: 'post', envelope: 'v1', access: 'buyer', isPaid: true, refusals: CALL_REFUSALS } as const

const chat = {
  ...paidRoute,
  tag: 'Chat',
  body: ChatRequest,
  answers: answers(ChatAnswer),
  examples: {
    whole: { model: 'gpt-5-mini', max_tokens: 64, messages: hello },
    stream: { model: 'gpt-5-mini', max_tokens: 64, stream: true, messages: hello },
    routed: { model: 'gpt-5-mini', max_tokens: 64, min_discount_pct: 10, messages: hello },
  },
}
const completion = {
  ...paidRoute,
  tag: 'Completions',
  body: CompletionRequest,
  answers: answers(CompletionAnswer),
  examples: { whole: { model: 'gpt-5-mini', max_tokens: 32, prompt: 'Once upon a time' } },
}

/** The wires that sell text. */
export const TEXT_ROUTES: readonly DataRoute[] = [
  {
    ...chat,
    path: '/v1/chat/completions',
    takesFloor: true,
    summary: 'Create a chat completion',
    description:
      'OpenAI’s chat protocol. The call goes to the cheapest healthy offer that may serve it, and to the next one when ' +
      'that fails before content.',
  },
  {
    ...chat,
    path: '/api/inference/v1/chat/completions',
    summary: 'Create a chat completion (second path)',
    description: 'The same as `/v1/chat/completions`.',
  },
  {
    ...chat,
    path: '/x402/api/inference/v1/chat/completions',
    access: 'public' as const,
    summary: 'Create a chat completion, paid by x402 only',
    description: 'The same as `/v1/chat/completions`, without a key. A wallet pays for each call.',
  },
  {
    ...completion,
    path: '/v1/completions',
    takesFloor: true,
    summary: 'Create a completion',
    description: 'OpenAI’s older protocol: the model continues one `prompt`.',
  },
  {
    ...completion,
    path: '/api/inference/v1/completions',
    summary: 'Create a completion (second path)',
    description: 'The same as `/v1/completions`.',
  },
  {
    ...completion,
    path: '/x402/api/inference/v1/completions',
    access: 'public' as const,
    summary: 'Create a completion, paid by x402 only',
    description: 'The same as `/v1/completions`, without a key. A wallet pays for each call.',
  },
  {
    ...paidRoute,
    path: '/v1/responses',
    takesFloor: true,
    tag: 'Responses',
    summary: 'Create a response',
    description: 'OpenAI’s responses protocol. Nothing is stored: send the whole conversation as input.',
    body: ResponseRequest,
    answers: answers(ResponseAnswer),
    examples: {
      whole: { model: 'gpt-5-mini', input: 'Say hello.', max_output_tokens: 64 },
      stream: { model: 'gpt-5-mini', input: 'Say hello.', max_output_tokens: 64, stream: true },
    },
  },
  {
    ...paidRoute,
    path: '/compat/v1/messages',
    takesFloor: true,
    tag: 'Messages',
    envelope: 'messages',
    summary: 'Create a message',
    description: 'Anthropic’s messages protocol. Send the key in x-api-key or in Authorization.',
    body: MessageRequest,
    answers: answers(MessageAnswer),
    examples: {
      whole: { model: 'claude-haiku-latest', max_tokens: 64, messages: hello },
      stream: { model: 'claude-haiku-latest', max_tokens: 64, stream: true, messages: hello },
    },
    refusals: CALL_REFUSALS.filter((status) => status !== 402),
  },
  {
    ...paidRoute,
    isPaid: false,
    takesFloor: true,
    path: '/compat/v1/messages/count_tokens',
    tag: 'Messages',
    envelope: 'messages',
    summary: 'Estimate the tokens of a message',
    description: 'An estimate of the market. No provider is called, and nothing is charged.',
    body: z
      .looseObject(MessageBody)
      .meta({ id: 'CountRequest', description: 'A request whose input tokens are counted, free of charge.' }),
    answers: { 'application/json': z.object({ input_tokens: Count }) },
    examples: { whole: { model: 'claude-haiku-latest', messages: hello } },
    refusals: CALL_REFUSALS.filter((status) => status !== 402),
  },
]
