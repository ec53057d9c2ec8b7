import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_CODES } from '#shared/errors.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let ada: Person
beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
})
afterAll(() => market?.stop())

describe('an error', () => {
  it('removes only its own field of a query', async () => {
    const query = '{ viewer { kind } request(id: "nothing") { model } buyerKeys(first: 1) { edges { cursor } } }'
    const answer = await market.graphql(ada.buyerKey, query)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      data: { viewer: { kind: 'buyer' }, request: null, buyerKeys: { edges: [{}] } },
      errors: [{ path: ['request'], extensions: { code: 'not_found', status: 404 } }],
    })
  })

  it('names every problem of an input, at every door', async () => {
    const input = { label: '', capDailyUsd: -1 }
    const mutation = `mutation { createBuyerKey(input: { label: "", capDailyUsd: -1 }, idempotencyKey: "p") { wallet } }`
    const graph = await market.graphql(ada.buyerKey, mutation)
    const problems = [
      { param: 'label', message: expect.any(String) },
      { param: 'capDailyUsd', message: expect.any(String) },
    ]
    expect(graph.body).toMatchObject({
      errors: [{ extensions: { code: 'invalid_request', param: 'label', problems } }],
    })
    const rest = await market.rest('POST', '/v1/buyer/keys', {
      key: ada.buyerKey,
      body: { label: '', cap_daily_usd: -1 },
      headers: { 'idempotency-key': 'p' },
    })
    expect(rest.body).toMatchObject({
      error: { code: 'invalid_request', param: 'label', problems: [{}, { param: 'cap_daily_usd' }] },
    })
    const asked = market.trpc(ada.buyerKey, { 'idempotency-key': 'p' }).buyerKey.create.mutate(input)
    await expect(asked).rejects.toMatchObject({ data: { errorCode: 'invalid_request', problems } })
  })

  it('of a document or its variables has a code of the market as well', async () => {
    const documents = [
      '{ nothing }',
      '{',
      '{ trades(limit: "x") { model } }',
      '{ markets(first: 0) { edges { cursor } } }',
    ]
    for (const query of documents) {
      const { status, body } = await market.graphql(undefined, query)
      expect([query, status, body]).toMatchObject([
        query,
        400,
        { errors: [{ extensions: { code: 'invalid_request', status: 400 } }] },
      ])
    }
    const variables = { page: 2 ** 53 }
    const query = 'query ($page: Int) { markets(first: $page) { edges { cursor } } }'
    const answer = await market.rest('POST', '/graphql', { body: { query, variables } })
    expect(answer.body).toMatchObject({ errors: [{ extensions: { code: 'invalid_request', status: 400 } }] })
  })

  it('has a code that the schema knows', async () => {
    const { body } = await market.graphql(undefined, '{ errorKinds { code status } }')
    const rows = ERROR_CODES.map((code) => expect.objectContaining({ code }))
    expect(body).toEqual({ data: { errorKinds: rows } })
  })
})
