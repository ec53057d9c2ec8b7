import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { putFeature } from '#control-plane/services/controls/operator-controls.ts'
import { createBuyerKey } from '#control-plane/services/keys/keys.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { readMarketOfModel } from '#control-plane/services/market/market-book.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { deleteOffer } from '#control-plane/services/offers/change.ts'
import { storeHealthEvents } from '#control-plane/services/offers/health-log.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, operator, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let ada: Person
let bob: Person
const offers: string[] = []
/** A whole minute some hours ago. */
const AT = Math.floor(Date.now() / MINUTE) * MINUTE - 6 * HOUR

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  for (const discount of [10, 20]) {
    offers.push((await listOffer(market, ada.seller, { discount })).id)
  }
  const gift = { account: bob.buyer.account, amountUsd: 10, source: 'promo', ticket: 'status', note: 'test' }
  await invoke(market.plane, operator, grantCredit, gift)
})
afterAll(() => market?.stop())

const Connection = z.object({ edges: z.array(z.unknown()), pageInfo: z.object({ endCursor: z.string() }) })

let events = 0
/** An event of the health log, this many minutes after the beginning. A back-off lasts some minutes. */
const event = (offer: string, minute: number, action: string, lastsMinutes = 0) => ({
  v: 1,
  id: `hlt_${++events}`,
  at: AT + minute * MINUTE,
  node: 'test',
  offer,
  model: 'gpt-test',
  rid: null,
  errorClass: action === 'backed_off' ? 'timeout' : null,
  statusCode: null,
  detail: 'for a test',
  action,
  backedOffUntil: lastsMinutes === 0 ? null : AT + (minute + lastsMinutes) * MINUTE,
})

const graph = async (key: string | undefined, query: string) => {
  const answer = await market.graphql(key, query)
  return z.object({ data: z.record(z.string(), z.unknown()) }, answer.text).parse(answer.body).data
}

describe('incidents', () => {
  beforeAll(async () => {
    const [first = '', second = ''] = offers
    const told = [
      event(first, 0, 'backed_off', 10),
      event(second, 2, 'backed_off', 10),
      event(first, 4, 'recovered'),
      // The next one begins within the quiet time after the last, so it belongs to the same incident.
      event(first, 15, 'backed_off', 5),
      event(second, 60, 'backed_off', 30),
      event(second, 70, 'recovered'),
    ]
    await storeHealthEvents(market.plane, { v: 1, events: told })
    await rollUp(market.plane)
  })

  it('are unknown before the first search for them, which differs from none', async () => {
    await sql`update market_watermark set incidents_looked_at = null`.execute(market.plane.db)
    expect(await market.trpc(undefined).market.incidents.query({})).toBeNull()
    expect(await graph(undefined, '{ incidents(first: 5) { edges { node { id } } } }')).toEqual({ incidents: null })
    await rollUp(market.plane)
    expect(await market.trpc(undefined).market.incidents.query({})).toMatchObject({ nextToken: null })
  })

  it("are periods of back-off of one model at one provider, for all callers, without a seller's name, ended or running", async () => {
    const client = market.trpc(undefined)
    const page = await client.market.incidents.query({ maxItems: 1 })
    const shared = { model: 'gpt-test', provider: 'test', cause: 'timeout', offersOnSale: 2 }
    const minutes = (from: number, to: number) => ({ startedAt: AT + from * MINUTE, endedAt: AT + to * MINUTE })
    expect(page?.items).toEqual([{ id: expect.any(String), ...shared, ...minutes(60, 70), offers: 1, backOffs: 1 }])
    const rest = await client.market.incidents.query({ nextToken: page?.nextToken ?? '' })
    expect(rest).toEqual({
      items: [{ id: expect.any(String), ...shared, ...minutes(0, 20), offers: 2, backOffs: 3 }],
      nextToken: null,
    })
    expect(JSON.stringify([page, rest])).not.toMatch(/ofr_|acc_/)
    const fields = 'id model provider startedAt endedAt offers offersOnSale backOffs cause'
    expect(await graph(undefined, `{ incidents(first: 5) { edges { node { ${fields} } } } }`)).toEqual({
      incidents: { edges: [...(page?.items ?? []), ...(rest?.items ?? [])].map((node) => ({ node })) },
    })
    const now = (market.plane.clock.now() - AT) / MINUTE
    await storeHealthEvents(market.plane, { v: 1, events: [event(offers[0] ?? '', now - 1, 'backed_off', 20)] })
    await rollUp(market.plane)
    const [open] = (await client.market.incidents.query({ from: AT + 5 * HOUR }))?.items ?? []
    expect(open).toMatchObject({ endedAt: null, offers: 1 })
  })

  it('show whether the model is on sale there now, for known, unknown and changed order books', async () => {
    const onSale = async () => {
      const page = await market.trpc(undefined).market.incidents.query({ maxItems: 1 })
      return page?.items[0]?.offersOnSale
    }
    const readBook = () => invoke(market.plane, { kind: 'nobody' }, readMarketOfModel, { model: 'gpt-test' })
    await market.plane.publication.reconcile()
    await readBook()
    expect(await onSale()).toBe(2)
    const { id: offerId } = await listOffer(market, bob.seller, { discount: 30 })
    expect(await onSale()).toBe(3)
    await invoke(market.plane, bob.seller, deleteOffer, { id: offerId })
    await market.plane.publication.reconcile()
    await readBook()
    expect(await onSale()).toBe(2)
  })

  it('can be searched by model, provider and time', async () => {
    const { incidents } = market.trpc(undefined).market
    expect((await incidents.query({ model: 'claude-test' }))?.items).toEqual([])
    expect((await incidents.query({ provider: 'public' }))?.items).toEqual([])
    expect((await incidents.query({ from: AT, to: AT + 30 * MINUTE }))?.items).toHaveLength(1)
    expect(await trpcCodeOf(incidents.query({ from: 0 }))).toBe('invalid_request')
    expect(await trpcCodeOf(incidents.query({ from: AT, to: AT - 1 }))).toBe('invalid_request')
    expect(await trpcCodeOf(incidents.query({ model: 'nothing' }))).toBe('not_found')
  })
})

describe('rails', () => {
  it('are up, switched off, or down with the gate', async () => {
    const states = async () => [
      await market.trpc(undefined).market.rails.query(),
      await graph(undefined, '{ rails { rail state } }'),
    ]
    const both = (state: string) => [[{ rail: 'credit', state }], { rails: [{ rail: 'credit', state }] }]
    expect(await states()).toEqual(both('up'))
    const open = await market.world.redis.get('m:epoch')
    await market.world.redis.set('m:epoch', (open ?? '').replace(':open', ':join'))
    expect(await states()).toEqual(both('down'))
    await market.world.redis.set('m:epoch', open ?? '')
    await invoke(market.plane, operator, putFeature, { name: 'paid_calls', isOn: false, reason: 'for a test' })
    market.advance(5_000)
    const wanted = JSON.stringify(both('switched_off'))
    await until('every process knows the switch', 10_000, async () => JSON.stringify(await states()) === wanted)
    await invoke(market.plane, operator, putFeature, { name: 'paid_calls', isOn: true, reason: 'for a test' })
    market.advance(5_000)
  })
})

describe('long jobs', () => {
  it('are in a list of the periodic ones, at every door', async () => {
    const rids = [market.plane.ids.ulid(), market.plane.ids.ulid()].sort((left, right) => (left < right ? -1 : 1))
    const jobs = rids.map((rid) => ({
      rid,
      account: bob.buyer.account,
      sellerAccount: ada.seller.account,
      quote: 900,
    }))
    await postBatch(market.plane, { events: jobs.map((job) => submitText(job)), source: 'test' })
    const [ended = { rid: '', account: '', sellerAccount: '', quote: 0 }] = jobs
    await postBatch(market.plane, { events: [endText(ended, 400)], source: 'test' })
    const { job } = market.trpc(bob.buyerKey)
    const all = await job.list.query({})
    expect(all.items.map(({ id, state, quoteMicro, chargeMicro }) => [id, state, quoteMicro, chargeMicro])).toEqual([
      [rids[1], 'running', '900', null],
      [rids[0], 'succeeded', '900', '400'],
    ])
    const inState = async (state: 'running' | 'succeeded' | 'failed' | 'cancelled') =>
      (await job.list.query({ state })).items.map(({ id }) => id)
    expect(await inState('running')).toEqual([rids[1]])
    expect(await inState('succeeded')).toEqual([rids[0]])
    expect([await inState('failed'), await inState('cancelled')]).toEqual([[], []])
    expect(await market.rest('GET', '/v1/buyer/jobs?max_items=1', { key: bob.buyerKey })).toMatchObject({
      body: {
        items: [{ id: rids[1], state: 'running', quote_micro: '900' }],
        next_token: expect.stringContaining('~'),
      },
    })
    const fields = `id model provider endpoint keyId state submittedAt deadlineAt endedAt quoteMicro chargeMicro kind
      unit units artifacts`
    expect(await graph(bob.buyerKey, `{ jobs(first: 9) { edges { node { ${fields} } } } }`)).toEqual({
      jobs: { edges: all.items.map((node) => ({ node })) },
    })
    expect((await market.trpc(ada.buyerKey).job.list.query({})).items).toEqual([])
    expect(all.items[1]).toMatchObject({ kind: 'video', unit: 'second', artifacts: null })
    const cancel = (key: string) => market.rest('DELETE', `/v1/buyer/jobs/job_${rids[0]}`, { key })
    expect(await cancel(bob.buyerKey)).toMatchObject({ status: 200, body: { id: rids[0], state: 'succeeded' } })
    expect(codeOf(await cancel(ada.buyerKey))).toBe('not_found')
    expect(codeOf(await market.rest('GET', '/v1/buyer/jobs', { key: ada.sellerKey }))).toBe('wrong_key_type')
  })
})

describe('caps', () => {
  it('show the rest of each limit, and which one binds', async () => {
    const input = { label: 'capped', capDailyUsd: 0.001, capMonthlyUsd: 0.5, rateLimitRpm: 60 }
    const { id } = await invoke(market.plane, bob.buyer, createBuyerKey, input, { idempotencyKey: 'capped' })
    const caps = await market.trpc(bob.buyerKey).cap.list.query()
    expect(caps.keys).toMatchObject([
      { keyId: id, binds: 'daily', daily: { capUsdc: '1000', usedUsdc: '0', leftUsdc: '1000', runsOutAt: null } },
      { keyId: bob.buyer.keyId, daily: null, monthly: null, binds: 'balance' },
    ])
    expect(caps.keys[0]).toMatchObject({ monthly: { capUsdc: '500000', isRefusing: false }, rateLimitRpm: 60 })
    expect(caps.keys[1]).toMatchObject({ rateLimitRpm: null })
    expect(await market.rest('GET', '/v1/buyer/caps', { key: bob.buyerKey })).toMatchObject({
      body: { keys: [{ key_id: id, binds: 'daily', daily: { cap_usdc: '1000' } }, {}] },
    })
    const cap = '{ capUsdc usedUsdc leftUsdc isRefusing resetsAt runsOutAt }'
    const fields = `creditBalanceUsdc heldUsdc keys { keyId label daily ${cap} monthly ${cap} binds rateLimitRpm }`
    expect(await graph(bob.buyerKey, `{ caps { ${fields} } }`)).toEqual({ caps })
  })
})

describe('lists of keys', () => {
  it('are whole without a page, and paged by cursors of their own', async () => {
    const cleo = await market.person()
    const input = { label: 'second' }
    const { id: second } = await invoke(market.plane, cleo.buyer, createBuyerKey, input, { idempotencyKey: 'second' })
    const { buyerKeys, savedConfigs } = z.object({ buyerKeys: Connection, savedConfigs: Connection }).parse({
      ...(await graph(cleo.buyerKey, '{ buyerKeys(first: 1) { edges { node { id } } pageInfo { endCursor } } }')),
      ...(await graph(ada.sellerKey, '{ savedConfigs(first: 1) { edges { node { id } } pageInfo { endCursor } } }')),
    })
    const whole = await market.trpc(cleo.buyerKey).buyerKey.list.query()
    expect([whole.keys.map(({ id }) => id), whole.nextToken]).toEqual([[second, cleo.buyer.keyId], null])
    const rest = `{ buyerKeys(first: 9, after: "${buyerKeys.pageInfo.endCursor}") { edges { node { id } } } }`
    expect(await graph(cleo.buyerKey, rest)).toEqual({ buyerKeys: { edges: [{ node: { id: cleo.buyer.keyId } }] } })
    const page = await market.rest('GET', '/v1/buyer/keys?max_items=1', { key: cleo.buyerKey })
    expect(page.body).toMatchObject({ keys: [{ id: whole.keys[0]?.id }], next_token: expect.stringContaining('~') })
    expect(savedConfigs.edges).toHaveLength(1)
    const foreign = `{ buyerKeys(first: 9, after: "${savedConfigs.pageInfo.endCursor}") { edges { cursor } } }`
    expect(codeOf(await market.graphql(cleo.buyerKey, foreign))).toBe('invalid_request')
  })
})

describe('an offer', () => {
  it('shows why it gets no calls', async () => {
    const [id = ''] = offers
    const query = `{ offer(id: "${id}") { stoppedBy } }`
    expect(await graph(ada.sellerKey, query)).toEqual({ offer: { stoppedBy: null } })
    const backedOff = { consecutiveFailures: 3, ejections: 1, backedOffUntil: Date.now() + HOUR, errorClass: 'timeout' }
    await market.world.redis.hset(cacheKeys.health, id, JSON.stringify(backedOff))
    expect(await graph(ada.sellerKey, query)).toEqual({ offer: { stoppedBy: 'backed_off' } })
  })
})
