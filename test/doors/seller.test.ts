import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { MediaUnitsSchema } from '#control-plane/services/media-units.ts'
import { runSellerOperations } from '#control-plane/services/offers/seller-operations.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Answer, Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, pathOfLink, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey } from '#test/support/doors/offers.ts'
import { storePayout } from '#test/support/doors/stored-payout.ts'

let market: TestMarket
let ada: Person
let bob: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  const input = { account: bob.buyer.account, sellerAccount: ada.seller.account, model: 'gpt-test' }
  const events = [1_000, 2_000, 3_000].map((charge) => eventText({ ...input, charge }))
  await postBatch(market.plane, { events, source: 'test' })
})
afterAll(() => market.stop())

const place = () => ({ apiKey: newProviderKey(), baseUrl: market.provider.url })
const offerOf = (person: Person, changes: object = {}) => listOffer(market, person.seller, changes)
const dataOf = (answer: Answer, field: string): unknown => {
  const code = codeOf(answer)
  if (code !== undefined) return { code }
  return toSnakeBody(z.object({ data: z.record(z.string(), z.unknown()) }).parse(answer.body).data[field])
}
const bodyOf = (answer: Answer): unknown => {
  const code = codeOf(answer)
  if (code !== undefined) return { code }
  return answer.headers.get('content-type')?.includes('ndjson')
    ? answer.text
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line))
    : answer.body
}
const resultOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(toSnakeBody, async () => ({ code: await trpcCodeOf(call) }))

/** A query at each door. Members that only one door shows are removed before the comparison. */
type Question = {
  readonly rest: (key: string) => Promise<Answer>
  readonly graphql: (key: string) => Promise<unknown>
  readonly trpc: (key: string) => Promise<unknown>
}
const get = (path: string) => (key: string) => market.rest('GET', `/v1/seller/${path}`, { key })
const MEDIA = Object.keys(MediaUnitsSchema.shape).join(' ')
const SALE = `${MEDIA} id model offerId settlementStatus createdAt sellerCostUsdc grossMicro feeMicro listCostMicro providerCostUsd inputTokens outputTokens cacheReadTokens
  effectiveInputPer1m effectiveOutputPer1m mediaUnit effectiveMediaUnitPrice effectiveUnitPrices { unit usd } txHash`
const graph =
  (field: string, query: string, variables: () => object = () => ({})) =>
  (key: string) =>
    market.graphql(key, query, variables()).then((answer) => dataOf(answer, field))

const Connection = z.object({
  edges: z.array(z.object({ node: z.unknown() })),
  page_info: z.object({ has_next_page: z.boolean(), end_cursor: z.string().nullable() }),
})
/** A GraphQL connection in the shape of a page of REST. */
const paged = (field: string, query: string, items: string) => async (key: string) => {
  const found = await graph(field, query)(key)
  const connection = Connection.safeParse(found)
  if (!connection.success) return found
  const { edges, page_info: info } = connection.data
  return { [items]: edges.map(({ node }) => node), next_token: info.has_next_page ? info.end_cursor : null }
}
const INFO = 'pageInfo { hasNextPage endCursor }'

const QUESTIONS: Record<string, Question> = {
  earnings: {
    rest: get('earnings?range=30d'),
    graphql: graph(
      'earnings',
      `{ earnings(range: "30d") { range totalEarnedUsdc pendingUsdc inFlightUsdc paidUsdc
        daily { day grossMicro feeMicro earnedMicro earnedUsd requests inputTokens outputTokens totalTokens ${MEDIA} }
        byModel { model grossMicro feeMicro earnedMicro earnedUsd requests totalTokens lastSaleAt ${MEDIA} }
        share { grossMicro feeMicro earnedMicro earnedUsd requests tokens topModel shareBps } payoutHold { code reason since } recentSales { ${SALE} } } }`,
    ),
    trpc: (key) => resultOf(market.trpc(key).earnings.get.query({ range: '30d' })),
  },
  'a page of sales': {
    rest: get('earnings/history?limit=2'),
    graphql: paged('sales', `{ sales(first: 2) { edges { node { ${SALE} } } ${INFO} } }`, 'recent_sales'),
    trpc: (key) => resultOf(market.trpc(key).earnings.history.query({ limit: 2 })),
  },
  'a page with an invalid token': {
    rest: get('earnings/history?cursor=garbage'),
    graphql: graph('sales', `{ sales(first: 2, after: "garbage") { edges { cursor } } }`),
    trpc: (key) => resultOf(market.trpc(key).earnings.history.query({ cursor: 'garbage' })),
  },
  'the health log': {
    rest: get('health-log?sort_order=ASC&max_items=5'),
    graphql: paged(
      'healthLog',
      `{ healthLog(sortOrder: "ASC", first: 5) { edges { node { id timestamp offerId model errorCategory errorDetail
        statusCode actionTaken backedOffUntil } } ${INFO} } }`,
      'items',
    ),
    trpc: (key) => resultOf(market.trpc(key).offer.healthLog.query({ sortOrder: 'ASC', maxItems: 5 })),
  },
  'an operation that is not there': {
    rest: get('operations/opn_unknown'),
    graphql: graph('sellerOperation', `{ sellerOperation(id: "opn_unknown") { status } }`),
    trpc: (key) => resultOf(market.trpc(key).operation.get.query({ id: 'opn_unknown' })),
  },
}

describe('the queries of a seller', () => {
  it.each(Object.entries(QUESTIONS))('%s has one answer at every door', async (_name, { rest, graphql, trpc }) => {
    for (const person of [ada, bob]) {
      const expected = bodyOf(await rest(person.sellerKey))
      expect(await graphql(person.sellerKey)).toEqual(expected)
      expect(await trpc(person.sellerKey)).toEqual(expected)
    }
    // A buyer's key is named as the wrong kind. A caller without a key is refused.
    const wrong = { code: 'wrong_key_type' }
    expect(bodyOf(await rest(ada.buyerKey))).toEqual(wrong)
    expect(await graphql(ada.buyerKey)).toEqual(wrong)
    expect(await trpc(ada.buyerKey)).toEqual(wrong)
  })

  it('the payout position and saved keys are the same', async () => {
    await offerOf(ada, { label: 'saved' })
    const position = z.looseObject({}).parse((await get('payouts')(ada.sellerKey)).body)
    const shown = `availableUsdc inFlightUsdc paidUsdc thresholdUsdc nextPayoutAt payoutEveryMs holdMs nextToken payoutStop payoutHold { code reason since }
      recipients { recipient earnedUsdc availableUsdc payableUsdc inFlightUsdc paidUsdc holdReason coolsUntil }`
    expect({ ...Object(await graph('payouts', `{ payouts { ${shown} } }`)(ada.sellerKey)), payouts: [] }).toEqual(
      position,
    )
    expect(await resultOf(market.trpc(ada.sellerKey).earnings.payouts.query({}))).toEqual(position)
    const configs = (await get('configs')(ada.sellerKey)).body
    const card = '{ savedConfigs(first: 99) { edges { node { id label baseUrl keyFingerprint hint createdAt } } } }'
    const nodes = z
      .object({ configs: z.array(z.unknown()) })
      .parse(configs)
      .configs.map((node) => ({ node }))
    expect(await graph('savedConfigs', card)(ada.sellerKey)).toEqual({ edges: nodes })
    const listed = z.looseObject({}).parse(await resultOf(market.trpc(ada.sellerKey).config.list.query()))
    expect(listed).toEqual({ ...Object(configs), next_token: null })
  })

  it('the transaction of a payout is reported by GET and by POST', async () => {
    const carol = await market.person()
    const path = `/v1/seller/payouts/${await storePayout(market, carol.seller.account)}/tx`
    const told = await Promise.all(['GET', 'POST'].map((method) => market.rest(method, path, { key: carol.sellerKey })))
    expect(told.map(({ status }) => status)).toEqual([200, 200])
    expect(told[1]?.body).toEqual(told[0]?.body)
    expect(codeOf(await market.rest('POST', path, { key: bob.sellerKey }))).toBe('not_found')
  })

  it('a file of sales is behind a link from every door', async () => {
    const link = z.object({ url: z.string() })
    const redirect = await fetch(`${market.url}/v1/seller/usage/export`, {
      headers: { authorization: `Bearer ${ada.sellerKey}` },
      redirect: 'manual',
    })
    const paths = [
      redirect.headers.get('location') ?? '',
      link.parse(await graph('salesExport', '{ salesExport { url expiresAt } }')(ada.sellerKey)).url,
      (await market.trpc(ada.sellerKey).earnings.export.query({})).url,
    ]
    const files = await Promise.all(paths.map((link) => market.rest('GET', pathOfLink(market, link))))
    expect(files.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(files.map(({ text }) => text)).size).toBe(1)
  })
})

const POST = (path: string, key: string, body: object) =>
  market.rest('POST', `/v1/seller/${path}`, { key, body: toSnakeBody(body) })
const PLACE = '$place: ProviderPlaceInput!'

/** The cost of a test call to `gpt-test`: a greeting, and one token of answer. */
const GREETING_USD = 0.000003

describe('the changes of a seller', () => {
  it('bulk creation answers the same for the same rows', async () => {
    const offers = [{ model: 'gpt-test', discount: 5 }, { model: 'nope', discount: 5 }, { model: 'claude-test' }]
    const query = `mutation(${PLACE}, $offers: [BulkOfferInput!]!) { bulkCreateOffers(place: $place, offers: $offers) {
      model status offerId probeCostUsd error code } }`
    const line = z.object({
      model: z.string(),
      status: z.string(),
      code: z.string().nullish(),
      probe_cost_usd: z.number().nullish(),
    })
    const facts = (found: unknown) =>
      z
        .array(line)
        .parse(toSnakeBody(found))
        .map(({ model, status, code, probe_cost_usd: cost }) => [model, status, code ?? null, cost ?? null])
        .sort(([a], [b]) => String(a).localeCompare(String(b)))
    const expected = [
      ['claude-test', 'error', 'invalid_request', null],
      ['gpt-test', 'created', null, GREETING_USD],
      ['nope', 'error', 'unknown_model', null],
    ]
    const rest = bodyOf(await POST('offers/bulk', ada.sellerKey, { ...place(), offers }))
    const graphql = await graph('bulkCreateOffers', query, () => ({ place: place(), offers }))(ada.sellerKey)
    const trpc = await market.trpc(ada.sellerKey).offer.bulkCreate.mutate({ ...place(), offers })
    for (const found of [rest, graphql, trpc]) expect(facts(found)).toEqual(expected)
  })

  it('resetting health and replacing the key of an offer', async () => {
    const { id } = await offerOf(ada)
    const reset = { healthy: true, status: 'active' }
    const resetQuery = `mutation { resetOfferHealth(id: "${id}") { healthy status } }`
    expect(bodyOf(await POST(`offers/${id}/reset-health`, ada.sellerKey, {}))).toEqual(reset)
    expect(await graph('resetOfferHealth', resetQuery)(ada.sellerKey)).toEqual(reset)
    expect(await market.trpc(ada.sellerKey).offer.resetHealth.mutate({ id })).toEqual(reset)
    const rotateQuery = `mutation($id: ID!, $key: String!) { rotateOfferCredential(id: $id, apiKey: $key) { id status probeCostUsd } }`
    const rotated = [
      bodyOf(await POST(`offers/${id}/rotate-credential`, ada.sellerKey, { apiKey: newProviderKey() })),
      await graph('rotateOfferCredential', rotateQuery, () => ({ id, key: newProviderKey() }))(ada.sellerKey),
      await market.trpc(ada.sellerKey).offer.rotateCredential.mutate({ id, apiKey: newProviderKey() as never }),
    ]
    for (const found of rotated) {
      expect(toSnakeBody(found)).toMatchObject({ id, status: 'active', probe_cost_usd: GREETING_USD })
    }
    // A key of another seller finds nothing at any door.
    const missing = { code: 'not_found' }
    expect(bodyOf(await POST(`offers/${id}/reset-health`, bob.sellerKey, {}))).toEqual(missing)
    expect(await graph('resetOfferHealth', resetQuery)(bob.sellerKey)).toEqual(missing)
    expect(await resultOf(market.trpc(bob.sellerKey).offer.resetHealth.mutate({ id }))).toEqual(missing)
    expect(bodyOf(await POST(`offers/${id}/rotate-credential`, bob.sellerKey, { apiKey: newProviderKey() }))).toEqual(
      missing,
    )
  })

  it('requests to a provider', async () => {
    const strip = (found: unknown) => z.array(z.object({ model: z.string() })).parse(found)
    const discover = `mutation(${PLACE}) { discoverModels(place: $place) { model supported inputPer1m } }`
    const listed = strip(bodyOf(await POST('discover', ada.sellerKey, place())))
    expect(strip(await graph('discoverModels', discover, () => ({ place: place() }))(ada.sellerKey))).toEqual(listed)
    expect(strip(await market.trpc(ada.sellerKey).probe.discover.mutate(place() as never))).toEqual(listed)

    const bad = { apiKey: 'sk-bad-canary-1', baseUrl: market.provider.url }
    const refused = { ok: false, error: 'the provider refused the key', status: 401 }
    const connect = `mutation(${PLACE}) { testConnection(place: $place) { ok error status } }`
    expect(bodyOf(await POST('test-connection', ada.sellerKey, bad))).toEqual(refused)
    expect(await graph('testConnection', connect, () => ({ place: bad }))(ada.sellerKey)).toEqual(refused)
    expect(await market.trpc(ada.sellerKey).probe.testConnection.mutate(bad as never)).toEqual(refused)

    const health = `mutation(${PLACE}) { testHealth(place: $place, models: ["gpt-test"]) { model ok probeCostUsd } }`
    const asked = { ...place(), models: ['gpt-test'] }
    const well = [{ model: 'gpt-test', ok: true, probe_cost_usd: GREETING_USD }]
    expect(bodyOf(await POST('test-health', ada.sellerKey, asked))).toMatchObject(well)
    expect(await graph('testHealth', health, () => ({ place: place() }))(ada.sellerKey)).toEqual(well)
    const told = await market.trpc(ada.sellerKey).probe.testHealth.mutate(asked as never)
    expect(toSnakeBody(told)).toMatchObject(well)
  })

  it('deleting saved keys and cancelling all offers', async () => {
    const eve = await market.person()
    for (let index = 0; index < 3; index++) await offerOf(eve)
    const ids = (await market.trpc(eve.sellerKey).config.list.query()).configs.map(({ id }) => id)
    const [first, second = '', third = ''] = ids
    expect((await market.rest('DELETE', `/v1/seller/configs/${first}`, { key: bob.sellerKey })).status).toBe(404)
    expect((await market.rest('DELETE', `/v1/seller/configs/${first}`, { key: eve.sellerKey })).status).toBe(204)
    expect(await graph('forgetConfig', `mutation { forgetConfig(id: "${second}") }`)(eve.sellerKey)).toBe(second)
    expect(await market.trpc(eve.sellerKey).config.delete.mutate({ id: third })).toEqual({ id: third })
    expect((await market.trpc(eve.sellerKey).config.list.query()).configs).toEqual([])

    const view = z.object({ operation_id: z.string(), total: z.number() })
    const begun = view.parse((await POST('offers/bulk-cancel', eve.sellerKey, {})).body)
    expect(begun.total).toBe(3)
    const again = `mutation { bulkCancelOffers { operationId status processed total failedCount } }`
    expect(view.parse(await graph('bulkCancelOffers', again)(eve.sellerKey)).total).toBe(0)
    expect((await market.trpc(eve.sellerKey).offer.bulkCancel.mutate()).total).toBe(0)
    await runSellerOperations(market.plane)
    const id = begun.operation_id
    const ended = (await get(`operations/${id}`)(eve.sellerKey)).body
    expect(ended).toEqual({ operation_id: id, status: 'succeeded', processed: 3, total: 3, failed_count: 0 })
    const poll = `{ sellerOperation(id: "${id}") { operationId status processed total failedCount } }`
    expect(await graph('sellerOperation', poll)(eve.sellerKey)).toEqual(ended)
    expect(await resultOf(market.trpc(eve.sellerKey).operation.get.query({ id }))).toEqual(ended)
    for (const answer of [
      bodyOf(await get(`operations/${id}`)(bob.sellerKey)),
      await graph('sellerOperation', poll)(bob.sellerKey),
      await resultOf(market.trpc(bob.sellerKey).operation.get.query({ id })),
    ]) {
      expect(answer).toEqual({ code: 'not_found' })
    }
  })
})
