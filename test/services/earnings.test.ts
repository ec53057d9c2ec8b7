import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { clearPayoutHold, setPayoutHold } from '#control-plane/db/payout-holds.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { getEarnings } from '#control-plane/services/earnings/earnings.ts'
import { listSalesHistory } from '#control-plane/services/earnings/sales.ts'
import { EXPORT_LIFETIME_MS } from '#control-plane/services/exports/export-link.ts'
import { getPayoutPosition } from '#control-plane/services/payouts/payout-position.ts'
import { requestPayout } from '#control-plane/services/payouts/request-payout.ts'
import { DAY, utcDay } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { mediaUnitsOf } from '#shared/media-units.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, pathOfLink, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

let market: TestMarket
let ada: Person
let bob: Person
let offer: string

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  offer = (await listOffer(market, ada.seller, { payoutAddress: bob.wallet })).id
  // Today has two sales of one model and one of another. Others are a week, a month and half a year old. One was free
  // and one call failed.
  await sell([
    { daysAgo: 0, charge: 1_000 },
    { daysAgo: 0, charge: 501 },
    { daysAgo: 0, charge: 250, model: 'claude-test' },
    { daysAgo: 5, charge: 2_000 },
    { daysAgo: 20, charge: 4_000 },
    { daysAgo: 180, charge: 8_000 },
    { daysAgo: 1, charge: 0, changes: { outcome: 'succeeded', errorCode: null } },
    { daysAgo: 1, charge: 0 },
  ])
})
afterAll(() => market.stop())

type SaleFields = {
  readonly daysAgo: number
  readonly charge: number
  readonly model?: string
  readonly changes?: object
}

async function sell(sales: readonly SaleFields[], seller: Person = ada): Promise<string[]> {
  const now = market.plane.clock.now()
  const made = sales.map(({ daysAgo, charge, model = 'gpt-test', changes = {} }) => {
    const startedAt = now - daysAgo * DAY
    const rid = createIds({ now: () => startedAt }).ulid()
    const input = { rid, charge, model, startedAt, account: bob.buyer.account, sellerAccount: seller.seller.account }
    return { rid, text: eventText(input, { offer, ...changes }) }
  })
  await postBatch(market.plane, { events: made.map(({ text }) => text), source: 'test' })
  return made.map(({ rid }) => rid)
}

/** A seller's share of charges after a fee of five percent, each rounded down. */
const net = (...charges: number[]) => charges.reduce((sum, charge) => sum + Math.floor(charge * 0.95), 0)

describe('an answer about earnings', () => {
  it('is of one moment: a sale is in the list and in the sum, or in neither', async () => {
    const carol = await market.person()
    let isDone = false
    const selling = (async () => {
      for (let at = 0; at < 18; at += 1)
        await sell([{ daysAgo: 0, charge: 1_000, changes: { offer: 'ofr_of_carol' } }], carol)
      isDone = true
    })()
    const torn: unknown[] = []
    while (!isDone) {
      const { totalEarnedUsdc, recentSales } = await invoke(market.plane, carol.seller, getEarnings, {})
      const listed = recentSales.reduce((sum, { sellerCostUsdc }) => sum + Number(sellerCostUsdc), 0)
      if (Number(totalEarnedUsdc) !== listed) torn.push([totalEarnedUsdc, listed])
    }
    await selling
    expect(torn).toEqual([])
  })
})

describe('earnings', () => {
  it.each<[string, number[], number]>([
    ['7d', [1_000, 501, 250, 2_000], 7],
    ['30d', [1_000, 501, 250, 2_000, 4_000], 30],
    ['90d', [1_000, 501, 250, 2_000, 4_000], 90],
    ['lifetime', [1_000, 501, 250, 2_000, 4_000, 8_000], 5],
  ])('over %s add up in every number', async (range, charges, days) => {
    const earnings = await invoke(market.plane, ada.seller, getEarnings, { range })
    const total = net(...charges)
    const lifetime = String(net(1_000, 501, 250, 2_000, 4_000, 8_000))
    expect([earnings.totalEarnedUsdc, earnings.pendingUsdc]).toEqual([lifetime, lifetime])
    expect([earnings.inFlightUsdc, earnings.paidUsdc]).toEqual(['0', '0'])
    expect(earnings.daily).toHaveLength(days)
    const gross = charges.reduce((sum, charge) => sum + charge, 0)
    for (const lines of [earnings.daily, earnings.byModel]) {
      expect(lines.reduce((sum, { grossMicro }) => sum + (grossMicro ?? Number.NaN), 0)).toBe(gross)
      for (const { grossMicro, feeMicro, earnedMicro } of lines) expect(grossMicro).toBe((feeMicro ?? 0) + earnedMicro)
    }
    expect(earnings.daily.reduce((sum, day) => sum + day.earnedMicro, 0)).toBe(total)
    expect(earnings.byModel.reduce((sum, model) => sum + model.earnedMicro, 0)).toBe(total)
    const requests = charges.length + 1
    expect(earnings.share).toMatchObject({
      earnedUsd: total / 1e6,
      earnedMicro: total,
      grossMicro: gross,
      feeMicro: gross - total,
      requests,
      topModel: 'gpt-test',
      tokens: 200 * requests,
    })
    const top = earnings.byModel[0]?.earnedMicro ?? 0
    expect(earnings.share.shareBps).toBe(Math.floor((top * 10_000) / total))
    expect(earnings.daily.at(-1)).toEqual({
      day: utcDay(market.plane.clock.now()),
      earnedMicro: net(1_000, 501, 250),
      earnedUsd: net(1_000, 501, 250) / 1e6,
      grossMicro: 1_751,
      feeMicro: 1_751 - net(1_000, 501, 250),
      requests: 3,
      inputTokens: 450,
      outputTokens: 150,
      totalTokens: 600,
      ...mediaUnitsOf({}),
    })
    expect(earnings.recentSales).toHaveLength(7)
    // This market has no treasury, so a request for a payout answers `held`.
    const reason = 'This market makes no payouts.'
    expect(earnings.payoutHold).toEqual({ code: 'not_set_up', reason, since: null })
    const asked = await invoke(market.plane, ada.seller, requestPayout, {})
    expect([asked.status, asked.reason]).toEqual(['held', earnings.payoutHold?.code])
  })

  it("equal the ledger's, to the micro-USD", async () => {
    const { rows } = await sql<{ earned: bigint }>`select sum(e.amount)::bigint as earned from ledger_entry e
      join ledger_tx t on t.id = e.tx where e.account = ${ada.seller.account}`.execute(market.plane.db)
    const earnings = await invoke(market.plane, ada.seller, getEarnings, { range: 'lifetime' })
    expect(earnings.totalEarnedUsdc).toBe(String(rows[0]?.earned))
    expect(earnings.pendingUsdc).toBe(String(rows[0]?.earned))
  })

  it('show that payouts wait for a check of the books, without details', async () => {
    await setPayoutHold(market.plane.db, 'hold-1', 'invariant:I3')
    const { payoutHold } = await invoke(market.plane, ada.seller, getEarnings, {})
    const position = await invoke(market.plane, ada.seller, getPayoutPosition, {})
    await clearPayoutHold(market.plane.db, { id: 'hold-1', by: 'test', reason: 'looked at' })
    // The missing treasury is the first reason: this market pays nothing out.
    expect(payoutHold).toMatchObject({ code: 'not_set_up' })
    expect(position.payoutHold).toEqual(payoutHold)
  })

  it('stay on the account, by recipient, until payouts begin', async () => {
    const earned = String(net(1_000, 501, 250, 2_000, 4_000, 8_000))
    expect(await invoke(market.plane, ada.seller, getPayoutPosition, {})).toEqual({
      availableUsdc: earned,
      inFlightUsdc: '0',
      paidUsdc: '0',
      thresholdUsdc: '1000000',
      // This market has no treasury.
      nextPayoutAt: null,
      payoutEveryMs: market.plane.settings.payouts.everyMs,
      holdMs: market.plane.settings.payouts.holdMs,
      payoutStop: 'not_set_up',
      payoutHold: { code: 'not_set_up', reason: 'This market makes no payouts.', since: null },
      recipients: [
        {
          recipient: bob.wallet,
          earnedUsdc: earned,
          availableUsdc: earned,
          payableUsdc: '0',
          inFlightUsdc: '0',
          paidUsdc: '0',
          // The address was new with the offer.
          holdReason: 'unverified_address',
          coolsUntil: expect.any(Number),
        },
      ],
      payouts: [],
      nextToken: null,
      cursorOf: expect.any(Function),
    })
    const nothing = await invoke(market.plane, bob.seller, getEarnings, { range: '7d' })
    expect(nothing).toMatchObject({ totalEarnedUsdc: '0', pendingUsdc: '0', byModel: [], recentSales: [] })
    expect(nothing.share).toEqual({
      earnedUsd: 0,
      earnedMicro: 0,
      grossMicro: 0,
      feeMicro: 0,
      requests: 0,
      tokens: 0,
      topModel: null,
      shareBps: 0,
    })
  })
})

describe('sales', () => {
  it('are listed from the newest down, each once, with its price', async () => {
    const seen: string[] = []
    let cursor: string | undefined
    for (let page = 0; page < 10; page++) {
      const { recentSales, nextToken } = await invoke(market.plane, ada.seller, listSalesHistory, {
        limit: 2,
        ...(cursor === undefined ? {} : { cursor }),
      })
      seen.push(...recentSales.map(({ id }) => id))
      if (nextToken === null) break
      cursor = nextToken
    }
    expect(seen).toHaveLength(7)
    expect([...seen].sort((a, b) => b.localeCompare(a))).toEqual(seen)
    const { recentSales } = await invoke(market.plane, ada.seller, listSalesHistory, {})
    expect(recentSales.find(({ model }) => model === 'claude-test')).toMatchObject({
      offerId: offer,
      settlementStatus: 'accrued',
      sellerCostUsdc: String(net(250)),
      grossMicro: 250,
      feeMicro: 250 - net(250),
      inputTokens: 150,
      outputTokens: 50,
      cacheReadTokens: 30,
      txHash: null,
    })
  })

  it('refuse malformed ranges, limits and cursors, and cursors of another seller', async () => {
    const carol = await market.person()
    await sell(
      [
        { daysAgo: 0, charge: 100 },
        { daysAgo: 0, charge: 100 },
      ],
      carol,
    )
    const first = await market.rest('GET', '/v1/seller/earnings/history?limit=1', { key: carol.sellerKey })
    const foreign = String((first.body as { next_token: string }).next_token)
    const edited = `${foreign.startsWith('0') ? '1' : '0'}${foreign.slice(1)}`
    const ask = (path: string, key = ada.sellerKey) => market.rest('GET', `/v1/seller/${path}`, { key })
    expect((await ask(`earnings/history?cursor=${foreign}`, carol.sellerKey)).status).toBe(200)
    for (const [path, key] of [
      ['earnings?range=1d', ada.sellerKey],
      ['earnings?range=7d&range=30d', ada.sellerKey],
      ['earnings/history?limit=-1', ada.sellerKey],
      ['earnings/history?limit=0', ada.sellerKey],
      ['earnings/history?limit=1000000000', ada.sellerKey],
      ['earnings/history?limit=1.5', ada.sellerKey],
      ['earnings/history?cursor=garbage', ada.sellerKey],
      ['earnings/history?cursor=', ada.sellerKey],
      [`earnings/history?cursor=${'x'.repeat(500)}`, ada.sellerKey],
      [`earnings/history?cursor=${foreign}`, ada.sellerKey],
      [`earnings/history?cursor=${edited}`, carol.sellerKey],
      [`earnings/history?cursor=${foreign.split('~')[0]}`, carol.sellerKey],
      ['health-log?next_token=garbage', ada.sellerKey],
      [`health-log?next_token=${foreign}`, carol.sellerKey],
      ['offers?next_token=garbage', ada.sellerKey],
      ['usage/export?from=2026-02-30', ada.sellerKey],
      ['usage/export?from=-5', ada.sellerKey],
      ['usage/export?limit=0', ada.sellerKey],
      ['usage/export?format=xlsx', ada.sellerKey],
      [`usage/export?from=${Date.now()}&to=1`, ada.sellerKey],
    ] as const) {
      const answer = await ask(path, key)
      expect([path, answer.status, codeOf(answer)]).toEqual([path, 400, 'invalid_request'])
    }
  })
})

describe('the usage file', () => {
  const asked = async (query = '') => {
    const answer = await fetch(`${market.url}/v1/seller/usage/export${query}`, {
      headers: { authorization: `Bearer ${ada.sellerKey}` },
      redirect: 'manual',
    })
    return { status: answer.status, path: pathOfLink(market, answer.headers.get('location') ?? '') }
  }

  it('is a redirect to a link that needs no key, lives five minutes, and opens nothing when it is changed', async () => {
    const { status, path } = await asked('?from=1')
    expect(status).toBe(302)
    const file = await market.rest('GET', path)
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
    expect(file.headers.get('content-disposition')).toBe('attachment; filename="sales.csv"')
    const lines = file.text.trimEnd().split('\r\n')
    expect(lines).toHaveLength(8)
    const [columns = '', ...rows] = lines
    const fields = columns.split(',')
    const records = rows.map((row) => Object.fromEntries(row.split(',').map((cell, at) => [fields[at] ?? '', cell])))
    const total = records.reduce((sum, row) => sum + Number(row['seller_earned_micro']), 0)
    expect(total).toBe(net(1_000, 501, 250, 2_000, 4_000, 8_000))
    expect(records[0]).toMatchObject({
      model: 'gpt-test',
      offer_id: offer,
      input_tokens: '150',
      output_tokens: '50',
      cache_read_tokens: '30',
      buyer_cost_micro: '8000',
      settlement_status: 'accrued',
      tx_hash: '',
      settlement_type: 'credit',
    })
    expect(new Date(records[0]?.['created_at'] ?? '').toISOString()).toBe(records[0]?.['created_at'])
    expect((await market.rest('GET', `${path}x`)).status).toBe(404)
    market.advance(EXPORT_LIFETIME_MS)
    expect((await market.rest('GET', path)).status).toBe(404)
    // Just before midnight, the sales of today would be yesterday's for the other tests.
    market.advance(-EXPORT_LIFETIME_MS)
  })

  it('respects its dates and its limit', async () => {
    const linesOf = async (query: string) =>
      (await market.rest('GET', (await asked(query)).path)).text.trimEnd().split('\r\n').length - 1
    const now = market.plane.clock.now()
    expect(await linesOf('')).toBe(6)
    expect(await linesOf(`?from=${now - 2 * DAY}`)).toBe(4)
    expect(await linesOf(`?from=1&to=${now - 2 * DAY}`)).toBe(3)
    expect(await linesOf('?from=1&limit=2')).toBe(2)
  })
})

describe('a sale', () => {
  it('shows token prices in US dollars, and a call on a lent key by the request', async () => {
    const { version } = await market.plane.db
      .selectFrom('model_price')
      .select('version')
      .where('model', '=', 'gpt-test')
      .executeTakeFirstOrThrow()
    const eve = await market.person()
    await sell([{ daysAgo: 0, charge: 700, changes: { priceVersion: version, keptBps: 5_000 } }], eve)
    await sell([{ daysAgo: 0, charge: 900, model: 'resource/sample' }], eve)
    const answer = await market.rest('GET', '/v1/seller/earnings', { key: eve.sellerKey })
    const { recent_sales: sales } = z.object({ recent_sales: z.array(z.unknown()) }).parse(answer.body)
    // Half of the reference price: 250,000 and 2,000,000 micro-USD a million.
    expect(sales.find((sale) => z.object({ model: z.literal('gpt-test') }).safeParse(sale).success)).toMatchObject({
      effective_input_per_1m: 0.125,
      effective_output_per_1m: 1,
      media_unit: null,
      effective_media_unit_price: null,
    })
    expect(
      sales.find((sale) => z.object({ model: z.literal('resource/sample') }).safeParse(sale).success),
    ).toMatchObject({
      effective_input_per_1m: null,
      effective_output_per_1m: null,
      media_unit: 'per request',
      effective_media_unit_price: 900,
      effective_unit_prices: [{ unit: 'request', usd: 0.0009 }],
    })
  })
})
