import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { exactMoney } from '#control-plane/dashboard/data/format.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { DAY } from '#shared/clock.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { Doors, Wallet } from '#test/support/market/routed-market.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { openPerson, waitForScreen } from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'
import { savedBy } from '#test/support/page/table-file.ts'
import { until } from '#test/support/run/until.ts'

const MODEL = 'figures'
const PROVIDER = 'fig-a'
/** Number of calls of the model. A share needs five. */
const ANSWERED = 6
const FAILED = 1
const CREDIT_USD = 1
const BOOKED_MS = 60_000

let network: Network
let browser: Browser
let provider: SampleProvider
let site: string
let doors: Doors
let buyer: Wallet
let seller: Wallet
/** The cost of all calls in micro-USD, from their bodies. */
let spent = 0

const Said = z.object({ usage: z.object({ buyer_cost_micro: z.number() }) })
const Usage = z.object({ items: z.array(z.object({ buyer_cost_micro: z.number(), outcome: z.string() }).loose()) })
const Book = z.object({ offers: z.array(z.unknown()) })
const Market = z.object({
  model: z.string(),
  requests_24h: z.number().nullable(),
  volume_24h: z.number().nullable(),
  uptime_pct: z.number().nullable(),
})

const say = (model: string) =>
  doors.post('/v1/chat/completions', buyer.buyerKey, {
    model,
    max_tokens: 16,
    messages: [{ role: 'user', content: 'Say hello.' }],
  })

/** The public row of the model. */
async function marketRow(): Promise<z.infer<typeof Market> | undefined> {
  const answer = await fetch(`${network.sandbox.api_base_url}/api/markets?model=${MODEL}`)
  return z.object({ markets: z.array(Market) }).parse(await answer.json()).markets[0]
}

const graphql = async (key: string, query: string): Promise<unknown> => {
  const answer = await askMarket(site, { method: 'POST', path: '/graphql', key, body: { query } })
  const { data, errors } = z.object({ data: z.unknown(), errors: z.unknown().optional() }).parse(answer)
  expect(errors).toBeUndefined()
  return data
}

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
  doors = doorsOf(network)
  provider = await createSampleProvider({ host: '127.0.0.68', port: 0, name: PROVIDER })
  const host = { id: PROVIDER, name: 'Figures', baseUrl: provider.url, isTrusted: true, endpoints: null }
  await doors.operator('provider.put', host)
  await doors.operator('catalog.import', { source: 'test', models: [textModel(MODEL)] })
  buyer = await doors.user(CREDIT_USD)
  seller = await doors.user()
  const offer = { model: MODEL, api_key: 'sk-figures', seller_base_url: provider.url, discount: 30 }
  await doors.post('/v1/seller/offers', seller.sellerKey, offer)
  await until('the offer is on sale', BOOKED_MS, async () => {
    const answer = await fetch(`${network.sandbox.api_base_url}/api/markets/${MODEL}`)
    return Book.safeParse(await answer.json()).data?.offers.length === 1
  })
  for (let call = 0; call < ANSWERED; call += 1) {
    spent += Said.parse(await (await say(MODEL)).json()).usage.buyer_cost_micro
  }
  expect((await say('sandbox/server-error')).status).toBeGreaterThanOrEqual(500)
  await until('every call is booked and summed', BOOKED_MS, async () => {
    const { items } = Usage.parse(await doors.get('/v1/buyer/usage?period=24h', buyer.buyerKey))
    return items.length === ANSWERED + FAILED && (await marketRow())?.requests_24h === ANSWERED
  })
})

afterAll(async () => {
  await browser.close()
  await provider.close()
})

type Line = Readonly<Record<string, string>>

/** The lines of the file that a table's button saves, by the heads of its columns without their units. */
async function fileOf(page: Page, table: string): Promise<readonly Line[]> {
  const [head = '', ...lines] = await savedBy(page, table)
  const names = cellsOf(head).map((name) => name.replace(/ \([^)]*\)$/, ''))
  return lines.map((line) => Object.fromEntries(cellsOf(line).map((cell, at) => [names[at] ?? '', cell])))
}

/** The cells of a line. A cell with a comma is in quotes. */
const cellsOf = (line: string) =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

const sumOf = (lines: readonly Line[], name: string) => lines.reduce((sum, line) => sum + Number(line[name]), 0)
/** Dollars in a file, in micro-USD. */
const microOf = (lines: readonly Line[], name: string) => Math.round(sumOf(lines, name) * 1_000_000)

/** The figure under a label: its exact amount, or its text. */
async function figure(page: Page, label: string | RegExp): Promise<string> {
  const named = page.locator('dl.stat').filter({ has: page.locator('dt', { hasText: label }) })
  const value = named.locator('dd').first()
  await value.waitFor()
  const amount = value.locator('[title]').first()
  const isAmount = (await amount.count()) > 0
  return (isAmount ? await amount.getAttribute('title') : await value.textContent()) ?? ''
}

async function openScreen(key: string | undefined, path: string, read: (page: Page) => Promise<void>): Promise<void> {
  const { context, page, complaints } = await openPerson(browser, { url: site, ...(key === undefined ? {} : { key }) })
  await page.goto(site + path)
  await waitForScreen(page)
  await read(page)
  expect(complaints).toEqual([])
  await context.close()
}

describe('a figure is one number on every screen, in each file and at every door', () => {
  it('of a buyer: calls, failed calls, spend and the remaining credit', async () => {
    const { buyerKey } = buyer
    const left = CREDIT_USD * 1_000_000 - spent
    expect(await doors.get('/v1/buyer/me', buyerKey)).toMatchObject({ credit_balance_usdc: String(left) })
    expect(
      await graphql(
        buyerKey,
        `{ savings(period: "24h") { requests spentMicro } usageBuckets(interval: "day", groupBy: "provider", filter: { period: "24h" }) { group requests failedRequests buyerCostMicro } }`,
      ),
    ).toMatchObject({ savings: { requests: ANSWERED, spentMicro: spent } })
    await openScreen(buyerKey, '/buyer?period=24h', async (page) => {
      expect(await figure(page, /^Spent in/)).toBe(exactMoney(spent))
      expect(await figure(page, 'Available credit')).toBe(exactMoney(left))
      const models = await fileOf(page, 'Spending by model')
      expect([sumOf(models, 'Charged calls'), microOf(models, 'Spent')]).toEqual([ANSWERED, spent])
    })
    for (const group of ['', 'model', 'key', 'provider', 'endpoint']) {
      await openScreen(buyerKey, `/buyer/activity?period=24h&group=${group === '' ? 'none' : group}`, async (page) => {
        const groups = await fileOf(page, 'Activity')
        expect([sumOf(groups, 'Calls'), sumOf(groups, 'Failed'), microOf(groups, 'Spent')], group).toEqual([
          ANSWERED + FAILED,
          FAILED,
          spent,
        ])
        if (group === 'provider') expect(groups.filter((line) => line['Provider'] === 'none')).toEqual([])
      })
    }
    await openScreen(buyerKey, '/buyer/logs?period=24h', async (page) => {
      const calls = await fileOf(page, 'Calls')
      expect([calls.length, sumOf(calls, 'buyer_cost_micro')]).toEqual([ANSWERED + FAILED, spent])
    })
    await openScreen(buyerKey, '/buyer/keys', async (page) => {
      expect(microOf(await fileOf(page, 'Keys'), 'Spent in 30 days')).toBe(spent)
    })
    await openScreen(buyerKey, '/buyer/credit', async (page) => {
      expect(await figure(page, 'Available credit')).toBe(exactMoney(left))
      const ledger = await fileOf(page, 'Ledger')
      expect(microOf(ledger, 'Amount')).toBe(left)
      expect(ledger.filter((line) => line['Kind'] === 'settle')).toHaveLength(ANSWERED)
    })
  })

  it('of a seller: sales, earnings and payouts', async () => {
    const { sellerKey } = seller
    const read = z.object({ earnings: z.object({ totalEarnedUsdc: z.string(), pendingUsdc: z.string() }) })
    const { earnings } = read.parse(await graphql(sellerKey, '{ earnings { totalEarnedUsdc pendingUsdc } }'))
    const earned = Number(earnings.totalEarnedUsdc)
    expect(earnings.pendingUsdc).toBe(earnings.totalEarnedUsdc)
    expect(await doors.get('/v1/seller/earnings', sellerKey)).toMatchObject({ total_earned_usdc: String(earned) })
    expect(earned).toBeGreaterThan(0)
    expect(earned).toBeLessThan(spent)
    await openScreen(sellerKey, '/seller/earnings', async (page) => {
      expect(await figure(page, 'Earned')).toBe(exactMoney(earned))
      const rows = await fileOf(page, 'Sales')
      expect([rows.length, sumOf(rows, 'seller_earned_micro')]).toEqual([ANSWERED, earned])
      const models = await fileOf(page, 'Earnings by model')
      expect([sumOf(models, 'Calls'), microOf(models, 'Net')]).toEqual([ANSWERED, earned])
      expect(microOf(models, 'Gross')).toBe(spent)
      expect(microOf(models, 'Fee')).toBe(spent - earned)
      expect(await figure(page, /^Gross$/)).toBe(exactMoney(spent))
      expect(await figure(page, /^Fee$/)).toBe(exactMoney(spent - earned))
      expect(await figure(page, /^Net$/)).toBe(exactMoney(earned))
    })
    await openScreen(sellerKey, '/seller/offers', async (page) => {
      const [line] = await fileOf(page, 'Offers')
      expect(line).toMatchObject({ Model: MODEL, 'Calls 24 h': String(ANSWERED) })
      const amounts = ['Gross 24 h', 'Fee 24 h', 'Net 24 h'].map((name) =>
        microOf(line === undefined ? [] : [line], name),
      )
      expect(amounts).toEqual([spent, spent - earned, earned])
    })
    await openScreen(sellerKey, '/seller/payouts', async (page) => {
      expect(await figure(page, 'To be paid')).toBe(exactMoney(earned))
      expect(microOf(await fileOf(page, 'Balances by address'), 'Earned')).toBe(earned)
    })
  })

  it('of the market: calls, the spend on a model, and the share of answered calls', async () => {
    const row = await marketRow()
    expect(row).toMatchObject({ requests_24h: ANSWERED, volume_24h: spent, uptime_pct: 100 })
    const read = z.object({
      market: z.object({ requests24h: z.number(), volume24hMicro: z.string(), uptimePct: z.number() }),
      marketSeries: z.array(z.object({ calls: z.number(), volumeMicro: z.string(), uptimePct: z.number() })),
    })
    const shown = read.parse(
      await graphql(
        buyer.buyerKey,
        `{ market(model: "${MODEL}") { requests24h volume24hMicro uptimePct }
          marketSeries(models: ["${MODEL}"], bucket: period) { calls volumeMicro uptimePct } }`,
      ),
    )
    const from = Date.now() - 89 * DAY
    const long = z.object({
      marketSeries: z.array(
        z.object({ provider: z.string(), uptimePct: z.number().nullable(), uptimeBase: z.number() }),
      ),
    })
    const { marketSeries: periods } = long.parse(
      await graphql(
        buyer.buyerKey,
        `{ marketSeries(from: ${from}, groupBy: [provider], bucket: period) { provider uptimePct uptimeBase } }`,
      ),
    )
    const own = periods.find((one) => one.provider === PROVIDER)
    expect(own).toMatchObject({ uptimePct: 100, uptimeBase: ANSWERED })
    expect(shown.market).toEqual({ requests24h: ANSWERED, volume24hMicro: String(spent), uptimePct: 100 })
    expect(shown.marketSeries).toEqual([{ calls: ANSWERED, volumeMicro: String(spent), uptimePct: 100 }])
    await openScreen(undefined, `/models?search=${MODEL}`, async (page) => {
      const [line] = (await fileOf(page, 'Models')).filter((one) => one['Model'] === MODEL)
      expect(line).toMatchObject({ 'Calls 24 h': String(ANSWERED), 'Answered 24 h': '100' })
    })
    await openScreen(undefined, `/model/${MODEL}`, async (page) => {
      expect(await figure(page, 'Calls answered, 24 h')).toBe('100%')
      const [line] = await fileOf(page, 'Providers')
      expect(line).toMatchObject({ Provider: PROVIDER, 'Uptime 24 h': '100' })
    })
    await openScreen(undefined, '/status', async (page) => {
      const models = await fileOf(page, 'Uptime of models')
      expect(models.find((one) => one['Model'] === MODEL)).toMatchObject({ Answered: '100', Calls: String(ANSWERED) })
      const providers = await fileOf(page, 'Uptime of providers')
      expect(providers.find((one) => one['Provider'] === PROVIDER)).toMatchObject({ Uptime: '100' })
      const days = await fileOf(page, 'Days')
      expect(days.find((one) => one['Part'] === PROVIDER)).toMatchObject({ Uptime: '100' })
    })
    let calls = ''
    await openScreen(undefined, '/', async (page) => {
      calls = await figure(page, 'Calls in 24 hours')
    })
    await openScreen(network.sandbox.management_key, '/operator', async (page) => {
      expect(await figure(page, /^Calls$/)).toBe(calls)
    })
  })
})
