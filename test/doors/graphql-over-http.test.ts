import { fastify } from 'fastify'
import { auditServer } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mountGraphQL } from '#control-plane/api/graphql/door.ts'
import { createServer } from '#control-plane/server.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket
beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

const HTML = { headers: { accept: 'text/html' } }

/** Valid documents with slightly wrong variables. */
const VARIABLES = [
  {
    query: 'query ($sort: MarketSort) { markets(first: 1, sort: $sort) { edges { node { id } } } }',
    variables: { sort: 'pric' },
  },
  {
    query: 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { __typename } }',
    variables: { input: { url: 'https://a.example', lable: 'x' } },
  },
]

describe('GraphQL over HTTP', () => {
  it('passes the audit without an error', async () => {
    const results = await auditServer({ url: `${market.url}/graphql`, fetchFn: fetch })
    expect(results.length).toBeGreaterThan(50)
    const errors = results.flatMap((result) => (result.status === 'error' ? [`${result.name}: ${result.reason}`] : []))
    expect(errors).toEqual([])
  })

  it('answers in the requested media type', async () => {
    const body = { query: '{ viewer { kind } }' }
    for (const accept of ['application/graphql-response+json', 'application/json', '*/*']) {
      const answer = await market.rest('POST', '/graphql', { body, headers: { accept } })
      const wanted = accept === '*/*' ? 'application/json' : accept
      expect(answer.headers.get('content-type')).toBe(`${wanted}; charset=utf-8`)
    }
  })

  it('answers a query and a mutation as events to a client that accepts only events', async () => {
    const ask = async (accept: string, query: string) => {
      const answer = await market.rest('POST', '/graphql', { body: { query }, headers: { accept } })
      return [answer.status, answer.headers.get('content-type')?.split(';')[0], answer.text]
    }
    const query = '{ viewer { kind } }'
    const [, , whole] = await ask('application/json', query)
    const events = `event: next\ndata: ${whole}\n\nevent: complete\ndata:\n\n`
    expect(await ask('text/event-stream', query)).toEqual([200, 'text/event-stream', events])
    expect(await ask('text/event-stream, application/json', query)).toEqual([200, 'application/json', whole])
    // A refusal keeps its status, as that of a subscription does.
    expect((await ask('text/event-stream', '{ nothing }'))[0]).toBe(400)
  })

  it('shows a page to try queries on in development only', async () => {
    const page = await fetch(`${market.url}/graphql`, HTML)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const text = await page.text()
    expect(text).toContain('query Markets')
    // Otherwise the page would put its documents into the address.
    expect(text).toContain('"method":"POST"')
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    expect(page.headers.get('x-frame-options')).toBe('DENY')
    const server = await createServer({
      ...market.plane,
      config: { ...market.plane.config, allowsIntrospection: false },
    })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    try {
      expect((await fetch(`${url}/graphql`, HTML)).status).toBe(405)
      // A wrong variable is found after the validation of the document.
      const ask = (body: object) =>
        fetch(`${url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }).then((answer) => answer.text())
      for (const body of VARIABLES) {
        const said = await ask(body)
        expect(said).toContain('"errors"')
        expect(said).not.toContain('Did you mean')
      }
    } finally {
      await server.close()
    }
  })

  it('answers a query by GET in the form that clients send', async () => {
    const URQL =
      'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed'
    const address = new URLSearchParams({
      query: 'query Newest($limit: Int!) { trades(limit: $limit) { model } viewer { kind } }',
      operationName: 'Newest',
      variables: JSON.stringify({ limit: 1 }),
      extensions: '{}',
    })
    const answer = await market.rest('GET', `/graphql?${address}`, { headers: { accept: URQL } })
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"kind":"nobody"')])
    const { buyerKey } = await market.person()
    const own = await market.rest('GET', '/graphql?query={viewer{kind}}', { key: buyerKey })
    expect(own.text).toContain('"kind":"buyer"')
    for (const wrong of [
      'query={nothing}',
      'query={viewer{kind}}&variables={',
      'query=a&query=b',
      `query=${'x'.repeat(7_000)}`,
    ]) {
      expect([wrong.slice(0, 40), (await market.rest('GET', `/graphql?${wrong}`)).status]).toEqual([
        wrong.slice(0, 40),
        400,
      ])
    }
    expect((await market.rest('GET', '/graphql')).status).toBe(405)
  })

  it('changes nothing by GET, and ignores a cookie without the header of a script', async () => {
    const { buyerKey } = await market.person()
    const mutation = 'mutation { createBuyerKey(input: { label: "by get" }) { __typename } }'
    const refused = await market.rest('GET', `/graphql?${new URLSearchParams({ query: mutation })}`, { key: buyerKey })
    expect([refused.status, refused.headers.get('allow'), codeOf(refused)]).toEqual([405, 'POST', 'method_not_allowed'])
    // The request names one operation of several, and no other parameter changes that.
    const two = new URLSearchParams({
      query: `query A { viewer { kind } } ${mutation.replace('mutation', 'mutation B')}`,
      operationName: 'B',
    })
    expect((await market.rest('GET', `/graphql?${two}`, { key: buyerKey })).status).toBe(405)
    expect((await market.rest('GET', '/v1/buyer/keys', { key: buyerKey })).text).not.toContain('by get')
    const signedIn = await market.rest('POST', '/v1/auth/key-session', { body: { key: buyerKey } })
    const cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    expect(cookie).toContain('mkt_session=')
    const viewer = '/graphql?query={viewer{kind}}'
    expect((await market.rest('GET', viewer, { headers: { cookie } })).status).toBe(403)
    const byScript = await market.rest('GET', viewer, { headers: { cookie, 'graphql-require-preflight': '1' } })
    expect([byScript.status, byScript.text]).toEqual([200, expect.stringContaining('"kind":"buyer"')])
  })

  it('explains subscriptions to a client that asks for JSON', async () => {
    const answer = await market.graphql(undefined, 'subscription { tradeUpdates { model } }')
    expect([answer.status, answer.text]).toEqual([406, expect.stringContaining('text/event-stream')])
  })

  it('names the wrong argument as in the schema', async () => {
    const answer = await market.graphql(undefined, '{ markets(first: 5, after: "mine") { edges { cursor } } }')
    expect(answer.text).toContain('"param":"after"')
  })

  it('ends a document that takes too long', async () => {
    const stuck = { ...market.plane, limiter: () => new Promise<never>(() => undefined) }
    const server = fastify()
    mountGraphQL(server, stuck, { allowsIntrospection: false, maxQueryMs: 50 })
    try {
      const headers = { 'content-type': 'application/json' }
      const payload = JSON.stringify({ query: '{ trades(limit: 1) { model } }' })
      const answer = await server.inject({ method: 'POST', url: '/graphql', headers, payload })
      expect([answer.statusCode, answer.json().errors[0].extensions.code]).toEqual([503, 'service_unavailable'])
    } finally {
      await server.close()
    }
  })
})

describe('documents that cost too much', () => {
  const nested = `{ markets(first: 100) { edges { node { providers { best { inputPer1m } } } } } }`
  it.each([
    [
      'a page of a hundred objects within objects',
      nested.replaceAll('providers {', 'discountTrend { buckets { bucket } } providers {'),
    ],
    [
      'ten pages of a hundred',
      `{ ${[1, 2, 3, 4, 5, 6].map((n) => `a${n}: markets(first: 100) { edges { node { id } } }`).join(' ')} }`,
    ],
    ['a page of two billion', '{ trades(limit: 2000000000) { model } }'],
    [
      'lists of operators',
      '{ catalogHistory(first: 100) { edges { node { id } } } anyOffers(first: 100) { edges { node { id } } } audit(first: 100) { edges { node { id } } } a: audit(first: 100) { edges { node { id } } } b: audit(first: 100) { edges { node { id } } } }',
    ],
  ])('refuses %s before anything is read', async (_what, query) => {
    let reads = 0
    const limiter: TestMarket['plane']['limiter'] = (...args) => {
      reads++
      return market.plane.limiter(...args)
    }
    const server = fastify()
    mountGraphQL(server, { ...market.plane, limiter }, { allowsIntrospection: true })
    try {
      const headers = { 'content-type': 'application/json' }
      const payload = JSON.stringify({ query })
      const answer = await server.inject({ method: 'POST', url: '/graphql', headers, payload })
      expect([answer.statusCode, reads]).toEqual([400, 0])
      expect(answer.body).toContain('costs more than')
    } finally {
      await server.close()
    }
  })

  it.each(['first: -1', 'first: 0', 'first: 1000000', 'first: null', 'last: 5', 'first: 5, before: "x"'])(
    'refuses a page of %s as a whole, beside valid fields',
    async (page) => {
      const query = `{ rails { state } markets(${page}) { edges { cursor } } }`
      const answer = await market.graphql(undefined, query)
      expect([answer.status, codeOf(answer)]).toEqual([400, 'invalid_request'])
      const inside = `query ($page: Int) { markets(first: $page) { edges { cursor } } }`
      expect((await market.graphql(undefined, inside)).status).toBe(400)
    },
  )
})
