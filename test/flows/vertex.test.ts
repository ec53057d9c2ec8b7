import { generateKeyPairSync, randomUUID } from 'node:crypto'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import { at } from '#test/support/translation/asked.ts'
import { until } from '#test/support/until.ts'

/** The provider at which the test lists a model under a service account. It has no other offer of that model. */
const SELLER = 'sandbox-a'
const MODEL = 'claude-opus-4'
const DISCOUNT = 20
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const ACCOUNT = JSON.stringify({
  type: 'service_account',
  project_id: 'sample',
  private_key: privateKey,
  client_email: 'flow@sample.iam.gserviceaccount.com',
  token_uri: 'https://tokens.example/token',
})
const QUESTION = 'What is the weather in Bern?'
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } } }
const FORMS = [
  ['whole', false],
  ['streamed', true],
] as const

let network: Network
let openai: OpenAI
let anthropic: Anthropic
let offer = ''

beforeAll(async () => {
  network = await sharedNetwork()
  const { api_base_url: origin, buyer_key: apiKey } = network.sandbox
  openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: `${origin}/compat`, apiKey, maxRetries: 0 })
  const made = await sell('POST', '/v1/seller/offers', wish(ACCOUNT))
  expect(made).toMatchObject({ id: expect.any(String) })
  offer = Offer.parse(made).id
  await until('the offer is on sale', 10_000, async () =>
    JSON.stringify(await read(`/api/markets/${MODEL}`)).includes(SELLER),
  )
})
afterAll(async () => {
  if (offer !== '') await sell('DELETE', `/v1/seller/offers/${offer}`)
  await network?.remove()
})

const Offer = z.object({ id: z.string() })
const wish = (apiKey: string) => ({
  model: MODEL,
  api_key: apiKey,
  api_format: 'vertexclaude',
  provider_model: `projects/sample/locations/global/publishers/anthropic/models/${MODEL}`,
  seller_base_url: `${network.sandbox.provider_url}/v1`,
  discount: DISCOUNT,
})

async function sell(method: string, path: string, body?: object): Promise<unknown> {
  const { seller_key: key, api_base_url: origin } = network.sandbox
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
  }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  return (await fetch(origin + path, { method, headers, ...sent })).json()
}

async function read(path: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
  return (await fetch(network.sandbox.api_base_url + path, { headers })).json()
}

const Models = z.object({ data: z.array(z.looseObject({ id: z.string(), pricing: z.unknown() })) })
const Prices = z.looseObject({
  prompt: z.coerce.number(),
  completion: z.coerce.number(),
  input_cache_read: z.coerce.number(),
})
const Booked = z.looseObject({
  provider: z.string(),
  buyer_cost_micro: z.number().int().positive(),
  confirmed_at: z.string().nullable(),
})
const Usage = z.looseObject({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  buyer_cost_micro: z.number(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }).optional(),
})

/** The figures of a call, once it is booked. */
async function booked(rid: string): Promise<z.infer<typeof Booked>> {
  let found: z.infer<typeof Booked> | undefined
  await until(`${rid} is booked`, 10_000, async () => {
    found = Booked.parse(await read(`/v1/requests/${rid}`))
    return found.confirmed_at !== null
  })
  if (found === undefined) throw new Error('not booked')
  return found
}

describe.each(FORMS)('a tool loop with a picture at a seller of Claude on Vertex AI, %s', (_form, isStreamed) => {
  it('of chat, by OpenAI’s client', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: SCHEMA } }]
    const image = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PICTURE}` } }
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: [{ type: 'text', text: QUESTION }, image] },
    ]
    const ask = async () => {
      const request = at(SELLER, { model: MODEL, messages, tools, reasoning_effort: 'low' as const })
      const answer = isStreamed
        ? await openai.chat.completions.stream(request).finalChatCompletion()
        : await openai.chat.completions.create(request)
      return answer.choices[0]?.message
    }
    const first = await ask()
    const [call] = first?.tool_calls ?? []
    if (first === undefined || call?.type !== 'function') throw new Error('no call was made')
    expect(JSON.parse(call.function.arguments)).toEqual({ city: QUESTION })
    expect(first).toMatchObject({ reasoning: expect.stringMatching(/./) })
    messages.push(first, { role: 'tool', tool_call_id: call.id, content: 'Sunny.' })
    expect((await ask())?.content).toEqual(expect.stringMatching(/./))
  })

  it('of messages, by Anthropic’s client', async () => {
    const tools = [{ name: 'get_weather', input_schema: SCHEMA }]
    const image: Anthropic.ImageBlockParam = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: PICTURE },
    }
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: QUESTION }, image] }]
    const ask = async () => {
      const thinking = { type: 'enabled' as const, budget_tokens: 1_024 }
      const request = at(SELLER, { model: MODEL, max_tokens: 4_000, messages, tools, thinking })
      return isStreamed ? anthropic.messages.stream(request).finalMessage() : anthropic.messages.create(request)
    }
    const { content } = await ask()
    expect(content[0]).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/./) })
    const call = content.find((block) => block.type === 'tool_use')
    if (call?.type !== 'tool_use') throw new Error('no call was made')
    expect(call.input).toEqual({ city: QUESTION })
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: [image] }
    messages.push({ role: 'assistant', content }, { role: 'user', content: [result] })
    expect((await ask()).stop_reason).toBe('end_turn')
  })
})

type Told = { readonly usage: unknown; readonly rid: string }

async function wholeUsage(request: OpenAI.ChatCompletionCreateParamsNonStreaming): Promise<Told> {
  const { data, response } = await openai.chat.completions.create(request).withResponse()
  return { usage: data.usage, rid: response.headers.get('x-request-id') ?? '' }
}

async function streamedUsage(request: OpenAI.ChatCompletionCreateParamsNonStreaming): Promise<Told> {
  const asked = openai.chat.completions.create({ ...request, stream: true })
  const { data, response } = await asked.withResponse()
  let usage: unknown
  for await (const chunk of data) usage = chunk.usage ?? usage
  return { usage, rid: response.headers.get('x-request-id') ?? '' }
}

describe('a call of a seller of Claude on Vertex AI', () => {
  it.each(FORMS)('costs its usage at its price, less the discount, %s', async (_form, isStreamed) => {
    const request = at(SELLER, {
      model: MODEL,
      messages: [{ role: 'user' as const, content: `Write 40 words. ${'Think. '.repeat(400)}` }],
      reasoning_effort: 'high' as const,
    })
    const { usage, rid } = isStreamed ? await streamedUsage(request) : await wholeUsage(request)
    const { prompt_tokens: input, completion_tokens: output, ...told } = Usage.parse(usage)
    const { buyer_cost_micro: cost, prompt_tokens_details: details } = told
    const { data: models } = Models.parse(await read('/v1/models'))
    const found = models.find(({ id }) => id === MODEL || id.endsWith(`/${MODEL}`))
    const { prompt, completion, input_cache_read: cacheRead } = Prices.parse(found?.pricing)
    const cached = details?.cached_tokens ?? 0
    const list = (input - cached) * prompt + cached * cacheRead + output * completion
    expect(cost).toBe(Math.ceil(Math.round(list * 1e6 * (100 - DISCOUNT) * 10) / 1e3))
    const row = await booked(rid)
    expect(row).toMatchObject({ provider: SELLER, buyer_cost_micro: cost })
  })
})
