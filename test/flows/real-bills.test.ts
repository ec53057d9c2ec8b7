import type { ServerResponse } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { wavTone } from '#dev/provider/media/sound.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import { recordsOf } from '#test/support/facts/units-of-media.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { RecordingProvider } from '#test/support/market/recording-provider.ts'
import { startRecordingProvider } from '#test/support/market/recording-provider.ts'
import { until } from '#test/support/run/until.ts'

const SELLER_DISCOUNT = 25
const MODELS = ['bills-tiered', 'bills-claude', 'bills-sonar', 'bills-ear', 'bills-ear-by-tokens'] as const
type ModelName = (typeof MODELS)[number]

/** Prices as the makers of such models list them, in US dollars a token and a search. */
const FACTS: Readonly<Record<ModelName, object>> = {
  'bills-tiered': {
    context_length: 1_050_000,
    supported_parameters: [],
    pricing: {
      prompt: '0.000002',
      completion: '0.00001',
      input_cache_read: '0.0000002',
      overrides: [
        { min_prompt_tokens: 272_000, prompt: '0.000004', completion: '0.000015', input_cache_read: '0.0000004' },
        { service_tier: 'priority', prompt: '0.000004', completion: '0.00002', input_cache_read: '0.0000004' },
      ],
    },
  },
  'bills-claude': {
    context_length: 1_000_000,
    supported_parameters: [],
    pricing: {
      prompt: '0.000003',
      completion: '0.000015',
      input_cache_read: '0.0000003',
      input_cache_write: '0.00000375',
      input_cache_write_1h: '0.000006',
      web_search: '0.01',
      overrides: [
        { service_tier: 'fast', prompt: '0.000006', completion: '0.00003' },
        {
          regions: ['us'],
          prompt: '0.0000033',
          completion: '0.0000165',
          input_cache_read: '0.00000033',
          input_cache_write: '0.000004125',
          input_cache_write_1h: '0.0000066',
        },
        { service_tier: 'fast', regions: ['us'], prompt: '0.0000066', completion: '0.000033' },
      ],
    },
  },
  'bills-sonar': {
    context_length: 128_000,
    supported_parameters: [],
    pricing: {
      prompt: '0.000001',
      completion: '0.000001',
      request: '0.005',
      overrides: [
        { search_context_size: 'low', request: '0.005' },
        { search_context_size: 'high', request: '0.012' },
      ],
    },
  },
  'bills-ear': {
    architecture: { input_modalities: ['audio'], output_modalities: ['text'] },
    pricing: { prompt: '0', completion: '0' },
    unit_pricing: { seconds: '0.0001', minimum_seconds: 10 },
    supported_parameters: [],
    endpoints: ['transcription'],
  },
  'bills-ear-by-tokens': {
    context_length: 16_000,
    architecture: { input_modalities: ['audio'], output_modalities: ['text'] },
    pricing: { prompt: '0.0000025', completion: '0.00001', audio: '0.000006' },
    top_provider: { max_completion_tokens: 2_000 },
    supported_parameters: [],
    endpoints: ['transcription'],
  },
}

const LONG_TEXT = 'tide '.repeat(70_000)
/** A question that can be a thousand tokens, and a search's own. */
const QUESTION = 'Is it so? '.repeat(200)
/** An answer of about a hundred tokens. */
const ANSWER = 'It is so. '.repeat(40)
const HELD_TEXT = 'tide '.repeat(20_000)

/** A call, the figures that its provider reports, and its cost in micro-USD by hand: at the list, and a quarter off. */
type Bill = {
  readonly name: string
  readonly model: ModelName
  readonly usage: object
  readonly serviceTier?: string
  readonly list: number
  readonly paid: number
  readonly looksUp: object
  /** The provider's own cost as the seller reads it. */
  readonly ownCost?: string
}

const BILLS: readonly Bill[] = [
  {
    name: 'a prompt of 300,000 tokens',
    model: 'bills-tiered',
    usage: { prompt_tokens: 300_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 50_000 } },
    // 250,000 tokens at 4 US dollars a million, 50,000 from the cache at 0.40, and 100 at 15.
    list: 1_021_500,
    paid: 766_125,
    looksUp: { input_tokens: 300_000, cache_read_tokens: 50_000, price_conditions: ['prompt_tokens>=272001'] },
  },
  {
    name: 'a call that asked for the priority tier and got it',
    model: 'bills-tiered',
    usage: { prompt_tokens: 1_000, completion_tokens: 100 },
    serviceTier: 'priority',
    list: 6_000,
    paid: 4_500,
    looksUp: { price_conditions: ['service_tier=priority'] },
  },
  {
    name: 'a call that asked for the priority tier and got the standard one',
    model: 'bills-tiered',
    usage: { prompt_tokens: 1_000, completion_tokens: 100 },
    serviceTier: 'default',
    list: 3_000,
    paid: 2_250,
    looksUp: { price_conditions: [] },
  },
  {
    name: 'a cache of an hour',
    model: 'bills-claude',
    usage: {
      input_tokens: 60,
      output_tokens: 10,
      cache_creation_input_tokens: 90_000,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 90_000 },
    },
    // 60 tokens at 3, 90,000 at 6 and 10 at 15 US dollars a million.
    list: 540_330,
    paid: 405_248,
    looksUp: { cache_write_tokens: 90_000, price_conditions: [] },
  },
  {
    name: 'two searches',
    model: 'bills-claude',
    usage: { input_tokens: 9_000, output_tokens: 100, server_tool_use: { web_search_requests: 2 } },
    // 9,000 tokens at 3, 100 at 15 US dollars a million, and two searches of a cent.
    list: 48_500,
    paid: 36_375,
    looksUp: { searches: 2 },
  },
  {
    name: 'a fast call',
    model: 'bills-claude',
    usage: { input_tokens: 1_000, output_tokens: 100, speed: 'fast' },
    // 1,000 tokens at 6 and 100 at 30 US dollars a million.
    list: 9_000,
    paid: 6_750,
    looksUp: { price_conditions: ['service_tier=fast'] },
  },
  {
    name: 'a call that is worked on in the United States',
    model: 'bills-claude',
    usage: { input_tokens: 1_000, output_tokens: 100, inference_geo: 'us' },
    // 1,000 tokens at 3.30 and 100 at 16.50 US dollars a million.
    list: 4_950,
    paid: 3_713,
    looksUp: { price_conditions: ['region=us'] },
  },
  {
    name: 'a search that finds much',
    model: 'bills-sonar',
    usage: { prompt_tokens: 1_000, completion_tokens: 100, search_context_size: 'high' },
    // 1,100 tokens at 1 US dollar a million, and the fee of the request.
    list: 13_100,
    paid: 9_825,
    looksUp: { price_conditions: ['search_context=high'] },
  },
  {
    name: 'an unasked search that finds much',
    model: 'bills-sonar',
    usage: { prompt_tokens: 1_000, completion_tokens: 100, search_context_size: 'high' },
    list: 13_100,
    paid: 9_825,
    looksUp: { price_conditions: ['search_context=high'] },
  },
  {
    name: 'a transcript of a second',
    model: 'bills-ear',
    usage: { type: 'duration', seconds: 1 },
    // Ten seconds of a hundredth of a cent.
    list: 1_000,
    paid: 750,
    looksUp: { price_conditions: [] },
  },
  {
    name: 'a transcript that is billed by its tokens',
    model: 'bills-ear-by-tokens',
    usage: {
      type: 'tokens',
      input_tokens: 30,
      input_token_details: { text_tokens: 20, audio_tokens: 10 },
      output_tokens: 100,
      total_tokens: 130,
    },
    // 20 tokens of text at 2.50, 10 of sound at 6 and 100 of the transcript at 10 US dollars a million.
    list: 1_110,
    paid: 833,
    looksUp: { input_tokens: 30, output_tokens: 100, price_conditions: [] },
  },
  {
    name: 'an answer with the cost by the provider’s own account',
    model: 'bills-tiered',
    usage: { prompt_tokens: 1_000, completion_tokens: 100, cost_in_usd_ticks: 30_000_007 },
    list: 3_000,
    paid: 2_250,
    looksUp: {},
    ownCost: '0.0030000007',
  },
]

let network: Network
let provider: RecordingProvider
let buyerKey: string
let sellerKey: string

const wallet = `0x${'0'.repeat(35)}b1115`

const operator = async (name: string, input: object): Promise<unknown> => {
  const answer = await call('POST', `${network.sandbox.trpc_url}/${name}`, network.sandbox.management_key, input)
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`)
  return answer.json()
}

function call(method: string, path: string, key: string, body?: object): Promise<Response> {
  return fetch(path.startsWith('http') ? path : network.sandbox.api_base_url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'bills' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const Spent = z.object({ data: z.object({ total_usage: z.number() }) })
const Look = z.looseObject({ buyer_cost_micro: z.number(), list_cost_micro: z.number() })
const Made = z.object({ result: z.object({ data: z.object({ buyerKey: z.string(), sellerKey: z.string() }) }) })

function sendChat(response: ServerResponse, { usage, serviceTier }: Bill): void {
  const choices = [{ index: 0, message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' }]
  const tier = serviceTier === undefined ? {} : { service_tier: serviceTier }
  send(response, { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', choices, usage, ...tier })
}

function sendMessage(response: ServerResponse, { usage }: Bill): void {
  const content = [{ type: 'text', text: ANSWER }]
  send(response, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason: 'end_turn',
    usage,
  })
}

function send(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** The provider bills so from now on, whichever protocol it is asked in. */
function bills(bill: Bill): void {
  provider.answers((_request, response, { url }) => {
    if (url === '/v1/messages') sendMessage(response, bill)
    else if (url === '/v1/audio/transcriptions') send(response, { text: 'Hello.', usage: bill.usage })
    else if (url === '/v1/chat/completions') sendChat(response, bill)
    else send(response, { object: 'list', data: MODELS.map((id) => ({ id, object: 'model' })) })
  })
}

/** Makes the call with the client of its protocol. Answers with the head and the usage object of the body. */
async function make({ name, model }: Bill) {
  const { api_base_url: origin } = network.sandbox
  if (model.startsWith('bills-ear')) {
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: buyerKey, maxRetries: 0 })
    const file = await toFile(new Uint8Array(wavTone(1)), 'talk.wav')
    const prompt = 'Names of ships follow.'
    const { data, response } = await client.audio.transcriptions.create({ model, file, prompt }).withResponse()
    return { headers: response.headers, usage: data.usage }
  }
  if (model !== 'bills-claude') {
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: buyerKey, maxRetries: 0 })
    const content = name.startsWith('a prompt') ? LONG_TEXT : QUESTION
    const tier = name.includes('tier') ? { service_tier: 'priority' as const } : {}
    const found = name === 'a search that finds much' && {
      web_search_options: { search_context_size: 'high' as const },
    }
    const request = { model, max_tokens: 200, messages: [{ role: 'user' as const, content }], ...tier, ...found }
    const { data, response } = await client.chat.completions.create(request).withResponse()
    return { headers: response.headers, usage: data.usage }
  }
  const client = new Anthropic({ baseURL: `${origin}/compat`, apiKey: buyerKey, maxRetries: 0 })
  const held = {
    type: 'text' as const,
    text: HELD_TEXT,
    cache_control: { type: 'ephemeral' as const, ttl: '1h' as const },
  }
  const isCached = name.includes('cache')
  const isFast = name === 'a fast call'
  const isRegional = name.includes('United States')
  const request = {
    model,
    max_tokens: 200,
    ...(isCached && { system: [held] }),
    ...(isRegional && { inference_geo: 'us' }),
    ...(isFast && { speed: 'fast' }),
    ...(name === 'two searches' && {
      tools: [{ type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 3 }],
    }),
    messages: [{ role: 'user' as const, content: QUESTION }],
  }
  const { data, response } = await client.messages.create(request).withResponse()
  return { headers: response.headers, usage: data.usage }
}

beforeAll(async () => {
  network = await sharedNetwork()
  provider = await startRecordingProvider('127.0.0.73')
  const [first] = BILLS
  if (first === undefined) throw new Error('no bill')
  bills(first)
  const models = MODELS.map((name) => textModel(name, FACTS[name]))
  expect(await operator('catalog.import', { source: 'test', models })).toMatchObject({
    result: { data: { rejected: [] } },
  })
  const keys = { wallet, label: 'bills', keys: ['buyer', 'seller'] }
  ;({ buyerKey, sellerKey } = Made.parse(await operator('user.create', keys)).result.data)
  await operator('credit.grant', { wallet, amountUsd: '50', ticket: 'bills', note: 'test' })
  const baseUrl = `${provider.origin}/v1`
  await operator('provider.put', { id: 'bills', name: 'Bills', baseUrl, isTrusted: true })
  for (const model of MODELS) {
    const terms = {
      model,
      api_key: 'sk-real-bills',
      seller_base_url: baseUrl,
      discount: SELLER_DISCOUNT,
      passes: ['service_tier', 'region'],
      api_format: model === 'bills-claude' ? 'messages' : 'openai',
    }
    const answer = await fetch(`${network.sandbox.api_base_url}/v1/seller/offers`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${sellerKey}`,
        'content-type': 'application/json',
        'idempotency-key': `bills-${model}`,
      },
      body: JSON.stringify(terms),
    })
    expect([answer.status, answer.ok ? '' : await answer.text()]).toEqual([201, ''])
  }
  await until('both models are on sale', 20_000, async () => {
    const answers = await Promise.all(MODELS.map((name) => call('GET', `/api/markets/${name}`, buyerKey)))
    return answers.every(({ status }) => status === 200)
  })
})
afterAll(async () => {
  provider.close()
  await network?.remove()
})

describe('the bill of a provider less the discount', () => {
  const rids = new Map<string, string>()

  it.each(BILLS)('is what the buyer is told: $name', async (bill) => {
    bills(bill)
    const { headers, usage } = await make(bill)
    rids.set(bill.name, headers.get('x-request-id') ?? '')
    expect(headers.get('x-mkt-buyer-cost-micro')).toBe(String(bill.paid))
    expect(headers.get('x-mkt-list-cost-micro')).toBe(String(bill.list))
    expect(usage).toMatchObject({ buyer_cost_micro: bill.paid, cost: bill.paid / 1e6 })
  })

  it('is in the list of prices, each line under its conditions', async () => {
    const pricingOf = async (model: ModelName) =>
      z.looseObject({ pricing: z.unknown() }).parse(await (await call('GET', `/v1/models/${model}`, buyerKey)).json())
        .pricing
    expect(await pricingOf('bills-ear')).toMatchObject({ second: '0.0001', minimum_seconds: 10 })
    expect(await pricingOf('bills-sonar')).toMatchObject({
      overrides: [{ search_context_size: 'low' }, { search_context_size: 'high', request: '0.012' }],
    })
    expect(await pricingOf('bills-claude')).toMatchObject({
      overrides: [{ service_tier: 'fast' }, { regions: ['us'], prompt: '0.0000033' }, { regions: ['us'] }],
    })
    const listed = await (await call('GET', '/v1/prices', buyerKey)).text()
    expect(listed).toContain('"minimum_seconds":10')
  })

  it('is in the look-up, on the page, in the files of both sides, and in the ledger', async () => {
    for (const { name, paid, list, looksUp } of BILLS) {
      const id = rids.get(name)
      const direct = Look.parse(await (await call('GET', `/v1/requests/${id}`, buyerKey)).json())
      expect(direct).toMatchObject({ buyer_cost_micro: paid, list_cost_micro: list, ...looksUp })
      await until('the call is booked', 30_000, async () => {
        const answer = await call('GET', `${network.sandbox.control_plane_url}/v1/requests/${id}`, buyerKey)
        return answer.status === 200
      })
      const booked = await call('GET', `${network.sandbox.control_plane_url}/v1/requests/${id}`, buyerKey)
      expect(await booked.json()).toMatchObject({ buyer_cost_micro: paid, list_cost_micro: list, ...looksUp })
      // The drawer of a call on the page asks so.
      const query = 'query ($id: ID!) { request(id: $id) { buyerCostMicro listCostMicro } }'
      const drawn = await call('POST', network.sandbox.graphql_url, buyerKey, { query, variables: { id } })
      expect(await drawn.json()).toEqual({
        data: { request: { buyerCostMicro: paid, listCostMicro: list } },
      })
    }
    const bought = recordsOf(await (await call('GET', '/v1/buyer/usage/export', buyerKey)).text())
    const sold = recordsOf(await (await call('GET', '/v1/seller/usage/export', sellerKey)).text())
    for (const { name, paid, list, looksUp, ownCost = '' } of BILLS) {
      const id = rids.get(name)
      const { price_conditions: conditions, ...counts } = z
        .looseObject({ price_conditions: z.array(z.string()).default([]) })
        .parse(looksUp)
      const figures = Object.fromEntries(Object.entries(counts).map(([unit, count]) => [unit, String(count)]))
      const line = { buyer_cost_micro: String(paid), price_conditions: conditions.map((one) => `"${one}"`).join() }
      expect(bought.find((row) => row['request_id'] === id)).toMatchObject({
        ...line,
        ...figures,
        list_cost_micro: String(list),
      })
      expect(sold.find((row) => row['request_id'] === id)).toMatchObject({
        ...line,
        ...figures,
        list_cost_micro: String(list),
        provider_cost_usd: ownCost,
      })
    }
    const spent = Spent.parse(await (await call('GET', '/v1/credits', buyerKey)).json())
    expect(Math.round(spent.data.total_usage * 1e6)).toBe(BILLS.reduce((sum, { paid }) => sum + paid, 0))
  })
})
