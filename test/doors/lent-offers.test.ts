import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { LentDocumentSchema } from '#shared/contract/lent-offers.ts'
import { lentDocumentName } from '#shared/contract/snapshot.ts'
import { openCredential } from '#shared/seal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, detailOf } from '#test/support/doors/control-plane.ts'
import type { FourthProvider } from '#test/support/doors/fourth-provider.ts'
import { fourthLentKey, newFourthKey, publishedBody, startLendingMarket } from '#test/support/doors/lending-market.ts'

let market: TestMarket
let ada: Person
let bob: Person
let operatorKey: string
let provider: FourthProvider
let stop: () => Promise<void>

const OFFERS = '/v1/resource/seller/offers'
const post = (path: string, body: unknown, key = ada.sellerKey) => market.rest('POST', path, { key, body })
const lend = (changes: object = {}, key = ada.sellerKey) => post(OFFERS, fourthLentKey(changes), key)
const patch = (id: string, body: object, key = ada.sellerKey) => market.rest('PATCH', `${OFFERS}/${id}`, { key, body })
const remove = (id: string, key = ada.sellerKey) => market.rest('DELETE', `${OFFERS}/${id}`, { key })
const Offer = z.looseObject({ id: z.string(), status: z.string(), active: z.boolean(), discount_percent: z.number() })

async function lent(changes: object = {}, key = ada.sellerKey): Promise<z.infer<typeof Offer>> {
  const answer = await lend(changes, key)
  expect([answer.status, answer.text]).toEqual([201, answer.text])
  return Offer.parse(answer.body)
}

const lentDocument = async () => LentDocumentSchema.parse(await publishedBody(market, lentDocumentName('provider-x4')))

const staff = () => market.trpc(operatorKey)
beforeAll(async () => {
  ;({ market, ada, bob, operatorKey, provider, stop } = await startLendingMarket())
})
afterAll(() => stop())

describe('a probe of a key', () => {
  it('answers a good key with its traits, and a bad one with 200, and stores neither', async () => {
    const key = newFourthKey()
    provider.asked.length = 0
    const good = await post('/v1/resource/seller/keys/probe', { resource_id: 'provider-x4', api_key: key })
    expect([good.status, good.body]).toEqual([
      200,
      { ok: true, latency_ms: expect.any(Number), traits: ['account.tier2'] },
    ])
    expect(provider.asked).toEqual([{ path: '/me', key: `Token ${key}` }])
    const bad = await post('/v1/resource/seller/keys/probe', { resource_id: 'provider-x4', api_key: 'fp-bad-canary-1' })
    expect([bad.status, bad.body]).toEqual([200, { ok: false, error: 'the provider refused the key', status: 401 }])
    expect(await tracesOf(key, 'fp-bad-canary-1')).toEqual([])
  })
})

/** Every table that contains one of the texts in any column. */
async function tracesOf(...texts: readonly string[]): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`.execute(
    market.plane.db,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ hit: boolean }>`
      select true as hit from ${sql.table(name)} t
      where ${sql.join(
        texts.map((text) => sql`strpos(t::text, ${text}) > 0`),
        sql` or `,
      )} limit 1`.execute(market.plane.db)
    if (rows.length > 0) found.push(name)
  }
  return found
}

describe('a seller', () => {
  it('lends a key with one call, and no answer, table or document contains the key', async () => {
    const api_key = newFourthKey()
    const offer = await lent({
      api_key,
      label: '<b>🔑</b>',
      cap_daily_usd: 5,
      models: ['draw'],
      methods: ['POST'],
      paths: ['/draw'],
      rate_per_minute: 60,
      buyer_share_pct: 50,
      traits: ['account.private'],
    })
    expect(offer).toMatchObject({
      resource_type: 'provider-x4',
      discount_percent: 30,
      active: true,
      status: 'active',
      label: '<b>🔑</b>',
      cap_daily_usd: 5,
      cap_daily_remaining_usd: 5,
      healthy: true,
      purged_at: null,
      traits: [
        { name: 'account.tier2', provenance: 'probed' },
        { name: 'account.private', provenance: 'declared' },
      ],
    })
    const { offers } = await lentDocument()
    const row = offers.find(({ id }) => id === offer.id)
    expect(row).toMatchObject({
      capDailyMicro: 5_000_000n,
      keptBps: 7_000n,
      ratePerMinute: 60,
      buyerSharePct: 50,
      scope: { models: ['draw'], methods: ['POST'], paths: ['/draw'] },
    })
    expect(openCredential(market.plane.settings.keyRing, row!.credential).reveal()).toBe(api_key)
    expect(await tracesOf(api_key, api_key.slice(4))).toEqual([])
    const listed = await market.rest('GET', OFFERS, { key: ada.sellerKey })
    expect(listed.text).toContain(offer.id)
    expect(listed.text).not.toContain(api_key.slice(8))
    expect((await market.rest('GET', `${OFFERS}/${offer.id}`, { key: bob.sellerKey })).status).toBe(404)
    await remove(offer.id)
  })

  it('is refused with the code of each mistake, without a request to the provider and without a row', async () => {
    provider.asked.length = 0
    const rows: readonly (readonly [change: object, status: number, code: string])[] = [
      ...[4, 81, 5.5, '20', null, -5, 1_000, 'NaN'].map(
        (discount_percent) => [{ discount_percent }, 400, 'invalid_request'] as const,
      ),
      [{ discount_percent: undefined }, 400, 'invalid_request'],
      [{ ack_persists_state: false }, 400, 'invalid_request'],
      [{ ack_persists_state: undefined }, 400, 'invalid_request'],
      [{ ack_provider_terms: 'true' }, 400, 'invalid_request'],
      [{ api_secret: 'x' }, 400, 'api_secret_unsupported'],
      [{ pricing_multiplier: 0.5 }, 400, 'pricing_multiplier_unsupported'],
      ...['', 'has spaces in it', 'new\nline-here', 'k'.repeat(10_240), 'schlüssel-für-alle'].map(
        (api_key) => [{ api_key }, 400, 'invalid_request'] as const,
      ),
      [{ resource_type: 'nowhere' }, 400, 'invalid_request'],
      [{ resource_type: '__proto__' }, 400, 'invalid_request'],
      [{ label: 'x'.repeat(10_240) }, 400, 'invalid_request'],
      ...[-1, 0, 0.0000001, 1e12, '5'].map((cap_daily_usd) => [{ cap_daily_usd }, 400, 'invalid_request'] as const),
      [{ owner_id: 'acc_x' }, 400, 'invalid_request'],
      [{ discount: 10 }, 400, 'invalid_request'],
      // Rules and traits that are not in the record.
      [{ models: ['paint'] }, 400, 'invalid_request'],
      [{ models: [] }, 400, 'invalid_request'],
      [{ methods: ['DELETE'] }, 400, 'invalid_request'],
      [{ paths: ['/../x'] }, 400, 'invalid_request'],
      [{ traits: ['account.tier2'] }, 400, 'invalid_request'],
      [{ traits: ['no.such'] }, 400, 'invalid_request'],
      [{ buyer_share_pct: 10 }, 400, 'invalid_request'],
    ]
    for (const [change, status, code] of rows) {
      const answer = await lend(change)
      expect([change, answer.status, codeOf(answer)]).toEqual([change, status, code])
    }
    expect(provider.asked).toEqual([])
    const refused = await lend({ api_key: 'fp-bad-canary-2' })
    expect([refused.status, codeOf(refused), detailOf(refused)]).toEqual([
      502,
      'provider_probe_failed',
      expect.objectContaining({ resource: 'provider-x4', provider_status: 401 }),
    ])
    expect(refused.text).not.toContain('canary')
    for (const key of [ada.buyerKey, operatorKey]) {
      expect([key.slice(0, 8), (await lend({}, key)).status]).toEqual([key.slice(0, 8), 401])
    }
    expect((await market.rest('POST', OFFERS, { body: fourthLentKey() })).status).toBe(401)
  })

  it('lends a key once over all sellers, and only the owner sees the id of the other offer', async () => {
    const api_key = newFourthKey()
    const first = await lent({ api_key })
    const own = await lend({ api_key })
    expect([own.status, codeOf(own), detailOf(own)]).toEqual([
      409,
      'duplicate_offer_for_credential',
      { existing_offer_id: first.id, offer_id: first.id },
    ])
    const foreign = await lend({ api_key }, bob.sellerKey)
    expect([foreign.status, codeOf(foreign), detailOf(foreign)]).toEqual([409, 'duplicate_offer_for_credential', {}])
    // Two at once: the index decides.
    const shared = newFourthKey()
    const both = await Promise.all([lend({ api_key: shared }), lend({ api_key: shared }, bob.sellerKey)])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    // A paused key frees its place, and does not get it back while another key has it.
    await patch(first.id, { status: 'paused' })
    const second = await lent({ api_key }, bob.sellerKey)
    expect(codeOf(await patch(first.id, { status: 'active' }))).toBe('duplicate_offer_for_credential')
    await remove(second.id, bob.sellerKey)
    expect((await patch(first.id, { status: 'active' })).status).toBe(200)
    await remove(first.id)
  })

  it("finds nothing under another account's ids, and changes nothing there", async () => {
    const { id } = await lent({ label: '<b>Ada’s 🔑</b>' })
    const mine = async () => (await market.rest('GET', `${OFFERS}/${id}`, { key: ada.sellerKey })).body
    const before = await mine()
    expect(before).toMatchObject({ label: '<b>Ada’s 🔑</b>' })
    for (const answer of [
      await market.rest('GET', `${OFFERS}/${id}`, { key: bob.sellerKey }),
      await patch(id, { discount_percent: 80 }, bob.sellerKey),
      await remove(id, bob.sellerKey),
      await post(`${OFFERS}/${id}/purge`, {}, bob.sellerKey),
    ]) {
      expect([answer.status, codeOf(answer)]).toEqual([404, 'not_found'])
    }
    expect(await mine()).toEqual(before)
    await remove(id)
  })

  it('answers a repeat under one Idempotency-Key with the same offer', async () => {
    const body = fourthLentKey()
    const call = () =>
      market.rest('POST', OFFERS, { key: ada.sellerKey, body, headers: { 'idempotency-key': 'lend-1' } })
    const [first, again] = [await call(), await call()]
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body])
    await remove(Offer.parse(first.body).id)
  })

  it('changes price, cap, rules and state, and nothing else', async () => {
    const { id } = await lent({ cap_daily_usd: 2 })
    const changed = await patch(id, {
      discount_percent: 55,
      cap_daily_usd: 3.5,
      models: ['draw'],
      buyer_share_pct: 25,
      label: null,
    })
    expect([changed.status, changed.body]).toEqual([
      200,
      expect.objectContaining({ discount_percent: 55, cap_daily_usd: 3.5, models: ['draw'], buyer_share_pct: 25 }),
    ])
    expect(codeOf(await patch(id, { cap_daily_usd: null }))).toBe('invalid_request')
    expect((await patch(id, { cap_daily_usd: null, buyer_share_pct: null, models: null })).body).toMatchObject({
      cap_daily_usd: null,
      buyer_share_pct: null,
      models: null,
      discount_percent: 55,
    })
    for (const body of [
      { owner_id: 'x' },
      { active: true },
      { sealed: {} },
      { api_key: newFourthKey() },
      { resource_type: 'y' },
    ]) {
      expect([body, codeOf(await patch(id, body))]).toEqual([body, 'invalid_request'])
    }
    expect(codeOf(await patch(id, { api_secret: 'x' }))).toBe('api_secret_unsupported')
    await patch(id, { status: 'paused' })
    const paused = await lentDocument()
    expect([paused.offers.some((row) => row.id === id), paused.retired.some((row) => row.id === id)]).toEqual([
      false,
      true,
    ])
    await remove(id)
    expect(codeOf(await patch(id, { status: 'active' }))).toBe('conflict')
  })

  it('purges a key: its data key and ciphertext leave the tables and the snapshot in one step', async () => {
    const { id } = await lent()
    const before = await market.plane.db
      .selectFrom('lent_offer')
      .selectAll()
      .where('id', '=', id as never)
      .executeTakeFirstOrThrow()
    const { ciphertext, wrappedKey } = z.object({ ciphertext: z.string(), wrappedKey: z.string() }).parse(before.sealed)
    expect(await tracesOf(ciphertext, wrappedKey)).toEqual(['lent_offer'])
    const purged = await post(`${OFFERS}/${id}/purge`, {})
    expect(purged.body).toMatchObject({ id, status: 'delisted', active: false, purged_at: expect.any(Number) })
    expect(await tracesOf(ciphertext, wrappedKey)).toEqual([])
    expect(JSON.stringify(await publishedBody(market, lentDocumentName('provider-x4')))).not.toContain(ciphertext)
    const after = await market.plane.db
      .selectFrom('lent_offer')
      .selectAll()
      .where('id', '=', id as never)
      .executeTakeFirstOrThrow()
    expect([after.sealed, after.fingerprint, after.status]).toEqual([null, before.fingerprint, 'delisted'])
    expect((await patch(id, { status: 'active' })).status).toBe(409)
    expect((await post(`${OFFERS}/${id}/purge`, {})).status).toBe(200)
    expect((await post(`${OFFERS}/${id}/purge`, {}, bob.sellerKey)).status).toBe(404)
    // The database itself does not let a part of it be deleted alone.
    await expect(
      sql`update lent_offer set status = 'active' where id = ${id}`.execute(market.plane.db),
    ).rejects.toThrow()
  })

  it("takes all its offers off the market at once, and no other seller's", async () => {
    const mine = [await lent(), await lent()]
    await patch(mine[1]!.id, { status: 'paused' })
    const theirs = await lent({}, bob.sellerKey)
    const gone = await market.rest('DELETE', OFFERS, { key: ada.sellerKey })
    const { ids } = z.object({ delisted: z.number(), ids: z.array(z.string()) }).parse(gone.body)
    expect(ids).toEqual(expect.arrayContaining(mine.map(({ id }) => id)))
    expect(ids).not.toContain(theirs.id)
    expect((await market.rest('DELETE', OFFERS, { key: ada.sellerKey })).body).toEqual({ delisted: 0, ids: [] })
    const { offers } = await lentDocument()
    expect(offers.map(({ id }) => id)).toEqual(expect.arrayContaining([theirs.id]))
    expect(offers.some(({ id }) => ids.includes(id))).toBe(false)
    await remove(theirs.id, bob.sellerKey)
  })

  it('cannot restore an offer that an operator took off', async () => {
    const { id } = await lent()
    const blocked = await staff().lentOffer.block.mutate({ id, reason: 'the provider asked for it' })
    expect(blocked).toMatchObject({ status: 'paused', delistedReason: 'the provider asked for it' })
    const back = await patch(id, { status: 'active' })
    expect([back.status, codeOf(back)]).toEqual([400, 'offer_delisted_by_operator'])
    expect(await staff().lentOffer.restore.mutate({ id, reason: 'settled' })).toMatchObject({ delistedReason: null })
    expect((await patch(id, { status: 'active' })).status).toBe(200)
    await remove(id)
  })

  it('has the same offer at all three doors', async () => {
    const { id } = await lent({ label: 'doors' })
    const rest = (await market.rest('GET', `${OFFERS}/${id}`, { key: ada.sellerKey })).body
    const query = `query($id: ID!) { keyOffer(id: $id) { id resourceType discountPercent status label traits { name provenance } } }`
    const graph = await market.graphql(ada.sellerKey, query, { id })
    expect(graph.body).toEqual({
      data: {
        keyOffer: {
          id,
          resourceType: 'provider-x4',
          discountPercent: 30,
          status: 'active',
          label: 'doors',
          traits: [{ name: 'account.tier2', provenance: 'probed' }],
        },
      },
    })
    const trpc = await market.trpc(ada.sellerKey).lentOffer.get.query({ id })
    expect(rest).toMatchObject({ id: trpc.id, resource_type: trpc.resourceType, created_at: trpc.createdAt })
    const purged = await market.graphql(
      ada.sellerKey,
      'mutation($id: ID!) { purgeKeyOffer(id: $id) { status purgedAt } }',
      { id },
    )
    expect(purged.body).toMatchObject({ data: { purgeKeyOffer: { status: 'delisted' } } })
  })
})
