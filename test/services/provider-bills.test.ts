import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { putProvider } from '#control-plane/services/catalog/catalog.ts'
import { fetchBill, importBill, removeBill } from '#control-plane/services/drift/bills.ts'
import { listProviderDrift, readDrift, watchDrift } from '#control-plane/services/drift/drift.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { DAY, utcDay } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { Secret } from '#shared/secret.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

const REPORTERS = ['openai', 'anthropic', 'openrouter'] as const
type Reporter = (typeof REPORTERS)[number]

let market: TestMarket
let buyer: Person
let ada: Person
let bob: Person
let offer: string
const reporters = new Map<Reporter, SampleProvider>()
const ADMIN_KEY = 'sk-admin-secret-of-the-account'

beforeAll(async () => {
  market = await startMarket()
  buyer = await market.person()
  for (const id of REPORTERS) {
    const provider = await createSampleProvider({ host: '127.0.0.1', port: 0, name: id })
    reporters.set(id, provider)
    await invoke(market.plane, operator, putProvider, { id, name: id, baseUrl: provider.url, isTrusted: false })
  }
})
beforeEach(async () => {
  ada = await market.person()
  bob = await market.person()
  offer = (await listOffer(market, ada.seller)).id
})
afterAll(async () => {
  for (const provider of reporters.values()) await provider.close()
  await market.stop()
})

const day = (ago: number) => utcDay(market.plane.clock.now() - ago * DAY)

/** Books calls that the seller's offer served. Costs are in micro-USD. */
async function serve(seller: Person, calls: readonly { ago: number; list: number; own?: string; changes?: object }[]) {
  const events = calls.map(({ ago, list, own, changes = {} }) => {
    const startedAt = market.plane.clock.now() - ago * DAY
    const rid = createIds({ now: () => startedAt }).ulid()
    const given = { rid, charge: 100, model: 'gpt-test', startedAt }
    const accounts = { account: buyer.buyer.account, sellerAccount: seller.seller.account }
    return eventText(
      { ...given, ...accounts },
      { offer, provider: 'test', listMicro: String(list), ...(own && { ownCostPico: own }), ...changes },
    )
  })
  await postBatch(market.plane, { events, source: 'test' })
}

const bring = (file: string, seller = ada, provider = 'test') =>
  invoke(market.plane, seller.seller, importBill, { provider, file })
const drift = (seller = ada, input: object = {}) => invoke(market.plane, seller.seller, readDrift, input)
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => z.object({ message: z.string() }).parse(error).message,
  )
const stored = async (seller = ada) =>
  (await sql`select model from provider_bill where seller_account = ${seller.seller.account}`.execute(market.plane.db))
    .rows.length

describe('a bill from a file', () => {
  it('is shown beside the list cost of the same calls, and a second import changes nothing', async () => {
    await serve(ada, [
      { ago: 1, list: 2_000_000 },
      { ago: 1, list: 1_000_000 },
      { ago: 2, list: 500_000 },
      { ago: 3, list: 700_000 },
    ])
    const file = `date,model,cost_usd\r\n${day(1)},gpt-test,6\r\n${day(2)},gpt-test-2026-01-01,0.5\r\n${day(2)},other,"1.25"`
    const first = await bring(file)
    expect(first).toMatchObject({ provider: 'test', lines: 3, firstDay: day(2), lastDay: day(1), billedUsd: '7.75' })
    const before = await drift()
    expect(before).toMatchObject({
      billedUsd: '7.75',
      listUsd: '3.5',
      differenceUsd: '4.25',
      differencePct: 121.42,
      total: 3,
      rows: [
        { day: day(1), model: 'gpt-test', listUsd: '3', billedUsd: '6', calls: 2, cause: 'context_tier' },
        { day: day(2), model: 'other', listUsd: '0', billedUsd: '1.25', calls: 0, cause: 'key_used_elsewhere' },
        { day: day(2), model: 'gpt-test', listUsd: '0.5', billedUsd: '0.5', calls: 1, cause: 'none' },
      ],
    })
    await bring(file)
    expect(await drift()).toEqual(before)
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,3.3`)
    expect((await drift()).rows.find(({ day: on }) => on === day(1))).toMatchObject({
      billedUsd: '3.3',
      differencePct: 10,
      cause: 'region',
    })
  })

  it('is compared by class where its lines have classes. A bill without classes replaces it, and the reverse', async () => {
    await serve(ada, [{ ago: 1, list: 480 }])
    const lines = [
      { date: day(1), model: 'gpt-test', class: 'uncached_input_tokens', units: 120, cost_usd: '0.00012' },
      { date: day(1), model: 'gpt-test', class: 'cached input', units: 30, cost_usd: 0.00003 },
      { date: day(1), model: 'gpt-test', class: 'output', cost_usd: 0.0001 },
    ]
    await bring(JSON.stringify(lines))
    const { rows, billedUsd, listUsd } = await drift()
    expect([billedUsd, listUsd]).toEqual(['0.00025', '0.00048'])
    expect(new Set(rows.map(({ billedClass }) => billedClass))).toContain('cache_read')
    expect(rows.find(({ billedClass }) => billedClass === 'input')).toMatchObject({
      units: '120',
      billedUsd: '0.00012',
    })
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,0.5`)
    expect(await drift()).toMatchObject({ total: 1, billedUsd: '0.5' })
    await bring(JSON.stringify(lines))
    expect(await drift()).toMatchObject({ billedUsd: '0.00025' })
  })

  it('belongs to its seller only, and so do the calls beside it', async () => {
    await serve(ada, [{ ago: 1, list: 2_000 }])
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,1`)
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,2`, bob)
    expect((await drift(bob)).rows).toMatchObject([{ billedUsd: '2', listUsd: '0', calls: 0 }])
    expect((await drift(ada)).rows).toMatchObject([{ billedUsd: '1', listUsd: '0.002', calls: 1 }])
    const foreign = await market.rest('GET', `/v1/seller/drift?workspace_id=wsp_unknown`, { key: bob.sellerKey })
    expect(foreign.status).toBe(404)
    const asBuyer = await market.rest('GET', '/v1/seller/drift', { key: ada.buyerKey })
    expect(codeOf(asBuyer)).toBe('wrong_key_type')
  })

  it('leaves failed calls out, and reports calls that were free for their buyers', async () => {
    const failed = {
      outcome: 'failed',
      errorCode: 'upstream_error',
      chargeMicro: '0',
      sellerNetMicro: '0',
      feeMicro: '0',
    }
    const unpaid = { ...failed, outcome: 'cancelled', errorCode: null }
    await serve(ada, [
      { ago: 1, list: 1_000_000 },
      { ago: 1, list: 9_000_000, changes: failed },
      { ago: 1, list: 0, changes: unpaid },
    ])
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,1.8`)
    expect((await drift()).rows).toMatchObject([{ listUsd: '1', calls: 2, cause: 'unpaid_calls' }])
  })

  it('is refused with its line number, and no part of it is stored', async () => {
    expect(await refusal(bring(`date,model,cost_usd\n${day(1)},m,1\n${day(2)},m,-1`))).toContain('Line 3: the cost')
    expect(await refusal(bring(`d\0a\0t\0e\0`))).toContain('the text must have no control characters')
    expect(await stored()).toBe(0)
  })

  it('is refused for an unknown provider', async () => {
    expect(await refusal(bring(`date,model,cost_usd\n${day(1)},m,1`, ada, 'nobody'))).toContain('No provider')
  })
})

describe('a bill in other terms', () => {
  const parts = (lines: Record<string, number>) =>
    `date,model,class,cost_usd\n${Object.entries(lines)
      .map(([line, usd]) => `${day(1)},gpt-test,${line},${usd}`)
      .join('\n')}`

  it('replaces only the same classes', async () => {
    await bring(parts({ input: 1, output: 2, fee: 0.5 }))
    await bring(parts({ uncached_input_tokens: 1.5 }))
    expect((await drift()).billedUsd).toBe('4')
    await bring(parts({ output_tokens: 3, fee: 0.25 }))
    expect((await drift()).billedUsd).toBe('4.75')
  })
})

describe('stored bills', () => {
  it('are removed by provider, for all days or for some, and only those of their seller', async () => {
    const file = `date,model,cost_usd\n${[1, 2, 3, 4].map((ago) => `${day(ago)},m,1`).join('\n')}`
    await bring(file)
    await bring(file, ada, 'openai')
    await bring(file, bob)
    const remove = (input: object) => invoke(market.plane, ada.seller, removeBill, { provider: 'test', ...input })
    expect(await remove({ from: day(3), to: day(2) })).toEqual({ provider: 'test', lines: 2 })
    expect(await remove({ from: day(3), to: day(2) })).toEqual({ provider: 'test', lines: 0 })
    expect((await drift()).rows.map((row) => `${row.provider} ${row.day}`).sort()).toEqual(
      ['openai', 'test'].flatMap((id) => (id === 'test' ? [4, 1] : [4, 3, 2, 1]).map((ago) => `${id} ${day(ago)}`)),
    )
    expect(await remove({})).toEqual({ provider: 'test', lines: 2 })
    expect(await stored(bob)).toBe(4)
    expect(await refusal(remove({ from: day(1), to: day(2) }))).toBe('from must not be after to.')
    for (const date of ['0000-01-01', '9999-12-31', '2026-02-30']) {
      expect(await refusal(remove({ from: date, to: date })), date).toContain('a day must be written as')
      expect(await refusal(drift(ada, { to: date })), date).toContain('a day must be written as')
    }
    const asBuyer = await market.rest('DELETE', '/v1/seller/bills/test', { key: ada.buyerKey })
    expect(codeOf(asBuyer)).toBe('wrong_key_type')
  })
})

describe('a call that failed for its buyer', () => {
  it('is a likely cause where the provider billed it', async () => {
    await serve(ada, [{ ago: 1, list: 1_000_000 }])
    const at = new Date(market.plane.clock.now() - DAY)
    await sql`insert into health_log (id, at, node, offer, seller_account, model, rid, error_class, detail, action)
      values (${`hlt_${offer.slice(4)}`}, ${at}, 'n', ${offer}, ${ada.seller.account}, 'gpt-test',
        ${market.plane.ids.ulid()}, 'timeout', 'late', 'counted')`.execute(market.plane.db)
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,1.9`)
    expect((await drift()).rows).toMatchObject([{ calls: 1, failedCalls: 1, cause: 'failed_calls' }])
  })
})

describe('a bill by an admin key', () => {
  const set = (id: Reporter, bills: object) =>
    fetch(new URL('/__sandbox/bills', reporters.get(id)?.url), { method: 'POST', body: JSON.stringify(bills) })
  const get = (id: string, key = ADMIN_KEY) =>
    invoke(market.plane, ada.seller, fetchBill, { provider: id, adminKey: key, days: 30 })

  it.each(REPORTERS)(
    'is read from %s over all of its pages, and is stored once for any number of fetches',
    async (id) => {
      const line = id === 'openrouter' ? '' : 'input'
      // Two projects, tiers or endpoints have a line each.
      const lines = [1, 9, 9, 20].map((ago) => ({ day: day(ago), model: 'gpt-test', line, usd: 0.125 * ago }))
      await set(id, { lines: [...lines, { day: day(0), model: 'gpt-test', line, usd: 99 }] })
      for (let time = 0; time < 2; time++) {
        expect(await get(id)).toMatchObject({ lines: 3, firstDay: day(20), lastDay: day(1), billedUsd: '4.875' })
        expect((await drift()).billedUsd).toBe('4.875')
      }
      const asked = reporters.get(id)?.requests.list() ?? []
      const reports = asked.filter(({ path }) => /costs|cost_report|activity/.test(path))
      expect(reports.length).toBeGreaterThanOrEqual(id === 'openrouter' ? 1 : 5)
    },
  )

  it('keeps the key out of the tables', async () => {
    await set('openrouter', { lines: [{ day: day(1), model: 'm', line: '', usd: 1 }] })
    await get('openrouter')
    const found = await sql<{ text: string }>`select a::text as text from audit_log a
      union all select b::text from provider_bill b`.execute(market.plane.db)
    expect(found.rows.length).toBeGreaterThan(0)
    expect(found.rows.filter(({ text }) => text.includes(ADMIN_KEY))).toEqual([])
  })

  it.each<[string, object, string]>([
    ['text that is not JSON', { raw: { status: 200, text: '<html>' } }, 'page 1, it is not JSON'],
    ['a malformed bucket', { raw: { status: 200, text: '{"data":[{"start_time":1}]}' } }, 'page 1, Bucket 1'],
    ['an empty list', { raw: { status: 200, text: '[]' } }, 'page 1, The report: its form is unknown'],
    ['an error', { raw: { status: 500, text: '{}' } }, 'the provider did not send it'],
    ['a rate limit', { raw: { status: 429, text: '{}' } }, 'the provider limits the rate of the key'],
    [
      'the same page for ever',
      { raw: { status: 200, text: '{"data":[],"has_more":true,"next_page":"again"}' } },
      'it names a page twice',
    ],
    [
      'a negative cost',
      { lines: [{ day: day0(1), model: 'm', line: 'input', usd: -1 }] },
      'the cost must not be negative',
    ],
    ['no costs', { lines: [] }, 'it has no lines'],
  ])('that answers %s fails with the reason, and no part of it is stored', async (_name, bills, reason) => {
    await set('openai', bills)
    const error = await refusal(get('openai'))
    expect(error).toContain('The report could not be read: ')
    expect(error).toContain(reason)
    expect(await stored()).toBe(0)
  })

  it('is requested only from a provider with a report, and a refused key is reported as such', async () => {
    expect(await refusal(get('test'))).toContain('Only these providers have a report')
    await set('openai', { lines: [] })
    const error = await refusal(get('openai', 'sk-ordinary-key'))
    expect(error).toContain('the provider refused the key')
    expect(error).not.toContain('sk-ordinary-key')
    expect(new Secret(ADMIN_KEY).reveal()).toBe(ADMIN_KEY)
  })
})

/** A day before today by the real clock, for rows that are written before the market starts. */
function day0(ago: number): string {
  return utcDay(Date.now() - ago * DAY)
}

describe('operators', () => {
  it('reports providers whose bills, or whose own answers, differ by more than 1%', async () => {
    await serve(ada, [
      { ago: 1, list: 1_000_000 },
      { ago: 0, list: 1_000_000, own: '1030000000000' },
      // A call that failed for its buyer may still cost its seller.
      {
        ago: 0,
        list: 0,
        own: '70000000000',
        changes: {
          outcome: 'failed',
          offer: null,
          sellerAccount: null,
          provider: null,
          chargeMicro: '0',
          sellerNetMicro: '0',
          feeMicro: '0',
          attempts: [{ offer, provider: 'test', status: 200, ms: 1, errorClass: null }],
        },
      },
    ])
    const yesterday = { from: day(1), to: day(1) }
    const own = async () =>
      (await invoke(market.plane, operator, listProviderDrift, yesterday)).filter(({ provider }) => provider === 'test')
    await sql`delete from provider_bill`.execute(market.plane.db)
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,1.005`)
    expect((await own()).filter(({ source }) => source === 'bills')).toEqual([])
    await bring(`date,model,cost_usd\n${day(1)},gpt-test,1.5`)
    expect(await own()).toMatchObject([
      { source: 'bills', sellers: 1, calls: 1, billedUsd: '1.5', listUsd: '1', differencePct: 50 },
      { source: 'answers', sellers: null, calls: 2, billedUsd: '1.1', listUsd: '1', differencePct: 10 },
    ])
    const gauged: object[] = []
    const found = new Map<string, number>()
    const metrics = {
      ...market.plane.metrics,
      drift: (rows: readonly object[]) => gauged.push(...rows),
      findings: (kind: string, count: number) => found.set(kind, count),
    }
    await watchDrift({ ...market.plane, metrics })
    expect(gauged).toEqual(
      expect.arrayContaining([
        { provider: 'test', source: 'bills', percent: 50 },
        { provider: 'test', source: 'answers', percent: 10 },
      ]),
    )
    expect(found.get('provider_drift')).toBeGreaterThan(0)
    // Other work with the same key, and days without a call, do not count in the metric.
    const sold = `${day(1)},gpt-test,1\n${day(1)},gpt-test?api-version=2025-01-01,0.5`
    await bring(`date,model,cost_usd\n${sold}\n${day(1)},other,900\n${day(9)},gpt-test,900`)
    gauged.splice(0)
    await watchDrift({ ...market.plane, metrics })
    expect(gauged).toEqual(expect.arrayContaining([{ provider: 'test', source: 'bills', percent: 50 }]))
    const { stated } = await drift()
    expect(stated).toMatchObject([{ provider: 'test', calls: 1, statedUsd: '1.03', listUsd: '1', differencePct: 3 }])
  })
})
