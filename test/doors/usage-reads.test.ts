import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { MAX_SORTED } from '#control-plane/services/usage/usage-order.ts'
import { DAY, HOUR, SECOND, systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { grant, newAccount } from '#test/support/books/ledger.ts'
import type { EventFields } from '#test/support/books/usage-events.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, pathOfLink, startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let seller: AccountId

type Spent = EventFields & { readonly ago?: number; readonly took?: number; readonly facts?: Record<string, unknown> }

/** Books calls that were admitted this many milliseconds ago. Returns their request ids in that order. */
async function book(person: Person, calls: readonly Spent[]): Promise<string[]> {
  const rids: string[] = []
  const events = calls.map(({ ago = 0, took = 1_400, facts = {}, ...fields }) => {
    const startedAt = Date.now() - ago
    const rid = createIds({ ...systemClock, now: () => startedAt }).ulid()
    rids.push(rid)
    const fixed = { account: person.buyer.account, sellerAccount: seller, rid, startedAt }
    return JSON.stringify(usageEvent({ ...fields, ...fixed }, { endedAt: startedAt + took, ...facts }))
  })
  await postBatch(market.plane, { events, source: 'test' })
  return rids
}

beforeAll(async () => {
  market = await startMarket()
  seller = await newAccount(market.world.db, 'seller_available')
})
afterAll(() => market?.stop())

const Item = z.object({ request_id: z.string(), buyer_cost_micro: z.number() }).loose()
const Page = z.object({ items: z.array(Item), next_token: z.string().nullable() })
const get = (path: string, person: Person) => market.rest('GET', `/v1/buyer${path}`, { key: person.buyerKey })
const page = async (path: string, person: Person) => Page.parse((await get(path, person)).body)

describe('the list of calls', () => {
  it('is sorted by a value over the whole list, in both directions, and a token of a page works in its own order only', async () => {
    const buyer = await market.person()
    await grant(market.world.db, buyer.buyer.account, 1_000_000)
    const allFields = [
      { charge: 500, took: 90, facts: { ttftMs: 20 } },
      { charge: 70, took: 400, facts: { ttftMs: null } },
      { charge: 500, took: 30, facts: { ttftMs: 10 } },
      { charge: 900, took: 200, facts: { ttftMs: 30 } },
    ]
    // The oldest is first, so that the newest of two equal costs is the third.
    const rids = await book(
      buyer,
      allFields.map((fields, at) => ({ ...fields, ago: (10 - at) * SECOND })),
    )
    const orderOf = async (query: string) => {
      const seen: number[] = []
      let token: string | null = ''
      while (token !== null) {
        const path: string = `/usage?max_items=1&${query}${token && `&next_token=${token}`}`
        const next: z.infer<typeof Page> = await page(path, buyer)
        seen.push(...next.items.map((item) => rids.indexOf(item.request_id)))
        token = next.next_token
      }
      return seen
    }
    expect(await orderOf('')).toEqual([3, 2, 1, 0])
    expect(await orderOf('is_reversed=true')).toEqual([0, 1, 2, 3])
    expect(await orderOf('sort=cost')).toEqual([3, 2, 0, 1])
    expect(await orderOf('sort=cost&is_reversed=true')).toEqual([1, 0, 2, 3])
    expect(await orderOf('sort=duration')).toEqual([1, 3, 0, 2])
    // A call without a first token is last in both directions.
    expect(await orderOf('sort=ttft')).toEqual([3, 0, 2, 1])
    expect(await orderOf('sort=ttft&is_reversed=true')).toEqual([2, 0, 3, 1])
    expect(await orderOf('sort=tokens')).toEqual([3, 2, 1, 0])
    const costly = (await page('/usage?max_items=1&sort=cost', buyer)).next_token
    for (const other of ['', '&sort=time', '&sort=duration', '&sort=cost&is_reversed=true']) {
      const refused = await get(`/usage?max_items=1&next_token=${costly}${other}`, buyer)
      expect([other, codeOf(refused)]).toEqual([other, 'invalid_request'])
      expect(JSON.stringify(refused.body)).toContain('another list, filter or order')
    }
    expect(codeOf(await get('/usage?sort=fun', buyer))).toBe('invalid_request')
    const fileOf = async (query: string) => {
      const link = await fetch(`${market.url}/v1/buyer/usage/export?${query}`, {
        headers: { authorization: `Bearer ${buyer.buyerKey}` },
        redirect: 'manual',
      })
      const file = await fetch(`${market.url}${pathOfLink(market, link.headers.get('location') ?? '')}`)
      return (await file.text())
        .trimEnd()
        .split('\r\n')
        .slice(1)
        .map((line) => rids.indexOf(line.slice(0, 26)))
    }
    expect(await fileOf('')).toEqual([0, 1, 2, 3])
    expect(await fileOf('sort=time')).toEqual([3, 2, 1, 0])
    expect(await fileOf('sort=time&is_reversed=true')).toEqual([0, 1, 2, 3])
    expect(await fileOf('sort=cost')).toEqual([3, 2, 0, 1])
    expect(await fileOf('sort=cost&is_reversed=true')).toEqual([1, 0, 2, 3])
  })

  it('is not sorted by a value where too many calls match, and the refusal says what to do', async () => {
    const buyer = await market.person()
    await grant(market.world.db, buyer.buyer.account, 1_000_000)
    await book(buyer, [{ charge: 1, ago: 2 * DAY, model: 'lab/one' }, { charge: 2 }])
    const columns = await sql<{ names: string }>`select string_agg(column_name, ', ' order by ordinal_position) as names
      from information_schema.columns where table_name = 'settlement' and column_name <> 'rid'`.execute(market.world.db)
    const names = sql.raw(columns.rows[0]?.names ?? '')
    // Copies of the newest call, after it and within its minute.
    await market.world.db.transaction().execute(async (trx) => {
      await sql`set local statement_timeout = 0`.execute(trx)
      await sql`insert into settlement (rid, ${names})
        select left(s.rid, 10) || lpad(n::text, 16, '0'), ${names} from settlement s, generate_series(1, ${MAX_SORTED}) n
        where s.account = ${buyer.buyer.account} and s.charge = 2`.execute(trx)
    })
    const { items } = await page('/usage?max_items=1', buyer)
    expect(items[0]?.buyer_cost_micro).toBe(2)
    for (const path of ['/usage?sort=cost', '/usage/export?sort=duration']) {
      const refused = await get(path, buyer)
      expect([path, codeOf(refused)]).toEqual([path, 'invalid_request'])
      expect(JSON.stringify(refused.body)).toContain('more than 100,000 calls')
    }
    // A filter that leaves fewer calls is sorted.
    expect((await page('/usage?sort=cost&model=lab/one', buyer)).items.map((item) => item.buyer_cost_micro)).toEqual([
      1,
    ])
  })
})

describe('sums of usage', () => {
  it('also cover the period just before, with the same filters, and count no call twice', async () => {
    const buyer = await market.person()
    await grant(market.world.db, buyer.buyer.account, 1_000_000)
    await book(buyer, [
      { ago: 40 * DAY, charge: 100, model: 'lab/old' },
      { ago: 2 * DAY + HOUR, charge: 1_000 },
      { ago: 2 * DAY, charge: 2_000 },
      { ago: 10 * SECOND, charge: 300, model: 'gpt-test' },
    ])
    const sum = async (query: string) => {
      const { body, status } = await get(`/usage/buckets?${query}`, buyer)
      expect(status).toBe(200)
      const { buckets } = z
        .object({ buckets: z.array(z.object({ requests: z.number(), buyer_cost_micro: z.number() }).loose()) })
        .parse(body)
      return [
        buckets.reduce((total, { requests }) => total + requests, 0),
        buckets.reduce((total, { buyer_cost_micro: cost }) => total + cost, 0),
      ]
    }
    expect(await sum('period=24h&is_period_before=true')).toEqual([0, 0])
    expect(await sum('period=30d&is_period_before=true')).toEqual([1, 100])
    expect(await sum('period=30d&is_period_before=true&model=gpt-test')).toEqual([0, 0])
    expect(await sum('period=30d&is_period_before=true&group_by=model')).toEqual([1, 100])
    const at = Date.now()
    const days = `from=${at - DAY}&to=${at + HOUR}`
    const length = DAY + HOUR
    expect(await sum(`${days}&is_period_before=true`)).toEqual(await sum(`from=${at - DAY - length}&to=${at - DAY}`))
    expect(await sum(`from=${at - DAY - HOUR}&to=${at - HOUR / 2}&is_period_before=true`)).toEqual([2, 3_000])
    for (const query of ['period=lifetime', 'from=1', `from=5&to=${at}`]) {
      const refused = await get(`/usage/buckets?interval=month&${query}&is_period_before=true`, buyer)
      expect([query, codeOf(refused)]).toEqual([query, 'invalid_request'])
    }
  })
})
