import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { Doors } from '#test/support/market/routed-market.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

const MODEL = 'closes-idle'
const ON_SALE_MS = 20_000
const REPORTED_MS = 20_000
/** The first call opens a connection, and the second one uses it. */
const CALLS = 2

/** A provider that closes each connection when the connection is used again. It counts the calls that it has read. */
const used = new WeakSet<object>()
let reads = 0
const server = createServer((request, response) => {
  const isCall = request.url === '/v1/chat/completions'
  if (isCall) reads++
  const { socket } = request
  if (isCall && used.has(socket)) {
    socket.resetAndDestroy()
    return
  }
  used.add(socket)
  request.resume().on('end', () => {
    const message = { role: 'assistant', content: 'ok' }
    const usage = { prompt_tokens: 8, completion_tokens: 12 }
    const models = { object: 'list', data: [{ id: MODEL, object: 'model', created: 1, owned_by: MODEL }] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(isCall ? { choices: [{ index: 0, message, finish_reason: 'stop' }], usage } : models))
  })
})

let network: Network
let market: Doors
let sellerKey: string

beforeAll(async () => {
  server.listen(0, '127.0.0.78')
  await once(server, 'listening')
  const address = server.address()
  const baseUrl = `http://127.0.0.78:${typeof address === 'object' && address !== null ? address.port : 0}/v1`
  network = await sharedNetwork()
  market = doorsOf(network)
  const provider = { id: MODEL, name: 'Closes idle connections', baseUrl, isTrusted: true, endpoints: null }
  await market.operator('provider.put', provider)
  await market.operator('catalog.import', { source: 'test', models: [textModel(MODEL)] })
  sellerKey = (await market.user()).sellerKey
  const offer = { model: MODEL, api_key: 'sk-closes-idle', seller_base_url: baseUrl, discount: 50 }
  await market.post('/v1/seller/offers', sellerKey, offer)
  await until('the offer is on sale', ON_SALE_MS, async () => {
    const answer = await fetch(`${network.sandbox.api_base_url}/api/markets/${MODEL}`)
    return z.object({ offers: z.array(z.unknown()).min(1) }).safeParse(await answer.json()).success
  })
})

afterAll(async () => {
  await network.remove()
  server.close().closeAllConnections()
})

const Record = z.object({
  provider: z.string().nullable(),
  buyer_cost_micro: z.number(),
  attempts: z.array(z.object({ status: z.number(), connect_ms: z.number().nullable(), resent: z.boolean() })),
})
const Line = z.object({ action_taken: z.string(), error_category: z.string().nullable(), error_detail: z.string() })
const HealthLog = z.object({ items: z.array(Line) })

it('a call whose idle connection was closed is answered at its first offer, and its seller reads of both requests', async () => {
  const { buyerKey } = await market.user(1)
  reads = 0
  const records: z.infer<typeof Record>[] = []
  for (let call = 0; call < CALLS; call++) {
    const messages = [{ role: 'user', content: 'hi' }]
    const answer = await market.post('/v1/chat/completions', buyerKey, { model: MODEL, messages, max_tokens: 20 })
    expect(answer.status).toBe(200)
    const id = answer.headers.get('x-request-id') ?? ''
    records.push(Record.parse(await market.get(`/v1/requests/${id}`, buyerKey)))
  }
  expect(records.map(({ attempts }) => attempts)).toEqual([
    [{ status: 200, connect_ms: expect.anything(), resent: false }],
    [{ status: 200, connect_ms: expect.anything(), resent: true }],
  ])
  expect(reads).toBe(CALLS + 1)
  // A call that is sent twice costs its buyer as much as one that is sent once.
  expect(records[1]?.buyer_cost_micro).toBe(records[0]?.buyer_cost_micro)
  const readLog = async () => HealthLog.parse(await market.get('/v1/seller/health-log', sellerKey)).items
  await until('the seller reads of it', REPORTED_MS, async () => (await readLog()).length > 0)
  expect(await readLog()).toEqual([
    { action_taken: 'flagged', error_category: 'unreachable', error_detail: expect.stringContaining('sent again') },
  ])
})
