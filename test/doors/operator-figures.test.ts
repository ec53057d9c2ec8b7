import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { DAY, HOUR } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { grant } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

/** The calls lie in whole hours that were over before the test began. */
const END = Math.floor(Date.now() / HOUR) * HOUR
let market: TestMarket
let ada: Person
let bob: Person
/** A buyer whose only call failed. */
let cleo: Person
let staff: ReturnType<TestMarket['trpc']>
let refunded: string

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  staff = market.trpc(await market.managementKey('operator'))
  cleo = await market.person()
  await grant(market.plane.db, ada.buyer.account, 10_000_000)
  await grant(market.plane.db, bob.buyer.account, 10_000_000)
  await postCalls()
  await rollUp(market.plane, 0)
})
afterAll(() => market?.stop())

const tried = (provider: string) => ({ offer: 'ofr_test', provider, status: 503, ms: 10, errorClass: 'server_error' })

/** Three charged calls and two failed ones in the last whole hour, and one charged call a day before. */
async function postCalls(): Promise<void> {
  const at = END - HOUR + 1_000
  const call = (offset: number, input: { account: string; charge: number; startedAt?: number }, changes: object) => {
    const startedAt = input.startedAt ?? at + offset
    const rid = createIds({ now: () => startedAt }).ulid()
    return { rid, text: eventText({ rid, sellerAccount: bob.seller.account, ...input, startedAt }, { ...changes }) }
  }
  const failed = { provider: null, offer: null, sellerAccount: null, errorCode: 'upstream_error' }
  const calls = [
    call(0, { account: ada.buyer.account, charge: 1_000 }, { overheadMs: 1 }),
    call(1, { account: ada.buyer.account, charge: 2_000 }, { overheadMs: 2 }),
    call(2, { account: bob.buyer.account, charge: 3_000 }, { overheadMs: 9 }),
    call(
      3,
      { account: ada.buyer.account, charge: 0 },
      { ...failed, overheadMs: 3, attempts: [tried('p1'), tried('p2')] },
    ),
    call(4, { account: cleo.buyer.account, charge: 0 }, { ...failed, errorCode: 'no_offers', attempts: [] }),
    call(5, { account: ada.buyer.account, charge: 500, startedAt: at - DAY }, {}),
  ]
  const report = await postBatch(market.plane, { events: calls.map(({ text }) => text), source: 'test' })
  expect(report).toMatchObject({ posted: 6, poisoned: 0 })
  refunded = calls[0]?.rid ?? ''
}

const period = () => ({ from: END - DAY, to: END })

describe('figures of the market for operators', () => {
  it('are of a period and of the one before it, of the same length', async () => {
    const { present, before, errors } = await staff.figures.read.query(period())
    expect(present).toEqual({
      ...period(),
      volumeMicro: '6000',
      calls: 5,
      chargedCalls: 3,
      answeredPct: null,
      answeredBase: 4,
      feesMicro: '300',
      buyers: 2,
      sellers: 1,
      failedCalls: 2,
      chargedFailures: 0,
      freeCalls: 0,
      countedCalls: 5,
      isWhole: true,
      overheadP50Ms: 2,
      overheadP99Ms: 9,
      overheadCalls: 4,
    })
    expect(before).toMatchObject({
      from: END - 2 * DAY,
      to: END - DAY,
      volumeMicro: '500',
      feesMicro: '25',
      buyers: 1,
      failedCalls: 0,
    })
    expect(errors).toEqual([
      { errorCode: 'no_offers', provider: null, calls: 1 },
      { errorCode: 'upstream_error', provider: 'p2', calls: 1 },
    ])
  })

  it('add up: each call is charged, free or a failure without a charge', async () => {
    const at = END - 30 * HOUR
    const call = (offset: number, charge: number, changes: Record<string, unknown>) => {
      const rid = createIds({ now: () => at + offset }).ulid()
      const input = {
        rid,
        account: ada.buyer.account,
        sellerAccount: bob.seller.account,
        charge,
        startedAt: at + offset,
      }
      return eventText(input, changes)
    }
    const events = [
      call(0, 400, {}),
      call(1, 0, { outcome: 'succeeded', errorCode: null, finishReason: 'stop' }),
      call(2, 200, { outcome: 'cut', errorCode: 'upstream_error' }),
      call(3, 0, { outcome: 'failed', errorCode: 'upstream_error' }),
    ]
    expect(await postBatch(market.plane, { events, source: 'test' })).toMatchObject({ posted: 4, poisoned: 0 })
    await rollUp(market.plane, 0)
    const { present } = await staff.figures.read.query({ from: at - HOUR, to: at + HOUR })
    const { calls, chargedCalls, freeCalls, failedCalls, chargedFailures, countedCalls } = present
    expect({ calls, chargedCalls, freeCalls, failedCalls, chargedFailures, countedCalls }).toEqual({
      calls: 4,
      chargedCalls: 2,
      freeCalls: 1,
      failedCalls: 2,
      chargedFailures: 1,
      countedCalls: 4,
    })
    expect(Number(chargedCalls) + freeCalls + failedCalls - chargedFailures).toBe(calls)
  })

  it('are those of the market’s own series', async () => {
    const { present } = await staff.figures.read.query(period())
    const [point] = (await staff.market.series.query({ ...period(), bucket: 'period' })) ?? []
    expect([present.volumeMicro, present.calls, present.chargedCalls, present.answeredBase]).toEqual([
      point?.volumeMicro,
      point?.calls,
      point?.trades,
      point?.uptimeBase,
    ])
  })

  it('subtract a refund from the fees when it is booked', async () => {
    const wide = { from: END - DAY, to: END + HOUR }
    const fees = async () => (await staff.figures.read.query(wide)).present.feesMicro
    const before = BigInt(await fees())
    await staff.ledger.reverse.mutate({ key: refunded, reason: 'test' })
    expect(BigInt(await fees())).toBe(before - 50n)
  })

  it('are refused beyond 31 days, and to all callers but operators', async () => {
    const long = staff.figures.read.query({ from: END - 32 * DAY, to: END })
    expect(await trpcCodeOf(long)).toBe('invalid_request')
    expect(await trpcCodeOf(staff.figures.read.query({ from: END, to: END - DAY }))).toBe('invalid_request')
    const stranger = market.trpc(ada.buyerKey).figures.read.query(period())
    expect(await trpcCodeOf(stranger)).toBe('wrong_key_type')
  })
})
