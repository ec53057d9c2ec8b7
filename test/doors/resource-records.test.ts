import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { SECOND, utcDay } from '#shared/clock.ts'
import { cacheKeys, moneyKeys } from '#shared/contract/redis-keys.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema } from '#shared/contract/snapshot.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { fourthRecord } from '#test/support/doors/fourth-provider.ts'
import { newProviderKey } from '#test/support/doors/offers.ts'

const URL_OF_FOURTH = 'http://127.0.0.1:9'
let market: TestMarket
let ada: Person
let operatorKey: string

const fourth = (changes: Partial<ResourceInput> = {}) => fourthRecord(URL_OF_FOURTH, changes)
const staff = () => market.trpc(operatorKey)
const put = (record: ResourceInput, more: object = {}) =>
  staff().resource.put.mutate({ record: record as never, source: 'test', ...more })

async function documentOf(name: string) {
  const text = await market.world.redis.get(cacheKeys.document(name))
  return DocumentEnvelopeSchema.parse(JSON.parse(text ?? '{}')).body
}

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  operatorKey = await market.managementKey('operator')
  await put(fourth())
})
afterAll(() => market.stop())

describe('an operator', () => {
  it('adds a provider and changes it without a release: previewed, in versions, audited, and in the snapshot', async () => {
    const changed = fourth({
      goods: [{ id: 'draw', prices: { images: '0.03' } }],
      hosts: [{ role: 'api', baseUrl: URL_OF_FOURTH.replace('127.0.0.1', 'localhost') }],
    })
    const preview = await staff().resource.preview.query({ record: changed as never })
    expect(preview).toMatchObject({ version: 1, newHosts: [expect.stringContaining('localhost')] })
    expect(preview.changes.map(({ place }) => place)).toEqual(['goods.draw.prices.images', 'hosts.api.baseUrl'])
    const other = fourth({ id: 'provider-x5', goods: [{ id: 'draw', prices: { images: '0.05' } }] })
    expect(await put(other)).toEqual({ id: 'provider-x5', version: 1, isChanged: true })
    expect(await put(other)).toEqual({ id: 'provider-x5', version: 1, isChanged: false })
    const dearer = { ...other, goods: [{ id: 'draw', prices: { images: '0.06' } }] }
    expect(await put(dearer, { version: 1 })).toMatchObject({ version: 2 })
    expect(await trpcCodeOf(put(other, { version: 1 }))).toBe('conflict')
    expect(await trpcCodeOf(put({ ...other, kind: 'family' }))).toBe('conflict')
    const history = await staff().resource.history.query({ id: 'provider-x5' })
    expect(history.map(({ version, changes }) => [version, changes.length > 0])).toEqual([
      [2, true],
      [1, true],
    ])
    expect(history[0]?.changes).toEqual([{ place: 'goods.draw.prices.images', before: '"0.05"', after: '"0.06"' }])
    const { resources } = DOCUMENT_SCHEMAS.resources.parse(await documentOf('resources'))
    expect(resources.map(({ record, version }) => [record.id, version])).toEqual([
      ['provider-x4', 1],
      ['provider-x5', 2],
    ])
    const audit = await staff().auditLog.search.query({ operation: 'resource.put', subject: 'provider-x5' })
    expect(audit.items).toHaveLength(3)
  })

  it('is refused for a malformed record and for forbidden hosts, and is the only caller with access', async () => {
    const broken = fourth({ routes: [{ ...fourth().routes[0]!, quote: { images: 'body.n +' } }] })
    expect(await trpcCodeOf(put(broken))).toBe('invalid_request')
    for (const baseUrl of ['https://169.254.169.254', 'http://example.com', 'https://example.com:8443']) {
      expect([baseUrl, await trpcCodeOf(put(fourth({ hosts: [{ role: 'api', baseUrl }] })))]).toEqual([
        baseUrl,
        'invalid_base_url',
      ])
    }
    const asSeller = market.trpc(ada.sellerKey).resource.put.mutate({ record: fourth() as never, source: 'x' })
    expect(await trpcCodeOf(asSeller)).toBe('wrong_key_type')
    const organization = await market.managementKey('org')
    expect(await trpcCodeOf(market.trpc(organization).resource.list.query())).toBe('forbidden')
  })
})

const LENT = 'provider-x6'
const Offer = z.looseObject({ id: z.string() })

async function lend(discount_percent: number, changes: object = {}): Promise<string> {
  const body = {
    resource_type: LENT,
    api_key: newProviderKey(),
    discount_percent,
    label: 'name of the lender',
    ack_persists_state: true,
    ack_provider_terms: true,
    ...changes,
  }
  const answer = await market.rest('POST', '/v1/resource/seller/offers', { key: ada.sellerKey, body })
  expect([answer.status, answer.text]).toEqual([201, answer.text])
  return Offer.parse(answer.body).id
}

const BOOK = `query ($model: String, $path: String, $require: [String!], $min: Int, $first: Int!, $after: String) {
  resourceBook(id: "${LENT}", model: $model, path: $path, require: $require, minDiscountPct: $min, first: $first, after: $after) {
    edges { node { id rank discountPct canServe whyNot capRemainingMicro models traits { name provenance } } }
    pageInfo { hasNextPage endCursor }
  }
}`
const Book = z.object({
  data: z.object({
    resourceBook: z.object({
      edges: z.array(
        z.object({ node: z.looseObject({ rank: z.number(), discountPct: z.number(), whyNot: z.string().nullable() }) }),
      ),
      pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
    }),
  }),
})
async function book(call: object = {}) {
  const answer = await market.graphql(undefined, BOOK, { first: 10, ...call })
  expect(answer.text).not.toMatch(/lender|acc_/)
  const { edges, pageInfo } = Book.parse(answer.body).data.resourceBook
  return { lines: edges.map(({ node }) => [node.rank, node.discountPct, node.whyNot]), pageInfo, nodes: edges }
}

const MARKETS = `{
  resourceMarkets { id offers liveOffers bestDiscountPct medianDiscountPct calls7d }
  resourceMarket(id: "${LENT}") {
    traits { name provenance liveOffers }
    goods { id prices { unit usd } }
    routes { id rpcMethods }
    refusedDemand { rule calls quotedMicro }
  }
}`

describe('any caller', () => {
  beforeAll(async () => {
    await put(
      fourth({
        id: LENT,
        credential: { header: 'authorization', prefix: 'Bearer ' },
        hosts: [{ role: 'api', baseUrl: market.provider.url }],
        probe: { host: 'api', path: '/models', accepts: [200] },
        traits: [{ name: 'account.private', title: 'Keeps nothing.' }],
        goods: ['draw', 'paint'].map((id) => ({ id, prices: { images: '0.02' } })),
      }),
    )
    await lend(40, { models: ['draw'], paths: ['/draw'] })
    const spent = await lend(35, { cap_daily_usd: 1 })
    const private30 = await lend(30, { traits: ['account.private'] })
    const ill = await lend(20)
    const { clock, liveOffers } = market.plane
    const resting = { consecutiveFailures: 3, ejections: 1, errorClass: null }
    await liveOffers.setHealth(new Map([[ill, { ...resting, backedOffUntil: clock.now() + 600 * SECOND }]]))
    const today = utcDay(clock.now())
    const { redis } = market.world
    await redis.hset(moneyKeys.offerCap(spent), { d: today, du: '1000000' })
    await redis.hset(cacheKeys.refusals(spent, today), { 'models:calls': '2', 'models:micro': '40000' })
    await redis.hset(cacheKeys.refusals(private30, today), { 'models:calls': '1', 'models:micro': '20000' })
  })

  it('sees the lent keys of a resource: resting offers are counted apart, and refused demand is summed', async () => {
    const { body, text } = await market.graphql(undefined, MARKETS)
    expect(text).not.toMatch(/lender|acc_|ofr_/)
    expect(body).toMatchObject({
      data: {
        resourceMarkets: expect.arrayContaining([
          { id: LENT, offers: 4, liveOffers: 3, bestDiscountPct: 40, medianDiscountPct: 35, calls7d: 0 },
        ]),
        resourceMarket: {
          traits: [{ name: 'account.private', provenance: 'declared', liveOffers: 1 }],
          goods: [{ id: 'draw', prices: [{ unit: 'images', usd: '0.02' }] }, { id: 'paint' }],
          routes: [{ id: 'draw', rpcMethods: null }],
          refusedDemand: [{ rule: 'models', calls: 3, quotedMicro: 60_000 }],
        },
      },
    })
  })

  it('sees of each offer in the book whether it can serve a call, and the first reason why not', async () => {
    const all = await book()
    expect(all.lines).toEqual([
      [1, 40, null],
      [2, 35, 'cap'],
      [3, 30, null],
      [4, 20, 'health'],
    ])
    expect(all.nodes[1]?.node).toMatchObject({ canServe: false, capRemainingMicro: 0 })
    const whyNot = async (call: object) => (await book(call)).lines.map(([, , why]) => why)
    expect(await whyNot({ model: 'paint' })).toEqual(['models', 'cap', null, 'health'])
    expect(await whyNot({ path: '/paint' })).toEqual(['paths', 'cap', null, 'health'])
    expect(await whyNot({ require: ['account.private'] })).toEqual(['traits', 'traits', null, 'traits'])
    expect(await whyNot({ min: 31 })).toEqual([null, 'cap', 'discount', 'discount'])
  })

  it('reads a book page by page, with continuous ranks', async () => {
    const { lines, pageInfo } = await book({ first: 3 })
    expect([lines.map(([rank]) => rank), pageInfo.hasNextPage]).toEqual([[1, 2, 3], true])
    const rest = await book({ first: 3, after: pageInfo.endCursor })
    expect([rest.lines, rest.pageInfo.hasNextPage]).toEqual([[[4, 20, 'health']], false])
    const forged = await market.graphql(undefined, BOOK, { first: 3, after: `9${pageInfo.endCursor}` })
    expect(codeOf(forged)).toBe('invalid_request')
  })

  it('finds nothing for an unknown resource or one that is switched off', async () => {
    await put(fourth({ id: 'provider-x7', isOn: false }))
    for (const id of ['nothing', 'provider-x7']) {
      expect(await trpcCodeOf(market.trpc(undefined).resource.market.query({ id }))).toBe('not_found')
      expect(await trpcCodeOf(market.trpc(undefined).resource.book.query({ id }))).toBe('not_found')
    }
    const listed = await market.trpc(undefined).resource.markets.query({})
    expect(listed.map(({ id }) => id)).not.toContain('provider-x7')
  })
})
