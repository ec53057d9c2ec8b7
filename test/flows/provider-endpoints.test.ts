import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Endpoint } from '#shared/catalog/model.ts'
import { filmFacts, textModel } from '#test/support/facts/text-model.ts'
import type { RoutedMarket } from '#test/support/market/routed-market.ts'
import { MODEL, SELLERS, sharedRoutedMarket } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

const JOB = 'hosted-job'
const CHEAP = 0
const DEAR = 1
const OWN = 3
const IDS = [...SELLERS.map(({ id }) => id), 'rt-own']
let market: RoutedMarket
let key: string

beforeAll(async () => {
  market = await sharedRoutedMarket()
  const item = textModel(JOB, filmFacts('0.01'))
  await market.operator('catalog.import', { source: 'test', models: [item] })
  const seller = await market.user()
  const seller_base_url = market.providers[DEAR]?.url
  const offer = { model: JOB, api_key: 'sk-hosted-job', seller_base_url, discount: 50 }
  expect((await market.post('/v1/seller/offers', seller.sellerKey, offer)).status).toBe(201)
  key = (await market.user(1)).buyerKey
  await until('the job is on sale', 20_000, async () => (await submit(key)).status === 202)
})
afterAll(() => market?.stop())

/** Sets the endpoints that a provider's host runs. */
const host = (provider: number, endpoints: readonly Endpoint[] | null) =>
  market.operator('provider.put', {
    id: IDS[provider],
    name: `Routed ${IDS[provider]}`,
    baseUrl: market.providers[provider]?.url,
    isTrusted: true,
    endpoints,
  })

const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'hi' }], max_tokens: 20 }

async function chat(buyer: string) {
  const { status, headers } = await market.post('/v1/chat/completions', buyer, CHAT)
  return [status, headers.get('x-mkt-served-by'), headers.get('x-mkt-provider-family')]
}

const Refusal = z.object({ error: z.object({ code: z.string() }) })

async function submit(buyer: string | undefined, path = '/v1/video/generations') {
  const job = { model: JOB, prompt: 'A quiet sea.', seconds: 6 }
  const answer = await market.post(path, buyer, job)
  const refusal = Refusal.safeParse(JSON.parse(await answer.text()))
  return { status: answer.status, code: refusal.data?.error.code }
}

const asked = (provider: number) => market.providers[provider]?.requests.count()

/** Waits until the data plane refuses the job, which it does without a request to the provider. */
async function untilJobIsRefused(buyer: string): Promise<void> {
  await until('the job has no seller', 10_000, async () => (await submit(buyer)).status === 404)
}

const Explained = z.object({
  offers: z.array(z.object({ provider: z.string() })),
  excluded: z.array(z.object({ provider: z.string(), reason: z.string() })),
})

describe('the endpoints that a host runs', () => {
  it('decide which offers serve a chat, and an explanation says so', async () => {
    expect(await chat(key)).toEqual([200, 'marketplace', 'rt-cheap'])
    await host(CHEAP, ['embeddings', 'video'])
    await until('the host is skipped', 10_000, async () => (await chat(key))[2] === 'rt-dear')
    const answer = await market.post('/v1/route/explain', key, { path: '/v1/chat/completions', body: CHAT })
    const { offers, excluded } = Explained.parse(await answer.json())
    expect(offers.map(({ provider }) => provider)).toEqual(['rt-dear'])
    expect(excluded.filter(({ provider }) => provider === 'rt-cheap').map(({ reason }) => reason)).toEqual(['endpoint'])
    const named = await market.post('/v1/chat/completions', key, { ...CHAT, provider: 'rt-cheap' })
    expect([named.status, Refusal.parse(await named.json()).error.code]).toEqual([404, 'no_sellers_for_model'])
    await host(CHEAP, ['embeddings', 'chat'])
    await until('the host is back', 10_000, async () => (await chat(key))[2] === 'rt-cheap')
  })

  it('refuse a long job in advance: 404 no_sellers_for_model, without a request to a provider or for a payment', async () => {
    await host(DEAR, ['chat'])
    await untilJobIsRefused(key)
    const before = asked(DEAR)
    for (const path of ['/v1/video/generations', '/v1/videos', '/v1/music/generations']) {
      for (const buyer of [key, undefined]) {
        expect([path, await submit(buyer, path)]).toEqual([path, { status: 404, code: 'no_sellers_for_model' }])
      }
    }
    expect(asked(DEAR)).toBe(before)
    await host(DEAR, ['video'])
    await until('the job has a seller', 10_000, async () => (await submit(key)).status === 202)
    await host(DEAR, null)
  })

  it("apply to a buyer's own keys, of calls and of jobs, before the marketplace and after it", async () => {
    const { buyerKey } = await market.user(1)
    const base_url = market.providers[OWN]?.url
    for (const model of [MODEL, null]) {
      const row = { model, base_url, api_key: 'sk-hosted-own' }
      expect((await market.post('/v1/buyer/providers', buyerKey, row)).status).toBe(201)
    }
    expect(await chat(buyerKey)).toEqual([200, 'own_key', 'rt-own'])
    await host(DEAR, ['chat'])
    await untilJobIsRefused(key)
    // Only the fallback key is left for a job.
    expect((await submit(buyerKey)).status).toBe(202)
    await host(OWN, ['speech'])
    await until('the own host is skipped', 10_000, async () => (await chat(buyerKey))[1] === 'marketplace')
    const before = asked(OWN)
    expect(await submit(buyerKey)).toEqual({ status: 404, code: 'no_sellers_for_model' })
    expect(asked(OWN)).toBe(before)
  })
})
