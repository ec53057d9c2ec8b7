import type { ServerResponse } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { wavTone } from '#dev/provider/media/sound.ts'
import type { Bill, BilledModel } from '#test/support/facts/bills-of-providers.ts'
import { BILLED_FACTS, BILLED_MODELS, BILLS } from '#test/support/facts/bills-of-providers.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import { recordsOf } from '#test/support/facts/units-of-media.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { RecordingProvider } from '#test/support/market/recording-provider.ts'
import { startRecordingProvider } from '#test/support/market/recording-provider.ts'
import { until } from '#test/support/run/until.ts'

const SELLER_DISCOUNT = 25
const LONG_TEXT = 'tide '.repeat(70_000)
/** A question whose tokens a provider may count up to a thousand. The search uses it, too. */
const QUESTION = 'Is it so? '.repeat(200)
/** An answer of about a hundred tokens. */
const ANSWER = 'It is so. '.repeat(40)
const HELD_TEXT = 'tide '.repeat(20_000)

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

/** Sets the bill of the provider from now on, for both protocols. */
function bills(bill: Bill): void {
  provider.answers((_request, response, { url }) => {
    if (url === '/v1/messages') sendMessage(response, bill)
    else if (url === '/v1/audio/transcriptions') send(response, { text: 'Hello.', usage: bill.usage })
    else if (url === '/v1/chat/completions') sendChat(response, bill)
    else send(response, { object: 'list', data: BILLED_MODELS.map((id) => ({ id, object: 'model' })) })
  })
}

/** Makes the call with the client of its protocol. Returns the head and the usage object of the body. */
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
    ...(isFast && { speed: 'fast' as const }),
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
  if (first === undefined) throw new Error('the body has no bill')
  bills(first)
  const models = BILLED_MODELS.map((name) => textModel(name, BILLED_FACTS[name]))
  expect(await operator('catalog.import', { source: 'test', models })).toMatchObject({
    result: { data: { rejected: [] } },
  })
  const keys = { wallet, label: 'bills', keys: ['buyer', 'seller'] }
  ;({ buyerKey, sellerKey } = Made.parse(await operator('user.create', keys)).result.data)
  await operator('credit.grant', { wallet, amountUsd: '50', ticket: 'bills', note: 'test' })
  const baseUrl = `${provider.origin}/v1`
  await operator('provider.put', { id: 'bills', name: 'Bills', baseUrl, isTrusted: true })
  for (const model of BILLED_MODELS) {
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
    const answers = await Promise.all(BILLED_MODELS.map((name) => call('GET', `/api/markets/${name}`, buyerKey)))
    return answers.every(({ status }) => status === 200)
  })
})
afterAll(async () => {
  provider.close()
  await network?.remove()
})

describe('the bill of a provider less the discount', () => {
  const rids = new Map<string, string>()

  it.each(BILLS)('is the bill that the buyer sees: $name', async (bill) => {
    bills(bill)
    const { headers, usage } = await make(bill)
    rids.set(bill.name, headers.get('x-request-id') ?? '')
    expect(headers.get('x-mkt-buyer-cost-micro')).toBe(String(bill.paid))
    expect(headers.get('x-mkt-list-cost-micro')).toBe(String(bill.list))
    expect(usage).toMatchObject({ buyer_cost_micro: bill.paid, cost: bill.paid / 1e6 })
  })

  it('is in the list of prices, each line under its conditions', async () => {
    const pricingOf = async (model: BilledModel) =>
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
      // The drawer of a call on the page sends the same request.
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
