import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readModelOrEndpoints } from '#data-plane/reads/endpoints.ts'
import { readTradeFeed } from '#data-plane/reads/feed.ts'
import { listMarkets, readMarket, readPerformance } from '#data-plane/reads/markets.ts'
import type { ReadSources } from '#data-plane/reads/read.ts'
import { readHeaders } from '#data-plane/reads/read.ts'
import { createReadMemory } from '#data-plane/reads/read-memory.ts'
import { buildMarket } from '#data-plane/store/market.ts'
import { systemClock } from '#shared/clock.ts'
import { feedItemOf, readFeed } from '#shared/contract/feed.ts'
import { MarketRowSchema } from '#shared/contract/snapshot.ts'
import { UsageEventSchema } from '#shared/contract/usage-event.ts'
import type { OfferId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { keptBps, microUsd } from '#shared/money.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { buildOffer, buildTestMarket } from '#test/support/bytes/build-market.ts'

const cheap = buildOffer({ keptBps: keptBps(4_000), provider: 'p1', sellerAlias: 'seller-1' })
const capped = buildOffer({
  keptBps: keptBps(5_000),
  provider: 'p2',
  sellerAlias: 'seller-2',
  capDailyMicro: microUsd(1_000),
})
const dear = buildOffer({ keptBps: keptBps(9_000), provider: 'p2', sellerAlias: 'seller-3' })
const MODEL = 'gpt-5-mini'
const speed = { ttftP50Ms: 210, ttftSamples: 40, tpsP50: 88.5, tpsSamples: 39 }
const row = MarketRowSchema.parse({
  model: MODEL,
  ...speed,
  uptimePct: 99.5,
  cacheHitRatePct: null,
  requests24h: 41,
  volume24hMicro: '1234',
  discountTrend: null,
  providers: [{ provider: 'p1', ...speed, uptimePct: null }],
})

type World = { readonly blocked?: readonly string[]; readonly used?: ReadonlyMap<string, bigint>; now?: number }

function sourcesOf({ blocked = [], used = new Map(), now }: World = {}): ReadSources {
  const trades = new Map([[cheap.model, `${cheap.id} 7 1234`]])
  const market = buildMarket({ ...buildTestMarket([cheap, capped, dear]), rows: [row], trades })
  const microUsed = new Map<OfferId, MicroUsd>()
  for (const [id, amount] of used) if (isId('ofr', id)) microUsed.set(id, microUsd(amount))
  return {
    market: () => market,
    health: {
      blockedUntil: (offer) => (blocked.includes(offer.id) ? Number.MAX_VALUE : 0),
      restsUntil: (offer) => (blocked.includes(offer) ? Number.MAX_VALUE : 0),
      isAllWell: () => false,
    },
    caps: { usedToday: async () => microUsed },
    feed: { latest: async (limit) => readFeed([feed(1), 'no JSON', '{}', feed(2)]).slice(0, limit) },
    clock: now === undefined ? systemClock : { ...systemClock, now: () => now },
    memory: createReadMemory(),
    version: '3.1.0',
    payments: { terms: () => undefined },
    addresses: { baseUrl: 'http://site.test', apiBaseUrl: 'http://api.test' },
  }
}

const Rows = z.object({ markets: z.array(z.record(z.string(), z.unknown())) })
const list = async (sources: ReadSources, query = '') => {
  const answer = await listMarkets(sources, { params: {}, query: new URLSearchParams(query) })
  return Rows.parse(JSON.parse(answer.json)).markets
}
const capOf = capped.id

function feed(charge: number): string {
  return feedItemOf(UsageEventSchema.parse(JSON.parse(eventText({ charge })))) ?? ''
}

describe('rows of the market', () => {
  it('have the best prices of the offers that can serve now, and the published figures', async () => {
    const [all] = await list(sourcesOf())
    expect(all).toMatchObject({
      model: MODEL,
      best_discount_pct: 60,
      healthy_seller_count: 3,
      total_cap: null,
      requests_24h: 41,
      volume_24h: 1_234,
      ttft_p50_ms: 210,
      ttft_samples: 40,
      tps_p50: 88.5,
      tps_samples: 39,
      uptime_pct: 99.5,
      cache_hit_rate_pct: null,
      discount_trend: null,
    })
    const [withoutCheap] = await list(sourcesOf({ blocked: [cheap.id] }))
    expect(withoutCheap).toMatchObject({ best_discount_pct: 50, healthy_seller_count: 2 })
    const [onlyDear] = await list(sourcesOf({ blocked: [cheap.id], used: new Map([[capOf, 1_000n]]) }))
    expect(onlyDear).toMatchObject({ best_discount_pct: 10, healthy_seller_count: 1 })
    const [none] = await list(sourcesOf({ blocked: [cheap.id, capped.id, dear.id] }))
    expect(none).toMatchObject({ best_discount_pct: null, best_input_per_1m: null, healthy_seller_count: 0 })
  })

  it('name each provider with its own best price and speed', async () => {
    const [all] = await list(sourcesOf({ blocked: [capped.id] }))
    expect(all?.['providers']).toMatchObject([
      { provider: 'p1', ttft_p50_ms: 210, ttft_samples: 40, tps_p50: 88.5, healthy_seller_count: 1 },
      { provider: 'p2', ttft_p50_ms: null, ttft_samples: 0, tps_p50: null, healthy_seller_count: 1 },
    ])
  })

  it('are made once a second for all readers, with the same ETag for that second', async () => {
    const sources = { ...sourcesOf(), clock: { ...systemClock, now: () => now } }
    let now = 1_000
    const ask = () => listMarkets(sources, { params: {}, query: new URLSearchParams() })
    const [first, second] = [await ask(), await ask()]
    expect(second).toBe(first)
    expect(readHeaders(second)).toEqual(readHeaders(first))
    expect(readHeaders(first)['cache-control']).toBe('public, max-age=5')
    now += 1_000
    expect(await ask()).not.toBe(first)
  })

  it('answer for one model under any of its names', async () => {
    expect(await list(sourcesOf(), `model=${MODEL}`)).toHaveLength(1)
    expect(await list(sourcesOf(), 'model=unknown')).toEqual([])
  })
})

describe('the book and the speeds of a model', () => {
  it('show what each offer sold and the rest of its cap', async () => {
    const sources = sourcesOf({ used: new Map([[capOf, 400n]]) })
    const { json } = await readMarket(sources, { params: { model: MODEL }, query: new URLSearchParams() })
    expect(JSON.parse(json).offers).toMatchObject([
      { id: cheap.id, rank: 1, trades_24h: 7, volume_24h: 1_234, cap_remaining: null, available: true },
      { id: capped.id, rank: 2, trades_24h: 0, volume_24h: 0, cap_remaining: 600, available: true },
      { id: dear.id, rank: 3, trades_24h: 0 },
    ])
    const unknown = { ...sources, market: () => ({ ...sources.market(), trades: null }) }
    const early = await readMarket(unknown, { params: { model: MODEL }, query: new URLSearchParams() })
    expect(JSON.parse(early.json).offers[0]).toMatchObject({ id: cheap.id, trades_24h: null, volume_24h: null })
    const performance = await readPerformance(sources, { params: { model: MODEL }, query: new URLSearchParams() })
    expect(JSON.parse(performance.json)).toEqual({
      model: MODEL,
      providers: [
        { provider: 'p1', ttft_p50_ms: 210, ttft_samples: 40, tps_p50: 88.5, tps_samples: 39, uptime_pct: null },
      ],
    })
  })
})

describe('the endpoints of a model', () => {
  const Endpoints = z.object({
    data: z.object({ id: z.string(), endpoints: z.array(z.record(z.string(), z.unknown())) }),
  })
  const ask = async (world: World, id = MODEL) => {
    const query = new URLSearchParams()
    const { json } = await readModelOrEndpoints(sourcesOf(world), { params: { id: `${id}/endpoints` }, query })
    return Endpoints.parse(JSON.parse(json)).data
  }

  it('are the best offers that providers have now; providers without an offer come last', async () => {
    const { id, endpoints } = await ask({})
    expect(id).toBe(`openai/${MODEL}`)
    expect(endpoints).toMatchObject([
      { tag: 'p1', status: 0, pricing: { discount: 0.6 }, ttft_p50_ms: 210, uptime_last_1d: null },
      { tag: 'p2', status: 0, pricing: { discount: 0.5 }, ttft_p50_ms: null },
    ])
    const { endpoints: fewer } = await ask({ blocked: [cheap.id], used: new Map([[capOf, 1_000n]]) })
    expect(fewer).toMatchObject([
      { tag: 'p2', status: 0, pricing: { discount: 0.1 } },
      { tag: 'p1', status: -1, pricing: { discount: 0.6 } },
    ])
  })

  it('are found under any name of the model, and are "not found" for an unlisted model', async () => {
    expect((await ask({}, `openai/${MODEL}`)).endpoints).toHaveLength(2)
    await expect(ask({}, 'gpt-0')).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('the feed', () => {
  const ask = (query: string) => readTradeFeed(sourcesOf(), { params: {}, query: new URLSearchParams(query) })

  const MEMBERS = [
    'model',
    'input_tokens',
    'output_tokens',
    'images',
    'megapixels',
    'seconds',
    'characters',
    'cost_usd',
    'created_at',
  ]
  it('names no one, is never cached, and leaves out unreadable rows', async () => {
    const answer = await ask('')
    expect(readHeaders(answer)['cache-control']).toBe('no-store')
    const { items } = z.object({ items: z.array(z.record(z.string(), z.unknown())) }).parse(JSON.parse(answer.json))
    expect(items.map((item) => Object.keys(item))).toEqual([MEMBERS, MEMBERS])
    expect(items[0]).toMatchObject({ model: MODEL, input_tokens: 150, output_tokens: 50, cost_usd: 0.000001 })
  })

  it('takes a limit from 1 to 100', async () => {
    expect(JSON.parse((await ask('limit=1')).json).items).toHaveLength(1)
    for (const limit of ['0', '-1', '101', '1e6', 'x', '']) {
      await expect(ask(`limit=${limit}`)).rejects.toMatchObject({ code: 'invalid_request', param: 'limit' })
    }
  })

  it('contains trades only: no free call, no call on an own key, no job that is still running', () => {
    const item = (changes: object, charge = 5) =>
      feedItemOf(UsageEventSchema.parse({ ...JSON.parse(eventText({ charge })), ...changes }))
    expect(item({})).toBeDefined()
    expect(item({}, 0)).toBeUndefined()
    expect(item({ servedBy: 'own_key' })).toBeUndefined()
    expect(item({ kind: 'submit' })).toBeUndefined()
  })
})
