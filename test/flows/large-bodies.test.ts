import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { RoutedMarket } from '#test/support/routed-market.ts'
import { startRoutedMarket } from '#test/support/routed-market.ts'
import { until } from '#test/support/until.ts'
import { dataOf } from '#test/support/wire-bytes.ts'

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
  market = await startRoutedMarket()
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
}, 120_000)

afterAll(async () => {
  for (const server of servers) server.close().closeAllConnections()
  await market?.stop()
}, 60_000)

/** A request in a client's own spelling: spaces, letters and escapes. */
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
  it.each(FORMATS)('reaches a provider of %s with every byte of them, in pieces and at once', async (format) => {
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
      const request = { method: 'POST', headers, body: sent, duplex: 'half' }
      const answer = await fetch(url + PATHS[wire], request)
      expect([answer.status, (await answer.text()).includes('Seen.')]).toEqual([200, true])
      const got = received[format] ?? Buffer.alloc(0)
      // One protocol on both sides passes the very text. The texts are too long to print a difference.
      if (SAME[wire] === format) expect(got.includes(`"messages":${messages}`)).toBe(true)
      const content = dataOf(JSON.parse(got.toString('utf8')), 'messages', '0', 'content')
      const seen = images.map((_, at) => String(dataOf(content, String(at), ...IMAGE_AT[format])))
      expect(seen.map((url, at) => url.endsWith(images[at] ?? '?'))).toEqual(images.map(() => true))
      expect(dataOf(content, String(IMAGES), 'text')).toBe('Grüße \u{1f30d} \ud800')
    }
  })
})
