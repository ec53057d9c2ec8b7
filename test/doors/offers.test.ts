import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { NamedOfferSchema } from '#control-plane/api/offer-synonyms.ts'
import { EndpointProbeSchema } from '#control-plane/services/offers/probe-listing.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import type { Answer, Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, detailOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { listOffer, offerInput } from '#test/support/doors/offers.ts'
import { UNSAFE_BASE_URLS } from '#test/support/facts/unsafe-base-urls.ts'

let market: TestMarket
let ada: Person
let bob: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
})
afterAll(() => market.stop())

const PARTS: Record<string, string> = { probes: Object.keys(EndpointProbeSchema.shape).join(' ') }
const FIELDS = Object.keys(NamedOfferSchema.shape)
  .map((name) => {
    const parts = name.endsWith('UnitPrices') ? 'unit usd' : PARTS[name]
    return parts === undefined ? name : `${name} { ${parts} }`
  })
  .join(' ')
const inputWith = (changes: object = {}) => offerInput(market, { discount: 25, ...changes })
const idem = () => ({ 'idempotency-key': market.plane.ids.ulid() })

/** The data of a GraphQL answer under a field. */
function dataOf(answer: Answer, field: string): unknown {
  const { data } = z.object({ data: z.record(z.string(), z.unknown()) }).parse(answer.body)
  return data[field]
}

const CREATE = `mutation($input: CreateOfferInput!, $key: String) { createOffer(input: $input, idempotencyKey: $key) { ${FIELDS} } }`
const UPDATE = `mutation($id: ID!, $input: UpdateOfferInput!) { updateOffer(id: $id, input: $input) { ${FIELDS} } }`
const DELETE = `mutation($id: ID!) { deleteOffer(id: $id) { ${FIELDS} } }`
const GET = `query($id: ID!) { offer(id: $id) { ${FIELDS} } }`

/** The same calls at each door. They return the offer in camelCase, or the code of a refusal. */
type Outcome = { readonly offer?: unknown; readonly code?: string | null | undefined }
type Door = {
  readonly create: (key: string | undefined, input: object) => Promise<Outcome>
  readonly get: (key: string | undefined, id: string) => Promise<Outcome>
  readonly update: (key: string | undefined, id: string, input: object) => Promise<Outcome>
  readonly remove: (key: string | undefined, id: string) => Promise<Outcome>
}

const fromRest = (answer: Answer): Outcome => (answer.status < 300 ? { offer: answer.body } : { code: codeOf(answer) })
const fromGraph =
  (field: string) =>
  (answer: Answer): Outcome => {
    const code = codeOf(answer)
    return code === undefined ? { offer: withoutProbe(toSnakeBody(dataOf(answer, field))) } : { code }
  }
/** Only new offers have the results and costs of their test calls. Other doors omit them, and GraphQL has null. */
function withoutProbe(offer: unknown): unknown {
  const { probe_cost_usd: cost, probes, ...kept } = Told.parse(offer)
  return cost === null && probes === null ? kept : offer
}
const Told = z.looseObject({ probe_cost_usd: z.number().nullish(), probes: z.array(z.unknown()).nullish() })
const fromTrpc = (call: Promise<unknown>): Promise<Outcome> =>
  call.then(
    (offer) => ({ offer: toSnakeBody(offer) }),
    async () => ({ code: await trpcCodeOf(call) }),
  )
const withKey = (key: string | undefined) => (key === undefined ? {} : { key })

const DOORS: Record<string, Door> = {
  REST: {
    create: async (key, input) =>
      fromRest(
        await market.rest('POST', '/v1/seller/offers', { ...withKey(key), body: toSnakeBody(input), headers: idem() }),
      ),
    get: async (key, id) => fromRest(await market.rest('GET', `/v1/seller/offers/${id}`, withKey(key))),
    update: async (key, id, input) =>
      fromRest(await market.rest('PATCH', `/v1/seller/offers/${id}`, { ...withKey(key), body: toSnakeBody(input) })),
    remove: async (key, id) => fromRest(await market.rest('DELETE', `/v1/seller/offers/${id}`, withKey(key))),
  },
  GraphQL: {
    create: async (key, input) =>
      fromGraph('createOffer')(await market.graphql(key, CREATE, { input, key: market.plane.ids.ulid() })),
    get: async (key, id) => fromGraph('offer')(await market.graphql(key, GET, { id })),
    update: async (key, id, input) => fromGraph('updateOffer')(await market.graphql(key, UPDATE, { id, input })),
    remove: async (key, id) => fromGraph('deleteOffer')(await market.graphql(key, DELETE, { id })),
  },
  tRPC: {
    create: (key, input) => fromTrpc(market.trpc(key, idem()).offer.create.mutate(input as never)),
    get: (key, id) => fromTrpc(market.trpc(key).offer.get.query({ id })),
    update: (key, id, input) => fromTrpc(market.trpc(key).offer.update.mutate({ ...input, id })),
    remove: (key, id) => fromTrpc(market.trpc(key).offer.delete.mutate({ id })),
  },
}

const idOf = (outcome: Outcome) => z.object({ id: z.string() }).parse(outcome.offer).id

describe.each(Object.entries(DOORS))('offers through %s', (_name, door) => {
  it('are created, read, changed and removed, and every other door answers the same', async () => {
    const created = await door.create(
      ada.sellerKey,
      inputWith({ capDailyUsd: 2.5, label: 'x', passes: ['unknown', 'unknown', 'region'] }),
    )
    expect(created.offer).toMatchObject({ passes: ['unknown', 'region'] })
    const id = idOf(created)
    // Only the record of a new offer has the results and costs of its test calls.
    const { probe_cost_usd: cost, probes, ...kept } = Told.parse(created.offer)
    expect(cost).toBeGreaterThan(0)
    expect(probes).toMatchObject([{ endpoint: 'chat', result: 'answered', cost_usd: cost }])
    for (const other of Object.values(DOORS)) expect(await other.get(ada.sellerKey, id)).toEqual({ offer: kept })
    const changed = await door.update(ada.sellerKey, id, {
      costMultiplier: 0.8766,
      status: 'paused',
      capDailyUsd: null,
      passes: null,
    })
    expect(changed.offer).toMatchObject({
      discount: 12.34,
      status: 'paused',
      cap_daily_usd: null,
      passes: [],
      pricing_mode: 'cost_multiplier',
    })
    for (const other of Object.values(DOORS)) expect(await other.get(ada.sellerKey, id)).toEqual(changed)
    const removed = await door.remove(ada.sellerKey, id)
    expect(removed.offer).toMatchObject({ status: 'inactive', active: false })
    for (const other of Object.values(DOORS)) expect(await other.get(ada.sellerKey, id)).toEqual(removed)
  })

  it('refuse with the same codes', async () => {
    const input = inputWith()
    const id = idOf(await door.create(ada.sellerKey, input))
    expect(await door.create(ada.sellerKey, input)).toEqual({ code: 'duplicate_offer_for_credential' })
    expect(await door.create(ada.sellerKey, inputWith({ apiKey: 'sk-bad-canary-1' }))).toEqual({
      code: 'provider_probe_failed',
    })
    expect(await door.create(ada.sellerKey, inputWith({ model: 'nope' }))).toEqual({ code: 'unknown_model' })
    expect(await door.create(ada.sellerKey, inputWith({ discount: 101 }))).toEqual({ code: 'invalid_request' })
    expect(await door.update(ada.sellerKey, id, { discount: 0.001 })).toEqual({ code: 'invalid_request' })
  })

  it('are closed to buyers, anonymous callers and bad keys, and hidden from other sellers', async () => {
    const id = idOf(await door.create(ada.sellerKey, inputWith()))
    const before = await door.get(ada.sellerKey, id)
    const callers: [key: string | undefined, code: string][] = [
      [ada.buyerKey, 'wrong_key_type'],
      [undefined, 'authentication_required'],
      ['mkt_seller_bad', 'invalid_api_key'],
      [await market.managementKey('operator'), 'wrong_key_type'],
      [bob.sellerKey, 'not_found'],
    ]
    for (const [key, code] of callers) {
      expect(await door.get(key, id)).toEqual({ code })
      expect(await door.update(key, id, { discount: 99 })).toEqual({ code })
      expect(await door.remove(key, id)).toEqual({ code })
    }
    expect(await door.get(ada.sellerKey, id)).toEqual(before)
  })

  it.each(UNSAFE_BASE_URLS)('G6: dial nothing for %.60j', async (sellerBaseUrl) => {
    market.provider.requests.reset()
    const { code } = await door.create(ada.sellerKey, inputWith({ sellerBaseUrl }))
    expect(['invalid_base_url', 'invalid_request']).toContain(code)
    expect(market.provider.requests.count()).toBe(0)
  })
})

describe('REST', () => {
  it('answers errors in the envelope of the seller, with the request id', async () => {
    const input = inputWith()
    const body = toSnakeBody(input)
    const first = await market.rest('POST', '/v1/seller/offers', { key: ada.sellerKey, body, headers: idem() })
    expect(first.status).toBe(201)
    const twin = await market.rest('POST', '/v1/seller/offers', { key: ada.sellerKey, body, headers: idem() })
    expect(twin.status).toBe(409)
    expect(detailOf(twin)['existing_offer_id']).toBe(idOf({ offer: first.body }))
    expect(z.object({ request_id: z.string() }).parse(twin.body).request_id).toBe(twin.headers.get('x-request-id'))
    const foreign = await market.rest('POST', '/v1/seller/offers', { key: bob.sellerKey, body, headers: idem() })
    expect([foreign.status, detailOf(foreign)]).toEqual([409, {}])
    expect(await market.rest('GET', '/v1/seller/offers', { key: ada.sellerKey })).toMatchObject({ status: 200 })
  })

  it('replays a creation under its key, and refuses the key for another body', async () => {
    const [body, headers] = [toSnakeBody(inputWith()), idem()]
    const call = (content: unknown) =>
      market.rest('POST', '/v1/seller/offers', { key: ada.sellerKey, body: content, headers })
    const first = await call(body)
    const again = await call(body)
    expect([again.status, again.body]).toEqual([first.status, first.body])
    expect(codeOf(await call({ ...Object(body), discount: 26 }))).toBe('idempotency_key_reused')
    const bare = await market.rest('POST', '/v1/seller/offers', { key: ada.sellerKey, body })
    expect([bare.status, codeOf(bare)]).toEqual([400, 'idempotency_key_required'])
  })

  it('lists in pages and reports the used part of the limit of the caller', async () => {
    const cleo = await market.person()
    await listOffer(market, cleo.seller)
    await listOffer(market, cleo.seller)
    const page = await market.rest('GET', '/v1/seller/offers?max_items=1&status=active', { key: cleo.sellerKey })
    const { items, next_token } = z.object({ items: z.array(z.unknown()), next_token: z.string() }).parse(page.body)
    expect(items).toHaveLength(1)
    const next = await market.rest('GET', `/v1/seller/offers?max_items=1&next_token=${next_token}`, {
      key: cleo.sellerKey,
    })
    expect(next.body).not.toEqual(page.body)
    expect(Number(page.headers.get('x-ratelimit-remaining'))).toBeGreaterThan(0)
    const bad = ['max_items=0', 'max_items=1e9', 'max_items=x', 'next_token=x', 'status=gone', 'status=a&status=b']
    for (const query of bad) {
      const refused = await market.rest('GET', `/v1/seller/offers?${query}`, { key: cleo.sellerKey })
      expect([query, refused.status]).toEqual([query, 400])
    }
  })

  it('takes JSON in UTF-8 only, of limited size and depth', async () => {
    const post = async (body: string, headers: Record<string, string> = {}) => {
      const answer = await market.rest('POST', '/v1/seller/keys', {
        key: ada.sellerKey,
        body,
        headers: { ...idem(), ...headers },
      })
      return answer.status
    }
    for (const body of [
      '{',
      '',
      '[]',
      'null',
      '"x"',
      '{"label":"x",}',
      '{"__proto__":{},"label":"x"}',
      '['.repeat(1_000),
    ]) {
      expect([body.slice(0, 20), await post(body)]).toEqual([body.slice(0, 20), 400])
    }
    expect(await post('{"label":"x"}', { 'content-type': 'text/plain' })).toBe(415)
    expect(await post('{"label":"x"}', { 'content-type': 'application/json; charset=utf-16' })).toBe(415)
    expect(await post('{"label":"x"}', { 'content-encoding': 'gzip' })).toBe(415)
    expect(await post(JSON.stringify({ label: 'x'.repeat(1_100_000) }))).toBe(413)
    expect(await post('{"label":"x"}')).toBe(201)
  })

  it('knows its paths and methods', async () => {
    const wrong = await market.rest('PUT', '/v1/seller/offers', { key: ada.sellerKey })
    expect([wrong.status, codeOf(wrong), wrong.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'POST, GET'])
    const missing = await market.rest('GET', '/v1/seller/nothing', { key: ada.sellerKey })
    expect([missing.status, codeOf(missing)]).toEqual([404, 'not_found'])
    expect((await market.rest('GET', '/health/ready')).status).toBe(200)
    expect((await market.rest('GET', '/metrics')).text).toContain('control_requests_total')
  })
})
