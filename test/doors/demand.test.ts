import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { DAY, SECOND, systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let seller: Person
let buyer: Person

beforeAll(async () => {
  market = await startMarket()
  ;[seller, buyer] = [await market.person(), await market.person()]
})
afterAll(() => market?.stop())

type Sale = { readonly keptBps: number; readonly charge: number; readonly list: number }
type Where = { readonly ago?: number; readonly model?: string; readonly offer?: string | null }

function soldAt(
  { keptBps, charge, list }: Sale,
  { ago = 0, model = 'gpt-test', offer = 'ofr_any' }: Where = {},
): string {
  const startedAt = Date.now() - ago - 2 * SECOND
  const rid = createIds({ ...systemClock, now: () => startedAt }).ulid()
  const parties = { account: buyer.buyer.account, sellerAccount: seller.seller.account }
  return JSON.stringify(
    usageEvent({ rid, startedAt, model, charge, ...parties }, { keptBps, listMicro: String(list), offer }),
  )
}

const QUERY =
  'query ($model: String!) { demand(model: $model) { model steps { discountPct calls listMicro paidMicro } } }'
const ask = (model: string) => market.graphql(undefined, QUERY, { model })

describe('the demand for a model by discount', () => {
  it('is empty before the first call, and an error for an unknown model', async () => {
    const unsold = 'sandbox/echo'
    expect((await ask(unsold)).body).toEqual({ data: { demand: { model: unsold, steps: [] } } })
    expect(codeOf(await ask('nothing'))).toBe('not_found')
    expect(await trpcCodeOf(market.trpc(undefined).market.demand.query({ model: '' }))).toBe('invalid_request')
  })

  it('sums the charged calls of a day at each whole percentage, smallest first', async () => {
    const events = [
      soldAt({ keptBps: 7_499, charge: 75, list: 100 }),
      soldAt({ keptBps: 7_500, charge: 75, list: 100 }),
      soldAt({ keptBps: 7_401, charge: 148, list: 200 }),
      soldAt({ keptBps: 10_000, charge: 30, list: 30 }),
      // Sales that do not count: a day old, of another model, free, or without a seller of the market.
      soldAt({ keptBps: 5_000, charge: 50, list: 100 }, { ago: DAY }),
      soldAt({ keptBps: 5_000, charge: 50, list: 100 }, { model: 'claude-test' }),
      soldAt({ keptBps: 5_000, charge: 0, list: 100 }),
      soldAt({ keptBps: 5_000, charge: 50, list: 100 }, { offer: null }),
    ]
    expect(await postBatch(market.plane, { events, source: 'test' })).toMatchObject({ poisoned: 0 })
    expect(await market.trpc(undefined).market.demand.query({ model: 'gpt-test' })).toEqual({
      model: 'gpt-test',
      since: expect.any(Number),
      steps: [
        { discountPct: 0, calls: 1, listMicro: '30', paidMicro: '30' },
        { discountPct: 25, calls: 3, listMicro: '400', paidMicro: '298' },
      ],
    })
  })
})
