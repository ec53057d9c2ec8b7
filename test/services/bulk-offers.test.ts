import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { collectLines } from '#control-plane/api/collect-lines.ts'
import { transact } from '#control-plane/db/database.ts'
import type { SellerActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { listOffers } from '#control-plane/services/offers/read.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey, offerInput } from '#test/support/doors/offers.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
})
afterAll(() => market.stop())

describe('bulk creation', () => {
  const bulk = async (actor: SellerActor, input: object, idempotencyKey?: string) => {
    const run = await invoke(market.plane, actor, bulkCreateOffers, input, { idempotencyKey })
    return collectLines(run.lines)
  }
  const request = (offers: unknown[], changes: object = {}) => ({
    apiKey: newProviderKey(),
    baseUrl: market.provider.url,
    offers,
    ...changes,
  })

  it('reports the result of each row; a bad row fails alone', async () => {
    market.provider.requests.reset()
    const eve = await market.person()
    const lines = await bulk(
      eve.seller,
      request(
        [
          { model: 'gpt-test', discount: 10, capDailyUsd: 2.5 },
          { model: 'claude-test', discount: 'ten' },
          { model: 'claude-test', costMultiplier: 0.5 },
          { model: 'unheard-of', discount: 10 },
          'nonsense',
        ],
        { payoutAddress: eve.wallet },
      ),
    )
    const codes = lines
      .map((line) => (line.status === 'created' ? 'created' : line.code))
      .sort((a, b) => a.localeCompare(b))
    expect(codes).toEqual(['created', 'created', 'invalid_request', 'invalid_request', 'unknown_model'])
    const { items } = await invoke(market.plane, eve.seller, listOffers, {})
    expect(items.map(({ model, discount, capDailyUsd }) => [model, discount, capDailyUsd]).sort()).toEqual([
      ['claude-test', 50, null],
      ['gpt-test', 10, 2.5],
    ])
    expect(items.every((offer) => offer.payoutAddress === eve.wallet)).toBe(true)
    // The provider's list was read once, and each sellable model was called for one token.
    const paths = market.provider.requests.list().map(({ path }) => path)
    expect(paths).toEqual(['/v1/models', '/v1/chat/completions', '/v1/chat/completions'])
  })

  it('refuses a key whose list works and whose models fail, and stops calling once the key is known to be refused', async () => {
    const behave = (model: string, behaviour: string | null) =>
      fetch(new URL('/__sandbox/behave', market.provider.url), {
        method: 'POST',
        body: JSON.stringify({ model, behaviour }),
      })
    const eve = await market.person()
    onTestFinished(async () => {
      for (const model of ['gpt-test', 'claude-test']) await behave(model, null)
    })
    await behave('gpt-test', 'no-credit')
    await behave('claude-test', 'quota-used-up')
    market.provider.requests.reset()
    const rows = ['gpt-test', 'claude-test', 'gpt-test', 'claude-test', 'gpt-test', 'claude-test']
    const lines = await bulk(eve.seller, request(rows.map((model) => ({ model, discount: 10 }))))
    expect(lines.map((line) => (line.status === 'created' ? 'created' : line.code))).toEqual(
      rows.map(() => 'provider_probe_failed'),
    )
    // The first refusal of the key is that of either model, and ends the rows that wait.
    for (const line of lines) {
      expect(line).toMatchObject({ error: expect.stringMatching(/has no credit|quota of the provider account/) })
    }
    // Four rows are tried at once, and none after the first refusal of the key.
    expect(market.provider.requests.list().length).toBeLessThanOrEqual(5)
    await behave('gpt-test', null)
    await behave('claude-test', 'rate-limited')
    const [listed] = await bulk(eve.seller, request([{ model: 'claude-test', discount: 10 }]))
    expect(listed).toMatchObject({ status: 'created' })
  })

  it('tells a row that met a busy database to retry, without calling it a fault of the market', async () => {
    const lines = await transact(market.plane.db, async (trx) => {
      await sql`lock table offer in exclusive mode`.execute(trx)
      return bulk(ada.seller, request([{ model: 'gpt-test', discount: 10 }]))
    })
    expect(lines).toEqual([expect.objectContaining({ status: 'error', code: 'service_unavailable' })])
  })

  it('takes 1 to 200 rows, and a repeated row once', async () => {
    const rows = (count: number) => Array.from({ length: count }, () => ({ model: 'gpt-test', discount: 10 }))
    for (const count of [0, 201]) {
      expect((await refusalOf(bulk(ada.seller, request(rows(count))))).code).toBe('invalid_request')
    }
    const lines = await bulk(ada.seller, request(rows(2)))
    const created = lines.filter((line) => line.status === 'created')
    const refused = lines.filter((line) => line.status === 'error')
    expect([created.length, refused.length]).toEqual([1, 1])
    expect(refused[0]?.error).toContain('duplicate_offer_for_credential')
  })

  it('is refused as a whole for a key that its provider refuses, and for an invalid payout address', async () => {
    const rows = [{ model: 'gpt-test', discount: 10 }]
    const badKey = await refusalOf(bulk(ada.seller, request(rows, { apiKey: 'sk-bad-canary-1' })))
    expect([badKey.code, badKey.detail['provider_status']]).toEqual(['provider_probe_failed', 401])
    const badUrl = await refusalOf(bulk(ada.seller, request(rows, { baseUrl: 'https://elsewhere.example/v1' })))
    expect(badUrl.code).toBe('invalid_base_url')
  })

  it('repeats the lines for the same Idempotency-Key, and answers another body with 409', async () => {
    const eve = await market.person()
    const input = request([
      { model: 'gpt-test', discount: 10 },
      { model: 'nope', discount: 1 },
    ])
    const first = await bulk(eve.seller, input, 'bulk-once')
    expect(await bulk(eve.seller, input, 'bulk-once')).toEqual(first)
    expect((await invoke(market.plane, eve.seller, listOffers, {})).items).toHaveLength(1)
    const other = await refusalOf(bulk(eve.seller, { ...input, label: 'x' }, 'bulk-once'))
    expect(other.code).toBe('idempotency_key_reused')
  })

  it('ends when its answer is stored for a repeat, and not before', async () => {
    const eve = await market.person()
    const input = request([{ model: 'gpt-test', discount: 10 }])
    let hasEnded = false
    const lock = await market.plane.db.startTransaction().execute()
    await sql`lock table audit_log in share mode`.execute(lock)
    const reading = bulk(eve.seller, input, 'bulk-late').finally(() => {
      hasEnded = true
    })
    await until('the audit row waits', 5_000, async () => {
      const waiting = sql`select 1 from pg_locks where relation = 'audit_log'::regclass and not granted`
      return (await waiting.execute(market.plane.db)).rows.length > 0
    })
    const hasEndedEarly = hasEnded
    await lock.rollback().execute()
    expect(hasEndedEarly).toBe(false)
    const first = await reading
    expect(await bulk(eve.seller, input, 'bulk-late')).toEqual(first)
  })

  it('continues when the client stops reading, and takes a saved key by its fingerprint', async () => {
    const eve = await market.person()
    const saved = await listOffer(market, eve.seller, offerInput(market))
    const run = await invoke(market.plane, eve.seller, bulkCreateOffers, {
      reuseKeyFingerprint: saved.keyFingerprint,
      sellerBaseUrl: market.provider.url,
      offers: [{ model: 'claude-test', discount: 10 }],
    })
    expect(await run.done).toMatchObject([{ model: 'claude-test', status: 'created' }])
    expect((await invoke(market.plane, eve.seller, listOffers, {})).items).toHaveLength(2)
  })
})
