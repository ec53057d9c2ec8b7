import { connect } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

const MODEL = 'gpt-5-mini'
/** Sample providers of the two protocols. */
const OPENAI_SELLER = 'sandbox-a'
const MESSAGES_SELLER = 'sandbox-e'
const SELLERS = [OPENAI_SELLER, MESSAGES_SELLER]

let network: Network
let client: Anthropic
let chats: OpenAI

beforeAll(async () => {
  network = await sharedNetwork()
  const { api_base_url: origin, buyer_key: apiKey } = network.sandbox
  client = new Anthropic({ baseURL: `${origin}/compat`, apiKey, maxRetries: 0 })
  chats = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 })
})

afterAll(() => network?.remove())

const Body = z.looseObject({
  type: z.literal('error'),
  error: z.looseObject({ type: z.string(), message: z.string() }),
  request_id: z.string().length(26),
})

type Sent = { readonly path?: string; readonly headers?: Record<string, string>; readonly body?: unknown }

async function send({ path = '/compat/v1/messages', headers, body = GOOD }: Sent): Promise<Response> {
  return fetch(network.sandbox.api_base_url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(headers ?? { 'x-api-key': network.sandbox.buyer_key }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const GOOD = { model: MODEL, max_tokens: 64, messages: [{ role: 'user' as const, content: 'Say hello.' }] }

/** The status and type of a refusal in this wire's envelope. The envelope never mentions payment. */
async function refusal(sent: Sent): Promise<[number, string]> {
  const answer = await send(sent)
  expect(answer.headers.get('payment-required')).toBeNull()
  const { error, request_id: id } = Body.parse(await answer.json())
  expect(['request-id', 'x-request-id'].map((name) => answer.headers.get(name))).toEqual([id, id])
  return [answer.status, error.type]
}

/** Sends a request that only announces its body. A client that sends megabytes may not notice a refusal. */
function announce(bytes: number): Promise<string> {
  const { hostname, port, host } = new URL(network.sandbox.api_base_url)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `POST /compat/v1/messages HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${network.sandbox.buyer_key}\r\n` +
          `content-type: application/json\r\ncontent-length: ${bytes}\r\nconnection: close\r\n\r\n`,
      ),
    )
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

describe('refusals of the messages wire', () => {
  it('reads models and counts tokens below a base URL with a floor, and refuses a malformed floor', async () => {
    const { api_base_url: origin, buyer_key: apiKey } = network.sandbox
    const floored = new Anthropic({ baseURL: `${origin}/compat/min10`, apiKey, maxRetries: 0 })
    const seen: string[] = []
    for await (const { id } of floored.models.list({ limit: 50 })) seen.push(id)
    const plain: string[] = []
    for await (const { id } of client.models.list()) plain.push(id)
    expect(seen).toEqual(plain)
    expect((await floored.models.retrieve(MODEL)).id).toBe(MODEL)
    const { max_tokens: _, ...counted } = GOOD
    expect(await floored.messages.countTokens(counted)).toEqual(await client.messages.countTokens(counted))
    const headers = { authorization: `Bearer ${apiKey}` }
    const statusOf = async (path: string) => (await fetch(`${origin}${path}`, { headers })).status
    for (const path of [
      '/v1/models',
      '/v1/key',
      '/v1/requests',
      '/v1/payments/balance',
      '/v1/buyer/me',
      '/v1/prices',
    ]) {
      expect([path, await statusOf(`/min10${path}`)]).toEqual([path, 200])
      expect([path, await statusOf(`/min101${path}`)]).toEqual([path, 400])
    }
    expect(await statusOf('/compat/min101/v1/models')).toBe(400)
  })

  it('no key, a foreign key, a seller key, a management key, a cookie: 401', async () => {
    const { seller_key: seller, management_key: management } = network.sandbox
    const given = [
      {},
      { 'x-api-key': 'inf_nobody' },
      { authorization: 'Bearer sk-ant-foreign' },
      { 'x-api-key': seller },
      { authorization: `Bearer ${management}` },
      { cookie: 'session=x' },
    ]
    for (const headers of given) expect(await refusal({ headers })).toEqual([401, 'authentication_error'])
  })

  it('a payment is not accepted as a key here', async () => {
    expect(await refusal({ headers: { 'payment-signature': 'e30=' } })).toEqual([401, 'authentication_error'])
  })

  it('accepts the key in either header, and refuses two different ones', async () => {
    const { buyer_key: key } = network.sandbox
    expect((await send({ headers: { authorization: `Bearer ${key}`, 'x-api-key': key } })).status).toBe(200)
    const headers = { authorization: `Bearer ${key}`, 'x-api-key': 'inf_other' }
    expect(await refusal({ headers })).toEqual([400, 'invalid_request_error'])
  })

  it.each([
    ['malformed JSON', '{', 400, 'invalid_request_error'],
    ['an unknown model', { ...GOOD, model: 'claude-nothing-9' }, 404, 'not_found_error'],
    ['no seller under the floor', { ...GOOD, min_discount_pct: 99 }, 404, 'not_found_error'],
    ['an unreadable block list', { ...GOOD, providers_blocked: {} }, 400, 'invalid_request_error'],
    ['unknown providers', { ...GOOD, provider: 'nobody' }, 400, 'invalid_request_error'],
    [
      'no healthy seller',
      { ...GOOD, providers_blocked: ['sandbox-a', 'sandbox-b', 'sandbox-c', 'sandbox-d', 'sandbox-e'] },
      503,
      'overloaded_error',
    ],
  ])('%s', async (_name, body, status, type) => {
    expect(await refusal({ body })).toEqual([status, type])
  })

  it('a body over the limit', async () => {
    const answer = await announce(33 * 1_048_576)
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    // The answer stays open for the rest of the body, so it is chunked.
    expect(Body.parse(JSON.parse(/\{.*\}/.exec(answer)?.[0] ?? '')).error.type).toBe('request_too_large')
  })

  it.each([
    ['/compat/min07/v1/messages', 400, 'invalid_request_error'],
    ['/compat/min101/v1/messages', 400, 'invalid_request_error'],
    ['/compat/min10/min20/v1/messages', 400, 'invalid_request_error'],
    ['/compat/min99/v1/messages', 404, 'not_found_error'],
    ['/compat/v1/nothing', 404, 'not_found_error'],
    ['/compat/v1/models', 405, 'invalid_request_error'],
  ])('%s is %i', async (path, status, type) => {
    expect(await refusal({ path })).toEqual([status, type])
  })

  it('a floor in the path is kept', async () => {
    const answer = await send({ path: '/compat/min10/v1/messages' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-mkt-provider-family')).not.toBe(MESSAGES_SELLER)
  })
})

const WEATHER = {
  name: 'get_weather',
  description: 'Weather of a city.',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 3 } },
  },
}

/** The cost that the market adds to the usage. The client's types do not have it. */
function costOf(usage: unknown): number {
  return z.object({ buyer_cost_micro: z.number().int() }).parse(usage).buyer_cost_micro
}

function tokensOf({
  input_tokens,
  output_tokens,
  cache_read_input_tokens,
  cache_creation_input_tokens,
}: Anthropic.Usage) {
  return { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens }
}

const through = (provider: string) => ({ provider })

describe.each(SELLERS)('the official client, served by %s', (seller) => {
  it('gets a message whole and as a stream: the same text, stop reason, usage and cost', async () => {
    const ask = { ...GOOD, ...through(seller), system: 'Be brief.' }
    const { data: whole, response, request_id: id } = await client.messages.create(ask).withResponse()
    expect(whole.id).toBe(`msg_${id}`)
    expect(response.headers.get('x-mkt-provider-family')).toBe(seller)
    expect(whole).toMatchObject({ type: 'message', role: 'assistant', model: MODEL, stop_sequence: null })
    expect(Number(response.headers.get('x-mkt-buyer-cost-micro'))).toBe(costOf(whole.usage))
    const stream = client.messages.stream(ask)
    const events: string[] = []
    let streamedCost: number | undefined
    stream.on('streamEvent', (event) => {
      events.push(event.type)
      if (event.type === 'message_delta') streamedCost = costOf(event.usage)
    })
    const streamed = await stream.finalMessage()
    expect(events[0]).toBe('message_start')
    expect(events.slice(-2)).toEqual(['message_delta', 'message_stop'])
    expect(streamed.content).toEqual(whole.content)
    expect(streamed.stop_reason).toBe(whole.stop_reason)
    expect(tokensOf(streamed.usage)).toEqual(tokensOf(whole.usage))
    expect(streamedCost).toBe(costOf(whole.usage))
  })

  it('runs a loop of tools, and the input is the same whole and streamed', async () => {
    const ask = {
      ...GOOD,
      ...through(seller),
      messages: [{ role: 'user' as const, content: 'What is the weather in Bern?' }],
      tools: [WEATHER],
      tool_choice: { type: 'tool' as const, name: 'get_weather' },
    }
    const whole = await client.messages.create(ask)
    const streamed = await client.messages.stream(ask).finalMessage()
    const [call] = whole.content
    expect(whole.stop_reason).toBe('tool_use')
    expect(streamed.stop_reason).toBe('tool_use')
    expect(streamed.content).toEqual(whole.content)
    if (call?.type !== 'tool_use') throw new Error('no call')
    expect(call.input).toEqual({ city: 'What is the weather in Bern?', days: 3 })
    const answer = await client.messages.create({
      ...ask,
      tool_choice: { type: 'auto' },
      messages: [
        ...ask.messages,
        { role: 'assistant', content: whole.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'Sunny.' }] },
      ],
    })
    expect(answer.stop_reason).toBe('end_turn')
    expect(answer.content[0]?.type).toBe('text')
  })

  it('accepts images, stop sequences, an answer at its limit, and a disconnect in the middle', async () => {
    const data = 'iVBORw0KGgo='
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data },
    }
    const content = [image, { type: 'text' as const, text: 'What is this?' }]
    const seen = await client.messages.create({ ...GOOD, ...through(seller), messages: [{ role: 'user', content }] })
    expect(seen.usage.input_tokens).toBeGreaterThan(700)
    const cut = await client.messages.create({ ...GOOD, ...through(seller), max_tokens: 3 })
    expect([cut.stop_reason, cut.usage.output_tokens]).toEqual(['max_tokens', 3])
    const asked = { ...GOOD, ...through(seller), model: 'sandbox/drip', max_tokens: 64 }
    const stream = client.messages.stream(asked)
    stream.on('text', () => stream.abort())
    await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIUserAbortError)
  })

  it('the same conversation on both wires: text, tool input, tokens, cost', async () => {
    const question = { role: 'user' as const, content: 'Which tool would you call?' }
    const spoken = await client.messages.create({ ...GOOD, ...through(seller), messages: [question] })
    const chatted = await chats.chat.completions.create({
      model: MODEL,
      max_tokens: 64,
      messages: [question],
      ...through(seller),
    })
    const [block] = spoken.content
    expect(block?.type === 'text' ? block.text : '').toBe(chatted.choices[0]?.message.content)
    expect(spoken.usage.input_tokens + (spoken.usage.cache_read_input_tokens ?? 0)).toBe(chatted.usage?.prompt_tokens)
    expect(spoken.usage.output_tokens).toBe(chatted.usage?.completion_tokens)
    expect(costOf(spoken.usage)).toBe(costOf(chatted.usage))
  })
})

describe('the official client of the chat wire, served by a seller of the messages protocol', () => {
  const fn = { name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.input_schema }
  const chat = {
    model: MODEL,
    max_tokens: 64,
    messages: [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content: 'What is the weather in Bern?' },
    ],
    tools: [{ type: 'function' as const, function: fn }],
    ...through(MESSAGES_SELLER),
  }

  it('calls tools whole and streamed, and goes on with their results', async () => {
    const whole = await chats.chat.completions.create({ ...chat, tool_choice: 'required' })
    const message = whole.choices[0]?.message
    const stream = chats.chat.completions.stream({ ...chat, tool_choice: 'required' })
    const streamed = await stream.finalChatCompletion()
    const [call] = message?.tool_calls ?? []
    const [again] = streamed.choices[0]?.message.tool_calls ?? []
    if (call?.type !== 'function' || again?.type !== 'function') throw new Error('no call')
    expect(call.function.arguments).toBe('{"city":"What is the weather in Bern?","days":3}')
    expect(again.function).toMatchObject(call.function)
    expect([whole.choices[0]?.finish_reason, streamed.choices[0]?.finish_reason]).toEqual(['tool_calls', 'tool_calls'])
    const next = await chats.chat.completions.create({
      ...chat,
      messages: [
        ...chat.messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'Sunny.' },
      ],
    })
    expect(next.choices[0]?.finish_reason).toBe('stop')
  })

  it('thinks, under all names of the parameter, and accepts its thoughts back', async () => {
    const ask = { model: 'sandbox/reasoning', messages: chat.messages, ...through(MESSAGES_SELLER) }
    const Thought = z.looseObject({
      reasoning: z.string().min(1),
      reasoning_content: z.string().min(1),
      reasoning_details: z.array(
        z.object({ type: z.literal('reasoning.text'), text: z.string(), signature: z.string() }),
      ),
    })
    const whole = await chats.chat.completions.create(ask)
    const thought = Thought.parse(whole.choices[0]?.message)
    expect(thought.reasoning_content).toBe(thought.reasoning)
    expect(thought.reasoning_details[0]?.text).toBe(thought.reasoning)
    let streamed = ''
    for await (const chunk of await chats.chat.completions.create({ ...ask, stream: true })) {
      streamed +=
        z.looseObject({ reasoning: z.string().optional() }).parse(chunk.choices[0]?.delta ?? {}).reasoning ?? ''
    }
    expect(streamed).toBe(thought.reasoning)
    const back = { role: 'assistant' as const, content: 'So.', reasoning_details: thought.reasoning_details }
    const next = await chats.chat.completions.create({
      ...ask,
      messages: [...ask.messages, back, { role: 'user', content: 'And?' }],
    })
    expect(next.choices[0]?.finish_reason).toBe('stop')
  })

  it('answers by a schema', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const { data, response } = await chats.chat.completions
      .create({ ...chat, tools: [], response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } })
      .withResponse()
    expect(JSON.parse(data.choices[0]?.message.content ?? '')).toHaveProperty('city')
    expect(response.headers.get('x-mkt-adapted-params') ?? '').not.toContain('response_format')
  })

  it('several choices go only to sellers that support them', async () => {
    const none = chats.chat.completions.create({ ...chat, n: 2 })
    await expect(none).rejects.toThrow(OpenAI.NotFoundError)
  })
})

describe('counting and listing', () => {
  it('counts the tokens of system, tools and images without a provider', async () => {
    const bare = await client.messages.countTokens({ model: MODEL, messages: GOOD.messages })
    const full = await client.messages.countTokens({
      model: MODEL,
      system: 'You are a careful assistant. '.repeat(20),
      tools: [WEATHER],
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://a.invalid/a.png' } }] },
      ],
    })
    expect(bare.input_tokens).toBeGreaterThan(2)
    expect(full.input_tokens).toBeGreaterThan(bare.input_tokens + 1_900)
    const answer = await send({ path: '/compat/v1/messages/count_tokens' })
    expect(answer.headers.get('x-mkt-buyer-cost-micro')).toBe('0')
    expect(answer.headers.get('x-mkt-marketplace-attempts')).toBe('0')
  })

  it.each([
    ['ten megabytes in one text', { ...GOOD, messages: [{ role: 'user', content: 'x'.repeat(10_000_000) }] }, 413],
    ['broken tools', { ...GOOD, tools: [{ name: 5 }] }, 400],
    ['an unknown model', { ...GOOD, model: 'nothing' }, 404],
  ])('%s', async (_name, body, status) => {
    expect((await refusal({ path: '/compat/v1/messages/count_tokens', body }))[0]).toBe(status)
  })

  it('count_tokens needs a key', async () => {
    expect((await refusal({ path: '/compat/v1/messages/count_tokens', headers: {} }))[0]).toBe(401)
  })

  it('lists the whole catalogue in pages, forwards and backwards', async () => {
    const all: string[] = []
    for await (const model of client.models.list({ limit: 7 })) {
      expect(model).toMatchObject({ type: 'model', created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/) })
      all.push(model.id)
    }
    const once = await client.models.list({ limit: 1_000 })
    expect((await client.beta.models.list({ limit: 1_000 })).data.map(({ id }) => id)).toEqual(all)
    expect([once.has_more, once.first_id, once.last_id]).toEqual([false, all[0], all.at(-1)])
    const back = await client.models.list({ limit: 3, before_id: all[5] ?? '' })
    expect([back.data.map(({ id }) => id), back.has_more]).toEqual([all.slice(2, 5), true])
    expect(all).toEqual(expect.arrayContaining(['gpt-5-mini', 'claude-sonnet-4.5', 'sandbox/echo']))
  })

  it.each([
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4.5'],
    ['claude-sonnet-latest', 'claude-sonnet-5.5'],
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4.5'],
    ['claude-3-5-haiku-latest', 'claude-3.5-haiku'],
    ['~deepseek-latest', expect.stringMatching(/^deepseek/)],
    ['gemini-latest', expect.stringMatching(/^gemini/)],
    ['glm-latest', expect.stringMatching(/^glm/)],
  ])('%s is one model', async (name, id) => {
    expect(await client.models.retrieve(name)).toMatchObject({ id, type: 'model' })
  })

  it('an unknown model', async () => {
    for (const id of ['nothing', 'nothing%2fat-all', '%2f']) {
      const headers = { 'x-api-key': network.sandbox.buyer_key }
      const answer = await fetch(`${network.sandbox.api_base_url}/compat/v1/models/${id}`, { headers })
      expect([answer.status, Body.parse(await answer.json()).error.type]).toEqual([404, 'not_found_error'])
    }
    await expect(client.models.retrieve('nothing')).rejects.toThrow(Anthropic.NotFoundError)
  })
})
