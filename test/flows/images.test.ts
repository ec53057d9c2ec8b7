import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pngOf } from '#dev/provider/media/png.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

const BY_TOKEN = 'gpt-image-1'
const BY_IMAGE = 'dall-e-3'
const BY_AREA = 'flux-1-schnell'
const IN_CHAT = 'gemini-2.5-flash-image'
let network: Network
let client: OpenAI

beforeAll(async () => {
  network = await sharedNetwork()
  client = new OpenAI({
    baseURL: `${network.sandbox.api_base_url}/v1`,
    apiKey: network.sandbox.buyer_key,
    maxRetries: 0,
  })
})

afterAll(() => network?.remove())

const Answer = z.object({
  created: z.number().int(),
  data: z.array(z.object({ b64_json: z.string().optional(), url: z.string().optional() })),
  usage: z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    images: z.number().optional(),
    megapixels: z.number().optional(),
    cost: z.number(),
    buyer_cost_micro: z.number().int(),
    adapted_params: z.array(z.string()).optional(),
  }),
})
const Refusal = z.object({ error: z.object({ code: z.string(), param: z.string().nullable() }) })
const Lookup = z.object({ buyer_cost_micro: z.number().int(), settlement_status: z.string() })

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${network.sandbox.api_base_url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${network.sandbox.buyer_key}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  })
}

const generate = (body: object) => post('/v1/images/generations', { prompt: 'a cat', ...body })
const edit = (body: object) => post('/v1/images/edits', { model: BY_TOKEN, prompt: 'add a hat', ...body })

/** An answer, with the cost in its headers and in its look-up. */
async function paid(answer: Response) {
  expect(answer.status).toBe(200)
  const { data, usage } = Answer.parse(await answer.json())
  const [chargeMicro, listMicro] = ['buyer', 'list'].map((side) =>
    Number(answer.headers.get(`x-mkt-${side}-cost-micro`)),
  )
  expect([usage.buyer_cost_micro, Math.round(usage.cost * 1e6)]).toEqual([chargeMicro, chargeMicro])
  const url = `${network.sandbox.api_base_url}/v1/requests/${answer.headers.get('x-request-id')}`
  await until('the look-up has the call', 10_000, async () => {
    const found = await fetch(url, { headers: { authorization: `Bearer ${network.sandbox.buyer_key}` } })
    const record = found.ok ? Lookup.parse(await found.json()) : undefined
    if (record === undefined || record.settlement_status === 'pending') return false
    expect(record.buyer_cost_micro).toBe(chargeMicro)
    return true
  })
  return { data, usage, chargeMicro, listMicro }
}

/** The share of the reference price that the serving offer of a call charges. */
async function keptBps(model: string): Promise<number> {
  const Book = z.object({ offers: z.array(z.object({ discount_pct: z.number(), is_trusted: z.boolean().optional() })) })
  const book = Book.parse(await (await fetch(`${network.sandbox.api_base_url}/api/markets/${model}`)).json())
  return Math.round(10_000 - (book.offers[0]?.discount_pct ?? 0) * 100)
}

/** Micro-USD of a pico price at a share, rounded up once. */
const due = (pico: bigint, kept: number) => Number((pico * BigInt(kept) + 9_999_999_999n) / 10_000_000_000n)

/** Width and height of a PNG. */
function sizeOf(bytes: Buffer): string {
  expect(bytes.toString('latin1', 1, 4)).toBe('PNG')
  return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
}

async function behaveOnce(model: string, behaviour: string): Promise<void> {
  const Book = z.object({ offers: z.array(z.object({ seller_base_url: z.url() })) })
  const book = await fetch(`${network.sandbox.api_base_url}/api/markets/${model}`)
  const door = new URL('/__sandbox/behave', Book.parse(await book.json()).offers[0]?.seller_base_url)
  const answer = await fetch(door, { method: 'POST', body: JSON.stringify({ model, behaviour, times: 1 }) })
  expect(answer.status).toBe(200)
}

describe('a picture', () => {
  it('reaches the official client in the requested size, at the price of its tokens', async () => {
    const { data: answer, response } = await client.images
      .generate({ model: BY_TOKEN, prompt: 'a cat', size: '1024x1536', quality: 'low' })
      .withResponse()
    expect(sizeOf(Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64'))).toBe('1024x1536')
    expect(answer.usage).toMatchObject({ input_tokens: 2, output_tokens: 408, total_tokens: 410 })
    // Two tokens of text at 5 USD per million, 408 of a picture at 40.
    const pico = 2n * 5_000_000n + 408n * 40_000_000n
    expect(Number(response.headers.get('x-mkt-list-cost-micro'))).toBe(due(pico, 10_000))
    expect(Number(response.headers.get('x-mkt-buyer-cost-micro'))).toBe(due(pico, await keptBps(BY_TOKEN)))
  })

  it('is sold by the piece where its model has such a price, and arrives as a URL', async () => {
    const { data, usage, chargeMicro, listMicro } = await paid(
      await generate({ model: BY_IMAGE, n: 2, response_format: 'url', size: '1024x1024' }),
    )
    expect([data.length, usage.images, listMicro]).toEqual([2, 2, 80_000])
    expect(chargeMicro).toBe(due(2n * 40_000_000_000n, await keptBps(BY_IMAGE)))
    const loaded = await fetch(data[0]?.url ?? '')
    expect(sizeOf(Buffer.from(await loaded.arrayBuffer()))).toBe('1024x1024')
  })

  it('is sold by its area where its model has such a price', async () => {
    const { data, usage, chargeMicro, listMicro } = await paid(
      await generate({ model: BY_AREA, size: '512x256', n: 3 }),
    )
    expect([data.length, usage.megapixels]).toEqual([3, 0.393216])
    const pico = 512n * 256n * 3n * 3_000n
    expect([chargeMicro, listMicro]).toEqual([due(pico, await keptBps(BY_AREA)), due(pico, 10_000)])
  })

  it('comes from a chat model, one per call', async () => {
    const { data, usage, listMicro } = await paid(await generate({ model: IN_CHAT, n: 2, size: '1024x1024' }))
    expect([data.length, usage.adapted_params]).toEqual([1, ['n']])
    expect(sizeOf(Buffer.from(data[0]?.b64_json ?? '', 'base64'))).toBe('1024x1024')
    const text = BigInt(usage.input_tokens)
    expect(listMicro).toBe(due(text * 300_000n + 8n * 2_500_000n + 1_290n * 30_000_000n, 10_000))
  })

  it('of a provider that only sends bytes becomes a link that opens without a key, for a limited time', async () => {
    const { data: answer, response } = await client.images
      .generate({ model: BY_TOKEN, prompt: 'a cat', size: '1536x1024', quality: 'low', response_format: 'url' })
      .withResponse()
    const [{ url = '', b64_json: bytes } = {}] = answer.data ?? []
    expect([bytes, response.headers.get('x-mkt-adapted-params')]).toEqual([undefined, null])
    expect(answer.usage).not.toHaveProperty('adapted_params')
    expect(answer.usage).toMatchObject({ input_tokens: 2, output_tokens: 400 })
    const id = response.headers.get('x-request-id')
    expect(url).toMatch(`${network.sandbox.api_base_url}/v1/media/artifacts/job_${id}/0?expires=`)

    const file = await fetch(url)
    const picture = Buffer.from(await file.arrayBuffer())
    expect([file.status, sizeOf(picture)]).toEqual([200, '1536x1024'])
    const { headers } = file
    expect([headers.get('content-type'), headers.get('x-content-type-options')]).toEqual(['image/png', 'nosniff'])
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(picture.length)])
    const part = await fetch(url, { headers: { range: 'bytes=1-3' } })
    expect([part.status, await part.text()]).toEqual([206, 'PNG'])
    const [path = ''] = url.split('?')
    const own = await fetch(path, { headers: { authorization: `Bearer ${network.sandbox.buyer_key}` } })
    expect([own.status, (await own.arrayBuffer()).byteLength]).toEqual([200, picture.length])
    expect([(await fetch(path)).status, (await fetch(url.replace(/expires=\d+/, 'expires=1'))).status]).toEqual([
      401, 404,
    ])
  })

  it('of a chat model and of an edit becomes a link, too', async () => {
    const source = `data:image/png;base64,${pngOf('a source', 64, 64).toString('base64')}`
    for (const answer of [
      await generate({ model: IN_CHAT, response_format: 'url' }),
      await edit({ image: source, quality: 'low', response_format: 'url' }),
    ]) {
      const { data, usage } = await paid(answer)
      expect(usage.adapted_params).toBeUndefined()
      const loaded = await fetch(data[0]?.url ?? '')
      expect(sizeOf(Buffer.from(await loaded.arrayBuffer()))).toBe('1024x1024')
    }
  })

  it('is charged by the table where its provider reports no usage', async () => {
    await behaveOnce(BY_TOKEN, 'usage-missing')
    const { usage } = await paid(await generate({ model: BY_TOKEN, quality: 'low', size: '1024x1024' }))
    expect(usage.output_tokens).toBe(272)
  })

  it.each(['html-in-200', 'error-in-200', 'malformed-sse', 'server-error'])(
    'comes from the next offer when the first answers as %s does',
    async (behaviour) => {
      await behaveOnce(BY_IMAGE, behaviour)
      const answer = await generate({ model: BY_IMAGE, size: '1024x1024' })
      expect([answer.status, answer.headers.get('x-mkt-marketplace-attempts')]).toEqual([200, '2'])
    },
  )

  it('that never arrived costs nothing, and the next offer is asked', async () => {
    await behaveOnce(BY_IMAGE, 'empty')
    const answer = await generate({ model: BY_IMAGE, size: '1024x1024' })
    expect([answer.status, answer.headers.get('x-mkt-marketplace-attempts')]).toEqual([200, '2'])
    const { data, usage, listMicro } = await paid(answer)
    expect([data.length, usage.images, listMicro]).toEqual([1, 1, 40_000])
  })

  it('can have a floor in its path', async () => {
    const good = await post('/min10/v1/images/generations', { model: BY_IMAGE, prompt: 'a cat', size: '1024x1024' })
    expect(good.status).toBe(200)
    const dear = await post('/min99/v1/images/generations', { model: BY_IMAGE, prompt: 'a cat', size: '1024x1024' })
    expect([dear.status, Refusal.parse(await dear.json()).error.code]).toEqual([503, 'minimum_discount_not_met'])
  })

  it('is offered to a stranger for a payment', async () => {
    const url = `${network.sandbox.api_base_url}/v1/images/generations`
    const body = JSON.stringify({ model: BY_IMAGE, prompt: 'a cat', n: 2 })
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const Demand = z.object({ accepts: z.array(z.object({ scheme: z.string(), amount: z.string() })) })
    const { accepts } = Demand.parse(await answer.json())
    expect([answer.status, accepts.map(({ scheme }) => scheme)]).toEqual([402, ['upto', 'exact']])
    // The most expensive offer that may take over.
    expect(Number(accepts[0]?.amount)).toBeGreaterThanOrEqual(due(2n * 40_000_000_000n, await keptBps(BY_IMAGE)))
    expect(Number(accepts[0]?.amount)).toBeLessThanOrEqual(80_000)
    expect(answer.headers.get('www-authenticate')).toContain('Payment')
  })
})

describe('an edit', () => {
  const png = pngOf('a source', 128, 128)
  const asUrl = `data:image/png;base64,${png.toString('base64')}`

  it('reaches the official client, whose files are sent on as a form', async () => {
    const image = [
      await toFile(png, 'base.png', { type: 'image/png' }),
      await toFile(png, 'hat.png', { type: 'image/png' }),
    ]
    const answer = await client.images.edit({ model: BY_TOKEN, prompt: 'add a hat', image, quality: 'low' })
    expect(sizeOf(Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64'))).toBe('1024x1024')
    expect(answer.usage?.input_tokens_details).toEqual({ text_tokens: 3, image_tokens: 646 })
  })

  it.each<[string, object]>([
    ['image', { image: asUrl }],
    ['image_url', { image_url: 'https://example.com/base.png' }],
    ['image_url as an object', { image_url: { url: asUrl } }],
    [
      'input_images, one on a private host, which is never fetched',
      { input_images: [{ url: asUrl, role: 'start' }, 'https://10.0.0.1/private.png'] },
    ],
    ['input_references', { input_references: [{ type: 'image_url', image_url: { url: asUrl } }] }],
    ['images', { images: [{ image_url: asUrl }] }],
  ])('accepts its source as %s', async (_name, sources) => {
    const { usage } = await paid(await edit({ quality: 'low', ...sources }))
    expect(usage.input_tokens).toBe(3 + 323 * ('input_images' in sources ? 2 : 1))
  })

  it('runs where a generation has a source, also at a model that makes pictures in chats', async () => {
    await paid(await generate({ model: BY_TOKEN, image: asUrl, quality: 'low' }))
    await paid(await generate({ model: IN_CHAT, image_url: asUrl }))
  })

  it.each<[string, object, number, string]>([
    ['none', {}, 400, 'image_required'],
    ['an empty text', { image: '' }, 400, 'image_required'],
    ['bare base64', { image: png.toString('base64') }, 400, 'invalid_image_input'],
    ['http', { image: 'http://example.com/a.png' }, 400, 'invalid_image_input'],
    ['ftp', { image: 'ftp://example.com/a.png' }, 400, 'invalid_image_input'],
    ['an empty object', { image: {} }, 400, 'invalid_image_input'],
    ['data without a comma', { image: 'data:image/png;base64' }, 400, 'invalid_image_input'],
    [
      'data that is no image',
      { image: `data:image/png;base64,${btoa('hello, world, hello')}` },
      400,
      'invalid_image_input',
    ],
    ['data of another type', { image: `data:text/html;base64,${png.toString('base64')}` }, 400, 'invalid_image_input'],
    ['nine', { input_images: Array.from({ length: 9 }, () => asUrl) }, 400, 'too_many_input_images'],
    ['with a mask', { image: asUrl, mask: asUrl }, 400, 'mask_not_supported'],
    ['with a mask_url', { image: asUrl, mask_url: 'https://example.com/m.png' }, 400, 'mask_not_supported'],
    ['with the role end', { input_images: [{ url: asUrl, role: 'end' }] }, 400, 'invalid_image_input'],
    ['with the role admin', { input_images: [{ url: asUrl, role: 'admin' }] }, 400, 'invalid_image_input'],
    ['without a url', { input_images: [{ role: 'start' }] }, 400, 'invalid_image_input'],
    ['by a file id', { image: { file_id: 'file-1' } }, 400, 'unresolvable_file_reference'],
    ['of two pictures', { image: asUrl, n: 2 }, 400, 'invalid_request'],
  ])('with an unusable source is refused: %s', async (_name, body, status, code) => {
    const answer = await edit(body)
    expect([answer.status, Refusal.parse(await answer.json()).error.code]).toEqual([status, code])
  })

  it('treats an empty list as a missing picture and makes none', async () => {
    const answer = await generate({ model: BY_TOKEN, image_url: [] })
    expect([answer.status, Refusal.parse(await answer.json()).error.code]).toEqual([400, 'image_required'])
  })

  it('treats a mask of null as none', async () => {
    expect((await edit({ image: asUrl, mask: null, quality: 'low' })).status).toBe(200)
  })

  it('refuses a mask, and a file that is no picture, in a form', async () => {
    const send = async (file: string, bytes: Buffer) => {
      const form = new FormData()
      form.set('model', BY_TOKEN)
      form.set('prompt', 'add a hat')
      form.set('image', new Blob([new Uint8Array(png)], { type: 'image/png' }), 'a.png')
      form.set(file, new Blob([new Uint8Array(bytes)], { type: 'image/png' }), 'b.png')
      const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
      const answer = await fetch(`${network.sandbox.api_base_url}/v1/images/edits`, {
        method: 'POST',
        headers,
        body: form,
      })
      return Refusal.parse(await answer.json()).error.code
    }
    expect(await send('mask', png)).toBe('mask_not_supported')
    expect(await send('image', Buffer.from('<html>'))).toBe('invalid_image_input')
  })
})

describe('a request for a picture', () => {
  it.each<[string, object, string]>([
    ['n of 0', { n: 0 }, 'n'],
    ['n of 11', { n: 11 }, 'n'],
    ['n of -1', { n: -1 }, 'n'],
    ['n of 1.5', { n: 1.5 }, 'n'],
    ['n as a string', { n: '3' }, 'n'],
    ['a size of 0', { size: '0x0' }, 'size'],
    ['a negative size', { size: '-1x100' }, 'size'],
    ['a size that is too wide', { size: '100000x1' }, 'size'],
    ['a size with another separator', { size: '1024×1024' }, 'size'],
    ['a size that is not a string', { size: 1024 }, 'size'],
    ['a resolution of 8K', { resolution: '8K' }, 'resolution'],
    ['a quality of ultra', { quality: 'ultra' }, 'quality'],
    ['another format', { response_format: 'png' }, 'response_format'],
    ['an empty prompt', { prompt: ' ' }, 'prompt'],
    ['a prompt that is too long', { prompt: 'x'.repeat(32_769) }, 'prompt'],
  ])('is refused with %s', async (_name, body, param) => {
    const answer = await generate({ model: BY_IMAGE, ...body })
    expect(answer.status).toBe(400)
    expect(Refusal.parse(await answer.json()).error).toMatchObject({ code: 'invalid_request', param })
  })

  it('accepts the spellings of sizes that clients use', async () => {
    for (const size of ['64X64', '64*64', 'auto', 'square', '1k']) {
      expect([size, (await generate({ model: BY_AREA, size })).status]).toEqual([size, 200])
    }
  })

  it('is refused for its routing like a chat', async () => {
    const Book = z.object({ offers: z.array(z.object({ provider: z.string() })) })
    const book = await fetch(`${network.sandbox.api_base_url}/api/markets/${BY_IMAGE}`)
    const sellers = Book.parse(await book.json()).offers.map(({ provider }) => provider)
    const cases: readonly [object, number, string][] = [
      [{ provider: 'nobody-at-all' }, 400, 'unsupported_provider'],
      [{ providers_blocked: {} }, 400, 'invalid_request'],
      [{ providers_blocked: sellers }, 503, 'no_healthy_sellers'],
      [{ min_discount_pct: 99 }, 503, 'minimum_discount_not_met'],
    ]
    for (const [body, status, code] of cases) {
      const answer = await generate({ model: BY_IMAGE, ...body })
      expect([body, answer.status, Refusal.parse(await answer.json()).error.code]).toEqual([body, status, code])
    }
  })

  it.each(['generations', 'edits'])(
    'is refused when its body is not JSON or names no known model: %s',
    async (kind) => {
      const headers = { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' }
      const cases: readonly [string, string][] = [
        [`{"model":"${BY_IMAGE}","prompt":`, 'invalid_json'],
        ['["a cat"]', 'invalid_request'],
        ['{"prompt":"a cat"}', 'invalid_request'],
        ['{"model":"no-such-model","prompt":"a cat","image":"https://example.com/a.png"}', 'unknown_model'],
      ]
      for (const [body, code] of cases) {
        const url = `${network.sandbox.api_base_url}/v1/images/${kind}`
        const answer = await fetch(url, { method: 'POST', headers, body })
        expect([body, answer.status, Refusal.parse(await answer.json()).error.code]).toEqual([body, 400, code])
      }
    },
  )

  it('is refused where the balance does not cover it', async () => {
    const { buyerKey } = await doorsOf(network).user()
    const answer = await post(
      '/v1/images/generations',
      { model: BY_IMAGE, prompt: 'a cat' },
      { authorization: `Bearer ${buyerKey}` },
    )
    expect([answer.status, Refusal.parse(await answer.json()).error.code]).toEqual([402, 'insufficient_balance'])
  })

  it('finds no seller for a model that makes or edits no pictures', async () => {
    const none = await generate({ model: 'gpt-5-mini' })
    const noEdit = await generate({ model: BY_AREA, image_url: 'https://example.com/a.png' })
    for (const answer of [none, noEdit]) {
      expect([answer.status, Refusal.parse(await answer.json()).error.code]).toEqual([404, 'no_sellers_for_model'])
    }
  })
})
