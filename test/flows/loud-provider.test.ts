import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { holdsKey } from '#data-plane/upstream/key-traces.ts'
import type { RoutedMarket } from '#test/support/routed-market.ts'
import { startRoutedMarket } from '#test/support/routed-market.ts'
import { textModel } from '#test/support/text-model.ts'
import { until } from '#test/support/until.ts'

/**
 * A provider that repeats its key in every refusal, in the encoding that the buyer's prompt names. Eight characters of
 * it may stand in nothing that a buyer can read, and in no log of its seller.
 */

const MODEL = 'loud'
/** The key has no known prefix. */
const KEY = `AIza${randomBytes(18).toString('hex')}`
const PLACE = 'node-7.internal.acme.example'

const TOLD: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  half: (key) => key.slice(10, 26),
  base64: (key) => Buffer.from(`key=${key}`).toString('base64'),
  percent: (key) => [...key].map((each) => `%${each.charCodeAt(0).toString(16)}`).join(''),
  hex: (key) => Buffer.from(key).toString('hex'),
}

const PATHS = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  responses: '/v1/responses',
  compat: '/compat/v1/messages',
} as const

type Wire = keyof typeof PATHS
const WIRES: readonly Wire[] = ['chat', 'completions', 'responses', 'compat']

let market: RoutedMarket
let server: Server
let sellerKey: string

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const [, encoding, status, inStream] = /tell (\w+) (\d+) (\w+)/.exec(body) ?? []
  if (encoding === undefined) {
    const models = { object: 'list', data: [{ id: MODEL, object: 'model', created: 1, owned_by: MODEL }] }
    // The cheaper of two sellers sends an answer that no client can read.
    const isSpoiled = request.headers.authorization?.includes('spoiled') === true && body.includes('spoil this')
    const message = isSpoiled ? { role: 'system', content: 'spoiled' } : { role: 'assistant', content: 'ok' }
    const usage = { prompt_tokens: 8, completion_tokens: 12 }
    const whole = { choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.method === 'GET' ? models : whole))
    return
  }
  const message = `bad request to ${PLACE}: ${TOLD[encoding]?.(KEY)} at /srv/app.py line 3`
  const text = JSON.stringify({ error: { message, param: TOLD[encoding]?.(KEY), code: Number(status) } })
  const isStream = inStream === 'stream'
  response.writeHead(isStream ? 200 : Number(status), {
    'content-type': isStream ? 'text/event-stream' : 'application/json',
    'x-echo': KEY,
  })
  response.end(isStream ? `data: ${text}\n\n` : text)
}

function spoiledModel(wire: Wire): string {
  return `spoiled-${wire}`
}

function onSale(model: string, count: number): Promise<void> {
  return until(`${model} is on sale`, 20_000, async () => {
    const Book = z.object({ offers: z.array(z.unknown()).length(count) })
    const { api_base_url: url } = market.network.sandbox
    return Book.safeParse(await (await fetch(`${url}/api/markets/${model}`)).json()).success
  })
}

beforeAll(async () => {
  market = await startRoutedMarket()
  server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.91')
  await once(server, 'listening')
  const address = server.address()
  const baseUrl = `http://127.0.0.91:${typeof address === 'object' && address !== null ? address.port : 0}/v1`
  await market.operator('provider.put', { id: MODEL, name: 'Loud', baseUrl, isTrusted: true })
  const endpoints = ['chat', 'completions']
  const models = [MODEL, ...WIRES.map(spoiledModel)].map((name) => textModel(name, { endpoints }))
  await market.operator('catalog.import', { source: 'test', models })
  sellerKey = (await market.user()).sellerKey
  const offer = { model: MODEL, api_key: KEY, seller_base_url: baseUrl, discount: 50 }
  expect((await market.post('/v1/seller/offers', sellerKey, offer)).status).toBe(201)
  for (const wire of WIRES) {
    for (const [key, discount] of [
      ['spoiled', 50],
      ['sound', 20],
    ] as const) {
      const offer = {
        model: spoiledModel(wire),
        api_key: `${key}-${wire}-0123456789`,
        seller_base_url: baseUrl,
        discount,
      }
      expect((await market.post('/v1/seller/offers', sellerKey, offer)).status).toBe(201)
    }
  }
  await onSale(MODEL, 1)
  for (const wire of WIRES) await onSale(spoiledModel(wire), 2)
}, 120_000)
afterAll(async () => {
  server?.close().closeAllConnections()
  await market?.stop()
}, 60_000)

/** Makes a call that the provider refuses. Nothing that the buyer can read of it may tell the key or the host. */
async function provoke(wire: Wire, prompt: string, isStreamed: boolean): Promise<{ readonly text: string }> {
  const { buyer_key: key } = market.network.sandbox
  const reply = await market.post(PATHS[wire], key, bodyFor(wire, prompt, isStreamed))
  const text = await reply.text()
  const record = await market.get(`/v1/requests/${reply.headers.get('x-request-id') ?? ''}`, key)
  for (const read of [text, JSON.stringify([...reply.headers]), JSON.stringify(record)]) {
    expect(holdsKey(read, KEY), read).toBe(false)
    expect(read).not.toContain('acme')
    expect(read).not.toContain('app.py')
  }
  return { text }
}

function bodyFor(path: Wire, prompt: string, isStreamed: boolean, model = MODEL): object {
  const limits = { model, max_tokens: 16, ...(isStreamed ? { stream: true } : {}) }
  if (path === 'completions') return { ...limits, prompt }
  if (path === 'responses') return { model, input: prompt, stream: isStreamed }
  return { ...limits, messages: [{ role: 'user', content: prompt }] }
}

describe('a provider that tells its key', () => {
  const refusals = [
    [400, 'whole', false],
    [422, 'whole', true],
    [400, 'stream', true],
  ] as const
  it.each(WIRES)('is not heard on %s, in whatever encoding it refuses', async (wire) => {
    for (const encoding of Object.keys(TOLD)) {
      for (const [status, place, isStreamed] of refusals) {
        const { text } = await provoke(wire, `tell ${encoding} ${status} ${place}`, isStreamed)
        expect(text).toMatch(/The provider (?:rejected|refused)/i)
      }
    }
  })

  it('is not heard where it is at fault itself', async () => {
    // The offer is backed off after the first of them.
    for (const status of [500, 401]) await provoke('chat', `tell plain ${status} whole`, false)
  })

  it('is not kept in the log of its seller either', async () => {
    let log = ''
    await until('its failures are in the log', 10_000, async () => {
      log = JSON.stringify(await market.get('/v1/seller/health-log', sellerKey))
      return log.includes('server_error')
    })
    expect(holdsKey(log, KEY), log).toBe(false)
  })
})

describe('an answer that no client can read', () => {
  it.each(WIRES)('is a failed attempt on %s: the next seller answers, and only he is paid', async (wire) => {
    const { buyer_key: key } = market.network.sandbox
    const reply = await market.post(PATHS[wire], key, bodyFor(wire, 'spoil this', false, spoiledModel(wire)))
    expect([reply.status, reply.headers.get('x-mkt-marketplace-attempts')]).toEqual([200, '2'])
    expect(await reply.text()).toContain('ok')
    const record = await market.get(`/v1/requests/${reply.headers.get('x-request-id') ?? ''}`, key)
    const ms = expect.any(Number)
    const attempt = { provider: MODEL, status: 200, ms }
    expect(record).toMatchObject({ list_cost_micro: 26, buyer_cost_micro: 21, attempts: [attempt, attempt] })
  })
})
