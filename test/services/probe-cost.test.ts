import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { collectLines } from '#control-plane/api/collect-lines.ts'
import { transact } from '#control-plane/db/database.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { getOffer } from '#control-plane/services/offers/read.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import { testConnection, testHealth } from '#control-plane/services/offers/test-provider.ts'
import { createOwnProvider, listBuyerProviders } from '#control-plane/services/routing/own-providers.ts'
import { buildDocument } from '#control-plane/services/snapshot/snapshot-documents.ts'
import { OffersDocumentSchema, offersDocumentName } from '#shared/contract/snapshot.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey } from '#test/support/doors/offers.ts'
import { textModel } from '#test/support/facts/text-model.ts'

/** Prices in US dollars per token, each in pico-USD below. They differ, so that each model's price is recognisable. */
const MODELS = [
  textModel('cheap-test'),
  textModel('dear-test', { pricing: { prompt: '0.00003', completion: '0.00018' } }),
  textModel('fee-test', { pricing: { prompt: '0.00003', completion: '0.00018', request: '0.005' } }),
  textModel('vector-test', { endpoints: ['embeddings'], pricing: { prompt: '0.00000013', completion: '0' } }),
  textModel('many-test', {
    endpoints: ['image-edit', 'embeddings', 'completions', 'chat'],
    pricing: { prompt: '0.00003', completion: '0.00018' },
    unit_pricing: { images: '0.04' },
  }),
  textModel('dearest-test', {
    endpoints: ['chat', 'completions', 'embeddings'],
    pricing: { prompt: '0.0001', completion: '0.0006' },
  }),
  textModel('picture-test', { endpoints: ['image'], unit_pricing: { images: '0.04' } }),
]
const DEAR = { input: 30_000_000n, output: 180_000_000n }
const VECTOR = { input: 130_000n, output: 0n }

let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  await invoke(market.plane, operator, importCatalog, { source: 'test', models: MODELS })
})
beforeEach(() => market.provider.requests.reset())
afterAll(() => market.stop())

const place = () => ({ apiKey: newProviderKey(), baseUrl: market.provider.url })
const questions = () => market.provider.requests.list().filter(({ method }) => method === 'POST')

/** The cost of tokens at prices in pico-USD, as US dollars rounded up to the micro-USD. */
function dollarsFor(prices: typeof DEAR, tokens: { readonly input: number; readonly output: number }): number {
  const pico = prices.input * BigInt(tokens.input) + prices.output * BigInt(tokens.output)
  return Number((pico + 999_999n) / 1_000_000n) / 1e6
}

const Count = z.number().int()
const Usages = {
  openai: z.object({ usage: z.object({ prompt_tokens: Count, completion_tokens: Count.default(0) }) }),
  messages: z.object({ usage: z.object({ input_tokens: Count, output_tokens: Count }) }),
  gemini: z.object({ usageMetadata: z.object({ promptTokenCount: Count, candidatesTokenCount: Count }) }),
  bedrock: z.object({ usage: z.object({ inputTokens: Count, outputTokens: Count }) }),
}

const bearer = { authorization: 'Bearer sk-good-canary' }

/** Repeats the market's last request to the provider, and reads the tokens of the answer by its plain members. */
async function tokensOfLast(form: keyof typeof Usages, headers: Record<string, string>) {
  const last = questions().at(-1)
  const answer = await fetch(new URL(last?.path ?? '', market.provider.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(last?.body),
  })
  const usages = z.array(z.record(z.string(), Count)).parse(Object.values(Usages[form].parse(await answer.json())))
  const [counts = {}] = usages
  const [input = 0, output = 0] = Object.values(counts)
  return { input, output }
}

describe('the cost of the test call', () => {
  it.each<[ProtocolName, keyof typeof Usages, Record<string, string>]>([
    ['openai', 'openai', bearer],
    ['messages', 'messages', { 'x-api-key': 'sk-good-canary', 'anthropic-version': '2023-06-01' }],
    ['responses', 'messages', bearer],
    ['gemini', 'gemini', { 'x-goog-api-key': 'sk-good-canary' }],
    ['bedrock', 'bedrock', bearer],
  ])('is the usage of the answer at the model’s own price in %s', async (apiFormat, form, headers) => {
    const offer = await listOffer(market, ada.seller, { model: 'dear-test', apiFormat })
    expect(questions()).toHaveLength(1)
    const tokens = await tokensOfLast(form, headers)
    expect(tokens.input).toBeGreaterThan(0)
    expect(offer.probeCostUsd).toBe(dollarsFor(DEAR, tokens))
  })

  it('is rounded up once for a low-priced model, and includes a price per call', async () => {
    const cheap = await listOffer(market, ada.seller, { model: 'cheap-test' })
    const tokens = await tokensOfLast('openai', bearer)
    expect(cheap.probeCostUsd).toBe(dollarsFor({ input: 250_000n, output: 2_000_000n }, tokens))
    const fee = await listOffer(market, ada.seller, { model: 'fee-test' })
    expect(fee.probeCostUsd).toBeCloseTo(0.005 + dollarsFor(DEAR, tokens), 9)
  })

  it('is the price of one word for embeddings, and zero for work that makes media', async () => {
    const vectors = await listOffer(market, ada.seller, { model: 'vector-test' })
    expect(questions().map(({ path, body }) => [path, body])).toEqual([
      ['/v1/embeddings', { model: 'vector-test', input: 'hi' }],
    ])
    expect(vectors.probeCostUsd).toBe(dollarsFor(VECTOR, await tokensOfLast('openai', bearer)))
    expect(vectors.probeCostUsd).toBeGreaterThan(0)
    expect((await listOffer(market, ada.seller, { model: 'picture-test' })).probeCostUsd).toBe(0)
  })

  it("is part of a rotation's answer, and not of the offer's reads", async () => {
    const { id, probeCostUsd } = await listOffer(market, ada.seller, { model: 'dear-test' })
    const rotated = await invoke(market.plane, ada.seller, rotateCredential, { id, apiKey: newProviderKey() })
    expect(rotated.probeCostUsd).toBe(probeCostUsd)
    expect(await invoke(market.plane, ada.seller, getOffer, { id })).not.toHaveProperty('probeCostUsd')
  })

  it('is part of each line of a bulk listing', async () => {
    const offers = ['cheap-test', 'dear-test', 'vector-test', 'picture-test', 'nope'].map((model) => ({
      model,
      discount: 10,
    }))
    const { lines } = await invoke(market.plane, ada.seller, bulkCreateOffers, { ...place(), offers })
    const made = await collectLines(lines)
    const costs = new Map(made.map((line) => [line.model, 'probeCostUsd' in line ? line.probeCostUsd : undefined]))
    const [cheap, dear] = await Promise.all(
      ['cheap-test', 'dear-test'].map(async (model) => (await listOffer(market, ada.seller, { model })).probeCostUsd),
    )
    expect(dear).toBeGreaterThan(cheap ?? Number.POSITIVE_INFINITY)
    expect(Object.fromEntries(costs)).toEqual({
      'cheap-test': cheap,
      'dear-test': dear,
      'vector-test': 0.000001,
      'picture-test': 0,
      nope: undefined,
    })
  })

  it('of a connection is zero where the list answers; of health it is that of each model', async () => {
    const asked = { ...place(), model: 'claude-test' }
    expect(await invoke(market.plane, ada.seller, testConnection, place())).toMatchObject({ ok: true, probeCostUsd: 0 })
    expect(await invoke(market.plane, ada.seller, testConnection, asked)).toMatchObject({ ok: true, probeCostUsd: 0 })
    expect(questions()).toEqual([])
    const { probeCostUsd } = await listOffer(market, ada.seller, { model: 'dear-test' })
    const models = ['dear-test', 'picture-test', 'unheard-of']
    const lines = await collectLines(await invoke(market.plane, ada.seller, testHealth, { ...place(), models }))
    expect(new Map(lines.map((line) => [line.model, line.probeCostUsd]))).toEqual(
      // An unknown price is not zero.
      new Map(Object.entries({ 'dear-test': probeCostUsd, 'picture-test': 0, 'unheard-of': null })),
    )
    const named = await invoke(market.plane, ada.seller, testConnection, { ...place(), model: 'dear-test' })
    expect(named).toMatchObject({ ok: true, probeCostUsd })
  })
})

describe('the test calls of a model that is sold on several endpoints', () => {
  const many = (changes: object = {}) => listOffer(market, ada.seller, { model: 'many-test', ...changes })

  it('are one for each endpoint, a chat first, and their cost is the sum', async () => {
    const { probes, probeCostUsd, ...offer } = await many()
    expect(questions().map(({ path }) => path)).toEqual([
      '/v1/chat/completions',
      '/v1/images/edits',
      '/v1/embeddings',
      '/v1/completions',
    ])
    expect(questions().at(-1)?.body).toEqual({ model: 'many-test', prompt: 'hi', max_tokens: 1 })
    expect(probes?.map(({ endpoint, result }) => [endpoint, result])).toEqual([
      ['chat', 'answered'],
      ['image-edit', 'answered'],
      ['embeddings', 'answered'],
      ['completions', 'answered'],
    ])
    const costs = probes?.map(({ costUsd }) => costUsd ?? Number.NaN) ?? []
    expect(costs[1]).toBe(0)
    for (const at of [0, 2, 3]) expect(costs[at]).toBeGreaterThan(0)
    expect(probeCostUsd).toBeCloseTo(
      costs.reduce((total, cost) => total + cost, 0),
      9,
    )
    expect(offer).toMatchObject({ withoutEndpoints: [], probeCostTotalUsd: probeCostUsd })
  })

  it('are those of the endpoints that the host and the protocol serve', async () => {
    const { probes } = await many({ apiFormat: 'messages' })
    expect(probes?.map(({ endpoint }) => endpoint)).toEqual(['chat'])
    expect(questions().map(({ path }) => path)).toEqual(['/v1/messages'])
  })

  it('stop where further calls could cost more than five cents', async () => {
    const { probes, probeCostTotalUsd, probeCostUsd } = await many({ model: 'dearest-test' })
    expect(probes?.map(({ endpoint, result }) => [endpoint, result])).toEqual([
      ['chat', 'answered'],
      ['completions', 'answered'],
      ['embeddings', 'not_asked'],
    ])
    expect(questions()).toHaveLength(2)
    expect(probeCostTotalUsd).toBe(probeCostUsd)
  })

  it('of a rotation add to the cost of the offer, and its reads show the sum', async () => {
    const { id, probeCostUsd } = await many()
    const rotated = await invoke(market.plane, ada.seller, rotateCredential, { id, apiKey: newProviderKey() })
    expect(rotated.probes).toHaveLength(4)
    const { probeCostTotalUsd } = await invoke(market.plane, ada.seller, getOffer, { id })
    expect(probeCostTotalUsd).toBeCloseTo((probeCostUsd ?? 0) + (rotated.probeCostUsd ?? 0), 9)
  })

  it('are part of each line of bulk and of health', async () => {
    const { lines } = await invoke(market.plane, ada.seller, bulkCreateOffers, {
      ...place(),
      offers: [{ model: 'many-test', discount: 10 }],
    })
    const [made] = await collectLines(lines)
    const health = await invoke(market.plane, ada.seller, testHealth, { ...place(), models: ['many-test'] })
    const [line] = await collectLines(health)
    for (const told of [made, line]) {
      const { probes, probeCostUsd } = z
        .object({ probes: z.array(z.object({ endpoint: z.string() })), probeCostUsd: z.number() })
        .parse(told)
      expect(probes.map(({ endpoint }) => endpoint)).toEqual(['chat', 'image-edit', 'embeddings', 'completions'])
      expect(probeCostUsd).toBeGreaterThan(0)
    }
  })

  it('of a buyer’s own provider are a single one, and its cost is shown once', async () => {
    const added = await invoke(market.plane, ada.buyer, createOwnProvider, {
      model: 'dear-test',
      baseUrl: market.provider.url,
      apiKey: newProviderKey(),
    })
    expect(added.probeCostUsd).toBe(dollarsFor(DEAR, await tokensOfLast('openai', bearer)))
    const { providers } = await invoke(market.plane, ada.buyer, listBuyerProviders, {})
    expect(providers.find(({ id }) => id === added.id)).not.toHaveProperty('probeCostUsd')
  })
})

describe('a test call at a provider of few endpoints', () => {
  /** The provider's answers by path. It always serves chats. */
  let refusals: Record<string, number> = {}
  let url = ''
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    request.resume().on('end', () => {
      const status = refusals[path] ?? 200
      const good = {
        choices: [{ message: { content: 'a' } }],
        data: [],
        usage: { prompt_tokens: 3, completion_tokens: 1 },
      }
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(status === 200 ? good : { error: { message: 'No.' } }))
    })
  })

  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`
    await invoke(market.plane, operator, putProvider, { id: 'few', name: 'Few', baseUrl: url, isTrusted: true })
  })
  beforeEach(() => asked.splice(0))
  afterAll(() => server.close())

  const list = () => listOffer(market, ada.seller, { model: 'many-test', sellerBaseUrl: url })
  const edits = '/v1/images/edits'
  /** Three tokens and one, at the prices of the model. */
  const FEW_USD = dollarsFor(DEAR, { input: 3, output: 1 })

  it('that refuses an endpoint has the model sold on the others', async () => {
    refusals = { '/v1/completions': 404, '/v1/embeddings': 400, [edits]: 405 }
    const { id, probes, withoutEndpoints } = await list()
    expect(probes?.map(({ result }) => result)).toEqual(['answered', 'refused', 'refused', 'refused'])
    expect(withoutEndpoints).toEqual(['image-edit', 'embeddings', 'completions'])
    const { body } = await transact(market.plane.db, (trx) =>
      buildDocument(market.plane, trx, offersDocumentName('many-test')),
    )
    const rows = OffersDocumentSchema.parse(JSON.parse(body)).offers
    expect(rows.find((row) => row.id === id)?.without).toEqual(withoutEndpoints)
    // A rotation tries each endpoint again.
    refusals = { '/v1/completions': 404 }
    const rotated = await invoke(market.plane, ada.seller, rotateCredential, { id, apiKey: newProviderKey() })
    expect(rotated.withoutEndpoints).toEqual(['completions'])
  })

  it('that answers a request without its subject in an unknown way is sold', async () => {
    refusals = { [edits]: 415 }
    const { probes, withoutEndpoints } = await list()
    expect(probes?.[1]).toMatchObject({ endpoint: 'image-edit', result: 'unclear', costUsd: 0 })
    expect(withoutEndpoints).toEqual([])
  })

  it.each([
    ['a further endpoint fails temporarily', { '/v1/embeddings': 500 }, 'embeddings', FEW_USD],
    ['the provider refuses the key later', { '/v1/embeddings': 401 }, 'embeddings', FEW_USD],
    ['the first endpoint does not exist', { '/v1/chat/completions': 404 }, 'chat', 0],
  ])('lists nothing where %s, and the refusal states the cost', async (_name, answers, endpoint, cost) => {
    refusals = answers
    await expect(list()).rejects.toMatchObject({
      code: 'provider_probe_failed',
      detail: { endpoint, probe_cost_usd: cost },
    })
  })

  it('lists nothing under a name that the provider does not know, and the refusal states what to do', async () => {
    refusals = { '/v1/chat/completions': 404 }
    await expect(list()).rejects.toThrow(
      /The test call named the model \S+\. If the provider has another name for it, give that name/,
    )
  })
})

describe('the cost of a test call at a provider that reports no usage', () => {
  const answers: Record<string, (body: Record<string, unknown>) => [number, object]> = {
    '/v1/chat/completions': (body) => [
      200,
      { choices: [{ message: { role: 'assistant', content: 'a' } }], ...own(body) },
    ],
    '/v1/embeddings': () => [200, { data: [{ index: 0, embedding: [0.5] }] }],
    '/v1/messages': () => [200, { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 3 } }],
  }
  /** The usage of a model by its name. */
  const own = ({ model }: Record<string, unknown>) =>
    model === 'fee-test' ? { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } } : {}
  const sent: string[] = []
  let url = ''
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += chunk))
    request.on('end', () => {
      sent.push(text)
      const body: Record<string, unknown> = text === '' ? {} : JSON.parse(text)
      // Newer models of OpenAI use another name for the output limit.
      const isOld = body['model'] === 'cheap-test' && body['max_tokens'] !== undefined
      const [status, answer] = isOld
        ? [400, { error: { message: "Use 'max_completion_tokens' in place of 'max_tokens'." } }]
        : (answers[request.url ?? '']?.(body) ?? [404, {}])
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })

  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`
    const terse = { id: 'terse', name: 'Terse', baseUrl: url, isTrusted: true }
    await invoke(market.plane, operator, putProvider, terse)
  })
  beforeEach(() => sent.splice(0))
  afterAll(() => server.close())

  const list = (changes: object) => listOffer(market, ada.seller, { sellerBaseUrl: url, ...changes })

  it('is an upper bound: a token for each byte of the request, and its output limit', async () => {
    const { probeCostUsd } = await list({ model: 'dear-test' })
    expect(sent).toHaveLength(1)
    expect(probeCostUsd).toBe(dollarsFor(DEAR, { input: Buffer.byteLength(sent[0] ?? ''), output: 1 }))
    const vectors = await list({ model: 'vector-test' })
    expect(vectors.probeCostUsd).toBe(dollarsFor(VECTOR, { input: Buffer.byteLength(sent[1] ?? ''), output: 0 }))
  })

  it('uses the reported figures, and bounds the others', async () => {
    const { probeCostUsd } = await list({ model: 'dear-test', apiFormat: 'messages' })
    expect(probeCostUsd).toBe(dollarsFor(DEAR, { input: 3, output: 1 }))
  })

  it('counts only the answered request', async () => {
    const { probeCostUsd } = await list({ model: 'cheap-test' })
    expect(sent).toHaveLength(2)
    const input = Buffer.byteLength(sent[1] ?? '')
    expect(probeCostUsd).toBe(dollarsFor({ input: 250_000n, output: 2_000_000n }, { input, output: 1 }))
  })

  it('accepts figures of zero', async () => {
    expect((await list({ model: 'fee-test' })).probeCostUsd).toBe(0)
  })
})
