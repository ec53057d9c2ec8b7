import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dataOf } from '#test/support/bytes/wire-bytes.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import { startNetwork } from '#test/support/market/network.ts'
import type { PatientPictures } from '#test/support/market/patient-pictures.ts'
import { startPatientPictures } from '#test/support/market/patient-pictures.ts'
import type { RoutedMarket } from '#test/support/market/routed-market.ts'
import { MODEL as ROUTED_MODEL, startRoutedMarket } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

const MODEL = 'seer'
const IMAGES = 3
const IMAGE_BYTES = 3_000_000
const FORMATS = ['openai', 'messages'] as const
/** The fixed answer of each provider. */
const ANSWERS = {
  openai: {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Seen.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 2 },
  },
  messages: {
    type: 'message',
    content: [{ type: 'text', text: 'Seen.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 12, output_tokens: 2 },
  },
}

/** Number of bytes of large answers that may be in memory. Bodies may take more. */
const ROOM_BYTES = 1_048_576

let market: RoutedMarket
const servers: Server[] = []
/** The last body that reached the provider of each protocol. */
const received: Record<string, Buffer> = {}
const images = Array.from({ length: IMAGES }, () => randomBytes(IMAGE_BYTES).toString('base64'))

async function startRecorder(format: (typeof FORMATS)[number], host: string): Promise<string> {
  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    received[format] = Buffer.concat(chunks)
    const models = { object: 'list', data: [{ id: MODEL, object: 'model', created: 1, owned_by: format }] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.method === 'GET' ? models : ANSWERS[format]))
  })
  servers.push(server)
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  return `http://${host}:${typeof address === 'object' && address !== null ? address.port : 0}/v1`
}

beforeAll(async () => {
  market = await startRoutedMarket(await startNetwork({ MAX_HELD_ANSWER_BYTES: String(ROOM_BYTES) }))
  const item = {
    id: `lab/${MODEL}`,
    canonical: MODEL,
    aliases: [],
    name: MODEL,
    created: 1_760_000_000,
    description: '',
    context_length: 100_000,
    architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
    pricing: { prompt: '0.0000001', completion: '0.000001' },
    top_provider: { max_completion_tokens: 4_000 },
    supported_parameters: ['max_tokens', 'stream'],
    supported_features: ['streaming'],
    endpoints: ['chat'],
  }
  await market.operator('catalog.import', { source: 'test', models: [item] })
  for (const [at, format] of FORMATS.entries()) {
    const baseUrl = await startRecorder(format, `127.0.0.${81 + at}`)
    await market.operator('provider.put', { id: `seer-${format}`, name: `Seer ${format}`, baseUrl, isTrusted: true })
    const { sellerKey } = await market.user()
    const made = await market.post('/v1/seller/offers', sellerKey, {
      model: MODEL,
      api_key: `sk-seer-${format}`,
      seller_base_url: baseUrl,
      api_format: format,
      discount: 50,
    })
    expect(made.status).toBe(201)
  }
  await until('both offers are on sale', 20_000, async () => {
    const Book = z.object({ offers: z.array(z.unknown()) })
    const book = Book.safeParse(
      await (await fetch(`${market.network.sandbox.api_base_url}/api/markets/${MODEL}`)).json(),
    )
    return book.success && book.data.offers.length === FORMATS.length
  })
})

afterAll(async () => {
  for (const server of servers) server.close().closeAllConnections()
  await market?.stop()
})

/** A request with a client's own formatting: spaces, letters and escapes. */
function writeRequest(wire: 'chat' | 'messages'): { readonly head: string; readonly messages: string } {
  const parts = images.map((data) =>
    wire === 'chat'
      ? `{"type": "image_url", "image_url": {"url": "data:image/png;base64,${data}"}}`
      : `{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "${data}"}}`,
  )
  const said = '{ "type":"text","text":"Gr\\u00fc\\u00dfe \u{1f30d} \\ud800" }'
  return {
    head: `"model":"${MODEL}","max_tokens":16,"seed":1.0`,
    messages: `[{"role": "user", "content": [${[...parts, said].join(' , ')}]}]`,
  }
}

const PATHS = { chat: '/v1/chat/completions', messages: '/compat/v1/messages' } as const
const SAME = { chat: 'openai', messages: 'messages' } as const
/** The place of an image in a request of each protocol. */
const IMAGE_AT = { openai: ['image_url', 'url'], messages: ['source', 'data'] } as const

describe.each(['chat', 'messages'] as const)('a body of 12 MB with images on the %s wire', (wire) => {
  it.each(FORMATS)('reaches a provider of %s with every byte of the images, in pieces and at once', async (format) => {
    const { head, messages } = writeRequest(wire)
    const body = `{${head},"messages":${messages},"provider":"seer-${format}"}`
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(body))
        controller.close()
      },
    })
    for (const sent of [body, chunked]) {
      const { api_base_url: url, buyer_key: key } = market.network.sandbox
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const call = { method: 'POST', headers, body: sent, duplex: 'half' }
      const answer = await fetch(url + PATHS[wire], call)
      expect([answer.status, (await answer.text()).includes('Seen.')]).toEqual([200, true])
      const got = received[format] ?? Buffer.alloc(0)
      // The same protocol on both sides passes the text unchanged. The texts are too long to print a difference.
      if (SAME[wire] === format) expect(got.includes(`"messages":${messages}`)).toBe(true)
      const content = dataOf(JSON.parse(got.toString('utf8')), 'messages', '0', 'content')
      const seen = images.map((_, at) => String(dataOf(content, String(at), ...IMAGE_AT[format])))
      expect(seen.map((url, at) => url.endsWith(images[at] ?? '?'))).toEqual(images.map(() => true))
      expect(dataOf(content, String(IMAGES), 'text')).toBe('Grüße \u{1f30d} \ud800')
    }
  })
})

/**
 * Milliseconds for which no request of a caller may block the loop. On a quiet machine it is less than fifty; here
 * other processes of the tests run as well.
 */
const LONGEST_HOLD_MS = 250
/**
 * A body blocks the loop each time; a busy machine does not. If the first block is too long, the shortest of this many
 * counts.
 */
const MEASURES = 3
/** Milliseconds between two samples of the loop's delay. A timer in time shows this value. */
const SAMPLE_MS = 10
const PART_BYTES = 65_536
const MEGABYTE = 1_048_576

/** The longest block of the data plane's loop since the last read, in milliseconds. */
async function longestHold(): Promise<number> {
  const text = await (await fetch(`${market.network.sandbox.api_base_url}/metrics`)).text()
  const seconds = Number(/^nodejs_eventloop_lag_max_seconds ([\d.e+-]+)$/m.exec(text)?.[1] ?? Number.NaN)
  return Math.max(0, seconds * 1_000 - SAMPLE_MS)
}

/**
 * Sends a body in parts until it is answered. Returns the status, or 0 for a connection that broke off during the
 * sending.
 */
function send(path: string, key: string, body: Buffer): Promise<number> {
  const { hostname, port } = new URL(market.network.sandbox.api_base_url)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length }
  return new Promise((resolve) => {
    let isAnswered = false
    const sent = request({ hostname, port, path, method: 'POST', headers, agent: false }, (answer) => {
      isAnswered = true
      answer.resume().on('close', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', () => !isAnswered && resolve(0))
    const write = (at: number): void => {
      if (isAnswered || sent.destroyed) return
      if (at >= body.length) sent.end()
      else sent.write(body.subarray(at, at + PART_BYTES), () => write(at + PART_BYTES))
    }
    write(0)
  })
}

const many = (count: number, element: string) => Array.from({ length: count }, () => element).join()
const names = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":1`).join()

/** Values that take long to parse. */
const LONG = {
  'one giant text of many bytes a character': () => `"${'漢'.repeat(2.5 * MEGABYTE)}"`,
  escapes: () => `"${'\\"'.repeat(3.5 * MEGABYTE)}"`,
}

/** Bodies that are cheap to send, as the value of the row's content member. */
const HOSTILE: Readonly<Record<string, () => string>> = {
  'one giant text': () => `"${'a'.repeat(7 * MEGABYTE)}"`,
  ...LONG,
  'base64 with many escaped slashes': () => `"${`${'A'.repeat(62)}\\/`.repeat(100_000)}"`,
  'deep nesting': () => '['.repeat(7 * MEGABYTE),
  'nesting as deep as may be, again and again': () =>
    `[${many(60_000, '['.repeat(60) + ']'.repeat(60))}]`.slice(0, 7 * MEGABYTE),
  'many members': () => `{${names(600_000)}}`,
  'many small lists': () => `[${many(2_400_000, '[]')}]`,
  'many small objects': () => `[${many(350_000, '{"type":"function"}')}]`,
  'many messages': () => `[${many(230_000, '{"role":"user","content":"a"}')}]`,
  'many numbers': () => `[${many(3_500_000, '1')}]`,
  'many empty texts': () => `[${many(2_400_000, '""')}]`,
  blanks: () => `[${' '.repeat(7 * MEGABYTE)}]`,
}

/** The largest amount of each that is read: a body of this size must be parsed, checked and refused or routed. */
const HEAVY: Readonly<Record<string, () => string>> = {
  'members to the limit': () => `{${names(42_000)}}`,
  'objects of all shapes to the limit': () =>
    `[${Array.from({ length: 4_000 }, (_, at) => `{${Array.from({ length: 9 }, (_, name) => `"k${at}_${name}":1`).join()}}`).join()}]`,
  'lists to the limit': () => `[${many(150_000, '[]')}]`,
  'numbers to the limit': () => `[${many(400_000, '1')}]`,
  'messages to the limit': () => `[${many(9_900, '{"role":"user","content":[{"type":"text","text":"hello"}]}')}]`,
  'texts to the limit': () => `[${many(3, `{"role":"user","content":"${'漢'.repeat(700_000)}"}`)}]`,
}

/** The rows with large bodies, each with its largest member. */
const ROWS = [
  ['/v1/chat/completions', 'messages'],
  ['/v1/completions', 'prompt'],
  ['/v1/responses', 'input'],
  ['/v1/embeddings', 'input'],
  ['/compat/v1/messages', 'messages'],
  ['/compat/v1/messages/count_tokens', 'messages'],
  ['/v1/route/explain', 'body'],
] as const

function bodyOf(path: string, member: string, value: string): Buffer {
  const call = `{"model":"${ROUTED_MODEL}","max_tokens":5,"${member}":${value}}`
  if (path !== '/v1/route/explain') return Buffer.from(call)
  return Buffer.from(`{"path":"/v1/chat/completions","body":{"model":"${ROUTED_MODEL}","messages":${value}}}`)
}

describe.each(ROWS)('%s', (path, member) => {
  it('is blocked by no body that a free key can send', async () => {
    const holds: Record<string, number> = {}
    // A body that is refused during its arrival is refused by one gauge for all rows.
    const bodies = path === '/v1/chat/completions' ? { ...HOSTILE, ...HEAVY } : { ...HEAVY, ...LONG }
    for (const [name, write] of Object.entries(bodies)) {
      const body = bodyOf(path, member, write())
      let hold = Number.POSITIVE_INFINITY
      for (let sent = 0; sent < MEASURES && !(hold < LONGEST_HOLD_MS); sent++) {
        // Refused bytes count towards the key's rate, so each body has a key of its own.
        const { buyerKey } = await market.user()
        await longestHold()
        const status = await send(path, buyerKey, body)
        hold = Math.min(hold, await longestHold())
        expect([name, status === 0 || (status >= 200 && status < 500)]).toEqual([name, true])
      }
      holds[name] = hold
    }
    expect(Object.entries(holds).filter(([, hold]) => !(hold < LONGEST_HOLD_MS))).toEqual([])
  })
})

describe('bytes that are refused', () => {
  it('count towards the rate of their key, and the bodies of a key above its rate are not read', async () => {
    const { buyerKey } = await market.user()
    const body = bodyOf('/v1/chat/completions', 'tools', `[${many(500_000, '{"type":"function"}')}]`)
    const remaining = async () => {
      const answer = await market.post('/v1/route/explain', buyerKey, {
        path: '/v1/chat/completions',
        body: { model: ROUTED_MODEL },
      })
      return [answer.status, Number(answer.headers.get('x-ratelimit-remaining'))] as const
    }
    const [, before = 0] = await remaining()
    await send('/v1/chat/completions', buyerKey, body)
    const [, after = 0] = await remaining()
    // The request itself is one call, and the refused body another.
    expect(before - after).toBeGreaterThan(2)
  })
})

const LARGE_ROWS = [
  ['/v1/audio/transcriptions', 'multipart/form-data; boundary=b', 27],
  ['/v1/chat/completions', 'application/json', 33],
  ['/v1/responses', 'application/json', 33],
  ['/v1/embeddings', 'application/json', 9],
  ['/compat/v1/messages', 'application/json', 33],
] as const

/** Sends a body, and reads nothing before the last byte is sent, like most clients. */
async function sendThenRead(path: string, type: string, megabytes: number, isChunked: boolean): Promise<string> {
  const { buyerKey: key } = await market.user(5)
  const { hostname, port, host } = new URL(market.network.sandbox.api_base_url)
  const socket = connect(Number(port), hostname).setNoDelay()
  await once(socket, 'connect')
  // The failed write reports the error as well.
  socket.on('error', () => undefined)
  const piece = Buffer.alloc(1_048_576, ' ')
  const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${piece.length * megabytes}`
  const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\n${length}`
  const write = promisify(
    (part: string | Buffer, done: (error?: Error | null) => void) => void socket.write(part, done),
  )
  await write(`${head}\r\n\r\n`)
  for (let sent = 0; sent < megabytes; sent++) {
    if (isChunked) await write(`${piece.length.toString(16)}\r\n`)
    await write(piece)
    if (isChunked) await write('\r\n')
  }
  if (isChunked) await write('0\r\n\r\n')
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

describe('a body over the limit', () => {
  it.each(LARGE_ROWS)(
    'is 413 on %s, readable for a client that first sends the whole body',
    async (path, type, size) => {
      for (const isChunked of [false, true]) {
        const answer = await sendThenRead(path, type, size, isChunked)
        expect(answer).toMatch(/^HTTP\/1\.1 413 /)
        expect(answer).toMatch(/request_too_large|too large/i)
        expect(answer.endsWith('}')).toBe(true)
      }
    },
  )
})

describe('large answers', () => {
  const PICTURE = 'patient-picture'
  const LARGE_BYTES = 20_000_000
  const Refused = z.object({ error: z.object({ code: z.string(), limit_source: z.string() }) })
  let pictures: PatientPictures
  let buyerKey: string

  beforeAll(async () => {
    pictures = await startPatientPictures(PICTURE, '127.0.0.89')
    const shape = { architecture: { input_modalities: ['text'], output_modalities: ['image'] }, endpoints: ['image'] }
    const price = { pricing: { prompt: '0', completion: '0' }, unit_pricing: { images: '0.01' } }
    await market.operator('catalog.import', { source: 'test', models: [textModel(PICTURE, { ...shape, ...price })] })
    await market.operator('provider.put', { id: 'patient', name: 'Patient', baseUrl: pictures.url, isTrusted: true })
    const { sellerKey } = await market.user()
    const offer = { model: PICTURE, api_key: 'sk-patient', seller_base_url: pictures.url, discount: 50 }
    expect((await market.post('/v1/seller/offers', sellerKey, offer)).status).toBe(201)
    await until('the model is on sale', 20_000, async () => {
      const answer = await fetch(`${market.network.sandbox.api_base_url}/api/markets/${PICTURE}`)
      return z.object({ offers: z.array(z.unknown()).length(1) }).safeParse(await answer.json()).success
    })
    buyerKey = (await market.user(5)).buyerKey
  })
  afterAll(() => pictures.close())

  const draw = (prompt: string) =>
    fetch(`${market.network.sandbox.api_base_url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${buyerKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: PICTURE, prompt }),
    })

  async function expectRefused(answer: Response): Promise<void> {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
    expect(Refused.parse(await answer.json()).error).toMatchObject({ code: 'overloaded', limit_source: 'answers' })
    expect(answer.headers.get('x-mkt-buyer-cost-micro') ?? '0').toBe('0')
  }

  /** Waits until this many large answers wait. Returns the bytes of all of them. */
  async function heldWhile(waiting: number): Promise<number> {
    const { api_base_url: url } = market.network.sandbox
    let held = 0
    await until(`${waiting} large answers wait`, 20_000, async () => {
      const text = await (await fetch(`${url}/metrics`)).text()
      const read = (name: string) => Number(new RegExp(`^market_large_answer${name} (\\d+)$`, 'm').exec(text)?.[1])
      held = read('_bytes')
      return read('s_waiting') === waiting
    })
    return held
  }

  it('wait for each other once their memory is full, and new calls for pictures are refused meanwhile', async () => {
    const [first, late, broken] = [draw('first'), draw('late'), draw('broken')]
    await pictures.begin('first', 1.5 * MEGABYTE)
    await until('the first answer has all of the memory', 10_000, async () => (await heldWhile(0)) > MEGABYTE)
    for (const prompt of ['late', 'broken']) await pictures.begin(prompt, LARGE_BYTES)
    // The bytes that had arrived when the requests were stopped are a small part of the answers.
    expect(await heldWhile(2)).toBeLessThan(4 * MEGABYTE)
    await expectRefused(await draw('refused'))
    // Text calls are no pictures.
    const chat = { model: ROUTED_MODEL, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
    expect((await market.post('/v1/chat/completions', buyerKey, chat)).status).toBe(200)
    // A provider that waits too long may break off, and is not blamed for that.
    pictures.breakOff('broken')
    for (const prompt of ['first', 'late']) pictures.finish(prompt)
    await expectRefused(await broken)
    expect((await (await first).text()).length).toBeGreaterThan(MEGABYTE)
    expect((await (await late).text()).length).toBeGreaterThan(LARGE_BYTES)
    await until('all memory is free', 10_000, async () => (await heldWhile(0)) === 0)
    const next = draw('next')
    await pictures.begin('next', 0)
    pictures.finish('next')
    expect((await next).status).toBe(200)
  })
})
