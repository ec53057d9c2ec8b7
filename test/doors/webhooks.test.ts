import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { createBuyerKey } from '#control-plane/services/keys/keys.ts'
import { findAlerts } from '#control-plane/services/webhooks/webhook-alerts.ts'
import { attemptDelivery, listUntried, purgeWebhookLog } from '#control-plane/services/webhooks/webhook-deliveries.ts'
import { startSendWebhooks, startWatchAlerts } from '#control-plane/workers/webhooks.ts'
import { DAY, HOUR, SECOND } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, DeliveryId, KeyId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { Node } from '#test/support/books/gate.ts'
import { eventText, reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { grant, newAccount } from '#test/support/books/ledger.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import type { ReceivedWebhook, WebhookReceiver } from '#test/support/doors/webhook-receiver.ts'
import { startWebhookReceiver } from '#test/support/doors/webhook-receiver.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let node: Node
let seller: AccountId
let receiver: WebhookReceiver
let url: string

beforeAll(async () => {
  market = await startMarket()
  node = await market.world.node('n1')
  await untilOpen(node)
  seller = await newAccount(market.world.db, 'seller_available')
  receiver = await startWebhookReceiver()
  url = receiver.url
})
afterAll(async () => {
  receiver.close()
  await market.stop()
})
beforeEach(() => receiver.forget())

const Hook = z.object({ id: z.string(), secret: z.string().optional() }).loose()
const Deliveries = z.object({
  items: z.array(z.object({ id: z.string(), status: z.string(), attempts: z.number() }).loose()),
})
const call = (person: Person, method: string, path = '', body?: object) =>
  market.rest(method, `/v1/buyer/webhooks${path}`, { key: person.buyerKey, ...(body === undefined ? {} : { body }) })
const add = async (person: Person, body: object = {}) =>
  Hook.parse((await call(person, 'POST', '', { url, ...body })).body)
const deliveriesOf = async (person: Person, id: string) =>
  Deliveries.parse((await call(person, 'GET', `/${id}/deliveries`)).body).items

/** A person with money in the ledger and the gate. */
async function funded(micro: number): Promise<Person> {
  const person = await market.person()
  await grant(market.world.db, person.buyer.account, micro)
  const [balance] = await market.plane.ledger.findBalances([person.buyer.account])
  const { account } = person.buyer
  await market.plane.gate.seed([{ account, balanceMicro: microUsd(micro), version: balance?.version ?? 1n }])
  return person
}

async function cappedKey(person: Person, terms: object): Promise<KeyId> {
  const made = await invoke(
    market.plane,
    person.buyer,
    createBuyerKey,
    { label: 'capped', ...terms },
    {
      idempotencyKey: market.plane.ids.ulid(),
    },
  )
  if (!isId('key', made.id)) throw new Error('the id is not a key')
  return made.id
}

async function spend({ buyer: { account } }: Person, keyId: KeyId, amount: number): Promise<void> {
  const hold = await node.funds.reserve(reserveRequest(account, { want: amount, keyId, daily: 10_000 }))
  const event = JSON.stringify({ ...JSON.parse(eventText(hold, amount, 'n1')), sellerAccount: seller })
  node.journal.capture(hold, event)
  await node.funds.capture(hold, microUsd(amount), event)
  await postBatch(market.plane, { events: [event], source: 'test' })
}

/** Looks for alerts once and sends them. Returns the types and percentages of the deliveries. */
async function look(): Promise<unknown[]> {
  const found = await findAlerts(market.plane)
  for (const id of found) await attemptDelivery(market.plane, id, { isLast: true })
  return receiver.received.splice(0).map(({ body }) => {
    const told = z
      .object({ type: z.string(), data: z.object({ percent: z.number().optional() }) })
      .parse(JSON.parse(body))
    return told.data.percent ?? told.type
  })
}

/** The signatures of a delivery that match a secret. */
function fits({ headers, body }: ReceivedWebhook, secret: string): boolean {
  const [, time = '', rest = ''] = /^t=(\d+),(.*)$/.exec(String(headers['x-mkt-signature'])) ?? []
  const right = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  return rest.split(',').includes(`v1=${right}`)
}

describe('webhooks of a buyer', () => {
  it('are created, listed, changed and removed; the secret is shown once and stored sealed', async () => {
    const ada = await market.person()
    const made = await call(ada, 'POST', '', { url, label: 'pager', low_balance_usd: 2.5 })
    const { id, secret = '' } = Hook.parse(made.body)
    expect([made.status, secret]).toEqual([201, expect.stringMatching(/^whsec_[\w-]{43}$/)])
    const view = {
      id,
      url,
      label: 'pager',
      events: [
        'key.cap_reached',
        'budget.reached',
        'balance.low',
        'deposit.credited',
        'deposit.waiting',
        'job.succeeded',
        'job.failed',
        'job.cancelled',
        'payout.address_changed',
        'payout.held',
        'payout.paid',
        'payout.returned',
      ],
      low_balance_usd: 2.5,
      enabled: true,
    }
    const list = await call(ada, 'GET')
    expect(list.body).toEqual({ webhooks: [expect.objectContaining(view)] })
    expect(list.text).not.toContain(secret)
    const changed = await call(ada, 'PATCH', `/${id}`, {
      events: ['balance.low'],
      low_balance_usd: null,
      enabled: false,
    })
    expect(changed.body).toMatchObject({
      id,
      label: 'pager',
      events: ['balance.low'],
      low_balance_usd: null,
      enabled: false,
    })
    expect((await call(ada, 'GET', `/${id}`)).body).toEqual(changed.body)
    const { rows } = await sql<{ text: string }>`select to_jsonb(w)::text as text from webhook w`.execute(
      market.world.db,
    )
    for (const { text } of rows) expect(text).not.toContain(secret.slice(6))
    expect((await call(ada, 'DELETE', `/${id}`)).status).toBe(204)
    expect(codeOf(await call(ada, 'GET', `/${id}`))).toBe('not_found')
  })

  it('are sent only to addresses that the outbound guard allows, and are limited to ten per account', async () => {
    const ada = await market.person()
    for (const bad of [
      'http://example.com/hook',
      'https://169.254.169.254/latest',
      'https://user:pass@example.com/',
      'https://example.com:8443/',
      'https://example.com./',
      'https://example.com/#x',
      'https://2130706433/',
      'ftp://example.com/',
      'https://exa mple.com/',
      'not a url',
    ]) {
      expect([bad, codeOf(await call(ada, 'POST', '', { url: bad }))]).toEqual([bad, 'invalid_request'])
    }
    const { id } = await add(ada)
    expect(codeOf(await call(ada, 'PATCH', `/${id}`, { url: 'https://10.0.0.1/' }))).toBe('invalid_request')
    for (const body of [{ events: [] }, { events: ['nope'] }, { low_balance_usd: 0 }, { secret: 'mine' }]) {
      expect(codeOf(await call(ada, 'POST', '', { url, ...body }))).toBe('invalid_request')
    }
    expect((await call(ada, 'POST', '', { url: 'https://hooks.example.com/x?y=1' })).status).toBe(201)
    for (let more = 2; more < 10; more++) await add(ada)
    expect(codeOf(await call(ada, 'POST', '', { url }))).toBe('conflict')
  })

  it('belong to their buyer only', async () => {
    const [ada, eve] = [await market.person(), await market.person()]
    const { id } = await add(ada)
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { enabled: false }],
      ['DELETE', '', undefined],
      ['POST', '/test', {}],
      ['POST', '/rotate-secret', {}],
      ['GET', '/deliveries', undefined],
    ] as const) {
      expect(codeOf(await call(eve, method, `/${id}${path}`, body))).toBe('not_found')
    }
    expect((await call(eve, 'GET')).body).toEqual({ webhooks: [] })
    expect((await call(ada, 'GET', `/${id}`)).body).toMatchObject({ enabled: true })
    expect(receiver.received).toEqual([])
  })

  it('are tested with a signed message, whose result is in the log', async () => {
    const ada = await market.person()
    const { id, secret = '' } = await add(ada)
    let forWorkers: readonly string[] | undefined
    receiver.meanwhile = async () => {
      forWorkers = await listUntried(market.plane, 10)
    }
    const good = await call(ada, 'POST', `/${id}/test`, {})
    expect(forWorkers).toEqual([])
    expect(good.body).toMatchObject({ status: 'delivered', status_code: 204, attempts: 1, error: null })
    const [message] = receiver.received
    if (message === undefined) return expect.fail('nothing came')
    expect(JSON.parse(message.body)).toMatchObject({ type: 'webhook.test', data: { webhook_id: id } })
    expect(message.headers).toMatchObject({
      'x-mkt-event': 'webhook.test',
      'content-type': 'application/json; charset=utf-8',
    })
    expect([fits(message, secret), fits(message, `${secret}x`)]).toEqual([true, false])
    expect(fits({ ...message, body: `${message.body} ` }, secret)).toBe(false)
    receiver.statuses.push(500, 302)
    expect((await call(ada, 'POST', `/${id}/test`, {})).body).toMatchObject({ status: 'failed', status_code: 500 })
    expect((await call(ada, 'POST', `/${id}/test`, {})).body).toMatchObject({ status: 'failed', status_code: 302 })
    expect(receiver.received).toHaveLength(3)
    const log = await deliveriesOf(ada, id)
    expect(log.map(({ status }) => status)).toEqual(['failed', 'failed', 'delivered'])
    const gone = await add(ada, { url: 'http://127.0.0.1:1/' })
    const lost = await call(ada, 'POST', `/${gone.id}/test`, {})
    expect(lost.body).toMatchObject({ status: 'failed', status_code: null, error: 'no answer (ECONNREFUSED)' })
  })

  it('sign with both secrets during the window of a rotation', async () => {
    const ada = await market.person()
    const { id, secret = '' } = await add(ada)
    const rotated = Hook.parse((await call(ada, 'POST', `/${id}/rotate-secret`, { window_seconds: 60 })).body)
    const fresh = rotated.secret ?? ''
    await call(ada, 'POST', `/${id}/test`, {})
    market.advance(61 * SECOND)
    await call(ada, 'POST', `/${id}/test`, {})
    market.advance(-61 * SECOND)
    expect(receiver.received.map((message) => [fits(message, secret), fits(message, fresh)])).toEqual([
      [true, true],
      [false, true],
    ])
  })

  it('are the same at all three doors', async () => {
    const ada = await market.person()
    const query = 'mutation($input: CreateWebhookInput!) { createWebhook(input: $input) { secret webhook { id url } } }'
    const made = await market.graphql(ada.buyerKey, query, { input: { url, lowBalanceUsd: 1 } })
    expect(made.text).toContain('whsec_')
    const trpc = market.trpc(ada.buyerKey)
    const { webhooks } = await trpc.webhook.list.query()
    const id = webhooks[0]?.id ?? ''
    expect(webhooks).toMatchObject([{ url, lowBalanceUsd: 1 }])
    expect((await trpc.webhook.test.mutate({ id })).status).toBe('delivered')
    const log = await market.graphql(
      ada.buyerKey,
      `{ webhookDeliveries(webhook: "${id}", first: 5) { edges { node { event status } } } webhook(id: "${id}") { id } }`,
    )
    const sent = { node: { event: 'webhook.test', status: 'delivered' } }
    expect(log.body).toEqual({ data: { webhookDeliveries: { edges: [sent] }, webhook: { id } } })
    expect((await trpc.webhook.deliveries.query({ id })).items).toHaveLength(1)
    expect(await trpcCodeOf(trpc.webhook.get.query({ id: 'whk_nope' }))).toBe('not_found')
  })
})

describe('alerts', () => {
  // Webhooks of other tests would receive this, too.
  beforeEach(async () => {
    await findAlerts(market.plane)
  })

  it('report each part of a cap once a day and once a month, from booked spend', async () => {
    const ada = await funded(100_000)
    await add(ada, { events: ['key.cap_reached'] })
    const key = await cappedKey(ada, { capDailyUsd: 0.01, capMonthlyUsd: 0.02 })
    await spend(ada, key, 4_999)
    expect(await look()).toEqual([])
    const hold = await node.funds.reserve(reserveRequest(ada.buyer.account, { want: 5_000, keyId: key, daily: 10_000 }))
    expect(await look()).toEqual([])
    await node.funds.release(hold, 'test', '')
    await spend(ada, key, 1)
    expect(await look()).toEqual([50])
    expect(await look()).toEqual([])
    await spend(ada, key, 5_000)
    expect(await look()).toEqual([80, 100, 50])
    expect(await look()).toEqual([])
  })

  it('report a used-up cap once it has refused a call, although a smaller call would fit', async () => {
    const ada = await funded(100_000)
    await add(ada, { events: ['key.cap_reached'] })
    const key = await cappedKey(ada, { capDailyUsd: 0.01 })
    await spend(ada, key, 6_000)
    expect(await look()).toEqual([50])
    const refuse = () =>
      node.funds.reserve(reserveRequest(ada.buyer.account, { want: 5_000, keyId: key, daily: 10_000 }))
    await expect(refuse()).rejects.toMatchObject({ code: 'key_cap_reached' })
    await until(
      'the refusal is recorded',
      2_000,
      async () => (await market.world.redis.exists(moneyKeys.keyFull('m00', key))) === 1,
    )
    expect([await look(), await look()]).toEqual([[100], []])
  })

  it('name the key, the cap, the used part and the end of the period', async () => {
    const ada = await funded(100_000)
    const { id } = await add(ada)
    const key = await cappedKey(ada, { capDailyUsd: 0.001 })
    await spend(ada, key, 850)
    const found = await findAlerts(market.plane)
    expect(found).toHaveLength(2)
    await attemptDelivery(market.plane, found[1] ?? 'whd_none', { isLast: true })
    const body = JSON.parse(receiver.received[0]?.body ?? '{}')
    const midnight = (Math.floor(market.plane.clock.now() / DAY) + 1) * DAY
    expect(body).toMatchObject({
      id: found[1],
      type: 'key.cap_reached',
      data: {
        key_id: key,
        key_label: 'capped',
        period: 'day',
        percent: 80,
        refusing: false,
        cap_usdc: '1000',
        used_usdc: '850',
        resets_at: midnight,
      },
    })
    expect((await deliveriesOf(ada, id)).map(({ status }) => status)).toEqual(['delivered', 'pending'])
  })

  it('report a low balance once per fall, and nothing while switched off', async () => {
    const ada = await funded(5_000)
    const { id } = await add(ada, { events: ['balance.low'], low_balance_usd: 0.004 })
    const key = await cappedKey(ada, {})
    expect(await look()).toEqual([])
    await spend(ada, key, 1_500)
    expect([await look(), await look()]).toEqual([['balance.low'], []])
    await grant(market.world.db, ada.buyer.account, 2_000)
    expect(await look()).toEqual([])
    await spend(ada, key, 2_000)
    expect(await look()).toEqual(['balance.low'])
    await grant(market.world.db, ada.buyer.account, 2_000)
    await look()
    await call(ada, 'PATCH', `/${id}`, { enabled: false })
    await spend(ada, key, 2_500)
    expect(await look()).toEqual([])
  })

  it('are sent by the workers, retried until they are accepted, and stop with their webhook', async () => {
    const ada = await funded(100_000)
    const { id } = await add(ada)
    const key = await cappedKey(ada, { capDailyUsd: 0.01 })
    // Other tests left unsent deliveries.
    await market.plane.db.deleteFrom('webhook_delivery').execute()
    receiver.statuses.push(500)
    await spend(ada, key, 6_000)
    const workers = [startWatchAlerts(market.plane), startSendWebhooks(market.plane)]
    try {
      await until(
        'the delivery is accepted',
        20_000,
        async () => (await deliveriesOf(ada, id))[0]?.status === 'delivered',
      )
      expect((await deliveriesOf(ada, id))[0]).toMatchObject({ attempts: 2, status_code: 204 })
      expect(receiver.received.map(({ headers }) => headers['x-mkt-delivery'])).toEqual([
        (await deliveriesOf(ada, id))[0]?.id,
        (await deliveriesOf(ada, id))[0]?.id,
      ])
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()))
    }
  })

  it('end as failed after their last try, and are not sent for a webhook that is deleted or off', async () => {
    const ada = await funded(100_000)
    const { id } = await add(ada)
    const key = await cappedKey(ada, { capDailyUsd: 0.01 })
    await spend(ada, key, 8_000)
    const [first, second] = await findAlerts(market.plane)
    if (first === undefined || second === undefined) return expect.fail('nothing to tell')
    receiver.statuses.push(503, 503)
    const attempt = (delivery: DeliveryId, isLast: boolean) => attemptDelivery(market.plane, delivery, { isLast })
    expect([await attempt(first, false), await attempt(first, true), await attempt(first, true)]).toEqual([
      'retry',
      'failed',
      'gone',
    ])
    await call(ada, 'PATCH', `/${id}`, { enabled: false })
    expect(await attempt(second, false)).toBe('failed')
    await call(ada, 'DELETE', `/${id}`)
    expect(await attempt(second, false)).toBe('gone')
    expect(receiver.received).toHaveLength(2)
    // Only the purge uses the later time. The gate counts the caps of other tests by its own clock.
    const { db, clock } = market.plane
    await purgeWebhookLog({ db, clock: { ...clock, now: () => clock.now() + 41 * DAY + HOUR } })
    const { rows } = await sql<{ left: number }>`select count(*)::int as left from webhook_delivery
      where status <> 'pending'`.execute(market.world.db)
    expect(rows).toEqual([{ left: 0 }])
  })
})
