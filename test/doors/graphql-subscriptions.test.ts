import http from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { STREAM_LIMITS } from '#control-plane/api/graphql/streams.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { createBuyerKey, revokeBuyerKey } from '#control-plane/services/keys/keys.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { updateOffer } from '#control-plane/services/offers/change.ts'
import { bulkCancelOffers, runSellerOperations } from '#control-plane/services/offers/seller-operations.ts'
import { tellEndedJobs } from '#control-plane/services/webhooks/job-alerts.ts'
import { HOUR } from '#shared/clock.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { newWallet, signInForSession } from '#test/support/doors/wallet.ts'
import { until } from '#test/support/run/until.ts'

/** Shorter than the wait of a topic without announcements. A result within this time was announced. */
const WAIT_MS = 10_000
let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
})
afterAll(() => market?.stop())

const sell = (discount: number) => listOffer(market, ada.seller, { discount })

type Stream = {
  readonly status: number
  readonly text: () => string
  /** The data of all `next` events so far. */
  readonly results: () => unknown[]
  readonly isOver: () => boolean
  close(): void
}

/** Opens a subscription over a connection of its own. */
async function subscribe(query: string, key?: string | Record<string, string>): Promise<Stream> {
  const credential = typeof key === 'string' ? { authorization: `Bearer ${key}` } : key
  const request = http.request(`${market.url}/graphql`, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...credential,
    },
  })
  request.end(JSON.stringify({ query }))
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  let text = ''
  let isOver = false
  answer.setEncoding('utf8')
  answer.on('data', (part: string) => {
    text += part
  })
  answer.on('close', () => {
    isOver = true
  })
  answer.on('error', () => undefined)
  return {
    status: answer.statusCode ?? 0,
    text: () => text,
    isOver: () => isOver,
    results: () =>
      [...text.matchAll(/^event: next\ndata: (.*)$/gm)].map(
        ([, data = '']) => z.object({ data: z.unknown() }).parse(JSON.parse(data)).data,
      ),
    close: () => request.destroy(),
  }
}

const seen = (stream: Stream, what: string, matches: (result: unknown) => boolean) =>
  until(what, WAIT_MS, () => stream.results().some(matches))
const holds = (part: string) => (result: unknown) => JSON.stringify(result).includes(part)

describe('subscriptions', () => {
  it('show a book now and after each change, for all subscribers of the same book out of one source', async () => {
    const { id: offerId } = await sell(10)
    const query =
      'subscription { bookUpdates(model: "gpt-test") { model offers(first: 5) { id discountPct healthy } } }'
    const first = await subscribe(query)
    await seen(first, 'the book as it is', holds('"discountPct":10'))
    const second = await subscribe(query)
    await seen(second, 'the book for a later subscriber', holds('"discountPct":10'))
    await invoke(market.plane, ada.seller, updateOffer, { id: offerId, discount: 35 })
    for (const stream of [first, second]) await seen(stream, 'the new price', holds('"discountPct":35'))
    const backedOff = { consecutiveFailures: 3, ejections: 1, backedOffUntil: Date.now() + HOUR, errorClass: 'timeout' }
    await market.world.redis.hset(cacheKeys.health, offerId, JSON.stringify(backedOff))
    await market.world.redis.publish(CHANNELS.health, JSON.stringify([offerId]))
    for (const stream of [first, second]) await seen(stream, 'its health', holds('"healthy":false'))
    expect(first.text()).not.toContain(ada.seller.account)
    first.close()
    second.close()
  })

  it('show trades as they are booked', async () => {
    const feed = await subscribe('subscription { tradeUpdates(limit: 5) { model costMicro } }')
    await seen(feed, 'no trade yet', holds('"tradeUpdates":[]'))
    const call = { account: ada.buyer.account, sellerAccount: ada.seller.account, model: 'gpt-test', charge: 4_321 }
    await postBatch(market.plane, { events: [eventText(call)], source: 'test' })
    await seen(feed, 'the trade', holds('"4321"'))
    feed.close()
  })

  it('show sellers the health of their own offers and their operations, buyers their balance', async () => {
    const { id: offerId } = await sell(12)
    const bob = await market.person()
    const health = await subscribe('subscription { offerHealthUpdates { id status } }', ada.sellerKey)
    const foreign = await subscribe('subscription { offerHealthUpdates { id } }', bob.sellerKey)
    const credit = await subscribe('subscription { creditUpdates { creditBalanceUsdc } }', bob.buyerKey)
    await seen(health, 'the offer', holds(offerId))
    await seen(foreign, 'nothing', holds('"offerHealthUpdates":[]'))
    await seen(credit, 'no credit', holds('"creditBalanceUsdc":"0"'))
    const gift = { account: bob.buyer.account, amountUsd: 0.005, source: 'promo', ticket: 'told-at-once', note: 'test' }
    await invoke(market.plane, operator, grantCredit, gift)
    await seen(credit, 'the credit', holds('"5000"'))
    const options = { idempotencyKey: 'cancel-all' }
    const { operationId } = await invoke(market.plane, ada.seller, bulkCancelOffers, {}, options)
    const query = `subscription { sellerOperationUpdates(id: "${operationId}") { status processed } }`
    const progress = await subscribe(query, ada.sellerKey)
    await seen(progress, 'the operation', holds('"processed":0'))
    await runSellerOperations(market.plane)
    await seen(progress, 'its end', holds('"succeeded"'))
    expect((await subscribe(query, bob.sellerKey)).status).toBe(404)
    for (const stream of [health, foreign, credit, progress]) stream.close()
  })

  it('show buyers their newest long jobs, at their start and at their end', async () => {
    const bob = await market.person()
    const query = 'subscription { jobUpdates { id state chargeMicro } }'
    const [own, foreign] = [await subscribe(query, bob.buyerKey), await subscribe(query, ada.buyerKey)]
    for (const stream of [own, foreign]) await seen(stream, 'no job', holds('"jobUpdates":[]'))
    const newJob = { rid: ids.requestId(), account: bob.buyer.account, sellerAccount: ada.seller.account, quote: 0 }
    const post = (event: string) => postBatch(market.plane, { events: [event], source: 'test' })
    await post(submitText(newJob))
    await seen(own, 'its begin', holds('"running"'))
    await post(endText(newJob, 0))
    await tellEndedJobs(market.plane)
    await seen(own, 'its end', holds(`"id":"${newJob.rid}","state":"failed","chargeMicro":"0"`))
    expect(foreign.text()).not.toContain(newJob.rid)
    for (const stream of [own, foreign]) stream.close()
  })

  it('show announcements of an outage after it', async () => {
    const bob = await market.person()
    const credit = await subscribe('subscription { creditUpdates { creditBalanceUsdc } }', bob.buyerKey)
    await seen(credit, 'no credit', holds('"creditBalanceUsdc":"0"'))
    const gift = {
      account: bob.buyer.account,
      amountUsd: 0.005,
      source: 'promo',
      ticket: 'told-to-nobody',
      note: 'test',
    }
    const { gate } = market.world
    await invoke({ ...market.plane, gate, announce: () => undefined }, operator, grantCredit, gift)
    await market.world.redis.client('KILL', 'TYPE', 'PUBSUB')
    await seen(credit, 'the credit', holds('"5000"'))
    credit.close()
  })

  it('show several subjects over one stream, each event with all of them', async () => {
    const { id } = await sell(11)
    const query = (args: string) =>
      `subscription { updates(${args}) { books { model offers(first: 9) { id discountPct } } trades { costMicro } credit { heldUsdc } jobs { id } offerHealth { id } } }`
    const stream = await subscribe(query('books: ["gpt-test", "claude-test"], trades: 3, credit: true'), ada.buyerKey)
    await seen(stream, 'all parts in the first event', holds('"heldUsdc"'))
    const [first] = stream.results()
    expect(first).toMatchObject({
      updates: { books: [{ model: 'gpt-test' }, { model: 'claude-test' }], jobs: null, offerHealth: null },
    })
    await invoke(market.plane, ada.seller, updateOffer, { id, discount: 47 })
    await seen(stream, 'the new price', holds('"discountPct":47'))
    const last = stream.results().at(-1)
    expect(JSON.stringify(last)).toMatch(/"costMicro".*"heldUsdc"/)
    stream.close()
    // A refused part leaves no other part open.
    expect((await subscribe(query('books: ["gpt-test"], offerHealth: true'), ada.buyerKey)).status).toBe(401)
    expect((await subscribe(query(`books: ${JSON.stringify(Array(9).fill('gpt-test'))}`))).status).toBe(400)
    expect((await subscribe(query('trades: 5000'))).status).toBe(400)
  })

  it('are refused with a status before the first event', async () => {
    const health = 'subscription { offerHealthUpdates { id } }'
    expect((await subscribe(health)).status).toBe(401)
    expect((await subscribe(health, ada.buyerKey)).status).toBe(401)
    expect((await subscribe('subscription { bookUpdates(model: "nothing") { model } }')).status).toBe(404)
    expect((await subscribe('subscription { nothing }')).status).toBe(400)
    expect((await subscribe('subscription { tradeUpdates(limit: 5000) { model } }')).status).toBe(400)
  })

  it('end when their key is revoked, and only then', async () => {
    const input = { label: 'short-lived', providersBlocked: [] }
    const made = await invoke(market.plane, ada.buyer, createBuyerKey, input, { idempotencyKey: 'short' })
    const query = 'subscription { creditUpdates { heldUsdc } }'
    const [doomed, other] = [await subscribe(query, made.secret?.reveal()), await subscribe(query, ada.buyerKey)]
    await seen(doomed, 'a balance', holds('heldUsdc'))
    await invoke(market.plane, ada.buyer, revokeBuyerKey, { id: made.id })
    await until('the end', WAIT_MS, () => doomed.isOver())
    expect(doomed.text()).toContain('event: complete')
    expect(other.isOver()).toBe(false)
    other.close()
  })

  it('end with the session that opened them', async () => {
    const session = await signInForSession(market, newWallet())
    const stream = await subscribe('subscription { creditUpdates { heldUsdc } }', session)
    await seen(stream, 'a balance', holds('heldUsdc'))
    expect((await market.rest('DELETE', '/v1/auth/session', { headers: session })).status).toBe(204)
    await until('the end', WAIT_MS, () => stream.isOver())
    expect(stream.text()).toContain('event: complete')
  })

  it('are limited per address, also when all are opened at once', async () => {
    const query = 'subscription { tradeUpdates { model } }'
    const address = { 'x-forwarded-for': '198.51.100.9' }
    const open = await Promise.all(
      Array.from({ length: STREAM_LIMITS.perAddress + 100 }, () => subscribe(query, address)),
    )
    const statuses = open.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(STREAM_LIMITS.perAddress)
    expect(statuses.filter((status) => status === 429)).toHaveLength(100)
    for (const stream of open) stream.close()
    await until('a place is free', WAIT_MS, async () => {
      const again = await subscribe(query, address)
      again.close()
      return again.status === 200
    })
  })

  it('are limited per key', async () => {
    const query = 'subscription { creditUpdates { heldUsdc } }'
    const { buyerKey } = await market.person()
    const open = await Promise.all(Array.from({ length: STREAM_LIMITS.perCaller }, () => subscribe(query, buyerKey)))
    expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await subscribe(query, buyerKey)).status).toBe(429)
    for (const stream of open) stream.close()
    await until('a place is free', WAIT_MS, async () => {
      const again = await subscribe(query, buyerKey)
      again.close()
      return again.status === 200
    })
  })
})
