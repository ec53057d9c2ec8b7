import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { toSnakeBody } from '#control-plane/api/case.ts'
import { postBatch } from '#control-plane/services/money/ingest.ts'
import type { Person, TestMarket } from '#test/support/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/control-plane.ts'
import { usageEvent } from '#test/support/usage-events.ts'

const Requests = z.object({
  edges: z.array(z.object({ node: z.unknown() })),
  page_info: z.object({ end_cursor: z.string() }),
})

describe('a call by its request id', () => {
  let market: TestMarket
  let ada: Person
  const rids: string[] = []

  beforeAll(async () => {
    market = await startMarket()
    ada = await market.person()
    for (let count = 0; count < 3; count++) rids.push(market.plane.ids.ulid())
    const fixed = { account: ada.buyer.account, sellerAccount: ada.seller.account, charge: 0 }
    const events = rids.map((rid) => JSON.stringify(usageEvent({ ...fixed, rid })))
    await postBatch(market.plane, { events, source: 'test' })
  })
  afterAll(() => market?.stop())

  const FIELDS = `requestId model provider servedBy settlementStatus settlementType settlementError confirmedAt
    buyerCostMicro listCostMicro txHash attempts { provider status ms } createdAt streamed cancelled finishReason
    inputTokens outputTokens cacheReadTokens reasoningTokens ttftMs durationMs
    routing { offers { offer provider estimateMicro } excluded { offer reason } affinity { offer savingMicro } }`

  async function graph(key: string, query: string): Promise<Record<string, unknown>> {
    const answer = await market.graphql(key, query)
    const { data } = z.object({ data: z.record(z.string(), z.unknown()) }).parse(answer.body)
    return z.record(z.string(), z.unknown()).parse(toSnakeBody(data))
  }

  it('and in lists has the same record at every door', async () => {
    const key = ada.buyerKey
    const id = rids[0] ?? ''
    const one = await market.rest('GET', `/v1/requests/${id}`, { key })
    expect(one.body).toMatchObject({ request_id: id })
    expect(await market.trpc(key).request.get.query({ id })).toEqual(one.body)
    expect((await graph(key, `{ request(id: "${id}") { ${FIELDS} } }`))['request']).toEqual(one.body)
    const page = await market.rest('GET', '/v1/requests?limit=2', { key })
    expect(page.body).toMatchObject({
      requests: [{ request_id: rids[2] }, { request_id: rids[1] }],
      next: rids[1],
      next_token: expect.stringContaining('~'),
    })
    const token = z.object({ next_token: z.string() }).parse(page.body).next_token
    expect((await market.rest('GET', '/v1/requests?max_items=2', { key })).body).toEqual(page.body)
    const second = await market.rest('GET', `/v1/requests?max_items=2&next_token=${token}`, { key })
    expect(second.body).toMatchObject({ requests: [{ request_id: rids[0] }], next_token: null })
    const both = await market.rest('GET', '/v1/requests?max_items=2&limit=2', { key })
    expect(both.body).toMatchObject({ error: { code: 'invalid_request', param: 'limit' } })
    expect(toSnakeBody(await market.trpc(key).request.list.query({ limit: 2 }))).toEqual(page.body)
    const found = await graph(key, `{ requests(first: 2) { edges { node { ${FIELDS} } } pageInfo { endCursor } } }`)
    const connection = Requests.parse(found['requests'])
    const requests = connection.edges.map(({ node }) => node)
    expect({ requests, next: rids[1], next_token: connection.page_info.end_cursor }).toEqual(page.body)
  })

  it('[C246] is not there for another, at every door', async () => {
    const { buyerKey: key } = await market.person()
    const id = rids[0] ?? ''
    expect(codeOf(await market.rest('GET', `/v1/requests/${id}`, { key }))).toBe('not_found')
    expect(codeOf(await market.graphql(key, `{ request(id: "${id}") { model } }`))).toBe('not_found')
    expect(await trpcCodeOf(market.trpc(key).request.get.query({ id }))).toBe('not_found')
  })
})
