import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { holdsKey } from '#data-plane/upstream/key-traces.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { Doors } from '#test/support/market/routed-market.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

/**
 * A provider that repeats its key in every refusal, in the encoding that the buyer's prompt names. Eight characters of
 * the key must appear in no answer to a buyer, and in no log of its seller.
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

/** Models for calls of several prompts. The lower-priced of their two sellers fails at the prompt `spoil this`. */
const LISTS = ['list-whole', 'list-first', 'list-midst', 'list-left'] as const

const PATHS = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  responses: '/v1/responses',
  compat: '/compat/v1/messages',
} as const

type Wire = keyof typeof PATHS
const WIRES: readonly Wire[] = ['chat', 'completions', 'responses', 'compat']

let network: Network
let market: Doors
let server: Server
let sellerKey: string
/** The prompts that reached each key of the lists' sellers. */
const heard: { readonly key: string; readonly prompt: string }[] = []

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  if (/"model":"list-/.test(body) && request.method === 'POST') return answerPrompt(request, response, body)
  const [, encoding, status, inStream] = /tell (\w+) (\d+) (\w+)/.exec(body) ?? []
  if (encoding === undefined) {
    const models = { object: 'list', data: [{ id: MODEL, object: 'model', created: 1, owned_by: MODEL }] }
    // The lower-priced of two sellers sends an answer that no client can read.
    const isSpoiled =
      request.headers.authorization?.startsWith('Bearer spoiled') === true && body.includes('spoil this')
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

const Prompt = z.object({ messages: z.tuple([z.object({ content: z.string() })]), stream: z.boolean().optional() })
const OK = { prompt_tokens: 8, completion_tokens: 12 }

async function answerPrompt(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
  const { messages, stream } = Prompt.parse(JSON.parse(body))
  const [{ content: prompt }] = messages
  const key = request.headers.authorization?.replace('Bearer ', '') ?? ''
  heard.push({ key, prompt })
  response.setHeader('content-type', stream === true ? 'text/event-stream' : 'application/json')
  if (prompt === 'spoil this' && key.startsWith('spoiled')) {
    response.writeHead(500).end('{"error":{"message":"no"}}')
    return
  }
  const choice = { index: 0, finish_reason: 'stop' }
  if (stream !== true) {
    const message = { role: 'assistant', content: `ok ${prompt}` }
    response.end(JSON.stringify({ choices: [{ ...choice, message }], usage: OK }))
    return
  }
  const frame = (of: object) => `data: ${JSON.stringify(of)}\n\n`
  response.write(frame({ choices: [{ index: 0, delta: { content: `ok ${prompt}` } }] }))
  if (prompt === 'wait') await new Promise((resolve) => setTimeout(resolve, 400))
  if (prompt === 'endless') {
    for (let at = 0; at < 200; at++) response.write(frame({ choices: [{ index: 0, delta: { content: ' and on' } }] }))
    return
  }
  const end = `${frame({ choices: [{ ...choice, delta: {} }] })}${frame({ choices: [], usage: OK })}data: [DONE]\n\n`
  if (prompt === 'hold' || prompt === 'reset') response.write(end)
  else response.end(end)
  if (prompt === 'reset') setTimeout(() => response.destroy(), 50)
}

function heardBy(key: string): readonly string[] {
  return heard.filter((one) => one.key === key).map(({ prompt }) => prompt)
}

function spoiledModel(wire: Wire): string {
  return `spoiled-${wire}`
}

function onSale(model: string, count: number): Promise<void> {
  return until(`${model} is on sale`, 20_000, async () => {
    const Book = z.object({ offers: z.array(z.unknown()).length(count) })
    const { api_base_url: url } = network.sandbox
    return Book.safeParse(await (await fetch(`${url}/api/markets/${model}`)).json()).success
  })
}

beforeAll(async () => {
  network = await sharedNetwork()
  market = doorsOf(network)
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
  await market.operator('catalog.import', { source: 'test', models: LISTS.map((name) => textModel(name)) })
  for (const model of [...WIRES.map(spoiledModel), ...LISTS]) {
    for (const [key, discount] of [
      ['spoiled', 50],
      ['sound', 20],
    ] as const) {
      const offer = { model, api_key: `${key}-${model}-0123456789`, seller_base_url: baseUrl, discount }
      expect((await market.post('/v1/seller/offers', sellerKey, offer)).status).toBe(201)
    }
  }
  await onSale(MODEL, 1)
  for (const model of [...WIRES.map(spoiledModel), ...LISTS]) await onSale(model, 2)
})
afterAll(() => server?.close().closeAllConnections())

/** Makes a call that the provider refuses. No part of the buyer's answer may contain the key or the host. */
async function provoke(wire: Wire, prompt: string, isStreamed: boolean): Promise<{ readonly text: string }> {
  const { buyer_key: key } = network.sandbox
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

describe('a provider that reveals its key', () => {
  const refusals = [
    [400, 'whole', false],
    [422, 'whole', true],
    [400, 'stream', true],
  ] as const
  it.each(WIRES)('leaks nothing on %s, in whatever encoding it refuses', async (wire) => {
    for (const encoding of Object.keys(TOLD)) {
      for (const [status, place, isStreamed] of refusals) {
        const { text } = await provoke(wire, `tell ${encoding} ${status} ${place}`, isStreamed)
        expect(text).toMatch(/The provider (?:rejected|refused)/i)
      }
    }
  })

  it('leaks nothing where it fails by its own fault', async () => {
    // The offer is backed off after the first failure.
    for (const status of [500, 401]) await provoke('chat', `tell plain ${status} whole`, false)
  })

  it('leaks nothing to the log of its seller either', async () => {
    let log = ''
    await until('its failures are in the log', 10_000, async () => {
      log = JSON.stringify(await market.get('/v1/seller/health-log', sellerKey))
      return log.includes('server_error')
    })
    expect(holdsKey(log, KEY), log).toBe(false)
  })
})

describe('an unreadable answer', () => {
  it.each(WIRES)('is a failed attempt on %s: the next seller answers, and only that seller is paid', async (wire) => {
    const { buyer_key: key } = network.sandbox
    const reply = await market.post(PATHS[wire], key, bodyFor(wire, 'spoil this', false, spoiledModel(wire)))
    expect([reply.status, reply.headers.get('x-mkt-marketplace-attempts')]).toEqual([200, '2'])
    expect(await reply.text()).toContain('ok')
    const record = await market.get(`/v1/requests/${reply.headers.get('x-request-id') ?? ''}`, key)
    const ms = expect.any(Number)
    const attempt = { provider: MODEL, status: 200, ms }
    expect(record).toMatchObject({ list_cost_micro: 26, buyer_cost_micro: 21, attempts: [attempt, attempt] })
  })
})

describe('several prompts in one call to a chat model', () => {
  const client = () =>
    new OpenAI({
      baseURL: `${network.sandbox.api_base_url}/v1`,
      apiKey: network.sandbox.buyer_key,
      maxRetries: 0,
    })
  const Usage = z.looseObject({ buyer_cost_micro: z.number() })
  const lookUp = (rid: string | null) => market.get(`/v1/requests/${rid ?? ''}`, network.sandbox.buyer_key)
  const forget = () => heard.splice(0)
  const ms = expect.any(Number)

  it('fail over together when the seller fails at one of them, and are paid once, rounded once', async () => {
    forget()
    const prompt = ['p0', 'p1', 'spoil this', 'p3', 'p4']
    const { data, response } = await client()
      .completions.create({ model: 'list-whole', prompt, max_tokens: 16 })
      .withResponse()
    expect(data.choices.map(({ index, text }) => [index, text])).toEqual(prompt.map((text, at) => [at, `ok ${text}`]))
    expect(heardBy('spoiled-list-whole-0123456789')).toEqual(['p0', 'p1', 'spoil this'])
    expect(heardBy('sound-list-whole-0123456789')).toEqual(prompt)
    // 5 * (8 * 0.25 + 12 * 2) micro-USD at the reference price, of which the second seller keeps four fifths.
    expect(data.usage).toMatchObject({ prompt_tokens: 40, completion_tokens: 60, buyer_cost_micro: 104 })
    expect(response.headers.get('x-mkt-buyer-cost-micro')).toBe('104')
    expect(response.headers.get('x-mkt-marketplace-attempts')).toBe('2')
    expect(await lookUp(response.headers.get('x-request-id'))).toMatchObject({
      list_cost_micro: 130,
      buyer_cost_micro: 104,
      attempts: [
        { provider: MODEL, status: 500, ms },
        { provider: MODEL, status: 200, ms },
      ],
    })
  })

  it('are streamed by the next seller when the first fails before the first byte was sent', async () => {
    // Two of the answers are complete before their connections end normally.
    const prompt = ['spoil this', 'hold', 'reset', 'p3']
    const { data, response } = await client()
      .completions.create({ model: 'list-first', prompt, max_tokens: 16, stream: true })
      .withResponse()
    const texts = ['', '', '', '']
    const costs: number[] = []
    for await (const { choices, usage } of data) {
      for (const { index, text } of choices) texts[index] += text
      if (usage) costs.push(Usage.parse(usage).buyer_cost_micro)
    }
    expect([texts, costs]).toEqual([prompt.map((text) => `ok ${text}`), [84]])
    expect(response.headers.get('x-mkt-marketplace-attempts')).toBe('2')
  })

  it('end with an error when a stream breaks at one of them, and the delivered answers are charged', async () => {
    forget()
    const prompt = ['p0', 'p1', 'spoil this', 'p3']
    const { data, response } = await client()
      .completions.create({ model: 'list-midst', prompt, max_tokens: 16, stream: true })
      .withResponse()
    const texts: string[] = []
    const read = async () => {
      for await (const { choices } of data) texts.push(...choices.map(({ text }) => text))
    }
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error', error: { buyer_cost_micro: 26 } })
    expect(texts).toEqual(['ok p0', 'ok p1'])
    expect(heard.map(({ prompt: text }) => text)).toEqual(['p0', 'p1', 'spoil this'])
    const attempts = [{ provider: MODEL, status: 500, ms }]
    const told = { list_cost_micro: 52, buyer_cost_micro: 26, attempts }
    expect(await lookUp(response.headers.get('x-request-id'))).toMatchObject(told)
  })

  it('end one by one at their limit where the seller does not end them', async () => {
    const model = 'list-left'
    const prompt = ['endless', 'p1']
    const texts = ['', '']
    const ends: unknown[] = []
    for await (const chunk of await client().completions.create({ model, prompt, max_tokens: 16, stream: true })) {
      for (const { index, text, finish_reason: reason } of chunk.choices) {
        texts[index] += text
        if (reason) ends.push([index, reason])
      }
      // The first prompt counts with its limit of 16 tokens, and with a quarter of the bytes of its prompt.
      if (chunk.usage) expect(chunk.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 28 })
    }
    expect(texts[0]?.length).toBeGreaterThan(300)
    expect([texts[1], ends]).toEqual([
      'ok p1',
      [
        [0, 'length'],
        [1, 'stop'],
      ],
    ])
  })

  it('are sent no further when the buyer disconnects, and the running one is read to its end', async () => {
    forget()
    const { data, response } = await client()
      .completions.create({ model: 'list-left', prompt: ['p0', 'wait', 'p2'], max_tokens: 16, stream: true })
      .withResponse()
    for await (const { choices } of data) if (choices[0]?.text === 'ok wait') break
    const rid = response.headers.get('x-request-id')
    const Record = z.looseObject({ buyer_cost_micro: z.number(), settlement_status: z.string() })
    await until('the call is settled', 10_000, async () => {
      return Record.parse(await lookUp(rid)).settlement_status !== 'pending'
    })
    expect(heard.map(({ prompt }) => prompt)).toEqual(['p0', 'wait'])
    expect(Record.parse(await lookUp(rid)).buyer_cost_micro).toBe(26)
  })
})
