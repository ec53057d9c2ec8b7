import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { insertHealthEvents } from '#control-plane/db/health-log.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { OutageReport } from '#control-plane/services/offers/offer-outages.ts'
import { getOutages } from '#control-plane/services/offers/offer-outages.ts'
import { DAY, MINUTE } from '#shared/clock.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

const ACTIONS = ['counted', 'backed_off', 'recovered', 'reset', 'credential_rotated', 'delisted', 'flagged'] as const
const QUIET_MINUTES = 5

type Line = {
  readonly offer: string
  readonly minute: number
  readonly action: (typeof ACTIONS)[number]
  /** Minutes of a back-off. */
  readonly pause?: number
  readonly errorClass?: 'timeout' | 'overloaded'
}

let market: TestMarket
let ada: Person
let bob: Person
let offers: readonly [string, string]
/** Days before now at which the lines of a test begin: each test has its own. */
let daysAgo = 80

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  const [first, second] = [
    await listOffer(market, ada.seller),
    await listOffer(market, ada.seller, { model: 'claude-test' }),
  ]
  offers = [first.id, second.id]
})
afterAll(() => market.stop())

/** Stores lines of one day, and returns the report of its first `minutes`. */
async function reportOf(
  lines: readonly Line[],
  minutes = 24 * 60,
  by: Person = ada,
): Promise<OutageReport & { readonly start: number }> {
  const start = market.plane.clock.now() - daysAgo * DAY
  daysAgo -= 1
  const events = lines.map(({ offer, minute, action, pause, errorClass }) => ({
    id: market.plane.ids.make('hlt'),
    at: start + minute * MINUTE,
    node: 'test',
    offer,
    model: 'gpt-test',
    rid: null,
    errorClass: errorClass ?? null,
    statusCode: action === 'backed_off' ? 503 : null,
    detail: action === 'backed_off' ? `busy ${minute}` : '',
    action,
    backedOffUntil: pause === undefined ? null : start + (minute + pause) * MINUTE,
  }))
  await insertHealthEvents(market.plane.db, events)
  const report = await invoke(market.plane, by.seller, getOutages, { since: start, until: start + minutes * MINUTE })
  return { ...report, start }
}

/** The outages of an offer in minutes, from lines in the order of time. */
function expectedOutages(lines: readonly Line[]): { from: number; to: number }[] {
  const outages: { from: number; to: number }[] = []
  for (const [at, { minute, action, pause = 0 }] of lines.entries()) {
    if (action !== 'backed_off') continue
    const up = lines.slice(at + 1).find((later) => !['backed_off', 'counted', 'flagged'].includes(later.action))
    const to = Math.min(minute + pause, up?.minute ?? Number.POSITIVE_INFINITY)
    const last = outages.at(-1)
    if (last !== undefined && minute <= last.to + QUIET_MINUTES) last.to = Math.max(last.to, to)
    else outages.push({ from: minute, to })
  }
  return outages
}

describe('outages of offers', () => {
  it('are back-offs that follow each other closely, until the offer is tried again or put back', async () => {
    const [first, second] = offers
    const report = await reportOf([
      { offer: first, minute: 0, action: 'counted', errorClass: 'timeout' },
      { offer: first, minute: 1, action: 'backed_off', pause: 10, errorClass: 'timeout' },
      // Tried again two minutes after the pause, and it failed once more.
      { offer: first, minute: 13, action: 'backed_off', pause: 30, errorClass: 'timeout' },
      { offer: first, minute: 20, action: 'recovered' },
      { offer: first, minute: 60, action: 'backed_off', pause: 5, errorClass: 'overloaded' },
      { offer: second, minute: 5, action: 'backed_off', pause: 15, errorClass: 'timeout' },
      // A failure without a back-off is no outage.
      { offer: second, minute: 300, action: 'counted', errorClass: 'overloaded' },
    ])
    const { start } = report
    expect(report).toMatchObject({
      since: start,
      outages: 3,
      offers: 2,
      downMs: (19 + 5 + 15) * MINUTE,
      longestMs: 19 * MINUTE,
      causes: [
        { cause: 'timeout', outages: 2 },
        { cause: 'overloaded', outages: 1 },
      ],
      ongoing: [],
    })
    expect(report.byOffer).toEqual([
      {
        offerId: first,
        model: 'gpt-test',
        outages: 2,
        backOffs: 3,
        downMs: 24 * MINUTE,
        longestMs: 19 * MINUTE,
        lastAt: start + 60 * MINUTE,
        causes: ['overloaded', 'timeout'],
      },
      expect.objectContaining({ offerId: second, outages: 1, backOffs: 1, downMs: 15 * MINUTE }),
    ])
  })

  it('go on at the end of the period, with the last answer of the provider', async () => {
    const [first] = offers
    const report = await reportOf(
      [
        { offer: first, minute: 0, action: 'backed_off', pause: 4, errorClass: 'timeout' },
        { offer: first, minute: 6, action: 'backed_off', pause: 20, errorClass: 'overloaded' },
        { offer: first, minute: 12, action: 'recovered' },
      ],
      10,
    )
    const { start } = report
    expect(report).toMatchObject({
      outages: 0,
      offers: 0,
      downMs: 0,
      longestMs: 0,
      causes: [],
      byOffer: [],
      ongoingOffers: 1,
    })
    expect(report.ongoing).toEqual([
      {
        offerId: first,
        model: 'gpt-test',
        startedAt: start,
        lastAt: start + 6 * MINUTE,
        backedOffUntil: start + 26 * MINUTE,
        backOffs: 2,
        cause: expect.stringMatching(/timeout|overloaded/),
        errorDetail: 'busy 6',
        statusCode: 503,
      },
    ])
  })

  it('list 100 offers and count all', async () => {
    const cy = await market.person()
    const many: string[] = []
    for (let offer = 0; offer < 102; offer += 1) many.push((await listOffer(market, cy.seller)).id)
    const log = many.flatMap((offer, at) => [
      { offer, minute: at, action: 'backed_off' as const, pause: 5 },
      { offer, minute: at + 200, action: 'backed_off' as const, pause: 300 },
    ])
    const report = await reportOf(log, 400, cy)
    expect([report.offers, report.byOffer.length, report.ongoingOffers, report.ongoing.length]).toEqual([
      102, 100, 102, 100,
    ])
    expect(report.ongoing[0]?.offerId).toBe(many.at(-1))
  })

  it('are those of a plain reckoning, for any log', async () => {
    const line = fc.record({
      offer: fc.constantFrom(...offers),
      minute: fc.integer({ min: 0, max: 600 }),
      action: fc.constantFrom(...ACTIONS, 'backed_off' as const, 'backed_off' as const),
      pause: fc.integer({ min: 1, max: 60 }),
    })
    const log = fc.uniqueArray(line, { selector: ({ minute }) => minute, minLength: 1, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(log, async (unsorted) => {
        const lines = unsorted.toSorted((left, right) => left.minute - right.minute)
        const report = await reportOf(lines)
        for (const offer of offers) {
          const outages = expectedOutages(lines.filter((one) => one.offer === offer))
          const shown = report.byOffer.find(({ offerId }) => offerId === offer)
          expect([shown?.outages ?? 0, shown?.downMs ?? 0]).toEqual([
            outages.length,
            outages.reduce((sum, { from, to }) => sum + to - from, 0) * MINUTE,
          ])
        }
      }),
      { numRuns: 40 },
    )
  })

  it('are of the last seven days by default, and of the caller alone', async () => {
    const own = await market.rest('GET', '/v1/seller/outages', { key: ada.sellerKey })
    expect(own.body).toMatchObject({ outages: 0, by_offer: [], ongoing: [] })
    const { since, until } = z.object({ since: z.number(), until: z.number() }).parse(own.body)
    expect(until - since).toBe(7 * DAY)
    const all = await market.rest('GET', '/v1/seller/outages?since=0', { key: ada.sellerKey })
    expect(all.body).toMatchObject({ since: 0, offers: 2 })
    const foreign = await market.rest('GET', '/v1/seller/outages?since=0', { key: bob.sellerKey })
    expect(foreign.body).toMatchObject({ outages: 0, offers: 0, by_offer: [] })
  })

  it.each(['since=5&until=4', 'since=-1', 'until=x', 'offer_id=x'])('refuse %s', async (query) => {
    const answer = await market.rest('GET', `/v1/seller/outages?${query}`, { key: ada.sellerKey })
    expect([answer.status, codeOf(answer)]).toEqual([400, 'invalid_request'])
  })
})
