import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { askedWith } from '#test/support/market/asked-with.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

const MODEL = 'gpt-5-mini'
/**
 * The two routes of a call: to the lowest-priced seller, which uses the buyers' protocol, and to a seller of the
 * messages protocol.
 */
const WAYS = [
  ['the OpenAI protocol', { model: MODEL, provider: ['sandbox-a', 'sandbox-b', 'sandbox-c'] }],
  ['the messages protocol', { model: 'claude-sonnet-4.5', provider: ['sandbox-e'] }],
] as const
const TOOL = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'Weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
}
const Priced = z.object({ cost: z.number(), buyer_cost_micro: z.number().int() })

let network: Network
let client: OpenAI

beforeAll(async () => {
  network = await sharedNetwork()
  client = new OpenAI({
    baseURL: `${network.sandbox.api_base_url}/v1`,
    apiKey: network.sandbox.buyer_key,
    maxRetries: 0,
  })
})

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(network.sandbox.api_base_url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${network.sandbox.buyer_key}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  })
}

async function refusal(path: string, body: object): Promise<readonly [number, unknown]> {
  const answer = await post(path, body)
  const { error } = z.object({ error: z.object({ code: z.string() }) }).parse(await answer.json())
  return [answer.status, error.code]
}

describe('responses through the official client', () => {
  it('are whole, with the cost in their usage and in the look-up', async () => {
    const { data, response } = await client.responses
      .create({ model: MODEL, instructions: 'Be brief.', input: 'Say hello to the market.' })
      .withResponse()
    const usage = Priced.parse(data.usage)
    expect(data.output_text.length).toBeGreaterThan(0)
    expect(data).toMatchObject({ object: 'response', status: 'completed', store: false })
    expect(usage.buyer_cost_micro).toBeGreaterThan(0)
    expect(response.headers.get('x-mkt-buyer-cost-micro')).toBe(String(usage.buyer_cost_micro))
    expect(data.id).toBe(`resp_${response.headers.get('x-request-id')}`)
    const lookup = await fetch(`${network.sandbox.api_base_url}/v1/requests/${response.headers.get('x-request-id')}`, {
      headers: { authorization: `Bearer ${network.sandbox.buyer_key}` },
    })
    expect(await lookup.json()).toMatchObject({ buyer_cost_micro: usage.buyer_cost_micro })
  })

  it.each(WAYS)('are streamed to the same end by %s', async (_name, way) => {
    const stream = client.responses.stream({ ...way, input: 'Stream a few words.' })
    let text = ''
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta
    })
    const final = await stream.finalResponse()
    expect(text.length).toBeGreaterThan(0)
    expect(final.output_text).toBe(text)
    expect(final.status).toBe('completed')
    expect(Priced.parse(final.usage).buyer_cost_micro).toBeGreaterThan(0)
    const whole = await client.responses.create({ ...way, input: 'Stream a few words.' })
    expect(whole.output_text).toBe(text)
  })

  it.each(
    WAYS.flatMap(([name, way]) => [
      { name: `whole, by ${name}`, way, isStreamed: false },
      { name: `streamed, by ${name}`, way, isStreamed: true },
    ]),
  )('carry a loop of tools to its end, $name', async ({ name, way, isStreamed }) => {
    const input: ResponseInputItem[] = [{ role: 'user', content: 'Use the weather tool for Rome.' }]
    const ask = async () => {
      const request = { ...way, input, tools: [TOOL], include: ['reasoning.encrypted_content' as const] }
      return isStreamed ? client.responses.stream(request).finalResponse() : client.responses.create(request)
    }
    const first = await ask()
    const call = first.output.find((item) => item.type === 'function_call')
    if (call?.type !== 'function_call') throw new Error('no call was made')
    expect(call.name).toBe('get_weather')
    expect(JSON.parse(call.arguments)).toHaveProperty('city')
    const answered = { call_id: call.call_id, output: `31 degrees, ${name}` }
    input.push(call, { type: 'function_call_output', ...answered })
    const second = await ask()
    expect(second.output_text.length).toBeGreaterThan(0)
    const [asked] = await askedWith(network, answered.output)
    const Asked = z.looseObject({ messages: z.array(z.looseObject({ role: z.string() })) })
    const result = asked?.path === '/v1/messages' ? 'user' : 'tool'
    expect(Asked.parse(asked?.body).messages.map(({ role }) => role)).toEqual(['user', 'assistant', result])
  })

  it('are parsed into the requested shape', async () => {
    const shape = z.object({ city: z.string(), degrees: z.number() })
    const answer = await client.responses.parse({
      model: MODEL,
      input: 'How warm is it in Rome?',
      text: { format: zodTextFormat(shape, 'weather') },
    })
    expect(shape.safeParse(answer.output_parsed).success).toBe(true)
  })

  it('show thoughts as a summary', async () => {
    const stream = client.responses.stream({ model: 'sandbox/reasoning', input: 'Think about it.' })
    let thought = ''
    stream.on('event', (event) => {
      if (event.type === 'response.reasoning_summary_text.delta') thought += event.delta
    })
    const { output } = await stream.finalResponse()
    expect(thought.length).toBeGreaterThan(0)
    expect(output[0]).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: thought }] })
  })

  it.each(['sandbox/tool-call-whole', 'sandbox/tool-call-crumbs', 'sandbox/tool-call-missing-index'])(
    'have the same input of a call by %s, streamed and whole',
    async (model) => {
      const request = { model, input: 'Use the weather tool for Rome.', tools: [TOOL] }
      const streamed = await client.responses.stream(request).finalResponse()
      const whole = await client.responses.create(request)
      const inputs = [streamed, whole].map(({ output }) =>
        output.map((item) => (item.type === 'function_call' ? JSON.parse(item.arguments) : undefined)),
      )
      expect(inputs[0]).toEqual(inputs[1])
      expect(inputs[0]?.[0]).toHaveProperty('city')
    },
  )

  it('end as incomplete at their limit, and as failed where the provider breaks off', async () => {
    const short = await client.responses.create({ model: MODEL, input: 'Tell me a long story.', max_output_tokens: 3 })
    expect([short.status, short.incomplete_details?.reason]).toEqual(['incomplete', 'max_output_tokens'])
    const broken = await client.responses.stream({ model: 'sandbox/cut-mid-stream', input: 'Go on.' }).finalResponse()
    expect([broken.status, typeof broken.error?.message]).toEqual(['failed', 'string'])
    await expect(client.responses.create({ model: 'sandbox/server-error', input: 'x' })).rejects.toMatchObject({
      status: expect.toSatisfy((status: number) => status >= 500),
    })
  })

  it('are refused by name when they refer to state that is not stored', async () => {
    await expect(
      client.responses.create({ model: MODEL, input: 'x', previous_response_id: 'resp_1' }),
    ).rejects.toMatchObject({ status: 400, code: 'invalid_request', param: 'previous_response_id' })
    await expect(client.responses.retrieve('resp_1')).rejects.toMatchObject({ status: 404 })
  })
})

describe('completions through the official client', () => {
  it.each(WAYS)('continue one prompt, whole and streamed, by %s', async (_name, way) => {
    const prompt = 'Once upon a time'
    const { data, response } = await client.completions.create({ ...way, prompt, max_tokens: 40 }).withResponse()
    expect([data.object, data.choices.length]).toEqual(['text_completion', 1])
    const cost = Priced.parse(data.usage).buyer_cost_micro
    expect(way.provider).toContain(response.headers.get('x-mkt-provider-family'))
    expect(response.headers.get('x-mkt-buyer-cost-micro')).toBe(String(cost))
    let text = ''
    const reasons: string[] = []
    const usages: unknown[] = []
    for await (const chunk of await client.completions.create({ ...way, prompt, max_tokens: 40, stream: true })) {
      text += chunk.choices[0]?.text ?? ''
      if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason)
      if (chunk.usage) usages.push(chunk.usage)
    }
    expect(text).toBe(data.choices[0]?.text)
    expect(reasons).toEqual([data.choices[0]?.finish_reason])
    expect(usages.map((usage) => Priced.parse(usage).buyer_cost_micro)).toHaveLength(1)
  })

  it('answer several prompts each, on models that are sold with that feature, and are refused on others', async () => {
    const prompt = ['the first of two', 'the second of two']
    const whole = await client.completions.create({ model: 'sandbox/echo', prompt, n: 2, max_tokens: 20 })
    expect(whole.choices.map(({ index, text }) => [index, text])).toEqual([
      [0, 'the first of two'],
      [1, 'the first of two'],
      [2, 'the second of two'],
      [3, 'the second of two'],
    ])
    const asked = await askedWith(network, 'the first of two')
    expect(asked.map((request) => [request.path, request.body])).toEqual([
      ['/v1/completions', { model: 'sandbox/echo', prompt, n: 2, max_tokens: 20 }],
    ])
    const texts = ['', '']
    for await (const { choices } of await client.completions.create({ model: 'sandbox/echo', prompt, stream: true })) {
      for (const { index, text } of choices) texts[index] += text
    }
    expect(texts).toEqual(prompt)
    for (const [param, fields] of [
      ['logprobs', { prompt: 'x', logprobs: 1 }],
      ['echo', { prompt, echo: true }],
      ['suffix', { prompt: 'x', n: 2, suffix: 'y' }],
    ] as const) {
      await expect(client.completions.create({ model: MODEL, ...fields })).rejects.toMatchObject({
        status: 400,
        code: 'model_capability_unsupported',
        param,
        message: expect.stringContaining('gpt-5-mini is a chat model'),
      })
    }
  })

  it.each(WAYS)('answer several prompts in a chat call each, charged as one request, by %s', async (name, way) => {
    const prompt = ['Once', 'Twice', 'Three times'].map((word) => `${word} in a list by ${name}`)
    const { data, response } = await client.completions.create({ ...way, prompt, max_tokens: 40 }).withResponse()
    const rid = response.headers.get('x-request-id')
    expect([data.id, data.choices.map(({ index }) => index)]).toEqual([`cmpl-${rid}`, [0, 1, 2]])
    expect((await askedWith(network, `in a list by ${name}`)).map(({ path }) => path.endsWith('/completions'))).toEqual(
      prompt.map(() => name === 'the OpenAI protocol'),
    )
    const alone = await Promise.all(
      prompt.map((text) => client.completions.create({ ...way, prompt: text, max_tokens: 40 })),
    )
    expect(data.choices.map(({ text }) => text)).toEqual(alone.map(({ choices }) => choices[0]?.text))
    const sum = (count: (one: (typeof alone)[number]) => number) => alone.reduce((total, one) => total + count(one), 0)
    expect(data.usage).toMatchObject({
      prompt_tokens: sum(({ usage }) => usage?.prompt_tokens ?? 0),
      completion_tokens: sum(({ usage }) => usage?.completion_tokens ?? 0),
    })
    const cost = Priced.parse(data.usage).buyer_cost_micro
    const authorization = `Bearer ${network.sandbox.buyer_key}`
    for (const path of [`/v1/requests/${rid}`, `/v1/requests/cmpl-${rid}`]) {
      const lookup = await fetch(network.sandbox.api_base_url + path, { headers: { authorization } })
      expect(await lookup.json()).toMatchObject({ request_id: rid, buyer_cost_micro: cost })
    }
    const texts = ['', '', '']
    const ends: number[] = []
    const costs: number[] = []
    for await (const chunk of await client.completions.create({ ...way, prompt, max_tokens: 40, stream: true })) {
      for (const { index, text, finish_reason } of chunk.choices) {
        texts[index] += text
        if (finish_reason) ends.push(index)
      }
      if (chunk.usage) costs.push(Priced.parse(chunk.usage).buyer_cost_micro)
    }
    expect([texts, ends, costs.length]).toEqual([data.choices.map(({ text }) => text), [0, 1, 2], 1])
  })

  it('answer each prompt of a chat model as often as requested, up to a limit in all', async () => {
    const asked = { ...WAYS[0][1], prompt: ['one each', 'two each'], n: 2, max_tokens: 20 }
    const { choices } = await client.completions.create(asked)
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
    const bodies = (await askedWith(network, ' each"')).map(
      ({ body }) => z.looseObject({ n: z.number() }).parse(body).n,
    )
    expect(bodies).toEqual([2, 2])
    const texts = ['', '', '', '']
    for await (const chunk of await client.completions.create({ ...asked, stream: true })) {
      for (const { index, text } of chunk.choices) texts[index] += text
    }
    expect(texts).toEqual(choices.map(({ text }) => text))
    const refused = { status: 400, code: 'invalid_request', param: 'prompt' }
    for (const [count, n] of [
      [33, 1],
      [17, 8],
    ] as const) {
      const prompt = Array.from({ length: count }, () => 'x')
      await expect(client.completions.create({ model: MODEL, prompt, n })).rejects.toMatchObject(refused)
    }
  })

  it('are served on the gated path and under a floor', async () => {
    const body = { model: MODEL, prompt: 'x', max_tokens: 5 }
    expect((await post('/api/inference/v1/completions', body)).status).toBe(200)
    expect((await post('/min0/v1/completions', body)).status).toBe(200)
    expect((await post('/min0/v1/responses', { model: MODEL, input: 'x' })).status).toBe(200)
  })
})

const ASKS = [
  ['/v1/completions', { model: MODEL, prompt: 'x', max_tokens: 5 }],
  ['/v1/responses', { model: MODEL, input: 'x', max_output_tokens: 5 }],
] as const

describe.each(ASKS)('routing on %s', (path, body) => {
  it('refuses unknown providers by name', async () => {
    expect(await refusal(path, { ...body, provider: 'nope' })).toEqual([400, 'unsupported_provider'])
    expect(await refusal(path, { ...body, provider: ['nope', 'nada'] })).toEqual([400, 'unsupported_provider'])
  })

  it('ignores unknown names in a block list and an order', async () => {
    expect((await post(path, { ...body, providers_blocked: ['nope'], provider_order: ['nope'] })).status).toBe(200)
    expect((await post(path, { ...body, providers_blocked: [] })).status).toBe(200)
  })

  it('refuses unreadable values', async () => {
    expect(await refusal(path, { ...body, providers_blocked: {} })).toEqual([400, 'invalid_request'])
    expect(await refusal(path, { ...body, min_discount_pct: 101 })).toEqual([400, 'invalid_minimum_discount'])
  })

  it('applies the strictest floor, and names the best discount when no offer meets it', async () => {
    const answer = await post(`/min1${path}`, { ...body, min_discount_pct: 5 }, { 'x-min-discount': '99' })
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({
      error: { code: 'minimum_discount_not_met', best_discount_pct: expect.any(Number), min_discount_pct: 99 },
    })
  })

  it('knows the model, and forwards no member of the market', async () => {
    expect(await refusal(path, { ...body, model: 'no-such-model' })).toEqual([400, 'unknown_model'])
    const ours = {
      provider_order: ['openai'],
      providers_blocked: ['nope'],
      min_discount_pct: 1,
      allow_untrusted: false,
    }
    const word = `marked ${path}`
    const marked = 'prompt' in body ? { ...body, prompt: word } : { ...body, input: word }
    expect((await post(path, { ...marked, ...ours })).status).toBe(200)
    const asked = await askedWith(network, word)
    expect(asked).toHaveLength(1)
    for (const name of Object.keys(ours)) expect(JSON.stringify(asked)).not.toContain(name)
  })

  it('needs a key, and offers payment without one', async () => {
    const answer = await fetch(network.sandbox.api_base_url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect([answer.status, answer.headers.has('payment-required')]).toEqual([402, true])
  })
})
