import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pngOf } from '#dev/provider/media/png.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

/** A seller of this test has a key for fal's protocol, and a discount of 12.5 %. */
const FAL = { provider: ['sandbox-e'] }
const KEPT_BPS = 8_750
let network: Network

beforeAll(async () => {
  network = await sharedNetwork()
})

afterAll(() => network?.remove())

const Answer = z.object({
  provider: z.literal('sandbox-e'),
  data: z.array(z.object({ b64_json: z.string().optional(), url: z.string().optional() })),
  usage: z.object({
    images: z.number().optional(),
    megapixels: z.number().optional(),
    buyer_cost_micro: z.number().int(),
    adapted_params: z.array(z.string()).optional(),
  }),
})

async function draw(body: object) {
  const answer = await fetch(`${network.sandbox.api_base_url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'a cat', ...FAL, ...body }),
  })
  const text = await answer.text()
  expect([answer.status, answer.status === 200 ? '' : text]).toEqual([200, ''])
  const micro = (side: string) => Number(answer.headers.get(`x-mkt-${side}-cost-micro`))
  return { ...Answer.parse(JSON.parse(text)), chargeMicro: micro('buyer'), listMicro: micro('list') }
}

/** Micro-USD of a pico price at a share, rounded up once. */
const due = (pico: bigint, kept: number) => Number((pico * BigInt(kept) + 9_999_999_999n) / 10_000_000_000n)

function sizeOf(bytes: Buffer): string {
  expect(bytes.toString('latin1', 1, 4)).toBe('PNG')
  return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
}

const Received = z.object({ requests: z.array(z.object({ path: z.string(), body: z.unknown().optional() })) })

/** The last request of a path that the provider of a model's offers received. */
async function lastAsked(path: string): Promise<unknown> {
  const Book = z.object({ offers: z.array(z.object({ provider: z.string(), seller_base_url: z.url() })) })
  const book = Book.parse(await (await fetch(`${network.sandbox.api_base_url}/api/markets/flux-1-dev`)).json())
  const offer = book.offers.find(({ provider }) => provider === 'sandbox-e')
  const answer = await fetch(new URL('/__sandbox/requests', offer?.seller_base_url))
  return Received.parse(await answer.json()).requests.findLast((request) => request.path === path)?.body
}

describe("a picture of a provider with fal's protocol", () => {
  it('is drawn in the requested size and sold by the pixels that arrived', async () => {
    const { data, usage, chargeMicro, listMicro } = await draw({ model: 'flux-1-dev', size: '320x200', n: 2, seed: 7 })
    expect(data.map(({ b64_json: bytes = '' }) => sizeOf(Buffer.from(bytes, 'base64')))).toEqual(['320x200', '320x200'])
    // 0.025 USD per megapixel.
    const pico = 320n * 200n * 2n * 25_000n
    expect([usage.megapixels, listMicro]).toEqual([0.128, due(pico, 10_000)])
    expect([chargeMicro, usage.buyer_cost_micro]).toEqual([due(pico, KEPT_BPS), due(pico, KEPT_BPS)])
    expect(await lastAsked('/v1/flux-1-dev')).toEqual({
      prompt: 'a cat',
      image_size: { width: 320, height: 200 },
      num_images: 2,
      sync_mode: true,
      seed: 7,
    })
  })

  it('arrives as a URL, and is sold by the piece where its model is', async () => {
    const asked = { model: 'flux-1.1-pro', size: '64x48', response_format: 'url', quality: 'high' }
    const { data, usage, chargeMicro } = await draw(asked)
    const loaded = await fetch(data[0]?.url ?? '')
    expect(sizeOf(Buffer.from(await loaded.arrayBuffer()))).toBe('64x48')
    expect([usage.images, usage.adapted_params]).toEqual([1, ['quality']])
    expect(chargeMicro).toBe(due(40_000_000_000n, KEPT_BPS))
  })

  it('begins with a source, or with several', async () => {
    const source = `data:image/png;base64,${pngOf('a source', 32, 32).toString('base64')}`
    await draw({ model: 'flux-1-dev', size: '64x64', image: source })
    expect(await lastAsked('/v1/flux-1-dev')).toMatchObject({ image_url: source })
    const more = ['https://example.com/a.png', source]
    await draw({ model: 'flux-1-dev', size: '64x64', input_images: more })
    expect(await lastAsked('/v1/flux-1-dev')).toMatchObject({ image_urls: more })
  })
})
