import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readFacts } from '#control-plane/check-ledger/ledger-facts.ts'
import { readOfferUses } from '#control-plane/db/money-epoch.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { utcDay } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { DOCUMENT_SCHEMAS } from '#shared/contract/snapshot.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Answer, Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { fourthLentKey, publishedBody, startLendingMarket } from '#test/support/doors/lending-market.ts'

let market: TestMarket
let ada: Person
let bob: Person
let operatorKey: string
let stop: () => Promise<void>

beforeAll(async () => {
  ;({ market, ada, bob, operatorKey, stop } = await startLendingMarket())
})
afterAll(() => stop())

describe('the money of lent keys', () => {
  it('is in settlements, analytics of both sides, earnings and exports, under the resource and its product', async () => {
    const lent = await market.rest('POST', '/v1/resource/seller/offers', {
      key: bob.sellerKey,
      body: fourthLentKey({ cap_daily_usd: 1 }),
    })
    const offer = z.looseObject({ id: z.string() }).parse(lent.body)
    const sold = { kind: 'resource', id: 'provider-x4', good: 'draw', route: 'draw' }
    const call = (charge: number, changes: object = {}) =>
      eventText(
        { account: ada.buyer.account, sellerAccount: bob.seller.account, charge, model: 'resource/provider-x4' },
        { sold, offer: offer.id, provider: 'provider-x4', wire: 'resource', usage: { images: 1 }, ...changes },
      )
    await postBatch(market.plane, { events: [call(7_000), call(14_000), call(0)], source: 'test' })
    const { rows } = await sql<{ sold: unknown; charge: string }>`
      select sold, charge::text from settlement where offer = ${offer.id} order by settlement.charge`.execute(
      market.plane.db,
    )
    expect(rows).toEqual([0, 7_000, 14_000].map((charge) => ({ sold, charge: String(charge) })))
    const day = utcDay(market.plane.clock.now())
    const field = cacheKeys.refusals(offer.id, day)
    await market.world.redis.hset(field, {
      'models:calls': '3',
      'models:micro': '60000',
      'rate:calls': '1',
      'odd:calls': '9',
    })
    const seller = await market.rest('GET', '/v1/resource/seller/analytics?range=1d', { key: bob.sellerKey })
    expect([seller.status, seller.body]).toEqual([
      200,
      expect.objectContaining({
        range: '1d',
        calls: 3,
        earned_micro: 6_650 + 13_300,
        by_offer: [{ offer_id: offer.id, resource: 'provider-x4', good: 'draw', calls: 3, earned_micro: 19_950 }],
        refused_demand: [
          { offer_id: offer.id, rule: 'models', calls: 3, quoted_micro: 60_000 },
          { offer_id: offer.id, rule: 'rate', calls: 1, quoted_micro: 0 },
        ],
      }),
    ])
    const buyer = await market.rest('GET', '/v1/resource/buyer/analytics', { key: ada.buyerKey })
    expect(buyer.body).toMatchObject({
      range: '7d',
      calls: 3,
      spent_micro: 21_000,
      list_micro: 42_000,
      saved_micro: 21_000,
      by_resource: [{ resource: 'provider-x4', good: 'draw', calls: 3, spent_micro: 21_000, saved_micro: 21_000 }],
    })
    const earnings = await market.rest('GET', '/v1/seller/earnings', { key: bob.sellerKey })
    expect(earnings.body).toMatchObject({ by_model: [{ model: 'resource/provider-x4', earned_micro: 19_950 }] })
    // A rebuild of the gate counts the used amount of the cap, and the checker knows the cap.
    const uses = await readOfferUses(market.plane.db, market.plane.clock.now(), { rids: [], offers: [offer.id] })
    expect([uses.totals.get(offer.id), uses.capped.has(offer.id)]).toEqual([21_000n, true])
    const client = new pg.Client({ connectionString: market.world.databaseUrl })
    await client.connect()
    const facts = await readFacts(client, []).finally(() => client.end())
    expect(facts.offerCaps.get(offer.id)).toBe(1_000_000n)
    const own = await market.rest('GET', '/v1/resource/seller/analytics', { key: ada.sellerKey })
    expect(own.body).toMatchObject({ calls: 0, by_offer: [] })
    await market.plane.publication.publishSoon(['sold'])
    expect(DOCUMENT_SCHEMAS.sold.parse(await publishedBody(market, 'sold')).rows).toBeNull()
    await rollUp(market.plane, 0)
    await market.plane.publication.publishSoon(['sold'])
    expect(DOCUMENT_SCHEMAS.sold.parse(await publishedBody(market, 'sold')).rows).toEqual([
      expect.objectContaining({
        name: 'resource/provider-x4',
        calls24h: 2,
        volume24hMicro: 21_000n,
        list24hMicro: 42_000n,
      }),
    ])
  })

  it('tells a buyer whether it may buy, and why not', async () => {
    const poor = await market.person()
    const access = (key: string): Promise<Answer> => market.rest('GET', '/v1/resource/access', { key })
    expect((await access(poor.buyerKey)).body).toEqual({
      can_buy: false,
      reasons: ['insufficient_credit'],
      balance_micro: 0,
    })
    await market
      .trpc(operatorKey)
      .credit.grant.mutate({ wallet: poor.wallet, amountUsd: 3, ticket: 'lent-access', note: 'test' })
    expect((await access(poor.buyerKey)).body).toEqual({ can_buy: true, reasons: [], balance_micro: 3_000_000 })
    await market.trpc(operatorKey).feature.put.mutate({ name: 'paid_calls', isOn: false, reason: 'test' })
    market.advance(5_000)
    await expect.poll(async () => (await access(poor.buyerKey)).body).toMatchObject({ reasons: ['paid_calls_off'] })
    await market.trpc(operatorKey).feature.put.mutate({ name: 'paid_calls', isOn: true, reason: 'test' })
    expect((await access(poor.sellerKey)).status).toBe(401)
  })
})
