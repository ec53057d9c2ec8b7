import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { DAY, systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, MODELS, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

let market: TestMarket
let seller: Person
let buyer: Person
let mine: { readonly id: string; readonly model: string }

beforeAll(async () => {
  market = await startMarket()
  ;[seller, buyer] = [await market.person(), await market.person()]
  mine = await listOffer(market, seller.seller)
})
afterAll(() => market?.stop())

type Fate = 'won' | 'failed over' | 'outranked' | 'unlisted' | { readonly excluded: string }

const OTHER = 'ofr_other'
const rank = (offer: string) => ({ offer, provider: 'sandbox-a', estimateMicro: '900' })
const attempt = (offer: string, errorClass: string | null) => ({
  offer,
  provider: 'sandbox-a',
  ms: 5,
  errorClass,
  status: errorClass === null ? 200 : 500,
})

/** The event of a call that the offer won, lost or could not serve. */
function callOf(fate: Fate, { ago = 0, model = mine.model } = {}): string {
  const startedAt = Date.now() - ago - 2_000
  const rid = createIds({ ...systemClock, now: () => startedAt }).ulid()
  const winner = fate === 'won' ? mine.id : OTHER
  const isNamed = fate === 'won' || fate === 'failed over' || fate === 'outranked'
  return JSON.stringify(
    usageEvent(
      { rid, startedAt, model, account: buyer.buyer.account, sellerAccount: seller.seller.account, charge: 0 },
      {
        outcome: 'succeeded',
        errorCode: null,
        offer: winner,
        attempts: [...(fate === 'failed over' ? [attempt(mine.id, 'server')] : []), attempt(winner, null)],
        explanation: {
          ranked: [...(isNamed ? [rank(mine.id)] : []), rank(OTHER)],
          excluded: typeof fate === 'object' ? [{ offer: mine.id, reason: fate.excluded }] : [],
        },
      },
    ),
  )
}

const ask = (key: string, id: string) =>
  market.graphql(
    key,
    'query ($id: ID!) { offerShare(id: $id) { won failedOver outranked excluded { reason calls } } }',
    { id },
  )

describe('the share of an offer', () => {
  it('is nothing before the first call', async () => {
    const unasked = await listOffer(market, seller.seller)
    expect((await ask(seller.sellerKey, unasked.id)).body).toEqual({
      data: { offerShare: { won: 0, failedOver: 0, outranked: 0, excluded: [] } },
    })
  })

  it('counts won, lost and unreachable calls once each, of a day and of its model', async () => {
    const fates: readonly Fate[] = [
      'won',
      'won',
      'won',
      'failed over',
      'outranked',
      'outranked',
      'unlisted',
      { excluded: 'cap_reached' },
      { excluded: 'backed_off' },
      { excluded: 'cap_reached' },
    ]
    const events = [
      ...fates.map((fate) => callOf(fate)),
      callOf('won', { ago: 2 * DAY }),
      callOf('won', { model: 'lab/another' }),
    ]
    await postBatch(market.plane, { events, source: 'test' })
    expect((await ask(seller.sellerKey, mine.id)).body).toEqual({
      data: {
        offerShare: {
          won: 3,
          failedOver: 1,
          outranked: 2,
          excluded: [
            { reason: 'cap_reached', calls: 2 },
            { reason: 'backed_off', calls: 1 },
          ],
        },
      },
    })
  })

  it('is shown to its seller only', async () => {
    const other = await market.person()
    expect(codeOf(await ask(other.sellerKey, mine.id))).toBe('not_found')
    expect(codeOf(await ask(seller.sellerKey, 'nonsense'))).toBe('not_found')
    expect(codeOf(await ask(buyer.buyerKey, mine.id))).toBe('wrong_key_type')
  })
})

describe('the yield of models', () => {
  const read = (key: string) => market.trpc(key).offer.yield.query()

  it('lists the models that are on sale or were sold, by the money that the seller earned or that others earned instead', async () => {
    const [own, rival] = [await market.person(), await market.person()]
    const [quiet, earning, missing] = MODELS
    for (const model of MODELS) await listOffer(market, own.seller, { model })
    const sold = (model: string, seller: Person, charge: number, ago = 0) => {
      const startedAt = Date.now() - ago - 2_000
      const rid = createIds({ ...systemClock, now: () => startedAt }).ulid()
      const input = { rid, startedAt, charge, account: buyer.buyer.account, sellerAccount: seller.seller.account }
      return JSON.stringify(usageEvent({ ...input, model }))
    }
    const events = [
      sold(earning, own, 1_000),
      sold(earning, rival, 500),
      sold(missing, rival, 9_000),
      sold(missing, rival, 1_000),
      sold(quiet, own, 90_000, 2 * DAY),
      sold('lab/of-nobody-here', rival, 90_000),
    ]
    await postBatch(market.plane, { events, source: 'test' })
    const shown = { offers: 1, bestDiscountPct: expect.any(Number) }
    expect(await read(own.sellerKey)).toEqual({
      since: expect.any(Number),
      total: 3,
      models: [
        { model: missing, ...shown, won: 0, passed: 2, earnedMicro: 0, passedMicro: 10_000 },
        { model: earning, ...shown, won: 1, passed: 1, earnedMicro: 950, passedMicro: 500 },
        { model: quiet, ...shown, won: 0, passed: 0, earnedMicro: 0, passedMicro: 0 },
      ],
    })
    expect(await read((await market.person()).sellerKey)).toMatchObject({ total: 0, models: [] })
  })
})
