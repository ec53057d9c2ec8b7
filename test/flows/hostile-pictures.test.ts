import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pngOf } from '#dev/provider/media/png.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { Doors } from '#test/support/market/routed-market.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

const MEGABYTE = 1_048_576
const HUGE_MEGABYTES = 300
const png = pngOf('a cat', 32, 32).toString('base64')
/** Micro-USD of a picture at the reference price, and at an offer with a discount of 37.25 %. */
const [LIST_MICRO, PAID_MICRO] = [40_001, 25_101]

type Act = (response: ServerResponse) => void
const json = (body: object, status = 200): Act => {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
}
const pictures = (...data: object[]) => json({ created: 1, data })
const at = (url: string) => pictures({ url })

/** Number of bytes of the largest answer that were sent when its reader closed the connection. */
let sentBytes = 0

/** Endless base64, as fast as it is read. */
const huge: Act = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write(`{"data":[{"b64_json":"${png}`)
  const chunk = Buffer.alloc(MEGABYTE, 'A')
  const pump = () => {
    while (!response.destroyed && sentBytes < HUGE_MEGABYTES * MEGABYTE) {
      sentBytes += chunk.length
      if (!response.write(chunk)) return
    }
    response.end('"}]}')
  }
  response.on('drain', pump).on('error', () => undefined)
  pump()
}

/**
 * The acts of a provider, and the buyer's view of each: a status, the pictures that arrived, and the number of paid
 * ones.
 */
const CASES: Readonly<
  Record<string, { act: Act; ask?: object; status: number; came?: number; paid?: number; code?: string }>
> = {
  'a web page': {
    act: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    status: 502,
    code: 'upstream_error',
  },
  'a web page that is called JSON': {
    act: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
    status: 502,
    code: 'upstream_error',
  },
  'a redirect': {
    act: (response) => response.writeHead(302, { location: 'https://files.example.com/a.png' }).end(),
    status: 502,
    code: 'upstream_error',
  },
  'wrong base64': {
    act: pictures({ b64_json: `${png.slice(0, 80)}*${png}` }),
    status: 502,
    code: 'upstream_error',
  },
  'data that is no image': {
    act: pictures({ b64_json: btoa('<svg onload="a()">') }),
    status: 502,
    code: 'upstream_error',
  },
  'an entry without a picture': { act: pictures({ revised_prompt: 'a cat' }), status: 502, code: 'upstream_error' },
  'a URL on a private host': { act: at('https://10.0.0.1/a.png'), status: 502, code: 'upstream_error' },
  'a URL on the host of metadata': {
    act: at('https://169.254.169.254/a.png'),
    status: 502,
    code: 'upstream_error',
  },
  'a URL of plain http': { act: at('http://files.example.com/a.png'), status: 502, code: 'upstream_error' },
  'a script in place of a URL': { act: at('javascript:alert(1)'), status: 502, code: 'upstream_error' },
  '300 MB of base64': { act: huge, status: 502, code: 'upstream_error' },
  'no picture': { act: pictures(), status: 200, came: 0, paid: 0 },
  'fewer pictures than asked': {
    act: pictures({ b64_json: png }, { b64_json: png }),
    ask: { n: 3 },
    status: 200,
    came: 2,
    paid: 2,
  },
  'more pictures than asked': {
    act: pictures({ b64_json: png }, { b64_json: png }, { b64_json: png }),
    status: 200,
    came: 1,
    paid: 1,
  },
  'a refusal of the prompt': {
    act: json(
      { error: { message: 'Your request was rejected by the safety system.', code: 'moderation_blocked' } },
      400,
    ),
    status: 400,
    code: 'upstream_rejected',
  },
}
const MODELS = new Map(Object.keys(CASES).map((name, index) => [name, `hostile-picture-${index}`]))

let network: Network
let market: Doors
let server: Server
let buyerKey: string

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  if (request.method === 'GET') {
    const data = [...MODELS.values()].map((id) => ({ id, object: 'model', created: 1, owned_by: 'hostile' }))
    return json({ object: 'list', data })(response)
  }
  const { model } = z.object({ model: z.string() }).parse(JSON.parse(Buffer.concat(chunks).toString()))
  const [name] = [...MODELS].find(([, id]) => id === model) ?? []
  CASES[name ?? '']?.act(response)
}

beforeAll(async () => {
  network = await sharedNetwork()
  market = doorsOf(network)
  server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.93')
  await once(server, 'listening')
  const address = server.address()
  const baseUrl = `http://127.0.0.93:${typeof address === 'object' && address !== null ? address.port : 0}/v1`
  await market.operator('provider.put', { id: 'hostile-pictures', name: 'Hostile', baseUrl, isTrusted: true })
  const models = [...MODELS.values()].map((name) =>
    textModel(name, {
      architecture: { input_modalities: ['text'], output_modalities: ['image'] },
      pricing: { prompt: '0', completion: '0' },
      unit_pricing: { images: '0.040001' },
      endpoints: ['image'],
      supported_parameters: ['n', 'size', 'response_format'],
    }),
  )
  await market.operator('catalog.import', { source: 'test', models })
  const { sellerKey } = await market.user()
  for (const model of MODELS.values()) {
    const offer = { model, api_key: `sk-${model}`, seller_base_url: baseUrl, discount: 37.25 }
    expect((await market.post('/v1/seller/offers', sellerKey, offer)).status).toBe(201)
  }
  await until('all models are on sale', 20_000, async () => {
    const books = await Promise.all(
      [...MODELS.values()].map(async (model) => {
        const book = await fetch(`${network.sandbox.api_base_url}/api/markets/${model}`)
        return z.object({ offers: z.array(z.unknown()).length(1) }).safeParse(await book.json()).success
      }),
    )
    return books.every((isThere) => isThere)
  })
  buyerKey = (await market.user(5)).buyerKey
})
afterAll(() => server?.close().closeAllConnections())

const Answer = z.object({
  data: z.array(z.unknown()).optional(),
  error: z.object({ code: z.string() }).optional(),
})
const Balance = z.object({ credit_balance_usdc: z.string() })
const LookUp = z.looseObject({ buyer_cost_micro: z.number(), settlement_status: z.string() })

describe('a provider of pictures that answers', () => {
  it.each(Object.entries(CASES))('%s', async (name, { act: _, ask, status, came, paid = 0, code }) => {
    const body = { model: MODELS.get(name), prompt: 'a cat', ...ask }
    const reply = await market.post('/v1/images/generations', buyerKey, body)
    const read = Answer.parse(JSON.parse(await reply.text()))
    expect([reply.status, read.error?.code, read.data?.length]).toEqual([status, code, came])
    // Each picture is billed at its own price; the sum is rounded up once.
    const due = Math.ceil((paid * LIST_MICRO * 6_275) / 10_000)
    expect(paid === 1 ? due : PAID_MICRO).toBe(PAID_MICRO)
    expect(Number(reply.headers.get('x-mkt-buyer-cost-micro') ?? 0)).toBe(due)
    const rid = reply.headers.get('x-request-id') ?? ''
    await until('the call is settled', 15_000, async () => {
      const found = LookUp.parse(await market.get(`/v1/requests/${rid}`, buyerKey))
      if (found.settlement_status === 'pending') return false
      expect(found.buyer_cost_micro).toBe(due)
      return true
    })
  })

  it('is read only up to 64 MB', () => {
    // Bytes in the sockets' buffers come on top.
    expect([sentBytes > 60 * MEGABYTE, sentBytes < 80 * MEGABYTE]).toEqual([true, true])
  })

  it('takes from the buyer the price of the delivered pictures, and nothing else', async () => {
    await until('every call is booked', 30_000, async () => {
      const { credit_balance_usdc: left } = Balance.parse(await market.get('/v1/payments/balance', buyerKey))
      return left === String(5_000_000 - PAID_MICRO - Math.ceil((2 * LIST_MICRO * 6_275) / 10_000))
    })
  })
})
