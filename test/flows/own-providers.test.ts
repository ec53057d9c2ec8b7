import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { RoutedMarket } from '#test/support/market/routed-market.ts'
import { MODEL, sharedRoutedMarket } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

let market: RoutedMarket
let redis: Redis

beforeAll(async () => {
  market = await sharedRoutedMarket()
  redis = new Redis(market.network.sandbox.redis_url)
})
afterAll(async () => {
  redis?.disconnect()
  await market?.stop()
})

const GOOD = { model: MODEL, messages: [{ role: 'user', content: 'hi' }], max_tokens: 20 }
/** The calls of this file. */
const rids: string[] = []
type Asked = { readonly fields?: object; readonly path?: string }

async function ask(key: string, { fields = {}, path = '/v1/chat/completions' }: Asked = {}) {
  const answer = await market.post(path, key, { ...GOOD, ...fields })
  const text = await answer.text()
  const { headers, status } = answer
  const rid = headers.get('x-request-id') ?? ''
  rids.push(rid)
  return {
    status,
    text,
    rid,
    seen: [status, headers.get('x-mkt-served-by'), headers.get('x-mkt-provider-family')],
    attempts: headers.get('x-mkt-marketplace-attempts'),
    cost: headers.get('x-mkt-buyer-cost-micro'),
  }
}

const Row = z.object({ id: z.string() })

/** Creates a buyer with own providers, and waits until the data plane knows them. */
async function buyer(creditUsd: number, rows: readonly object[]): Promise<string> {
  const { buyerKey } = await market.user(creditUsd)
  for (const row of rows) {
    const body = { base_url: market.providers[3]?.url, api_key: 'sk-own-1', ...row }
    const answer = await market.post('/v1/buyer/providers', buyerKey, body)
    expect([answer.status, Row.safeParse(await answer.json()).success]).toEqual([201, true])
  }
  return buyerKey
}

async function behave(provider: number, behaviour: string): Promise<void> {
  const url = new URL('/__sandbox/behave', market.providers[provider]?.url)
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ model: MODEL, behaviour }) })
  expect(answer.status).toBe(200)
}

/** Lets providers fail during `run`. */
async function whileFailing(providers: readonly number[], run: () => Promise<void>): Promise<void> {
  for (const provider of providers) await behave(provider, 'server-error')
  try {
    await run()
  } finally {
    for (const provider of providers) await behave(provider, 'echo')
  }
}

const spendable = async (key: string) => {
  const Key = z.object({ data: z.object({ spendable_usdc: z.string().nullable() }) })
  return Key.parse(await market.get('/v1/key', key)).data.spendable_usdc
}

describe("a buyer's own providers", () => {
  it('of the model come before the marketplace, cost nothing and need no credit, whole and streamed', async () => {
    const key = await buyer(0, [{ model: MODEL }])
    const whole = await ask(key)
    expect(whole.seen).toEqual([200, 'own_key', 'rt-own'])
    expect([whole.cost, whole.attempts]).toEqual(['0', '1'])
    expect(JSON.parse(whole.text)).toMatchObject({ model: MODEL, usage: { buyer_cost_micro: 0, cost: 0 } })
    const streamed = await ask(key, { fields: { stream: true } })
    expect(streamed.seen).toEqual([200, 'own_key', 'rt-own'])
    expect(streamed.text).toContain('"buyer_cost_micro":0')
    // The answer arrives at once, before the booking.
    for (const { rid } of [whole, streamed]) {
      const record = await market.get(`/v1/requests/${rid}`, key)
      expect(record).toMatchObject({ settlement_status: 'free', served_by: 'own_key', provider: 'rt-own' })
    }
    const generation = await market.get(`/v1/generation?id=${whole.rid}`, key)
    expect(generation).toMatchObject({ data: { is_byok: true, total_cost: 0 } })
  })

  it('give way to the marketplace when they fail, and the call is charged as usual', async () => {
    const key = await buyer(1, [{ model: MODEL }])
    await whileFailing([3], async () => {
      const answer = await ask(key)
      expect(answer.seen).toEqual([200, 'marketplace', 'rt-cheap'])
      expect([answer.attempts, Number(answer.cost) > 0]).toEqual(['2', true])
      expect((await ask(key, { fields: { stream: true } })).seen).toEqual([200, 'marketplace', 'rt-cheap'])
    })
    // The failures left no back-off, so the next calls go to the buyer's own provider again.
    for (let call = 0; call < 6; call++) expect((await ask(key)).seen).toEqual([200, 'own_key', 'rt-own'])
  })

  it('without a model come after the marketplace, also when that refuses for lack of money or of sellers', async () => {
    const poor = await buyer(0, [{ model: null }])
    expect((await ask(poor)).seen).toEqual([200, 'fallback_key', 'rt-own'])
    const rich = await buyer(1, [{ model: null }])
    expect((await ask(rich)).seen).toEqual([200, 'marketplace', 'rt-cheap'])
    expect((await ask(rich, { fields: { model: 'unsold' } })).seen).toEqual([200, 'fallback_key', 'rt-own'])
    const floored = await ask(rich, { fields: { min_discount_pct: 99 } })
    expect(floored.seen).toEqual([200, 'fallback_key', 'rt-own'])
  })

  it('take over when every seller fails, after the hold was released', async () => {
    const key = await buyer(1, [{ model: null }])
    await whileFailing([0, 1], async () => {
      const answer = await ask(key)
      expect([answer.seen, answer.attempts, answer.cost]).toEqual([[200, 'fallback_key', 'rt-own'], '3', '0'])
      expect(await spendable(key)).toBe('1000000')
      const streamed = await ask(key, { fields: { stream: true } })
      expect(streamed.seen).toEqual([200, 'fallback_key', 'rt-own'])
      await until('the look-up names the provider', 10_000, async () => {
        const record = await market.get(`/v1/requests/${answer.rid}`, key)
        return z.object({ provider: z.literal('rt-own'), buyer_cost_micro: z.literal(0) }).safeParse(record).success
      })
    })
    const open: string[] = []
    for (const zset of await redis.keys('*:z:exp:*')) open.push(...(await redis.zrange(zset, 0, -1)))
    expect(open.filter((rid) => rids.includes(rid))).toEqual([])
  })

  it('share three attempts with the sellers, however many of them are left', async () => {
    const key = await buyer(1, [{ model: MODEL }, { model: null, api_key: 'sk-own-2' }])
    const sellers = await buyer(1, [])
    await whileFailing([0, 1, 2, 3], async () => {
      const answer = await ask(key, { fields: { allow_untrusted: true } })
      expect([answer.status >= 500, answer.attempts]).toEqual([true, '3'])
      const tried = z.object({ attempts: z.array(z.object({ provider: z.string() })) })
      await until('the attempts are known', 10_000, async () => {
        const { attempts } = tried.parse(await market.get(`/v1/requests/${answer.rid}`, key))
        const [own, seller, last, ...more] = attempts.map(({ provider }) => provider)
        return own === 'rt-own' && seller !== 'rt-own' && last === 'rt-own' && more.length === 0
      })
      expect((await ask(sellers, { fields: { allow_untrusted: true } })).attempts).toBe('3')
    })
  })

  it('serve calls with any minimum discount but not under /min{N}, and follow the lists of the call', async () => {
    const key = await buyer(1, [{ model: MODEL }])
    expect((await ask(key, { fields: { min_discount_pct: 99 } })).seen).toEqual([200, 'own_key', 'rt-own'])
    expect((await ask(key, { path: '/min10/v1/chat/completions' })).seen).toEqual([200, 'marketplace', 'rt-cheap'])
    expect((await ask(key, { fields: { providers_blocked: 'rt-own' } })).seen).toEqual([200, 'marketplace', 'rt-cheap'])
    expect((await ask(key, { fields: { provider: 'rt-dear' } })).seen).toEqual([200, 'marketplace', 'rt-dear'])
  })

  it('serve the other text wires as well, and are no longer used once removed', async () => {
    const key = await buyer(0, [{ model: MODEL }])
    const paths: [path: string, fields: object][] = [
      ['/v1/completions', { prompt: 'hi', messages: undefined }],
      ['/v1/responses', { input: 'hi', messages: undefined, max_tokens: undefined }],
      ['/compat/v1/messages', {}],
    ]
    for (const [path, fields] of paths) {
      expect([path, (await ask(key, { path, fields })).seen]).toEqual([path, [200, 'own_key', 'rt-own']])
    }
    const List = z.object({ providers: z.array(Row) })
    const [row] = List.parse(await market.get('/v1/buyer/providers', key)).providers
    await fetch(`${market.network.sandbox.api_base_url}/v1/buyer/providers/${row?.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}` },
    })
    await until('the marketplace is asked again', 10_000, async () => (await ask(key)).status === 402)
  })
})

describe('rules of a key and of an account', () => {
  it('preferences of the account bind every call', async () => {
    const { buyerKey: key } = await market.user(1)
    expect((await ask(key)).seen).toEqual([200, 'marketplace', 'rt-cheap'])
    const put = (body: object) =>
      fetch(`${market.network.sandbox.api_base_url}/v1/buyer/preferences`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect((await put({ providers_blocked: ['rt-cheap'] })).status).toBe(200)
    await until('the block list is in effect', 5_000, async () => (await ask(key)).seen[2] === 'rt-dear')
    await put({ allow_untrusted: true, min_discount_pct: 70 })
    await until('trust and floor are in effect', 5_000, async () => (await ask(key)).seen[2] === 'rt-shady')
  })

  it('GET /v1/key shows limits and use', async () => {
    const { buyerKey } = await market.user(2)
    const made = await market.post('/v1/buyer/keys', buyerKey, {
      label: 'capped',
      cap_daily_usd: 0.5,
      rate_limit_rpm: 7,
      min_discount_pct: 10,
      models_allowed: [MODEL],
    })
    const { key } = z.object({ key: z.string() }).parse(await made.json())
    let answer: Awaited<ReturnType<typeof ask>> | undefined
    await until('the data plane knows the key', 10_000, async () => {
      answer = await ask(key)
      return answer.status === 200
    })
    const cost = Number(answer?.cost)
    await until('its use is counted', 5_000, async () => {
      const { data } = z.object({ data: z.record(z.string(), z.unknown()) }).parse(await market.get('/v1/key', key))
      return Number(data['usage_daily']) * 1e6 === cost
    })
    expect(await market.get('/v1/key', key)).toMatchObject({
      data: {
        limit: 0.5,
        limit_reset: 'daily',
        daily: { cap_usdc: '500000', used_usdc: String(cost), left_usdc: String(500_000 - cost) },
        rate_limit: { requests: 7, in_flight: 0, max_in_flight: 200 },
        min_discount_pct: 10,
        models_allowed: [MODEL],
      },
    })
    expect((await fetch(`${market.network.sandbox.api_base_url}/v1/key`)).status).toBe(401)
  })

  it('GET /v1/generation also finds calls that the gate has forgotten', async () => {
    const { buyerKey: key } = await market.user(1)
    const { rid, cost } = await ask(key)
    const booked = async () => {
      const record = await market.get(`/v1/requests/${rid}`, key)
      return z.object({ settlement_status: z.literal('accrued'), confirmed_at: z.iso.datetime() }).safeParse(record)
        .success
    }
    await until('the call is booked', 10_000, booked)
    for (const hold of await redis.keys(`*:h:${rid}`)) await redis.del(hold)
    const data = { id: rid, provider_name: 'rt-cheap', total_cost: Number(cost) / 1e6 }
    expect(await market.get(`/v1/generation?id=${rid}`, key)).toMatchObject({ data })
    const { buyerKey: other } = await market.user(0)
    expect(await market.get(`/v1/generation?id=${rid}`, other)).toMatchObject({ error: { code: 'not_found' } })
  })
})
