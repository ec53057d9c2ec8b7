import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SellerActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { putProvider } from '#control-plane/services/catalog/catalog.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { getOffer, listOffers } from '#control-plane/services/offers/read.ts'
import { createOwnProvider } from '#control-plane/services/routing/own-providers.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, offerInput } from '#test/support/doors/offers.ts'

let market: TestMarket
let ada: Person
let bob: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
})
afterAll(() => market.stop())

const sale = (changes: object = {}) => offerInput(market, changes)
const create = (actor: SellerActor, input: object) => listOffer(market, actor, input)

describe('creating an offer', () => {
  it('returns the offer with its exact price, and sends the provider only the key', async () => {
    market.provider.requests.reset()
    const offer = await create(
      ada.seller,
      sale({ capDailyUsd: 12.5, label: 'mine <b>é</b>', payoutAddress: ada.wallet }),
    )
    expect(offer).toMatchObject({
      model: 'gpt-test',
      providerModel: 'gpt-test',
      provider: 'test',
      trusted: true,
      status: 'active',
      healthy: true,
      discount: 40,
      costMultiplier: 0.6,
      pricingMode: 'discount',
      directInputPer1m: 250_000,
      effectiveInputPer1m: 150_000,
      effectiveOutputPer1m: 1_200_000,
      capDailyUsd: 12.5,
      capDailyRemainingUsd: 12.5,
      label: 'mine <b>é</b>',
      payoutAddress: ada.wallet,
    })
    const asked = market.provider.requests.list()
    expect(asked.map((request) => request.path)).toEqual(['/v1/chat/completions'])
    expect(new Set(Object.keys(asked[0]?.headers ?? {}))).toEqual(
      new Set(['accept', 'authorization', 'connection', 'content-length', 'content-type', 'host', 'user-agent']),
    )
  })

  it('accepts an equal cost multiplier, and any exact name of the model', async () => {
    const offer = await create(ada.seller, sale({ model: 'LAB/gpt-test', discount: undefined, costMultiplier: 0.8766 }))
    expect(offer).toMatchObject({
      model: 'gpt-test',
      providerModel: 'LAB/gpt-test',
      discount: 12.34,
      costMultiplier: 0.8766,
    })
    const fine = await create(ada.seller, sale({ discount: undefined, costMultiplier: 0.876549 }))
    expect(fine.costMultiplier).toBe(0.8765)
    expect((await create(ada.seller, sale({ discount: 0 }))).costMultiplier).toBe(1)
    expect((await create(ada.seller, sale({ discount: 100 }))).effectiveInputPer1m).toBe(0)
    expect((await create(ada.seller, sale({ discount: 12.34, costMultiplier: 0.8766 }))).discount).toBe(12.34)
  })

  it('reports an offer that is no longer priced per token', async () => {
    for (const name of ['priceInputPer1m', 'outputPricePer1m']) {
      const error = await refusalOf(create(ada.seller, { ...sale(), [name]: 100 }))
      expect([error.code, error.param]).toEqual(['per_token_pricing_retired', name])
    }
  })

  it.each<[string, object]>([
    ['an empty key', { apiKey: '' }],
    ['spaces in the key', { apiKey: 'sk good key' }],
    ['a newline in the key', { apiKey: 'sk-good-key\nx: y' }],
    ['a key of 10 KB', { apiKey: 'k'.repeat(10_240) }],
    ['a key that is not ASCII', { apiKey: 'sk-good-ключ' }],
    ['no key at all', { apiKey: undefined }],
    ['two keys', { reuseKeyFingerprint: 'a'.repeat(64) }],
    ['a label of 10 KB', { label: 'l'.repeat(10_240) }],
    ['a NUL in the label', { label: 'a\u0000b' }],
    ['a cap below zero', { capDailyUsd: -1 }],
    ['a cap of zero', { capDailyUsd: 0 }],
    ['a cap finer than a micro-USD', { capDailyUsd: 0.000_000_1 }],
    ['a cap past the limit', { capDailyUsd: 1e12 }],
    ['a cap as text', { capDailyUsd: '5' }],
    ['a discount below zero', { discount: -1 }],
    ['a discount over 100', { discount: 100.01 }],
    ['a discount with three decimals', { discount: 10.001 }],
    ['a discount as text', { discount: '10' }],
    ['no price', { discount: undefined }],
    ['two prices', { costMultiplier: 0.5 }],
    ['a multiplier over one', { discount: undefined, costMultiplier: 1.1 }],
    ['a malformed address', { payoutAddress: '0x12' }],
    ['the zero address', { payoutAddress: `0x${'0'.repeat(40)}` }],
    ['the address of USDC itself', { payoutAddress: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }],
    ['a NUL in the model', { model: 'gpt-test\u0000' }],
    ['an unknown format', { apiFormat: 'grpc' }],
  ])('refuses %s before the provider is asked', async (_case, change) => {
    market.provider.requests.reset()
    const error = await refusalOf(create(ada.seller, sale(change)))
    expect([error.code, error.status]).toEqual(['invalid_request', 400])
    expect(market.provider.requests.count()).toBe(0)
  })

  it('refuses an unknown model, and a base URL whose host is not on the allow-list', async () => {
    expect((await refusalOf(create(ada.seller, sale({ model: 'nope' })))).code).toBe('unknown_model')
    expect((await refusalOf(create(ada.seller, sale({ sellerBaseUrl: 'https://elsewhere.example/v1' })))).code).toBe(
      'invalid_base_url',
    )
  })

  it("is refused with the provider's status when the provider refuses the key or the model", async () => {
    const rejected = await refusalOf(create(ada.seller, sale({ apiKey: 'sk-bad-canary-key' })))
    expect([rejected.code, rejected.status, rejected.detail['provider_status']]).toEqual([
      'provider_probe_failed',
      502,
      401,
    ])
    await fetch(new URL('/__sandbox/behave', market.provider.url), {
      method: 'POST',
      body: JSON.stringify({ model: 'not-listed', behaviour: 'server-error' }),
    })
    const unserved = await refusalOf(create(ada.seller, sale({ providerModel: 'not-listed' })))
    expect([unserved.code, unserved.detail['provider_status']]).toEqual(['provider_probe_failed', 500])
    // No server listens on port 1.
    const closed = { id: 'closed', name: 'Closed', baseUrl: 'http://127.0.0.1:1/v1', isTrusted: false }
    await invoke(market.plane, operator, putProvider, closed)
    const away = await refusalOf(create(ada.seller, sale({ sellerBaseUrl: closed.baseUrl })))
    expect([away.code, away.detail['provider_status']]).toEqual(['provider_probe_failed', null])
    expect(JSON.stringify([rejected, away])).not.toContain('canary')
  })
})

describe('a combination of credential, address and model has one active offer', () => {
  it('shows the existing offer to its owner, and to no other seller', async () => {
    const input = sale()
    const first = await create(ada.seller, input)
    for (const sellerBaseUrl of [input.sellerBaseUrl, `${input.sellerBaseUrl}/`, `${input.sellerBaseUrl}//`]) {
      const own = await refusalOf(create(ada.seller, { ...input, sellerBaseUrl, discount: 50 }))
      expect([own.code, own.detail]).toEqual([
        'duplicate_offer_for_credential',
        { existing_offer_id: first.id, offer_id: first.id },
      ])
    }
    const foreign = await refusalOf(create(bob.seller, input))
    expect([foreign.code, foreign.detail]).toEqual(['duplicate_offer_for_credential', {}])
    expect((await create(ada.seller, { ...input, model: 'claude-test' })).model).toBe('claude-test')
  })

  it('has one spelling of its address: every other is converted to it, or is refused', async () => {
    const input = sale()
    await create(ada.seller, input)
    const codeOf = async (sellerBaseUrl: string) =>
      (await refusalOf(create(ada.seller, { ...input, sellerBaseUrl }))).code
    const { origin, host } = new URL(market.provider.url)
    const [name = '', port = ''] = host.split(':')
    const same = ['/v1', '/v1/', '/v1//', '//v1', '/./v1', '/beta/../v1', '/v1/.', '/%2e/v1', '/v1?', '/v1/x/%2E%2e']
    for (const path of same) expect(await codeOf(origin + path), path).toBe('duplicate_offer_for_credential')
    const others = [
      '',
      '/',
      '/V1',
      '/%761',
      '/v%31',
      '/v1/;',
      '/v1;',
      '/v1;a=b',
      '/v1/v1',
      '/v1%2F',
      '/v1%20',
      '/v1?a=b',
    ]
    const paths = [
      ...others,
      '/v1#',
      '/v1.',
      '/v1/..',
      '/v1\\',
      '/v1~',
      '/v1/%2f',
      '/v1&',
      '/v1/chat',
      '/v1/%00',
      '/v1+',
    ]
    for (const path of paths) expect(await codeOf(origin + path), path).toBe('invalid_base_url')
    const hosts = [`${name}.:${port}`, `%31${host.slice(1)}`, `0${host}`, `user@${host}`, `${name}:0${port}`]
    for (const place of hosts) expect(await codeOf(`http://${place}/v1`), place).toBe('invalid_base_url')
    const own = { model: null, apiKey: 'sk-own-key', baseUrl: `${origin}/V1` }
    expect((await refusalOf(invoke(market.plane, ada.buyer, createOwnProvider, own))).code).toBe('invalid_base_url')

    const parts = fc.constantFrom(
      '/',
      ';',
      '%2e',
      '.',
      '..',
      'V',
      'v1',
      '%76',
      '?',
      '#',
      '\\',
      ':',
      '@',
      'x',
      '%00',
      '//',
    )
    const spelling = fc.array(parts, { minLength: 1, maxLength: 4 }).map((list) => `${origin}/v1${list.join('')}`)
    const before = fc.array(parts, { minLength: 1, maxLength: 3 }).map((list) => `${origin}${list.join('')}/v1`)
    const refused = fc.asyncProperty(fc.oneof(spelling, before), async (url) => {
      expect(['duplicate_offer_for_credential', 'invalid_base_url']).toContain(await codeOf(url))
    })
    await fc.assert(refused, { numRuns: 100 })
  })

  it('is at the paths in the record of its provider', async () => {
    const record = { id: 'test', name: 'Test', baseUrl: market.provider.url, isTrusted: true }
    const { origin } = new URL(market.provider.url)
    const put = (changes: object) => invoke(market.plane, operator, putProvider, { ...record, ...changes })
    const elsewhere = sale({ sellerBaseUrl: `${origin}/other/v2` })
    const told = await refusalOf(create(ada.seller, elsewhere))
    expect([told.code, told.message]).toEqual(['invalid_base_url', `The base URL of Test must be ${origin}/v1.`])
    expect((await put({ basePaths: ['/other/v2', ''] })).basePaths).toEqual(['/other/v2', ''])
    // The sample provider has no such path, and receives the request there.
    expect((await refusalOf(create(ada.seller, elsewhere))).code).toBe('provider_probe_failed')
    const bad = [
      '/v1/',
      'v1',
      '/',
      '//v1',
      '/.',
      '/..',
      '/a/../b',
      '/%61',
      '/a;b',
      '/a b',
      '/a?b',
      '/é',
      `/${'a'.repeat(65)}`,
    ]
    for (const path of bad) expect((await refusalOf(put({ basePaths: [path] }))).code, path).toBe('invalid_request')
    expect((await refusalOf(put({ basePaths: ['/a', '/A'] }))).code).toBe('invalid_request')
    for (const path of ['/v1;', '/%761', '/v1?a=b']) {
      expect((await refusalOf(put({ baseUrl: origin + path }))).code, path).toBe('invalid_base_url')
    }
    expect((await put({})).basePaths).toEqual([])
  })

  it('holds for many requests at once', async () => {
    const input = sale()
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => create(ada.seller, input)))
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
  })

  it('a deleted offer frees its place, and cannot return while a twin is active', async () => {
    const input = sale()
    const first = await create(ada.seller, input)
    const gone = await invoke(market.plane, ada.seller, deleteOffer, { id: first.id })
    expect(gone.status).toBe('inactive')
    const second = await create(ada.seller, input)
    const error = await refusalOf(invoke(market.plane, ada.seller, updateOffer, { id: first.id, status: 'active' }))
    expect([error.code, error.detail['existing_offer_id']]).toEqual(['duplicate_offer_for_credential', second.id])
    await invoke(market.plane, ada.seller, deleteOffer, { id: second.id })
    const back = await invoke(market.plane, ada.seller, updateOffer, { id: first.id, status: 'active' })
    expect(back.status).toBe('active')
  })

  it('accepts a saved key by its fingerprint: of the caller, for its host', async () => {
    const first = await create(ada.seller, sale())
    const reuse = { apiKey: undefined, reuseKeyFingerprint: first.keyFingerprint, model: 'claude-test' }
    expect((await create(ada.seller, sale(reuse))).keyFingerprint).toBe(first.keyFingerprint)
    expect((await refusalOf(create(bob.seller, sale({ ...reuse, model: 'gpt-test' })))).code).toBe('not_found')
    const elsewhere = sale({ ...reuse, sellerBaseUrl: 'https://allowed.example/v1' })
    const refused = await refusalOf(create(ada.seller, elsewhere))
    expect([refused.code, refused.param]).toEqual(['invalid_request', 'reuseKeyFingerprint'])
  })
})

describe('changing an offer', () => {
  it('sets the named members, removes those that are null, and leaves the others', async () => {
    const offer = await create(ada.seller, sale({ capDailyUsd: 3, label: 'x' }))
    const changed = await invoke(market.plane, ada.seller, updateOffer, {
      id: offer.id,
      discount: 55.5,
      capDailyUsd: null,
    })
    expect(changed).toMatchObject({ discount: 55.5, capDailyUsd: null, label: 'x', status: 'active' })
    const mode = { id: offer.id, costMultiplier: 0.5, pricingMode: 'cost_multiplier' }
    expect(await invoke(market.plane, ada.seller, updateOffer, mode)).toMatchObject({
      discount: 50,
      pricingMode: 'cost_multiplier',
    })
  })

  it('refuses unknown members by name, and changes nothing', async () => {
    const { probeCostUsd: _, probes: __, ...offer } = await create(ada.seller, sale())
    const foreign = ['ownerId', 'sellerAccount', 'active', 'encryptedKey', 'keptBps']
    for (const name of foreign) {
      const changes = { id: offer.id, discount: 1, [name]: 'x' }
      const error = await refusalOf(invoke(market.plane, ada.seller, updateOffer, changes))
      expect([error.code, error.param]).toEqual(['invalid_request', name])
    }
    const after = await invoke(market.plane, ada.seller, updateOffer, { id: offer.id })
    expect({ ...after, updatedAt: 0 }).toEqual({ ...offer, updatedAt: 0 })
  })

  it('an offer that the operator delisted stays off, and shows the reason', async () => {
    const offer = await create(ada.seller, sale())
    await sql`update offer set status = 'inactive', delisted_reason = 'cannot serve' where id = ${offer.id}`.execute(
      market.plane.db,
    )
    const error = await refusalOf(invoke(market.plane, ada.seller, updateOffer, { id: offer.id, status: 'active' }))
    expect([error.code, error.status]).toEqual(['offer_delisted_by_operator', 400])
    const edited = await invoke(market.plane, ada.seller, updateOffer, { id: offer.id, discount: 1 })
    expect(edited).toMatchObject({ discount: 1, delistedReason: 'cannot serve', status: 'inactive' })
    const forced = sql`update offer set status = 'active' where id = ${offer.id}`.execute(market.plane.db)
    await expect(forced).rejects.toThrow(/offer_delisted_is_off/)
  })

  it('an offer cannot be found or changed by other accounts', async () => {
    const { probeCostUsd: _, probes: __, ...offer } = await create(ada.seller, sale())
    for (const id of [offer.id, 'ofr_unknown', 'nonsense', `${offer.id}'`]) {
      for (const operation of [getOffer, deleteOffer]) {
        expect((await refusalOf(invoke(market.plane, bob.seller, operation, { id }))).code).toBe('not_found')
      }
      const change = invoke(market.plane, bob.seller, updateOffer, { id, discount: 99 })
      expect((await refusalOf(change)).code).toBe('not_found')
    }
    expect(await invoke(market.plane, ada.seller, getOffer, { id: offer.id })).toEqual(offer)
  })
})

describe('listing offers', () => {
  it('pages through every offer once, newest first, while others come and go', async () => {
    const eve = await market.person()
    const made: string[] = []
    for (let index = 0; index < 7; index++) made.push((await create(eve.seller, sale())).id)
    const seen: string[] = []
    let nextToken: string | undefined
    for (let page = 0; page < 10; page++) {
      const answer = await invoke(market.plane, eve.seller, listOffers, { maxItems: 3, nextToken })
      seen.push(...answer.items.map((offer) => offer.id))
      if (page === 0) await create(eve.seller, sale())
      if (answer.nextToken === null) break
      nextToken = answer.nextToken
    }
    expect(seen).toEqual([...made].reverse())
  })

  it('filters by state and model, and refuses an invalid page', async () => {
    const eve = await market.person()
    const offer = await create(eve.seller, sale())
    await create(eve.seller, sale({ model: 'claude-test' }))
    await invoke(market.plane, eve.seller, updateOffer, { id: offer.id, status: 'paused' })
    const ids = async (input: object) =>
      (await invoke(market.plane, eve.seller, listOffers, input)).items.map((item) => item.model)
    expect(await ids({ status: 'paused' })).toEqual(['gpt-test'])
    expect(await ids({ status: 'active' })).toEqual(['claude-test'])
    expect(await ids({ model: 'lab/claude-test' })).toEqual(['claude-test'])
    expect(await ids({ model: 'nope' })).toEqual([])
    for (const input of [
      { maxItems: 0 },
      { maxItems: 101 },
      { nextToken: "ofr_' or 1=1" },
      { nextToken: 'x' },
      { status: 'gone' },
    ]) {
      expect((await refusalOf(invoke(market.plane, eve.seller, listOffers, input))).code).toBe('invalid_request')
    }
  })
})

it('a provider key is stored only sealed: no table contains it', async () => {
  await create(ada.seller, sale())
  const tables = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(market.plane.db)
  for (const { name } of tables.rows) {
    const found = await sql<{ count: bigint }>`select count(*) as count from ${sql.table(name)} as row
      where row::text ~ 'canary|mkt_seller_[0-9A-Za-z]{20}|inf_[0-9A-Za-z]{20}'`.execute(market.plane.db)
    expect([name, found.rows[0]?.count]).toEqual([name, 0n])
  }
  for (const key of await market.world.redis.keys('snap:*')) {
    const text = key === 'snap:index' ? '' : await market.world.redis.get(key)
    expect(text).not.toMatch(/canary/)
  }
})
