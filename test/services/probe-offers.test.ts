import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ListedModels, ProviderPlace } from '#control-plane/ports/provider/probe.ts'
import { deleteOffer } from '#control-plane/services/offers/change.ts'
import { listHealthLog } from '#control-plane/services/offers/health-log.ts'
import { probeOffers } from '#control-plane/services/offers/probe-offers.ts'
import { getOffer } from '#control-plane/services/offers/read.ts'
import { MINUTE } from '#shared/clock.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey } from '#test/support/doors/offers.ts'

let market: TestMarket
let ada: Person
/** The provider's answer from now on. Undefined forwards to the real provider. */
let said: ListedModels | undefined
let asked: ProviderPlace[]

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
})
beforeEach(async () => {
  said = undefined
  asked = []
  // A turn tries every key. Keys of other tests would be counted, too.
  await sql`delete from offer_probe`.execute(market.plane.db)
})
afterAll(() => market.stop())

const even = () => 0.5
const turn = () => {
  const { listModels } = market.plane
  return probeOffers(
    {
      ...market.plane,
      listModels: async (place) => {
        asked.push(place)
        return said ?? listModels(place)
      },
    },
    even,
  )
}
const create = (changes: object = {}) => listOffer(market, ada.seller, changes)
const healthOf = async (id: string) => {
  const { healthy, consecutiveFailures, capDailyRemainingUsd } = await invoke(market.plane, ada.seller, getOffer, {
    id,
  })
  return { healthy, consecutiveFailures, capDailyRemainingUsd }
}
const actionsOf = async (offerId: string) =>
  (await invoke(market.plane, ada.seller, listHealthLog, { offerId, sortOrder: 'ASC' })).items.map((line) => [
    line.actionTaken,
    line.errorCategory,
    line.statusCode,
  ])

it('a key is tried once for all its offers, half an hour later and then every half hour', async () => {
  const apiKey = newProviderKey()
  const offers = [await create({ apiKey, capDailyUsd: 2 }), await create({ apiKey, model: 'claude-test' })]
  expect(await turn()).toBe(0)
  market.advance(31 * MINUTE)
  market.provider.requests.reset()
  expect(await turn()).toBe(1)
  expect(await turn()).toBe(0)
  // Only the free request was sent. It uses no tokens and no cap.
  expect(market.provider.requests.list().map(({ path }) => path)).toEqual(['/v1/models'])
  for (const { id } of offers) expect(await healthOf(id)).toMatchObject({ healthy: true, consecutiveFailures: 0 })
  expect((await healthOf(offers[0]?.id ?? '')).capDailyRemainingUsd).toBe(2)
  market.advance(29 * MINUTE)
  expect(await turn()).toBe(0)
  market.advance(2 * MINUTE)
  expect(await turn()).toBe(1)
  for (const { id } of offers) await invoke(market.plane, ada.seller, deleteOffer, { id })
})

it('a refused key backs its offers off with the cause in their log, and a working key heals them', async () => {
  const offer = await create()
  market.advance(31 * MINUTE)
  said = { isAccepted: false, status: 401, reason: 'the provider refused the key' }
  await turn()
  expect(await healthOf(offer.id)).toMatchObject({ healthy: false, consecutiveFailures: 1 })
  market.advance(3 * MINUTE)
  said = undefined
  await turn()
  expect(await healthOf(offer.id)).toMatchObject({ healthy: true, consecutiveFailures: 0 })
  expect(await actionsOf(offer.id)).toEqual([
    ['backed_off', 'credential_rejected', 401],
    ['recovered', null, null],
  ])
  await invoke(market.plane, ada.seller, deleteOffer, { id: offer.id })
})

it('an unreachable provider backs offers off at the third try; a list does not heal a failure of calls', async () => {
  const offer = await create()
  const busy = await create()
  const record = { consecutiveFailures: 5, ejections: 1, backedOffUntil: 1, errorClass: 'overloaded' } as const
  await market.plane.liveOffers.setHealth(new Map([[busy.id, record]]))
  market.advance(31 * MINUTE)
  said = { isAccepted: false, status: null, reason: 'the provider could not be reached' }
  for (const expected of [true, true, false]) {
    await turn()
    expect((await healthOf(offer.id)).healthy).toBe(expected)
    market.advance(3 * MINUTE)
  }
  expect(await actionsOf(offer.id)).toEqual([['backed_off', 'unreachable', null]])
  await market.plane.liveOffers.setHealth(new Map([[busy.id, record]]))
  said = undefined
  market.advance(31 * MINUTE)
  await turn()
  expect(await healthOf(busy.id)).toMatchObject({ consecutiveFailures: 5 })
  for (const { id } of [offer, busy]) await invoke(market.plane, ada.seller, deleteOffer, { id })
})

it('a key without offers is no longer tried', async () => {
  const { id } = await create()
  await invoke(market.plane, ada.seller, deleteOffer, { id })
  market.advance(60 * MINUTE)
  while ((await turn()) > 0) expect(asked).toEqual([])
  const { rows } = await sql`select 1 from offer_probe`.execute(market.plane.db)
  expect(rows).toEqual([])
})
