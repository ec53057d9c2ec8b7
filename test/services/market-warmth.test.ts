import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase } from '#control-plane/db/database.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listMarketRowsPage } from '#control-plane/services/market/market-book.ts'
import { keepMarketWarm } from '#control-plane/services/market/market-warmth.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
  await market.plane.publication.reconcile()
})
afterAll(() => market.stop())

async function offerCounts(): Promise<Record<string, number>> {
  const { items } = await invoke(market.plane, { kind: 'nobody' }, listMarketRowsPage, { maxItems: 50 })
  return Object.fromEntries(items.map(({ id, offerCount }) => [id, offerCount]))
}

describe('a market that is kept in memory', () => {
  it('shows a new offer at once, and reads it when it is announced', async () => {
    const announced = new Set<string>()
    const updates = {
      listen: (...given: Parameters<typeof market.plane.updates.listen>) => {
        const [channel, listener] = given
        return market.plane.updates.listen(channel, (names) => {
          for (const name of names) announced.add(name)
          listener(names)
        })
      },
    }
    const stop = await keepMarketWarm({ ...market.plane, updates })
    await until('the market listens', 2_000, async () => {
      await market.world.redis.publish(CHANNELS.snapshot, '["a word"]')
      return announced.has('a word')
    })
    expect(await offerCounts()).toEqual({ 'claude-test': 0, 'gpt-test': 0 })
    const ada = await market.person()
    await listOffer(market, ada.seller, { discount: 10 })
    expect(await offerCounts()).toEqual({ 'claude-test': 0, 'gpt-test': 1 })
    await until('the offer is announced', 2_000, () => announced.has('offers:gpt-test'))
    stop()
  })

  it('lets processes start while the database is away', async () => {
    const db = createDatabase('postgres://nobody@127.0.0.1:1/none', { max: 1 })
    const stop = await keepMarketWarm({ ...market.plane, db })
    stop()
    await db.destroy()
  })
})
