import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { putPreferences } from '#control-plane/services/routing/buyer-policy.ts'
import { createPublication } from '#control-plane/services/snapshot/publication.ts'
import { AccountPolicySchema } from '#shared/contract/key-record.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { DocumentEnvelopeSchema } from '#shared/contract/snapshot.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

const KEY = 'sk-own-provider-key-1'
let market: TestMarket
let buyer: Person

beforeAll(async () => {
  market = await startMarket()
  buyer = await market.person()
})
afterAll(() => market?.stop())

const View = z.object({ id: z.string(), model: z.string().nullable(), priority: z.number() }).loose()

async function published(account: string) {
  const text = await market.world.redis.get(cacheKeys.account(account))
  return AccountPolicySchema.parse(DocumentEnvelopeSchema.parse(JSON.parse(text ?? '{}')).body)
}

function add(person: Person, body: object) {
  const base = { base_url: market.provider.url, api_key: KEY }
  return market.rest('POST', '/v1/buyer/providers', { key: person.buyerKey, body: { ...base, ...body } })
}

describe("a buyer's own providers", () => {
  it('are added after a probe, listed in order without their key, and published sealed', async () => {
    const second = await add(buyer, { model: 'gpt-test', priority: 5, label: 'second' })
    expect([second.status, second.text]).toEqual([201, expect.not.stringContaining(KEY)])
    const first = View.parse((await add(buyer, { model: 'gpt-test-20260101', priority: 1 })).body)
    const last = View.parse((await add(buyer, { model: null })).body)
    expect([first.model, last.model]).toEqual(['gpt-test', null])
    const list = await market.rest('GET', '/v1/buyer/providers', { key: buyer.buyerKey })
    const { providers } = z.object({ providers: z.array(View) }).parse(list.body)
    expect(providers.map(({ model, priority }) => [model, priority])).toEqual([
      [null, 0],
      ['gpt-test', 1],
      ['gpt-test', 5],
    ])
    expect(list.text).not.toContain(KEY)
    const policy = await published(buyer.buyer.account)
    expect(policy.ownProviders.map(({ id }) => id)).toEqual(providers.map(({ id }) => id))
    expect(policy.ownProviders[0]?.credential).toMatchObject({ tenant: buyer.buyer.account, purpose: 'own-provider' })
    expect(JSON.stringify(policy)).not.toContain(KEY)
  })

  it('are refused off the allow-list, for unknown models, and where the provider refuses the key', async () => {
    const at = async (body: object) => codeOf(await add(buyer, { model: 'gpt-test', ...body }))
    expect(await at({ base_url: 'https://evil.example/v1' })).toBe('invalid_base_url')
    expect(await at({ base_url: 'http://169.254.169.254/v1' })).toBe('invalid_base_url')
    expect(await at({ model: 'no-such-model' })).toBe('unknown_model')
    expect(await at({ api_key: 'sk-bad-own-key' })).toBe('provider_probe_failed')
    expect(await at({ api_key: 'sk-bad-own-key', model: null })).toBe('provider_probe_failed')
    expect(await at({ priority: -1 })).toBe('invalid_request')
    expect(await at({ api_key: 'with space' })).toBe('invalid_request')
  })

  it('belong to their buyer only, and are deleted with their key', async () => {
    const other = await market.person()
    const own = View.parse((await add(other, { model: null })).body)
    const remove = (person: Person) => market.rest('DELETE', `/v1/buyer/providers/${own.id}`, { key: person.buyerKey })
    expect(codeOf(await remove(buyer))).toBe('not_found')
    expect((await remove(other)).status).toBe(204)
    const again = View.parse((await add(other, { model: null })).body)
    const removeNamed = (body: object) => market.rest('DELETE', '/v1/buyer/providers', { key: other.buyerKey, body })
    expect(codeOf(await removeNamed({}))).toBe('invalid_request')
    expect((await removeNamed({ id: again.id })).status).toBe(204)
    expect((await published(other.buyer.account)).ownProviders).toEqual([])
    const left = await market.world.db
      .selectFrom('credential')
      .select('id')
      .where('tenant', '=', other.buyer.account)
      .execute()
    expect(left).toEqual([])
    expect((await market.rest('GET', '/v1/buyer/providers', { key: other.sellerKey })).status).toBe(401)
  })

  it('are the same at all three doors', async () => {
    const person = await market.person()
    const made = await market.graphql(
      person.buyerKey,
      `mutation($input: CreateOwnProviderInput!) { createOwnProvider(input: $input) { id model keyFingerprint } }`,
      { input: { model: 'gpt-test', baseUrl: market.provider.url, apiKey: KEY } },
    )
    expect(made.text).toContain('"model":"gpt-test"')
    const forAll = await market.graphql(
      person.buyerKey,
      `mutation($input: CreateOwnProviderInput!) { createOwnProvider(input: $input) { model } }`,
      { input: { baseUrl: market.provider.url, apiKey: KEY } },
    )
    expect(forAll.body).toEqual({ data: { createOwnProvider: { model: null } } })
    const trpc = market.trpc(person.buyerKey)
    const { providers } = await trpc.ownProvider.list.query()
    expect(providers).toHaveLength(2)
    for (const { id } of providers) await trpc.ownProvider.remove.mutate({ id })
    const listed = await market.graphql(person.buyerKey, '{ ownProviders { id } preferences { allowUntrusted } }')
    expect(listed.body).toEqual({ data: { ownProviders: [], preferences: { allowUntrusted: false } } })
    expect(await trpcCodeOf(trpc.ownProvider.remove.mutate({ id: 'prv_nope' }))).toBe('not_found')
  })

  it('replace the retired fallback key, and its path says so', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const answer = await market.rest(method, '/v1/buyer/fallback-key', { key: buyer.buyerKey })
      expect([answer.status, codeOf(answer)]).toEqual([410, 'gone'])
      expect(answer.text).toContain('/v1/buyer/providers')
    }
  })
})

describe("an account's preferences", () => {
  it('are replaced whole, read back, and published beside the own providers', async () => {
    const person = await market.person()
    const path = '/v1/buyer/preferences'
    const read = async () => (await market.rest('GET', path, { key: person.buyerKey })).body
    const none = { allow_untrusted: false, providers_blocked: [], min_discount_pct: null }
    expect(await read()).toEqual({ ...none, preferences: none })
    const wanted = { allow_untrusted: true, providers_blocked: ['test'], min_discount_pct: 20 }
    expect((await market.rest('PUT', path, { key: person.buyerKey, body: wanted })).body).toEqual({
      ...wanted,
      preferences: wanted,
    })
    expect(await read()).toEqual({ ...wanted, preferences: wanted })
    expect(await published(person.buyer.account)).toMatchObject({
      allowsUntrusted: true,
      providersBlocked: ['test'],
      minDiscountPct: 20,
    })
    await market.rest('PUT', path, { key: person.buyerKey, body: {} })
    expect(await read()).toEqual({ ...none, preferences: none })
    for (const body of [{ min_discount_pct: 101 }, { min_discount_pct: '5' }, { providers_blocked: {} }, { nope: 1 }]) {
      expect(codeOf(await market.rest('PUT', path, { key: person.buyerKey, body }))).toBe('invalid_request')
    }
  })

  it('are published later when the store was away at the change', async () => {
    const person = await market.person()
    const publisher = { ...market.plane.publisher, publish: () => Promise.reject(new Error('away')) }
    const publication = createPublication({ ...market.plane, publisher })
    await invoke({ ...market.plane, publication }, person.buyer, putPreferences, { minDiscountPct: 9 })
    expect(await market.world.redis.get(cacheKeys.account(person.buyer.account))).toBeNull()
    expect(await market.plane.publication.reconcile()).toContain(`account:${person.buyer.account}`)
    expect((await published(person.buyer.account)).minDiscountPct).toBe(9)
    expect(await market.plane.publication.reconcile()).toEqual([])
  })

  it('are restored when the store has lost them', async () => {
    const person = await market.person()
    await market.rest('PUT', '/v1/buyer/preferences', { key: person.buyerKey, body: { min_discount_pct: 7 } })
    await market.world.redis.del(cacheKeys.account(person.buyer.account), cacheKeys.accountsIndex)
    expect(await market.plane.publication.reconcile()).toContain(`account:${person.buyer.account}`)
    expect((await published(person.buyer.account)).minDiscountPct).toBe(7)
  })
})
