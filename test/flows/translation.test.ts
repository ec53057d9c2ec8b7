import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { generateText, Output, stepCountIs, tool } from 'ai'
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { Adapted, ASKED, at, City, SELLERS } from '#test/support/translation/asked.ts'
import { customTools } from '#test/support/translation/custom-tools.ts'
import { messageBlocks } from '#test/support/translation/message-blocks.ts'

/** The first two accept a schema themselves, the others give their answer by a tool. */
const MODELS = ['gpt-5-mini', 'claude-sonnet-4.5', 'nova-pro-v1', 'claude-3.7-sonnet']
/** A model that supports neither. */
const UNABLE = 'phi-4'
const CASES = MODELS.flatMap((model) => SELLERS.map((provider) => ({ model, provider }))).filter(
  // No seller has this model in the messages protocol.
  ({ model, provider }) => model !== 'nova-pro-v1' || provider === SELLERS[0],
)

let network: Network
let chats: OpenAI
let messages: Anthropic

beforeAll(async () => {
  network = await sharedNetwork()
  const { api_base_url: origin, buyer_key: apiKey } = network.sandbox
  chats = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 })
  messages = new Anthropic({ baseURL: `${origin}/compat`, apiKey, maxRetries: 0 })
})
afterAll(() => network?.remove())

describe.each(CASES)('$model at $provider', ({ model, provider }) => {
  const response_format = zodResponseFormat(City, 'city')
  const chat = () => at(provider, { model, messages: ASKED, max_tokens: 400, response_format })

  it('answers a chat by its schema, whole and streamed', async () => {
    const { choices } = await chats.chat.completions.parse(chat())
    expect(City.parse(choices[0]?.message.parsed)).toBeDefined()
    expect(choices[0]?.finish_reason).toBe('stop')
    expect(choices[0]?.message.tool_calls ?? []).toEqual([])
    const streamed = await chats.chat.completions.stream(chat()).finalChatCompletion()
    expect(City.parse(streamed.choices[0]?.message.parsed)).toBeDefined()
  })

  it('answers with an object of any shape', async () => {
    const any = { ...chat(), response_format: { type: 'json_object' as const } }
    const { choices } = await chats.chat.completions.create(any)
    expect(JSON.parse(choices[0]?.message.content ?? '')).toBeTypeOf('object')
  })

  it('calls a tool of the buyer when it is told to, and answers by the schema otherwise', async () => {
    const parameters = { type: 'object', properties: { place: { type: 'string' } } }
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }]
    const forced = { type: 'function' as const, function: { name: 'get_weather' } }
    const called = await chats.chat.completions.create({ ...chat(), tools, tool_choice: forced })
    const [call] = called.choices[0]?.message.tool_calls ?? []
    expect(call?.type === 'function' ? call.function.name : undefined).toBe('get_weather')
    expect(called.choices[0]?.finish_reason).toBe('tool_calls')
    const answered = await chats.chat.completions.create({ ...chat(), tools, tool_choice: 'none' })
    expect(City.parse(JSON.parse(answered.choices[0]?.message.content ?? ''))).toBeDefined()
  })

  it('answers a response by its schema, whole and streamed', async () => {
    const text = { format: zodTextFormat(City, 'city') }
    const ask = at(provider, { model, input: 'Which city do you like?', max_output_tokens: 400, text })
    expect(City.parse((await chats.responses.parse(ask)).output_parsed)).toBeDefined()
    const streamed = await chats.responses.stream(ask).finalResponse()
    expect(City.parse(streamed.output_parsed)).toBeDefined()
  })

  it('answers a message by its schema, whole and streamed', async () => {
    const ask = at(provider, {
      model,
      max_tokens: 400,
      messages: ASKED,
      output_config: { format: zodOutputFormat(City) },
    })
    const whole = await messages.messages.parse(ask)
    expect(City.parse(whole.parsed_output)).toBeDefined()
    expect(whole.stop_reason).toBe('end_turn')
    const streamed = await messages.messages.stream(ask).finalText()
    expect(City.parse(JSON.parse(streamed))).toBeDefined()
  })

  it('accepts the format of the beta under its name', async () => {
    const schema = z.toJSONSchema(City)
    const ask = at(provider, {
      model,
      max_tokens: 400,
      messages: ASKED,
      output_format: { type: 'json_schema', schema },
    })
    const { content } = await messages.messages.create(ask)
    expect(City.parse(JSON.parse(content[0]?.type === 'text' ? content[0].text : ''))).toBeDefined()
  })
})

describe('the names of adapted members', () => {
  it('are in the body, whole and streamed, on every wire', async () => {
    const format = zodResponseFormat(City, 'city')
    const base = { model: 'nova-pro-v1', max_tokens: 400 }
    const chat = { ...base, messages: ASKED, response_format: format, seed: 5 }
    expect(Adapted.parse(await chats.chat.completions.create(chat)).usage.adapted_params).toContain('response_format')
    const stream = await chats.chat.completions.create({
      ...chat,
      stream: true,
      stream_options: { include_usage: true },
    })
    let last: unknown
    for await (const chunk of stream) last = chunk
    expect(Adapted.parse(last).usage.adapted_params).toContain('response_format')
    const message = await messages.messages.create({
      ...base,
      messages: ASKED,
      output_config: { format: zodOutputFormat(City) },
    })
    expect(Adapted.parse(message).usage.adapted_params).toContain('output_config')
    const response = await chats.responses.create({
      model: base.model,
      input: 'hi',
      max_output_tokens: 400,
      text: { format: zodTextFormat(City, 'city') },
    })
    expect(Adapted.parse(response).usage.adapted_params).toContain('text.format')
    const plain = await chats.chat.completions.create({ model: 'gpt-5-mini', max_tokens: 20, messages: ASKED })
    expect(plain.usage).not.toHaveProperty('adapted_params')
  })
})

describe('a model that can neither follow a schema nor call a tool', () => {
  it('is refused, and no member is dropped', async () => {
    const chat = { model: UNABLE, messages: ASKED, response_format: zodResponseFormat(City, 'city') }
    await expect(chats.chat.completions.create(chat)).rejects.toMatchObject({
      status: 400,
      code: 'model_capability_unsupported',
      param: 'response_format',
    })
    const response = { model: UNABLE, input: 'hi', text: { format: zodTextFormat(City, 'city') } }
    await expect(chats.responses.create(response)).rejects.toMatchObject({ status: 400, param: 'text.format' })
    const message = {
      model: UNABLE,
      max_tokens: 50,
      messages: ASKED,
      output_config: { format: zodOutputFormat(City) },
    }
    await expect(messages.messages.create(message)).rejects.toMatchObject({ status: 400 })
  })
})

describe('tools that a provider cannot run', () => {
  it.each(SELLERS)('are left out together with their choice, at %s', async (provider) => {
    const hosted = { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }
    const ask = at(provider, { model: 'gpt-5-mini', messages: ASKED, max_tokens: 50, parallel_tool_calls: false })
    Object.assign(ask, hosted)
    const { data, response } = await chats.chat.completions.create(ask).withResponse()
    expect(data.choices[0]?.finish_reason).toBe('stop')
    const adapted = response.headers.get('x-mkt-adapted-params') ?? ''
    for (const name of ['tools', 'tools.web_search', 'tool_choice', 'parallel_tool_calls'])
      expect(adapted).toContain(name)
  })

  it.each(SELLERS)('of the messages protocol are left out together with their choice, at %s', async (provider) => {
    const ask = at(provider, {
      model: 'gpt-5-mini',
      messages: ASKED,
      max_tokens: 50,
      tools: [{ type: 'bash_20250124' as const, name: 'bash' as const }],
      tool_choice: { type: 'tool' as const, name: 'bash', disable_parallel_tool_use: true },
    })
    const { data, response } = await messages.messages.create(ask).withResponse()
    expect(data.stop_reason).toBe('end_turn')
    const adapted = response.headers.get('x-mkt-adapted-params') ?? ''
    for (const name of ['tools', 'tools.bash_20250124', 'tool_choice']) expect(adapted).toContain(name)
  })
})

describe.each(['gpt-5-mini', 'claude-3.7-sonnet'])('the AI SDK with %s', (model) => {
  const ai = () => {
    const { api_base_url: origin, buyer_key: apiKey } = network.sandbox
    const market = createOpenAICompatible({
      name: 'market',
      baseURL: `${origin}/v1`,
      apiKey,
      supportsStructuredOutputs: true,
    })
    return { model: market(model), maxRetries: 0 }
  }

  it('gets an object of its schema', async () => {
    const { output } = await generateText({ ...ai(), output: Output.object({ schema: City }), prompt: 'A city.' })
    expect(City.parse(output)).toBeDefined()
  })

  it('has its tool called, and continues with the result', async () => {
    const weather = tool({
      description: 'The weather of a place.',
      inputSchema: z.object({ place: z.string() }),
      execute: async ({ place }) => ({ place, degrees: 21 }),
    })
    const prompt = 'The weather in Rome, by the tool.'
    const { steps } = await generateText({ ...ai(), tools: { weather }, stopWhen: stepCountIs(3), prompt })
    expect(steps.flatMap(({ toolResults }) => toolResults)).toHaveLength(1)
    expect(steps.at(-1)?.finishReason).toBe('stop')
  })
})

it('never loses the sound of a chat: a seller whose protocol has no sound is skipped', async () => {
  const sound = { type: 'input_audio' as const, input_audio: { data: 'AA==', format: 'wav' as const } }
  const ask = (provider: string) =>
    chats.chat.completions.create(
      at(provider, { model: 'gpt-5-mini', max_tokens: 40, messages: [{ role: 'user' as const, content: [sound] }] }),
    )
  expect((await ask('sandbox-a')).choices).toHaveLength(1)
  await expect(ask('sandbox-e')).rejects.toMatchObject({ status: 404 })
})

describe.each(SELLERS)('a custom tool, at %s', (provider) => {
  customTools(() => ({ chats, provider }))
})

describe('blocks of the messages wire', () => {
  messageBlocks(() => ({ messages, network }))
})
