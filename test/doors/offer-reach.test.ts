import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { trustProvider } from '#control-plane/services/catalog/provider-list.ts'
import { DAY, systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, MODELS, operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

const [model] = MODELS
let market: TestMarket
let seller: Person
let rival: Person
let buyer: Person

beforeEach(async () => {
  market = await startMarket()
  ;[seller, rival, buyer] = [await market.person(), await market.person(), await market.person()]
})
afterEach(() => market?.stop())

/** The event of a call with a list cost of 100 micro-USD, which a person's offer served at a share of it. */
function soldBy({ seller: by }: Person, keptBps: number, { ago = 0, provider = 'test' } = {}): string {
  const startedAt = Date.now() - ago - 2_000
  const rid = createIds({ ...systemClock, now: () => startedAt }).ulid()
  const parties = { account: buyer.buyer.account, sellerAccount: by.account }
  const charge = Math.floor(keptBps / 100)
  return JSON.stringify(
    usageEvent({ rid, startedAt, model, charge, ...parties }, { keptBps, listMicro: '100', provider }),
  )
}

const book = (events: readonly string[]) => postBatch(market.plane, { events: [...events], source: 'test' })
const read = (person: Person, discount?: number) =>
  market.trpc(person.sellerKey).offer.reach.query({ model, ...(discount !== undefined && { discount }) })
/** Calls of a day: two of the seller's at a discount of 40 %, and four of its rival's at 40, 39.5, 25 and 50 %. */
const calls = () => [
  ...[6_000, 6_000].map((kept) => soldBy(seller, kept)),
  ...[6_000, 6_050, 7_500, 5_000].map((kept) => soldBy(rival, kept)),
  soldBy(rival, 7_500, { ago: 2 * DAY }),
]

describe('the reach of a discount', () => {
  it('counts own calls as won, calls at the same price as shared, and others by their discount', async () => {
    await listOffer(market, seller.seller, { model, discount: 40 })
    await book(calls())
    const reach = await read(seller)
    const chosen = { discountPct: 40, won: 4, shared: 1, lost: 1, worthMicro: 240 }
    expect(reach).toMatchObject({ model, ownDiscountPct: 40, ahead: 0, rivals: 0, chosen })
    expect(reach.curve).toEqual([
      { discountPct: 26, won: 3, shared: 0, lost: 3, worthMicro: 222 },
      chosen,
      { discountPct: 41, won: 5, shared: 0, lost: 1, worthMicro: 295 },
      { discountPct: 51, won: 6, shared: 0, lost: 0, worthMicro: 294 },
    ])
  })

  it('gives own calls at a higher price to the best offer of others', async () => {
    await listOffer(market, seller.seller, { model, discount: 40 })
    await book(calls())
    expect((await read(seller, 30)).chosen).toEqual({ discountPct: 30, won: 3, shared: 0, lost: 3, worthMicro: 210 })
    await listOffer(market, rival.seller, { model, discount: 30 })
    const tied = await read(seller, 30)
    expect(tied).toMatchObject({ ahead: 0, rivals: 1, chosen: { won: 1, shared: 2, lost: 3 } })
    expect(await read(seller, 20)).toMatchObject({ ahead: 1, rivals: 1, chosen: { won: 0, shared: 0, lost: 6 } })
  })

  it('of an untrusted offer has no call that a trusted offer served', async () => {
    await listOffer(market, seller.seller, { model, discount: 60 })
    await sql`insert into provider (id, name, base_url, host, is_trusted, updated_at)
      values ('elsewhere', 'Elsewhere', 'https://elsewhere.example/v1', 'elsewhere.example', true, now())`.execute(
      market.plane.db,
    )
    await book([soldBy(rival, 7_500), soldBy(rival, 7_500, { provider: 'elsewhere' })])
    expect((await read(seller)).chosen).toMatchObject({ won: 2, lost: 0 })
    await invoke(market.plane, operator, trustProvider, { id: 'test', isTrusted: false, reason: 'test' })
    expect((await read(seller)).chosen).toMatchObject({ won: 1, lost: 1 })
  })

  it('is read for a model without an own offer, at the reference price by default', async () => {
    await book(calls())
    expect(await read(rival)).toMatchObject({ ownDiscountPct: null, chosen: { discountPct: 0 } })
    const { body } = await market.graphql(
      rival.sellerKey,
      'query ($model: String!) { offerReach(model: $model, discount: 45) { chosen { discountPct won shared lost } } }',
      { model },
    )
    expect(body).toEqual({ data: { offerReach: { chosen: { discountPct: 45, won: 6, shared: 0, lost: 0 } } } })
  })

  it('refuses an unknown model, a discount without a price, and a buyer', async () => {
    const ask = (key: string, input: object) =>
      market.graphql(
        key,
        'query ($model: String!, $discount: Float) { offerReach(model: $model, discount: $discount) { ahead } }',
        input,
      )
    expect(codeOf(await ask(seller.sellerKey, { model: 'nothing' }))).toBe('not_found')
    expect(codeOf(await ask(seller.sellerKey, { model, discount: 101 }))).toBe('invalid_request')
    expect(codeOf(await ask(buyer.buyerKey, { model }))).toBe('wrong_key_type')
  })
})
