import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { createBuyerKey } from '#control-plane/services/keys/keys.ts'
import { DAY, HOUR, SECOND, systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { grant, newAccount } from '#test/support/books/ledger.ts'
import type { EventFields } from '#test/support/books/usage-events.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, pathOfLink, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let seller: AccountId
let ada: Person
let eve: Person

type Spent = EventFields & { readonly ago?: number; readonly facts?: Record<string, unknown> }

/** Books calls that were admitted this many milliseconds ago. Returns their request ids in that order. */
async function book(person: Person, calls: readonly Spent[]): Promise<string[]> {
  const rids: string[] = []
  const events = calls.map(({ ago = 0, facts = {}, ...fields }) => {
    const startedAt = Date.now() - ago
    const rid = createIds({ ...systemClock, now: () => startedAt }).ulid()
    rids.push(rid)
    const fixed = { account: person.buyer.account, sellerAccount: seller, rid, startedAt }
    return JSON.stringify(usageEvent({ ...fields, ...fixed }, facts))
  })
  await postBatch(market.plane, { events, source: 'test' })
  return rids
}

beforeAll(async () => {
  market = await startMarket()
  ;[ada, eve] = [await market.person(), await market.person()]
  seller = await newAccount(market.world.db, 'seller_available')
  for (const { buyer } of [ada, eve]) await grant(market.world.db, buyer.account, 1_000_000)
  await book(ada, [
    { ago: 40 * DAY, charge: 100, model: 'lab/old' },
    { ago: 2 * DAY + HOUR, charge: 1_000 },
    { ago: 2 * DAY, charge: 2_000, facts: { keyId: 'key_other', provider: 'sandbox-b' } },
    { ago: HOUR, charge: 0 },
    { ago: 10 * SECOND, charge: 300, model: 'gpt-test' },
    { ago: 0, charge: 0, facts: { servedBy: 'own_key', outcome: 'succeeded', errorCode: null, listMicro: '900' } },
  ])
  await book(eve, [{ ago: SECOND, charge: 77 }])
})
afterAll(() => market?.stop())

const Item = z.object({ request_id: z.string(), buyer_cost_micro: z.number() }).loose()
const Page = z.object({ items: z.array(Item), next_token: z.string().nullable() })
const get = (path: string, person: Person = ada) => market.rest('GET', `/v1/buyer${path}`, { key: person.buyerKey })
const page = async (path: string, person?: Person) => Page.parse((await get(path, person)).body)
const costs = async (path: string) => (await page(path)).items.map((item) => item.buyer_cost_micro)

describe('usage', () => {
  it('lists calls newest first with tokens by class, one month of them by default', async () => {
    const { items } = await page('/usage')
    expect(items.map((item) => item.buyer_cost_micro)).toEqual([0, 300, 0, 2_000, 1_000])
    expect(items[1]).toMatchObject({
      model: 'gpt-test',
      provider: 'sandbox-a',
      served_by: 'marketplace',
      key_id: 'key_test',
      settlement_status: 'accrued',
      input_tokens: 150,
      output_tokens: 50,
      cache_read_tokens: 30,
      cache_write_tokens: 0,
      reasoning_tokens: 10,
      buyer_cost_micro: 300,
      list_cost_micro: 600,
      tx_hash: null,
    })
    expect(items.map((item) => item['settlement_status'])).toEqual(['free', 'accrued', 'failed', 'accrued', 'accrued'])
  })

  it('can be filtered by every property of a call', async () => {
    expect(await costs('/usage?period=lifetime')).toHaveLength(6)
    expect(await costs('/usage?period=24h')).toEqual([0, 300, 0])
    expect(await costs('/usage?model=gpt-test')).toEqual([300])
    expect(await costs('/usage?model=gpt-test-20260101')).toEqual([300])
    expect(await costs('/usage?model=nobody-has-this')).toEqual([])
    expect(await costs('/usage?key_id=key_other')).toEqual([2_000])
    expect(await costs('/usage?provider=sandbox-b')).toEqual([2_000])
    expect(await costs('/usage?outcome=failed')).toEqual([0])
    expect(await costs('/usage?served_by=own_key')).toEqual([0])
    expect(await costs('/usage?endpoint=embeddings')).toEqual([])
    expect(await costs(`/usage?from=${Date.now() - 3 * DAY}&to=${Date.now() - DAY}`)).toEqual([2_000, 1_000])
    const since = encodeURIComponent(new Date(Date.now() - 2 * HOUR).toISOString())
    expect(await costs(`/usage?from=${since}`)).toEqual([0, 300, 0])
  })

  it('goes on from page to page without a gap or a repeat', async () => {
    const seen: string[] = []
    let token: string | null = ''
    while (token !== null) {
      const next: z.infer<typeof Page> = await page(`/usage?max_items=2${token && `&next_token=${token}`}`)
      expect(next.items.length).toBeLessThanOrEqual(2)
      seen.push(...next.items.map((item) => item.request_id))
      token = next.next_token
    }
    expect(seen).toHaveLength(5)
    expect(new Set(seen).size).toBe(5)
  })

  it('refuses invalid windows, tokens and filters', async () => {
    for (const query of [
      'period=1y',
      'period=7d&from=1',
      'from=5&to=5',
      'from=yesterday',
      'max_items=0',
      'max_items=101',
      'next_token=nope',
      "next_token=' or 1=1",
      'outcome=maybe',
      'account=acc_other',
      'model=%20',
    ]) {
      expect([query, codeOf(await get(`/usage?${query}`))]).toEqual([query, 'invalid_request'])
    }
    expect(codeOf(await get('/usage/buckets?interval=minute'))).toBe('invalid_request')
    expect(codeOf(await get('/usage/buckets?interval=hour&period=90d'))).toBe('invalid_request')
    expect(codeOf(await get('/savings?period=ever'))).toBe('invalid_request')
    expect((await market.rest('GET', '/v1/buyer/usage', { key: ada.sellerKey })).status).toBe(401)
  })

  it('comes in buckets of time, grouped by a property on request', async () => {
    const Buckets = z.object({
      buckets: z.array(z.object({ bucket: z.number(), group: z.string().nullable() }).loose()),
    })
    const buckets = async (query: string) => Buckets.parse((await get(`/usage/buckets?${query}`)).body).buckets
    const days = await buckets('period=30d')
    expect(days.every(({ bucket }) => bucket % DAY === 0)).toBe(true)
    const sumOf = (name: string, rows: Awaited<ReturnType<typeof buckets>>) =>
      rows.reduce((total, row) => total + Number(row[name]), 0)
    expect([sumOf('requests', days), sumOf('failed_requests', days), sumOf('buyer_cost_micro', days)]).toEqual([
      5, 1, 3_300,
    ])
    expect(sumOf('reasoning_tokens', days)).toBe(50)
    const byKey = await buckets('interval=month&period=30d&group_by=key')
    expect(new Set(byKey.map(({ group }) => group))).toEqual(new Set(['key_test', 'key_other']))
    expect((await buckets('interval=hour&period=24h')).length).toBeGreaterThan(0)
  })

  it("is the same at all three doors, and shows no buyer another buyer's calls", async () => {
    const rest = await page('/usage?max_items=3')
    const graph = await market.graphql(
      ada.buyerKey,
      '{ usage(first: 3) { edges { node { requestId buyerCostMicro } } pageInfo { endCursor } } savings { savedMicro } }',
    )
    const ids = rest.items.map(({ request_id: requestId, buyer_cost_micro: buyerCostMicro }) => ({
      node: { requestId, buyerCostMicro },
    }))
    expect(graph.body).toEqual({
      data: { usage: { edges: ids, pageInfo: { endCursor: rest.next_token } }, savings: { savedMicro: 3_300 } },
    })
    const trpc = await market.trpc(ada.buyerKey).usage.list.query({ maxItems: 3 })
    expect(trpc.items.map((item) => item.requestId)).toEqual(rest.items.map((item) => item.request_id))
    expect((await page('/usage', eve)).items.map((item) => item.buyer_cost_micro)).toEqual([77])
    const token = rest.next_token ?? ''
    expect(codeOf(await get(`/usage?next_token=${token}`, eve))).toBe('invalid_request')
    for (const query of [`/statements?next_token=${token}`, `/usage?next_token=${token}&model=gpt-test`]) {
      expect((await get(query)).body).toMatchObject({ error: { code: 'invalid_request', param: 'next_token' } })
    }
    const edited = `${token[0] === '0' ? '1' : '0'}${token.slice(1)}`
    expect(codeOf(await get(`/usage?next_token=${edited}`))).toBe('invalid_request')
    expect(await trpcCodeOf(market.trpc(ada.sellerKey).usage.list.query({}))).toBe('wrong_key_type')
  })
})

describe('savings', () => {
  it('are the reference price less the charge, for calls that the marketplace served', async () => {
    expect((await get('/savings?period=7d')).body).toMatchObject({
      period: '7d',
      requests: 4,
      spent_micro: 3_300,
      list_micro: 6_600,
      saved_micro: 3_300,
      saved_pct: 50,
      by_model: [
        { model: 'gpt-5-mini', spent_micro: 3_000, saved_pct: 50 },
        { model: 'gpt-test', spent_micro: 300 },
      ],
      models: 2,
    })
    expect((await get('/savings?period=lifetime')).body).toMatchObject({ since: 0, spent_micro: 3_400 })
    expect((await get('/savings?period=weekly')).body).toMatchObject({
      period: 'weekly',
      summary: {
        period: 'weekly',
        request_count: 4,
        savings_pct: 50,
        total_actual_usdc: '3300',
        total_direct_usdc: '6600',
        total_saved_usdc: '3300',
      },
      breakdown: [
        { model: 'gpt-5-mini', discount: 50, saved: 3_000 },
        { model: 'gpt-test', discount: 50, saved: 300 },
      ],
    })
    expect((await get('/savings')).body).toMatchObject({ period: '30d' })
    const daily = z
      .object({ buckets: z.array(z.object({ bucket: z.number(), period: z.iso.date(), spent_micro: z.number() })) })
      .loose()
      .parse((await get('/savings?period=daily')).body)
    expect(daily).toMatchObject({ since: 0, total_actual_usdc: '3400', total_saved_usdc: expect.any(String) })
    expect(daily).toMatchObject({ average_discount_pct: daily['saved_pct'] })
    expect(daily.buckets.reduce((sum, { spent_micro }) => sum + spent_micro, 0)).toBe(3_400)
    expect(daily.buckets.map(({ bucket }) => new Date(bucket).toISOString().slice(0, 10))).toEqual(
      daily.buckets.map(({ period }) => period),
    )
  })
})

describe('a statement', () => {
  const Lines = z.object({
    items: z.array(
      z.looseObject({
        id: z.string(),
        kind: z.string(),
        created_at: z.number(),
        amount_micro: z.number(),
        balance_micro: z.number(),
        day_sum_micro: z.number(),
      }),
    ),
    next_token: z.string().nullable(),
  })

  it('adds up line by line and page by page to the balance', async () => {
    const all = Lines.parse((await get('/statements')).body).items
    expect(all.map((line) => line.amount_micro)).toEqual([1_000_000, -300, -2_000, -1_000, -100])
    const balance = z
      .object({ credit_balance_usdc: z.string() })
      .parse((await market.rest('GET', '/v1/payments/balance', { key: ada.buyerKey })).body)
    expect(all[0]?.balance_micro).toBe(Number(balance.credit_balance_usdc))
    for (const [at, line] of all.entries()) {
      expect(line.balance_micro - line.amount_micro).toBe(all[at + 1]?.balance_micro ?? 0)
    }
    expect(all[1]).toMatchObject({ kind: 'settle', model: 'gpt-test', provider: 'sandbox-a', tx_hash: null })
    const paged: unknown[] = []
    let token: string | null = ''
    while (token !== null) {
      const path: string = `/statements?max_items=2${token && `&next_token=${token}`}`
      const next: z.infer<typeof Lines> = Lines.parse((await get(path)).body)
      paged.push(...next.items)
      token = next.next_token
    }
    expect(paged).toEqual(all)
  })

  it('of one kind has the balances of all lines, page by page, and the sums of its days', async () => {
    const all = Lines.parse((await get('/statements')).body).items
    const calls = all.filter(({ kind }) => kind === 'settle')
    expect(calls).toHaveLength(4)
    const balancesOf = (lines: typeof all) => lines.map(({ id, balance_micro }) => [id, balance_micro])
    const read = async (query: string) => Lines.parse((await get(`/statements?kind=settle${query}`)).body)
    const whole = await read('')
    expect(balancesOf(whole.items)).toEqual(balancesOf(calls))
    const first = await read('&max_items=3')
    const rest = await read(`&max_items=3&next_token=${first.next_token}`)
    expect(balancesOf([...first.items, ...rest.items])).toEqual(balancesOf(calls))
    const dayOf = ({ created_at }: { created_at: number }) => Math.floor(created_at / DAY)
    const sumOf = (lines: typeof all, line: (typeof all)[number]) =>
      lines.filter((other) => dayOf(other) === dayOf(line)).reduce((sum, { amount_micro }) => sum + amount_micro, 0)
    for (const lines of [all, whole.items]) {
      for (const line of lines) expect(line.day_sum_micro).toBe(sumOf(lines, line))
    }
    // A page in the middle of a day has the sum of the whole day.
    const alone = Lines.parse((await get('/statements?max_items=1')).body).items[0]
    expect(alone?.day_sum_micro).toBe(all[0]?.day_sum_micro)
    expect(codeOf(await get('/statements?kind=Deposit'))).toBe('invalid_request')
    expect((await read(`&from=${Date.now()}`)).items).toEqual([])
  })

  it('of a window has the balances of the whole statement', async () => {
    const all = Lines.parse((await get('/statements')).body).items
    const window = `from=${Date.now() - 3 * DAY}&to=${Date.now() - DAY}`
    const some = Lines.parse((await get(`/statements?${window}`)).body).items
    expect(some).toEqual(all.slice(2, 4))
    const graph = await market.graphql(
      ada.buyerKey,
      '{ statements(first: 2) { edges { node { amountMicro balanceMicro } } } }',
    )
    const trpc = await market.trpc(ada.buyerKey).statement.list.query({ maxItems: 2 })
    const lines = all.slice(0, 2).map((line) => ({ amountMicro: line.amount_micro, balanceMicro: line.balance_micro }))
    expect(graph.body).toEqual({ data: { statements: { edges: lines.map((node) => ({ node })) } } })
    expect(trpc.items).toMatchObject(lines)
    expect(Lines.parse((await get('/statements', eve)).body).items).toHaveLength(2)
  })
})

describe('an export of usage', () => {
  const open = (location: string) => market.rest('GET', location)
  const linkTo = async (path: string, person: Person = ada) => {
    const answer = await fetch(`${market.url}/v1/buyer${path}`, {
      headers: { authorization: `Bearer ${person.buyerKey}` },
      redirect: 'manual',
    })
    expect(answer.status).toBe(302)
    return pathOfLink(market, answer.headers.get('location') ?? '')
  }

  it('is a CSV behind a link that needs no key, filtered like the list', async () => {
    const file = await open(await linkTo('/usage/export?period=lifetime'))
    expect(file.headers.get('content-type')).toContain('text/csv')
    expect(file.headers.get('x-content-type-options')).toBe('nosniff')
    expect(file.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(file.headers.get('x-frame-options')).toBe('DENY')
    const [head, ...lines] = file.text.trimEnd().split('\r\n')
    expect(head).toBe(
      'request_id,created_at,model,input_tokens,output_tokens,cache_read_tokens,reasoning_tokens,buyer_cost_micro,list_cost_micro,settlement_status,tx_hash,buyer_cost_usd,direct_cost_usd,settlement_type,images,images_2k,images_4k,megapixels,seconds,seconds_1080p,seconds_4k,characters,image_input_tokens,image_output_tokens,cache_write_tokens,searches,price_conditions',
    )
    expect(lines).toHaveLength(6)
    expect(lines[0]).toMatch(
      /^[0-9A-Z]{26},\d{4}-\d\d-\d\dT[\d:.]+Z,lab\/old,150,50,30,10,100,200,accrued,,0\.000100,0\.000200,credit(?:,0){12},$/,
    )
    const one = await open(await linkTo('/usage/export?key_id=key_other'))
    expect(one.text.trimEnd().split('\r\n')).toHaveLength(2)
  })

  it('opens only for the signed content, and not for ever', async () => {
    const location = await linkTo('/usage/export')
    const [body = '', mac = ''] = location.slice('/v1/exports/'.length).split('.')
    const other = Buffer.from(Buffer.from(body, 'base64url').toString().replace(ada.buyer.account, eve.buyer.account))
    for (const token of [`${other.toString('base64url')}.${mac}`, `${body}.${mac.slice(1)}x`, body, `${body}.`, 'x']) {
      expect((await open(`/v1/exports/${token}`)).status).toBe(404)
    }
    market.advance(5 * 60 * SECOND)
    expect((await open(location)).status).toBe(404)
    expect((await fetch(`${market.url}/v1/buyer/usage/export`, { redirect: 'manual' })).status).toBe(401)
  })
})

describe('the account overview', () => {
  it('has no amount on chain yet, and the same balance at every door', async () => {
    const me = await market.rest('GET', '/v1/buyer/me', { key: ada.buyerKey })
    expect(me.body).toMatchObject({
      wallet: ada.wallet,
      balance_usdc: null,
      allowance_usdc: null,
      settlement_contract: null,
      held_usdc: '0',
      stats: { total_spent: 3_400, total_requests: 6 },
    })
    const balance = await market.rest('GET', '/v1/payments/balance', { key: ada.buyerKey })
    expect(me.body).toMatchObject(z.object({ credit_balance_usdc: z.string() }).parse(balance.body))
  })

  it('is a free check of a key', async () => {
    const made = await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'x' }, { idempotencyKey: 'me' })
    const key = made.secret?.reveal() ?? ''
    expect((await market.rest('GET', '/v1/buyer/me', { key })).status).toBe(200)
    await market.rest('DELETE', `/v1/buyer/keys/${made.id}`, { key })
    expect((await market.rest('GET', '/v1/buyer/me', { key })).status).toBe(401)
  })
})

describe('the latency of calls', () => {
  const query = (period: string) =>
    `{ latency(period: "${period}") { calls timed ttftMs { p50 p95 } durationMs { p50 p95 } } }`

  it("covers the buyer's successful calls of a period, and first tokens of streamed ones only", async () => {
    const slow = await market.person()
    const durations = Array.from({ length: 20 }, (_, index) => (index + 1) * 100)
    const done = { outcome: 'succeeded', errorCode: null }
    const startedAt = Date.now() - 30 * SECOND
    const facts = (durationMs: number) => ({ ...done, endedAt: startedAt + durationMs })
    await book(
      slow,
      durations.map((durationMs, index) => ({
        ago: 30 * SECOND,
        charge: 0,
        facts: { ...facts(durationMs), startedAt, ttftMs: index < 10 ? index + 1 : null },
      })),
    )
    expect((await market.graphql(slow.buyerKey, query('24h'))).body).toEqual({
      data: { latency: { calls: 20, timed: 10, ttftMs: { p50: 5, p95: 10 }, durationMs: { p50: 1_000, p95: 1_900 } } },
    })
  })

  it('is null without a call', async () => {
    const nobody = await market.person()
    expect((await market.graphql(nobody.buyerKey, query('7d'))).body).toEqual({
      data: { latency: { calls: 0, timed: 0, ttftMs: null, durationMs: null } },
    })
    expect(codeOf(await market.graphql(nobody.buyerKey, query('ever')))).toBe('invalid_request')
  })
})
