import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { RoutedMarket } from '#test/support/market/routed-market.ts'
import { MODEL, sharedRoutedMarket } from '#test/support/market/routed-market.ts'

let market: RoutedMarket

beforeAll(async () => {
  market = await sharedRoutedMarket()
})
afterAll(() => market?.stop())

const GOOD = { model: MODEL, messages: [{ role: 'user', content: 'hi' }], max_tokens: 20 }

/** The answer of a public read. */
const read = async (path: string): Promise<unknown> =>
  (await fetch(`${market.network.sandbox.api_base_url}${path}`)).json()

describe('the shown best price', () => {
  const Explained = z.object({ offers: z.array(z.object({ offer: z.string(), discount_pct: z.number() })) })
  const Row = z.object({
    best_discount_pct: z.number().nullable(),
    best_input_per_1m: z.number().nullable(),
    best_output_per_1m: z.number().nullable(),
    best_price_per_1m: z.number().nullable(),
    untrusted: z.object({
      best_discount_pct: z.number().nullable(),
      best_input_per_1m: z.number().nullable(),
      best_output_per_1m: z.number().nullable(),
      healthy_seller_count: z.number(),
    }),
  })
  const explain = async (fields: object) => {
    const body = { path: '/v1/chat/completions', body: { ...GOOD, ...fields } }
    const answer = await market.post('/v1/route/explain', market.network.sandbox.buyer_key, body)
    return Explained.parse(await answer.json()).offers
  }

  it('is that of the offer to which a call goes by default; an offer that needs allow_untrusted is shown beside it', async () => {
    const { markets } = z.object({ markets: z.array(Row) }).parse(await read(`/api/markets?model=${MODEL}`))
    const [row] = markets
    const [byDefault] = await explain({})
    const [byRequest] = await explain({ allow_untrusted: true })
    expect(byDefault?.discount_pct).not.toBe(byRequest?.discount_pct)
    expect(row?.best_discount_pct).toBe(byDefault?.discount_pct)
    expect(row?.untrusted.best_discount_pct).toBe(byRequest?.discount_pct)
    expect(row?.untrusted.healthy_seller_count).toBeGreaterThan(0)
    expect(row?.untrusted.best_input_per_1m).toBeLessThan(row?.best_input_per_1m ?? 0)
    expect(row?.best_price_per_1m).toBe((row?.best_input_per_1m ?? 0) + (row?.best_output_per_1m ?? 0))
  })

  it('opens the order book, which has the order of calls; untrusted offers follow', async () => {
    const Book = z.object({ offers: z.array(z.object({ id: z.string(), rank: z.number(), trusted: z.boolean() })) })
    const { offers } = Book.parse(await read(`/api/markets/${MODEL}`))
    const routed = (await explain({})).map(({ offer }) => offer)
    expect(routed.length).toBeGreaterThan(1)
    expect(offers.slice(0, routed.length).map(({ id }) => id)).toEqual(routed)
    expect(offers.map(({ rank }) => rank)).toEqual(offers.map((_offer, at) => at + 1))
    const firstUntrusted = offers.findIndex(({ trusted }) => !trusted)
    expect(firstUntrusted).toBeGreaterThan(0)
    expect(offers.slice(firstUntrusted).some(({ trusted }) => trusted)).toBe(false)
  })

  it('is the same over GraphQL, page by page', async () => {
    const query = `{ market(model: "${MODEL}") { bestDiscountPct untrusted { bestDiscountPct healthySellerCount } }
      orderBook(model: "${MODEL}", first: 1) { edges { node { id trusted } } pageInfo { endCursor } } }`
    const Page = z.object({
      edges: z.array(z.object({ node: z.object({ id: z.string() }) })),
      pageInfo: z.object({ endCursor: z.string().nullable() }),
    })
    const Said = z.object({
      data: z.object({
        market: z.object({
          bestDiscountPct: z.number(),
          untrusted: z.object({ bestDiscountPct: z.number(), healthySellerCount: z.number() }),
        }),
        orderBook: Page,
      }),
    })
    const ask = async (text: string): Promise<unknown> =>
      (
        await fetch(`${market.network.sandbox.api_base_url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query: text }),
        })
      ).json()
    const { data } = Said.parse(await ask(query))
    const { offers } = z
      .object({ offers: z.array(z.object({ id: z.string() })) })
      .parse(await read(`/api/markets/${MODEL}`))
    expect(data.market.bestDiscountPct).toBe((await explain({}))[0]?.discount_pct)
    expect(data.market.untrusted.bestDiscountPct).toBe((await explain({ allow_untrusted: true }))[0]?.discount_pct)
    const seen = data.orderBook.edges.map(({ node }) => node.id)
    let { endCursor } = data.orderBook.pageInfo
    while (seen.length < offers.length) {
      const next = await ask(
        `{ orderBook(model: "${MODEL}", first: 1, after: "${endCursor}") { edges { node { id } } pageInfo { endCursor } } }`,
      )
      const page = z.object({ data: z.object({ orderBook: Page }) }).parse(next).data.orderBook
      seen.push(...page.edges.map(({ node }) => node.id))
      endCursor = page.pageInfo.endCursor
    }
    expect(seen).toEqual(offers.map(({ id }) => id))
  })
})

describe('a model that is sold by a unit other than the token', () => {
  const Prices = z.object({
    models: z.array(z.object({ model: z.string(), providers: z.array(z.object({ pricing: z.unknown() })) })),
  })
  const nothing = { best_input_per_1m: null, best_output_per_1m: null }

  it('has no token price anywhere, and shows its unit price beside it', async () => {
    const { models } = Prices.parse(await read('/v1/prices'))
    const speech = models.find(({ model }) => model === 'tts-1')?.providers[0]?.pricing
    expect(speech).toEqual({ input: null, output: null, character: 0.000009 })
    expect(models.find(({ model }) => model === 'whisper-1')?.providers[0]?.pricing).toEqual({
      input: null,
      output: null,
      minute: 0.0036,
    })
    const chat = models.find(({ model }) => model === 'gpt-5-mini')?.providers[0]?.pricing
    expect(chat).toMatchObject({ input: expect.any(Number), output: expect.any(Number) })
    expect(await read('/api/markets?model=tts-1')).toMatchObject({
      markets: [
        {
          ...nothing,
          direct_input_per_1m: null,
          best_price_per_1m: null,
          best_media_unit_price: 9,
          media_unit: 'per character',
          providers: [nothing, nothing, nothing],
        },
      ],
    })
    expect(await read('/api/markets/tts-1')).toMatchObject({
      canonical: { direct_input_per_1m: null, direct_output_per_1m: null, media_unit: 'per character' },
      offers: expect.arrayContaining([expect.objectContaining({ price_input_per_1m: null, media_unit_price: 9 })]),
    })
  })

  it('has its price in US dollars in the bare list of rows', async () => {
    const rows = z.array(z.record(z.string(), z.unknown())).parse(await read('/api/inference/markets'))
    const { markets } = z.object({ markets: z.array(z.unknown()) }).parse(await read('/api/markets'))
    expect(rows).toHaveLength(markets.length)
    expect(rows.find(({ model }) => model === 'tts-1')).toMatchObject({ ...nothing, best_media_unit_price: 0.000009 })
    const [row] = z
      .array(z.object({ best_input_per_1m: z.number(), direct_output_per_1m: z.number() }))
      .parse(await read(`/api/inference/markets?model=${MODEL}`))
    const micro = z.object({ markets: z.array(z.object({ best_input_per_1m: z.number() })) })
    const [other] = micro.parse(await read(`/api/markets?model=${MODEL}`)).markets
    expect(row?.best_input_per_1m).toBe((other?.best_input_per_1m ?? 0) / 1e6)
  })
})

describe('an unknown query parameter of a public read', () => {
  it.each([
    ['/v1/prices?model=x', 'model'],
    ['/api/markets?models=x', 'models'],
    ['/api/markets?model=a&model=b', 'model'],
    ['/api/markets/feed?limit=05', 'limit'],
    ['/api/markets/feed?limit=%2B5', 'limit'],
    ['/api/markets/gpt-5-mini?page=2', 'page'],
    ['/v1/prices?__proto__=1', '__proto__'],
  ])('is refused by its name: %s', async (path, param) => {
    expect(await read(path)).toMatchObject({ error: { code: 'invalid_request', param } })
  })
})

describe('the models of the sandbox', () => {
  it('follow all others wherever they are listed', async () => {
    const Names = z.object({ models: z.array(z.object({ model: z.string() })) })
    const prices = Names.parse(await read('/v1/prices')).models.map(({ model }) => model.startsWith('sandbox/'))
    expect(prices).toContain(true)
    expect(prices.slice(prices.indexOf(true))).not.toContain(false)
    const { api_base_url: url, seller_key: key } = market.network.sandbox
    const answer = await fetch(`${url}/v1/seller/offers?max_items=25`, { headers: { authorization: `Bearer ${key}` } })
    const { items } = z.object({ items: z.array(z.object({ model: z.string() })) }).parse(await answer.json())
    expect(items.filter(({ model }) => model.startsWith('sandbox/'))).toEqual([])
  })
})

describe('the plain address of the market', () => {
  it.each(['api_base_url', 'control_plane_url'] as const)('shows a person the page: %s', async (name) => {
    const page = await fetch(`${market.network.sandbox[name]}/`, { redirect: 'manual' })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  })
})
