import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FAMILY, RESOURCE } from '#test/support/forward-rows/wires.ts'
import { startPlaneBeside } from '#test/support/plane-beside.ts'
import type { RoutedMarket } from '#test/support/routed-market.ts'
import { MODEL, startRoutedMarket } from '#test/support/routed-market.ts'
import { textModel } from '#test/support/text-model.ts'
import { until } from '#test/support/until.ts'

/**
 * Targets that are no models go through the same plan, failover and settlement. The product sells none yet, so this
 * uses two rows of the tests' own. Their prices and offers are those of catalogue entries of the same names.
 */

const PRICE_PER_CALL_USD = '0.004'
const PRICE_PER_CHARACTER_USD = '0.00002'
/** The names in prices, offers and books. */
const LISTED = { family: `family/${FAMILY}`, resource: `resource/${RESOURCE}`, unsold: 'resource/unsold' }
/** Sellers by price, cheapest first: the host of each. */
const HOSTS = ['127.0.0.95', '127.0.0.96'] as const

let market: RoutedMarket
let plane: { readonly child: ChildProcess; readonly url: string }
const servers: Server[] = []
const asked: string[] = []
/** The cheaper host's answer to a call. */
let cheapest: 'answers' | 'fails' = 'answers'

async function startSeller(host: string, port = 0): Promise<Server> {
  const server = createServer((request, response) => {
    asked.push(`${host} ${request.method} ${request.url}`)
    const isProbe = /chat\/completions|\/models/.test(request.url ?? '')
    const models = {
      object: 'list',
      data: [LISTED.family, LISTED.resource].map((id) => ({ id, object: 'model', owned_by: 'x' })),
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 1, completion_tokens: 1 }
    const probed = request.method === 'GET' && isProbe ? models : { choices, usage }
    response.statusCode = !isProbe && host === HOSTS[0] && cheapest === 'fails' ? 500 : 200
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(isProbe ? probed : { by: host, path: request.url }))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

const portOf = (server: Server | undefined) => {
  const address = server?.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

beforeAll(async () => {
  market = await startRoutedMarket()
  await market.operator('catalog.import', {
    source: 'test',
    models: [
      textModel(LISTED.family, { pricing: { prompt: '0', completion: '0', request: PRICE_PER_CALL_USD } }),
      textModel(LISTED.resource, {
        pricing: { prompt: '0', completion: '0' },
        unit_pricing: { characters: PRICE_PER_CHARACTER_USD },
      }),
      textModel(LISTED.unsold, { pricing: { prompt: '0', completion: '0', request: PRICE_PER_CALL_USD } }),
    ],
  })
  for (const [at, host] of HOSTS.entries()) {
    const server = await startSeller(host)
    servers.push(server)
    const baseUrl = `http://${host}:${portOf(server)}/v1`
    await market.operator('provider.put', { id: `forward-${at}`, name: `Forward ${at}`, baseUrl, isTrusted: true })
    for (const model of [LISTED.family, LISTED.resource]) {
      const { sellerKey } = await market.user()
      const offer = { model, api_key: `sk-forward-${at}`, seller_base_url: baseUrl, discount: 50 - 20 * at }
      const made = await market.post('/v1/seller/offers', sellerKey, offer)
      expect([made.status, await made.text()]).toEqual([201, expect.any(String)])
    }
  }
  plane = await startPlaneBeside(market.network, 'test/rails/fixtures/forward-plane.ts', 'forward')
  await until('both sellers are routed', 20_000, async () => {
    const answer = await get(`/family/${FAMILY}/today`)
    return answer.status === 200
  })
}, 180_000)

afterAll(async () => {
  plane.child.kill('SIGKILL')
  for (const server of servers) server.close().closeAllConnections()
  await market?.stop()
}, 60_000)

const auth = () => ({ authorization: `Bearer ${market.network.sandbox.buyer_key}` })
const get = (path: string) => fetch(plane.url + path, { headers: auth() })
const post = (path: string, body: object) =>
  fetch(plane.url + path, {
    method: 'POST',
    headers: { ...auth(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const Bought = z.object({
  answer: z.object({ by: z.string(), path: z.string() }),
  of: z.string(),
  usage: z.object({ buyer_cost_micro: z.number().int() }),
})

async function bought(answer: Response) {
  const text = await answer.text()
  expect([answer.status, text]).toEqual([200, expect.any(String)])
  const { answer: body, of, usage } = Bought.parse(JSON.parse(text))
  expect(answer.headers.get('x-mkt-buyer-cost-micro')).toBe(String(usage.buyer_cost_micro))
  return { ...body, of, cost: usage.buyer_cost_micro, rid: answer.headers.get('x-request-id') ?? '' }
}

/** Expects the same figure and name in the look-up and in the ledger. */
async function expectBooked(rid: string, name: string, cost: number): Promise<void> {
  const database = new pg.Pool({ connectionString: market.network.sandbox.database_url, max: 1 })
  try {
    await until('the call is posted', 20_000, async () => {
      const { rows } = await database.query('select model, charge::int as charge from settlement where rid = $1', [rid])
      if (rows.length === 0) return false
      expect(rows).toEqual([{ model: name, charge: cost }])
      return true
    })
  } finally {
    await database.end()
  }
  const record = await market.get(`/v1/requests/${rid}`, market.network.sandbox.buyer_key)
  expect(record).toMatchObject({ model: name })
}

describe('a forwarded family', () => {
  it('costs what a call costs, at the cheapest offer, and is booked under its name', async () => {
    const { by, path, of, cost, rid } = await bought(await get(`/family/${FAMILY}/today`))
    expect([by, path, of]).toEqual([HOSTS[0], '/v1/today', LISTED.family])
    // 4,000 micro-USD at half price.
    expect(cost).toBe(2_000)
    await expectBooked(rid, LISTED.family, cost)
  })

  it('is refused by its own words where nobody has a price for it', async () => {
    // The second is a model with offers of its own. No path of a family reaches them.
    for (const name of ['nobody', MODEL]) {
      const answer = await get(`/family/${name}/today`)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ error: { code: 'no_resource_offer' } })
    }
  })
})

describe('a resource', () => {
  it('costs what its units cost', async () => {
    const { by, cost, rid } = await bought(await post(`/resource/${RESOURCE}/weave`, { text: 'a'.repeat(250) }))
    expect(by).toBe(HOSTS[0])
    // 250 characters at 20 micro-USD each, at half price.
    expect(cost).toBe(2_500)
    await expectBooked(rid, LISTED.resource, cost)
  })

  it('is refused where nobody offers it', async () => {
    const answer = await post('/resource/unsold/weave', { text: 'a' })
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ error: { code: 'no_resource_offer' } })
  })
})

describe('a call that may be followed until a provider was reached', () => {
  it('is not followed by another once one has answered, and costs nothing', async () => {
    cheapest = 'fails'
    asked.length = 0
    const answer = await get(`/family/${FAMILY}/today`)
    cheapest = 'answers'
    expect(answer.status).toBe(502)
    expect(asked).toEqual([`${HOSTS[0]} GET /v1/today`])
  })

  it('goes to the next where nobody listens', async () => {
    const [server] = servers
    const port = portOf(server)
    server?.close().closeAllConnections()
    await once(server ?? createServer(), 'close')
    const { by, cost } = await bought(await post(`/resource/${RESOURCE}/weave`, { text: 'a'.repeat(100) }))
    // 2,000 micro-USD less 30 %.
    expect([by, cost]).toEqual([HOSTS[1], 1_400])
    servers[0] = await startSeller(HOSTS[0], port)
  })
})
