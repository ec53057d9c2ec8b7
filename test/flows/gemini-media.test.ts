import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'
import { readAsBuyer } from '#test/support/translation/tool-loop-suite.ts'

/** The seller of Gemini’s own protocol, 5 % below the reference price. */
const SELLER = 'sandbox-e'
const AT = { provider: [SELLER] }
const KEPT_BPS = 9_500
const EMBEDDER = 'gemini-embedding-001'
const PAINTER = 'gemini-2.5-flash-image'
const IMAGEN = 'imagen-4.0-generate-001'

let network: Network
let client: OpenAI

beforeAll(async () => {
  network = await sharedNetwork()
  const { api_base_url: origin, buyer_key: apiKey } = network.sandbox
  client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 })
})
afterAll(() => network?.remove())

const Booked = z.looseObject({
  provider: z.string(),
  buyer_cost_micro: z.number(),
  confirmed_at: z.string().nullable(),
})
const Cost = z.looseObject({ buyer_cost_micro: z.number().int().positive() })
const Vectors = Cost.extend({ prompt_tokens: z.number() })
const Pictures = Cost.extend({
  input_tokens: z.number(),
  output_tokens_details: z.object({ text_tokens: z.number(), image_tokens: z.number() }),
  images: z.number().optional(),
})

/** Micro-USD of a pico price at the seller’s share, rounded up once. */
const due = (pico: number) => Math.ceil((pico * KEPT_BPS) / 10_000 / 1e6)

/** Checks that the call is booked at the cost in its answer. */
async function expectBooked({ response }: { readonly response: Response }, cost: number): Promise<void> {
  const rid = response.headers.get('x-request-id') ?? ''
  expect(Number(response.headers.get('x-mkt-buyer-cost-micro'))).toBe(cost)
  let row: z.infer<typeof Booked> | undefined
  await until('the call is booked', 10_000, async () => {
    row = Booked.parse(await readAsBuyer(network, `/v1/requests/${rid}`))
    return row.confirmed_at !== null
  })
  expect(row).toMatchObject({ provider: SELLER, buyer_cost_micro: cost })
}

const refused = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)

describe('vectors of a seller of Gemini’s own protocol, by OpenAI’s client', () => {
  it.each(['float', 'base64', undefined] as const)('cost their tokens, requested as %s', async (encoding) => {
    const request = { model: EMBEDDER, input: ['one text', 'another'], dimensions: 64, ...AT }
    const asked = await client.embeddings
      .create({ ...request, ...(encoding !== undefined && { encoding_format: encoding }) })
      .withResponse()
    const { data, usage } = asked.data
    const { buyer_cost_micro: cost, prompt_tokens: tokens } = Vectors.parse(usage)
    const length = encoding === 'base64' ? 344 : 64
    expect(data.map(({ embedding }) => embedding.length)).toEqual([length, length])
    // 0.15 USD per million tokens.
    expect(cost).toBe(due(tokens * 150_000))
    await expectBooked(asked, cost)
  })

  it('come from another seller when tokens are sent', async () => {
    const asked = { model: EMBEDDER, input: [[1, 2, 3]] }
    expect(await refused(client.embeddings.create({ ...asked, ...AT }))).toMatchObject({ status: 404 })
    expect((await client.embeddings.create(asked)).data).toHaveLength(1)
  })
})

describe('pictures of a seller of Gemini’s own protocol, by OpenAI’s client', () => {
  it('cost the tokens that Google counts', async () => {
    const asked = await client.images
      .generate({ model: PAINTER, prompt: 'a cat', size: '1536x1024', ...AT })
      .withResponse()
    const { input_tokens: input, ...usage } = Pictures.parse(asked.data.usage)
    expect(asked.data.data?.map(({ b64_json: bytes = '' }) => sizeOf(bytes))).toEqual(['1024x683'])
    expect(usage.output_tokens_details).toEqual({ text_tokens: 0, image_tokens: 1_290 })
    // 0.30 USD per million tokens of text, 30 USD of pictures.
    expect(usage.buyer_cost_micro).toBe(due(input * 300_000 + 1_290 * 30_000_000))
    await expectBooked(asked, usage.buyer_cost_micro)
  })

  it('of Imagen cost the price of each piece', async () => {
    const asked = await client.images.generate({ model: IMAGEN, prompt: 'a cat', n: 2, ...AT }).withResponse()
    const { images, buyer_cost_micro: cost } = Pictures.parse(asked.data.usage)
    expect([asked.data.data?.length, images, cost]).toEqual([2, 2, due(2 * 40_000 * 1e6)])
    await expectBooked(asked, cost)
  })

  it('are refused without a charge where the seller cannot make them', async () => {
    const ask = (given: object) => refused(client.images.generate({ model: PAINTER, prompt: 'a cat', ...AT, ...given }))
    expect(await ask({ n: 2 })).toMatchObject({ status: 400, param: 'n' })
    expect(await ask({ size: '1000x700' })).toMatchObject({ status: 400, param: 'size' })
  })
})

function sizeOf(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
}
