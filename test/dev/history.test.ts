import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listStatements } from '#control-plane/services/buyers/statements.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { readMarketRows } from '#control-plane/services/market/market-rows.ts'
import { makeHistory } from '#dev/seed/history.ts'
import { DAY, HOUR, MINUTE } from '#shared/clock.ts'
import type { TestMarket } from '#test/support/control-plane.ts'
import { startMarket } from '#test/support/control-plane.ts'
import { listOffer } from '#test/support/offers.ts'

const CALLS = 600
let market: TestMarket
/** The first thirty days, just after they were made. */
let first: Awaited<ReturnType<typeof count>> & { readonly posted: number; readonly madeAt: number }

beforeAll(async () => {
  market = await startMarket()
  const seller = (await market.person()).seller
  for (const [index, model] of ['gpt-test', 'gpt-test', 'claude-test'].entries()) {
    await listOffer(market, seller, { model, discount: 20 + index })
  }
  const posted = await makeHistory(market.plane, CALLS)
  first = { posted, madeAt: market.plane.clock.now(), ...(await count()) }
})
afterAll(() => market.stop())

const count = async () =>
  (
    await sql<{ calls: number; poison: number; oldest: Date; strays: number }>`select count(*)::int as calls,
      min(started_at) as oldest, (select count(*)::int from usage_poison) as poison,
      (select count(*)::int from settlement_default) as strays
    from settlement`.execute(market.plane.db)
  ).rows[0] ?? expect.fail('no row')

describe('the past of the development market', () => {
  it('is booked over 30 days as any other calls are, and the ledger is in order', async () => {
    const { posted, madeAt, calls, oldest, poison, strays } = first
    expect([calls, poison, strays]).toEqual([posted, 0, 0])
    expect(Math.abs(calls - CALLS)).toBeLessThan(CALLS * 0.05)
    const age = madeAt - oldest.getTime()
    expect(age).toBeLessThanOrEqual(30 * DAY + MINUTE)
    expect(age).toBeGreaterThan(28 * DAY)
    const checked = await checkMoney(
      { databaseUrl: market.world.databaseUrl, redisUrl: market.world.redisUrl, journalDir: undefined },
      { isQuiesced: false },
    )
    expect(checked.findings.filter((finding) => finding.state === 'breach')).toEqual([])
  })

  it('gives the market figures', async () => {
    await rollUp(market.plane, 0)
    const rows = await readMarketRows(market.plane.db, ['gpt-test', 'claude-test'])
    expect(rows.reduce((sum, row) => sum + row.requests24h, 0)).toBeGreaterThan(10)
    expect(rows.some((row) => row.ttftP50Ms !== null && row.discountTrend !== null)).toBe(true)
  })

  it('stays as it is when made again, and goes on where it ended', async () => {
    const { calls } = await count()
    expect(await makeHistory(market.plane, CALLS)).toBe(0)
    expect((await count()).calls).toBe(calls)
    market.advance(12 * HOUR)
    const added = await makeHistory(market.plane, CALLS)
    expect(added).toBeGreaterThan(3)
    expect(added).toBeLessThan(30)
  })

  it('has a buyer who is given as one of those who bought, paid before he called', async () => {
    const buyer = await market.person()
    market.advance(HOUR)
    expect(await makeHistory(market.plane, 60_000, [buyer.wallet])).toBeGreaterThan(40)
    const { items } = await invoke(market.plane, buyer.buyer, listStatements, { maxItems: 100 })
    expect(items.length).toBeGreaterThan(8)
    expect(items.at(-1)).toMatchObject({ kind: 'grant' })
    expect(items.every(({ balanceMicro }) => balanceMicro > 0)).toBe(true)
  })
})
