import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { createIds } from '#shared/ids.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

const AT = Math.floor(Date.now() / HOUR) * HOUR - HOUR
let market: TestMarket
let ada: Person
const offers: string[] = []

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  for (const [at, discount] of [10, 40, 25].entries()) {
    const input = { model: 'gpt-test', apiKey: `sk-good-book-${at}`, sellerBaseUrl: market.provider.url, discount }
    const options = { idempotencyKey: `book-${at}` }
    offers.push((await invoke(market.plane, ada.seller, createOffer, input, options)).id)
  }
  const answered = { offer: offers[0] ?? '', provider: 'test', status: 200, ms: 900, errorClass: null }
  const events = Array.from({ length: 6 }, (_, index) => {
    const startedAt = AT + index * 1_000
    const rid = createIds({ now: () => startedAt }).ulid()
    const input = { rid, account: ada.buyer.account, sellerAccount: ada.seller.account, model: 'gpt-test', charge: 100 }
    return eventText({ ...input, startedAt }, { provider: 'test', ttftMs: 100, attempts: [answered] })
  })
  await postBatch(market.plane, { events, source: 'test' })
  await rollUp(market.plane, 0)
})
afterAll(() => market?.stop())

async function ask<Shape extends z.ZodType>(shape: Shape, query: string): Promise<z.output<Shape>> {
  const answer = await market.graphql(undefined, query)
  return shape.parse(z.object({ data: z.unknown() }).parse(answer.body).data)
}
const Book = z.object({
  orderBook: z.object({
    edges: z.array(z.object({ cursor: z.string(), node: z.looseObject({ id: z.string() }) })),
    pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
  }),
})
const BOOK = 'edges { cursor node { id rank available discountPct } } pageInfo { hasNextPage endCursor }'

describe('markets', () => {
  it('are open to all callers, with the best prices among offers that can serve now', async () => {
    const Rows = z.object({
      markets: z.object({ edges: z.array(z.object({ node: z.looseObject({ id: z.string() }) })) }),
    })
    const query = `{ markets(first: 10) { edges { node { id name bestDiscountPct offerCount healthySellerCount requests24h
      volume24hMicro ttftP50Ms ttftSamples best { inputPer1m } direct { inputPer1m }
      providers { provider ttftP50Ms best { inputPer1m } } } } } }`
    const rows = async () => (await ask(Rows, query)).markets.edges.map(({ node }) => node)
    const [first, second, ...more] = await rows()
    expect([first?.id, second?.id, more]).toEqual(['claude-test', 'gpt-test', []])
    expect(first).toMatchObject({ best: { inputPer1m: null }, bestDiscountPct: null, ttftP50Ms: null })
    expect(second).toMatchObject({
      bestDiscountPct: 40,
      offerCount: 3,
      healthySellerCount: 1,
      requests24h: 6,
      volume24hMicro: '600',
      ttftSamples: 6,
      best: { inputPer1m: 150_000 },
      direct: { inputPer1m: 250_000 },
      providers: [{ provider: 'test' }],
    })
    const backedOff = { consecutiveFailures: 3, ejections: 1, backedOffUntil: Date.now() + HOUR, errorClass: 'timeout' }
    await market.world.redis.hset(cacheKeys.health, offers[1] ?? '', JSON.stringify(backedOff))
    market.advance(2_000)
    expect((await rows())[1]).toMatchObject({ bestDiscountPct: 25, best: { inputPer1m: 187_500 } })
  })

  it('are searched, and paged by cursors that only this list accepts', async () => {
    const Ids = z.object({
      markets: z.object({
        edges: z.array(z.object({ node: z.object({ id: z.string() }) })),
        pageInfo: z.object({ endCursor: z.string(), hasNextPage: z.boolean() }),
      }),
    })
    const SELECTED = 'edges { node { id } } pageInfo { endCursor hasNextPage }'
    const page = await ask(Ids, `{ markets(first: 1) { ${SELECTED} } }`)
    expect(page.markets.pageInfo.hasNextPage).toBe(true)
    const { endCursor } = page.markets.pageInfo
    const next = await ask(Ids, `{ markets(first: 1, after: "${endCursor}") { ${SELECTED} } }`)
    expect(next.markets).toMatchObject({ edges: [{ node: { id: 'gpt-test' } }], pageInfo: { hasNextPage: false } })
    expect((await ask(Ids, `{ markets(first: 5, search: "CLAUDE") { ${SELECTED} } }`)).markets.edges).toHaveLength(1)
    const book = `{ orderBook(model: "gpt-test", first: 1, after: "${endCursor}") { edges { cursor } } }`
    expect(codeOf(await market.graphql(undefined, book))).toBe('invalid_request')
  })
})

describe('markets filtered by their properties', () => {
  const Ids = z.object({
    markets: z.object({
      edges: z.array(z.object({ node: z.object({ id: z.string() }) })),
      pageInfo: z.object({ endCursor: z.string().nullable(), hasNextPage: z.boolean() }),
    }),
  })
  const list = async (args: string) => {
    const { markets } = await ask(
      Ids,
      `{ markets(${args}) { edges { node { id } } pageInfo { endCursor hasNextPage } } }`,
    )
    return { ids: markets.edges.map(({ node }) => node.id), ...markets.pageInfo }
  }

  it('have the requested properties; a figure without enough data never meets a minimum', async () => {
    expect((await list('first: 5, minDiscountPct: 20')).ids).toEqual(['gpt-test'])
    expect((await list('first: 5, minDiscountPct: 90')).ids).toEqual([])
    expect((await list('first: 5, minSellers: 1')).ids).toEqual(['gpt-test'])
    expect((await list('first: 5, minUptimePct: 99')).ids).toEqual(['gpt-test'])
  })

  it('come in the requested order, the best first and those without the figure last, page by page', async () => {
    for (const sort of ['discount', 'price', 'requests', 'volume', 'uptime', 'ttft', 'sellers']) {
      expect([sort, (await list(`first: 5, sort: ${sort}`)).ids]).toEqual([sort, ['gpt-test', 'claude-test']])
    }
    const page = await list('first: 1, sort: volume')
    expect(page).toMatchObject({ ids: ['gpt-test'], hasNextPage: true })
    const rest = await list(`first: 1, sort: volume, after: "${page.endCursor}"`)
    expect(rest).toMatchObject({ ids: ['claude-test'], hasNextPage: false })
    for (const other of ['sort: uptime, ', '']) {
      const asked = `{ markets(first: 1, ${other}after: "${page.endCursor}") { edges { cursor } } }`
      expect(codeOf(await market.graphql(undefined, asked))).toBe('invalid_request')
    }
  })
})

describe('an order book', () => {
  it('can be read page by page, best offer first, and never names a seller', async () => {
    const seen: string[] = []
    let after: string | null = null
    for (let page = 0; page < 3; page++) {
      const from: string = after === null ? '' : `, after: "${after}"`
      const { orderBook } = await ask(Book, `{ orderBook(model: "lab/gpt-test", first: 1${from}) { ${BOOK} } }`)
      seen.push(...orderBook.edges.map(({ node }) => node.id))
      after = orderBook.pageInfo.endCursor
      expect(orderBook.pageInfo.hasNextPage).toBe(page < 2)
    }
    expect(seen).toEqual([offers[1], offers[2], offers[0]])
    const all = await market.graphql(undefined, `{ orderBook(model: "gpt-test", first: 9) { ${BOOK} } }`)
    for (const trace of [ada.seller.account, ada.seller.user, ada.wallet, 'crd_', 'sk-']) {
      expect(all.text).not.toContain(trace)
    }
    const unknown = await market.graphql(undefined, '{ orderBook(model: "nothing", first: 1) { edges { cursor } } }')
    expect(codeOf(unknown)).toBe('not_found')
  })
})

it('shows no sales of offers while calls are not summed, and shows them once they are', async () => {
  const query =
    '{ orderBook(model: "gpt-test", first: 1) { edges { cursor node { id trades24h volume24hMicro } } pageInfo { hasNextPage endCursor } } }'
  const figures = async () => {
    market.advance(MINUTE)
    const { orderBook } = await ask(Book, query)
    const { items } = await market.trpc(undefined).market.book.query({ model: 'gpt-test', maxItems: 1 })
    const [row] = items
    expect({ trades24h: row?.trades24h, volume24hMicro: row?.volume24hMicro }).toMatchObject({
      trades24h: orderBook.edges[0]?.node['trades24h'],
      volume24hMicro: orderBook.edges[0]?.node['volume24hMicro'],
    })
    return [row?.trades24h, row?.volume24hMicro]
  }
  await sql`update market_watermark set looked_at = now() - interval '1 hour'`.execute(market.plane.db)
  expect(await figures()).toEqual([null, null])
  await rollUp(market.plane, 0)
  expect(await figures()).toEqual([0, '0'])
})

describe('the tRPC door', () => {
  it('has the same rows and books, under the same names', async () => {
    const client = market.trpc(undefined)
    const { items, nextToken } = await client.market.list.query({ maxItems: 1 })
    expect([items[0]?.id, typeof nextToken]).toEqual(['claude-test', 'string'])
    const row = await client.market.get.query({ model: 'lab/gpt-test' })
    const query = `{ market(model: "gpt-test") { id name offerCount volume24hMicro ttftSamples best { inputPer1m }
      providers { provider trusted ttftSamples best { outputPer1m } } } }`
    const { market: same } = await ask(z.object({ market: z.looseObject({}) }), query)
    expect(row).toMatchObject(same)
    const book = await client.market.book.query({ model: 'gpt-test', maxItems: 2 })
    const { orderBook } = await ask(Book, `{ orderBook(model: "gpt-test", first: 2) { ${BOOK} } }`)
    expect(book).toMatchObject({ model: 'gpt-test', items: orderBook.edges.map(({ node }) => node) })
    const more = await client.market.book.query({ model: 'gpt-test', maxItems: 2, nextToken: book.nextToken ?? '' })
    expect(more.items.map(({ id }) => id)).toEqual([offers[0]])
    expect(JSON.stringify(book)).not.toContain(ada.seller.account)
    expect(await trpcCodeOf(client.market.get.query({ model: 'nothing' }))).toBe('not_found')
    expect(await trpcCodeOf(client.market.list.query({ maxItems: 101 }))).toBe('invalid_request')
  })
})

describe('figures over time', () => {
  it('come by bucket, group and filter, with prices and the feed', async () => {
    const query = `{ marketSeries(from: ${AT}, bucket: hour, groupBy: [model, provider], models: ["gpt-test"])
        { bucket model provider calls volumeMicro }
      priceHistory(model: "gpt-test", bucket: hour) { references { source unitPrices { unit pico } } paid { trades } }
      trades(limit: 2) { model costMicro createdAt } }`
    const answer = await market.graphql(undefined, query)
    expect(answer.body).toMatchObject({
      data: {
        marketSeries: [{ bucket: AT, model: 'gpt-test', provider: 'test', calls: 6, volumeMicro: '600' }],
        priceHistory: { references: [{ source: 'test' }], paid: [{ trades: 6 }] },
        trades: [{ model: 'gpt-test', costMicro: '100' }, {}],
      },
    })
    expect(codeOf(await market.graphql(undefined, '{ marketSeries(from: 0) { calls } }'))).toBe('invalid_request')
    expect(codeOf(await market.graphql(undefined, '{ trades(limit: -1) { model } }'))).toBe('invalid_request')
  })
})
