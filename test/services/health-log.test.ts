import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { listHealthLog, logHealth } from '#control-plane/services/offers/health-log.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { lentBody, putSampleResource } from '#test/support/doors/sample-lent-key.ts'

let market: TestMarket
let ada: Person
let bob: Person
let offer: string

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  offer = (await listOffer(market, ada.seller)).id
})
afterAll(() => market.stop())

describe('the health log', () => {
  it('lists its lines in both orders, between two instants, for their seller alone', async () => {
    const at = market.plane.clock.now()
    for (let index = 0; index < 5; index++) {
      const entry = { offer, model: 'gpt-test', action: 'backed_off', errorClass: 'timeout', statusCode: 504 } as const
      await logHealth(market.plane, [{ ...entry, detail: `no answer ${index}` }])
      market.advance(1_000)
    }
    for (const sortOrder of ['ASC', 'DESC'] as const) {
      const details: string[] = []
      let nextToken: string | undefined
      do {
        const page = await invoke(market.plane, ada.seller, listHealthLog, {
          sortOrder,
          maxItems: 2,
          since: at,
          offerId: offer,
          ...(nextToken === undefined ? {} : { nextToken }),
        })
        details.push(...page.items.map(({ errorDetail }) => errorDetail))
        nextToken = page.nextToken ?? undefined
      } while (nextToken !== undefined)
      const rising = ['no answer 0', 'no answer 1', 'no answer 2', 'no answer 3', 'no answer 4']
      expect(details).toEqual(sortOrder === 'ASC' ? rising : rising.toReversed())
    }
    const answer = await market.rest('GET', `/v1/seller/health-log?max_items=1`, { key: ada.sellerKey })
    expect(answer.body).toMatchObject({
      items: [
        {
          id: expect.stringMatching(/^hlt_/),
          timestamp: expect.any(Number),
          offer_id: offer,
          model: 'gpt-test',
          error_category: 'timeout',
          error_detail: 'no answer 4',
          status_code: 504,
          action_taken: 'backed_off',
        },
      ],
      next_token: expect.any(String),
    })
    expect((await invoke(market.plane, bob.seller, listHealthLog, {})).items).toEqual([])
    const foreign = await market.rest('GET', `/v1/seller/health-log?offer_id=${offer}`, { key: bob.sellerKey })
    expect(foreign.status).toBe(404)
  })

  it.each(['since=0', 'since=2026-01-01', 'since=2026-01-01T01:00:00%2B01:00', 'since=2026-01-01T00:00:00Z'])(
    'takes %s',
    async (query) => {
      const answer = await market.rest('GET', `/v1/seller/health-log?${query}&max_items=1`, { key: ada.sellerKey })
      expect([answer.status, codeOf(answer)]).toEqual([200, undefined])
    },
  )

  it('names an unknown query member', async () => {
    const answer = await market.rest('GET', '/v1/seller/health-log?ownerId=x', { key: ada.sellerKey })
    expect(answer.body).toMatchObject({ error: { code: 'invalid_request', detail: { param: 'owner_id' } } })
  })

  it.each([
    'since=5&until=4',
    'since=-1',
    'since=2026-02-30',
    'since=2026-01-01T00:00:00',
    'since=yesterday',
    'since=2026-1-1',
    'owner=x',
    'until=x',
    'sort_order=asc;drop',
    'max_items=0',
  ])('refuses %s', async (query) => {
    const answer = await market.rest('GET', `/v1/seller/health-log?${query}`, { key: ada.sellerKey })
    expect([answer.status, codeOf(answer)]).toEqual([400, 'invalid_request'])
  })

  it('accepts the id of a lent offer, from its owner alone', async () => {
    await putSampleResource(market)
    const lent = await market.rest('POST', '/v1/resource/seller/offers', { key: ada.sellerKey, body: lentBody() })
    const { id: lentId } = z.object({ id: z.string() }).parse(lent.body)
    const entry = { model: 'resource/sample', action: 'backed_off', errorClass: 'timeout', statusCode: 504 } as const
    await logHealth(market.plane, [{ ...entry, offer: lentId, detail: 'of a lent key' }])
    const ofLent = await market.rest('GET', `/v1/seller/health-log?offer_id=${lentId}`, { key: ada.sellerKey })
    expect(ofLent.body).toMatchObject({ items: [{ offer_id: lentId, error_detail: 'of a lent key' }] })
    const asBob = await market.rest('GET', `/v1/seller/health-log?offer_id=${lentId}`, { key: bob.sellerKey })
    expect(codeOf(asBob)).toBe('not_found')
  })
})
