import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenRouter } from '@openrouter/sdk'
import { generateImage } from 'ai'
import OpenAI, { APIError, toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pngOf } from '#dev/provider/media/png.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const BY_TOKEN = 'gpt-image-1'
const BY_IMAGE = 'dall-e-3'
const IN_CHAT = 'gemini-2.5-flash-image'
const source = pngOf('a source', 48, 48)
let network: Network
let client: OpenAI
let address: { readonly baseURL: string; readonly apiKey: string }

beforeAll(async () => {
  network = await sharedNetwork()
  address = { baseURL: `${network.sandbox.api_base_url}/v1`, apiKey: network.sandbox.buyer_key }
  client = new OpenAI({ ...address, maxRetries: 0 })
})

afterAll(() => network?.remove())

/** Width and height of a PNG. */
function sizeOf(picture: string | Uint8Array): string {
  const bytes = typeof picture === 'string' ? Buffer.from(picture, 'base64') : Buffer.from(picture)
  expect(bytes.toString('latin1', 1, 4)).toBe('PNG')
  return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
}

const Priced = z.looseObject({ usage: z.looseObject({ output_tokens: z.number(), buyer_cost_micro: z.number() }) })
const Lookup = z.object({
  buyer_cost_micro: z.number(),
  settlement_status: z.string(),
  settlement_error: z.string().nullable(),
})

/** The look-up of a call once it is settled. */
async function settled(id: string | null): Promise<z.infer<typeof Lookup>> {
  let found: z.infer<typeof Lookup> | undefined
  await until('the call is settled', 15_000, async () => {
    const answer = await fetch(`${address.baseURL}/requests/${id}`, {
      headers: { authorization: `Bearer ${address.apiKey}` },
    })
    found = answer.ok ? Lookup.parse(await answer.json()) : undefined
    return found !== undefined && found.settlement_status !== 'pending'
  })
  if (found === undefined) throw new Error('no look-up')
  return found
}

/** The share of the reference price at the best offer of a model. */
async function keptBps(model: string): Promise<bigint> {
  const Book = z.object({ offers: z.array(z.object({ discount_pct: z.number() })) })
  const book = Book.parse(await (await fetch(`${network.sandbox.api_base_url}/api/markets/${model}`)).json())
  return BigInt(Math.round(10_000 - (book.offers[0]?.discount_pct ?? 0) * 100))
}

/** Micro-USD of a pico price at a share, rounded up once. */
const due = (pico: bigint, kept: bigint) => Number((pico * kept + 9_999_999_999n) / 10_000_000_000n)

async function behaveOnce(model: string, behaviour: string): Promise<void> {
  const Book = z.object({ offers: z.array(z.object({ seller_base_url: z.url() })) })
  const book = Book.parse(await (await fetch(`${network.sandbox.api_base_url}/api/markets/${model}`)).json())
  const door = new URL('/__sandbox/behave', book.offers[0]?.seller_base_url)
  const asked = { method: 'POST', body: JSON.stringify({ model, behaviour, times: 1 }) }
  expect((await fetch(door, asked)).status).toBe(200)
}

describe('the official client', () => {
  it('streams a picture after partial ones; the last event has the price, which is charged once', async () => {
    const { data: stream, response } = await client.images
      .generate({
        model: BY_TOKEN,
        prompt: 'a cat',
        size: '1024x1536',
        quality: 'low',
        stream: true,
        partial_images: 2,
      })
      .withResponse()
    const events = []
    for await (const event of stream) events.push(event)
    expect(events.map(({ type }) => type)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    expect(events.map(({ b64_json: bytes }) => sizeOf(bytes))).toEqual(['1024x1536', '1024x1536', '1024x1536'])
    expect(new Set(events.map(({ b64_json: bytes }) => bytes)).size).toBe(3)
    expect(events[1]).toMatchObject({ partial_image_index: 1, quality: 'low', output_format: 'png' })
    const { usage } = Priced.parse(events[2])
    // Two tokens of text at 5 USD per million; 408 of the picture and 200 of its partial pictures at 40.
    const pico = 2n * 5_000_000n + 608n * 40_000_000n
    expect([usage.output_tokens, usage.buyer_cost_micro]).toEqual([608, due(pico, await keptBps(BY_TOKEN))])
    expect(await settled(response.headers.get('x-request-id'))).toMatchObject({
      buyer_cost_micro: usage.buyer_cost_micro,
      settlement_error: null,
    })
  })

  it('streams an edit of several files', async () => {
    const image = [await toFile(source, 'base.png', { type: 'image/png' }), await toFile(source, 'hat.png')]
    const stream = await client.images.edit({
      model: BY_TOKEN,
      prompt: 'add a hat',
      image,
      quality: 'low',
      stream: true,
      partial_images: 1,
    })
    const events = []
    for await (const event of stream) events.push(event)
    expect(events.map(({ type }) => type)).toEqual(['image_edit.partial_image', 'image_edit.completed'])
    expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 3 + 2 * 323, output_tokens: 372 } })
  })

  it('sees an error in a stream that breaks off, and pays nothing for half a picture', async () => {
    await behaveOnce(BY_TOKEN, 'cut-mid-stream')
    const { data: stream, response } = await client.images
      .generate({ model: BY_TOKEN, prompt: 'a cat', quality: 'low', stream: true, partial_images: 1 })
      .withResponse()
    const types: string[] = []
    let error: unknown
    try {
      for await (const { type } of stream) types.push(type)
    } catch (thrown) {
      error = thrown
    }
    expect(types).toEqual(['image_generation.partial_image'])
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ code: 'upstream_error', error: { buyer_cost_micro: 0 } })
    expect(await settled(response.headers.get('x-request-id'))).toMatchObject({
      buyer_cost_micro: 0,
      settlement_error: 'upstream_error',
    })
  })

  it.each(['cut-before-content', 'error-in-200'])(
    'gets the stream of the next seller when the first does as %s does',
    async (behaviour) => {
      await behaveOnce(BY_TOKEN, behaviour)
      const asked = { model: BY_TOKEN, prompt: 'a cat', quality: 'low', stream: true, partial_images: 1 } as const
      const { data: stream, response } = await client.images.generate(asked).withResponse()
      let last: unknown
      for await (const event of stream) last = event
      expect(response.headers.get('x-mkt-marketplace-attempts')).toBe('2')
      expect(Priced.parse(last).usage.output_tokens).toBe(372)
    },
  )

  it.each([
    ['sells only whole pictures', BY_IMAGE],
    ['makes pictures in chats', IN_CHAT],
  ])('is refused a stream of a model that %s, before any hold', async (_name, model) => {
    const asked = client.images.generate({ model, prompt: 'a cat', stream: true })
    await expect(asked).rejects.toMatchObject({
      status: 400,
      code: 'model_capability_unsupported',
      param: 'stream',
    })
  })

  it('gets pictures of a chat, whole and in the deltas of a stream, with their tokens counted apart', async () => {
    const Images = z.looseObject({ images: z.array(z.object({ image_url: z.object({ url: z.string() }) })) })
    const Usage = z.looseObject({
      completion_tokens: z.number(),
      completion_tokens_details: z.looseObject({ image_tokens: z.number() }),
      prompt_tokens: z.number(),
      buyer_cost_micro: z.number(),
    })
    const asked = { model: IN_CHAT, messages: [{ role: 'user' as const, content: 'Draw a cat.' }] }
    // OpenRouter's members, which the client's types do not know.
    const extra = { modalities: ['image', 'text'], image_config: { aspect_ratio: '16:9' } } as object
    const whole = await client.chat.completions.create({ ...asked, ...extra })
    const [image] = Images.parse(whole.choices[0]?.message).images
    expect(sizeOf(image?.image_url.url.replace('data:image/png;base64,', '') ?? '')).toBe('1024x576')
    const usage = Usage.parse(whole.usage)
    const pico = BigInt(usage.prompt_tokens) * 300_000n + 8n * 2_500_000n + 1_290n * 30_000_000n
    expect([usage.completion_tokens_details.image_tokens, usage.buyer_cost_micro]).toEqual([
      1_290,
      due(pico, await keptBps(IN_CHAT)),
    ])
    const stream = await client.chat.completions.create({ ...asked, ...extra, stream: true })
    const pictures: unknown[] = []
    let streamedUsage: unknown
    for await (const { choices, usage: told } of stream) {
      const found = Images.safeParse(choices[0]?.delta)
      if (found.success) pictures.push(...found.data.images)
      streamedUsage ??= told
    }
    expect(pictures).toHaveLength(1)
    expect(pictures[0]).toMatchObject({ image_url: image?.image_url })
    expect(Usage.parse(streamedUsage).buyer_cost_micro).toBe(usage.buyer_cost_micro)
  })

  it('is refused pictures in a chat of a model that makes none', async () => {
    const extra = { modalities: ['image'] } as object
    const asked = { model: 'gpt-5-mini', messages: [{ role: 'user' as const, content: 'Draw a cat.' }], ...extra }
    await expect(client.chat.completions.create(asked)).rejects.toMatchObject({
      status: 400,
      code: 'model_capability_unsupported',
      param: 'modalities',
    })
  })

  it('is refused a picture that costs more than its own ceiling, which no limit could shorten', async () => {
    const asked = { model: BY_TOKEN, prompt: 'a cat', quality: 'low' as const, size: '1024x1024' as const }
    const most = async (micro: number) =>
      client.images.generate(asked, { headers: { 'x-mkt-max-cost-micro': String(micro) } })
    await expect(most(1_000)).rejects.toMatchObject({ status: 402, code: 'cost_ceiling_reached' })
    expect((await most(20_000)).data).toHaveLength(1)
  })
})

describe('the AI SDK', () => {
  it('makes and edits pictures by its OpenAI provider', async () => {
    const openai = createOpenAI(address)
    const made = await generateImage({
      model: openai.image(BY_TOKEN),
      prompt: 'a cat',
      size: '1536x1024',
      n: 2,
      providerOptions: { openai: { quality: 'low', background: 'opaque', outputFormat: 'png', user: 'somebody' } },
    })
    expect(made.images.map(({ uint8Array: bytes }) => sizeOf(bytes))).toEqual(['1536x1024', '1536x1024'])
    expect(made.usage).toMatchObject({ outputTokens: 800 })
    const edited = await generateImage({
      model: openai.image(BY_TOKEN),
      prompt: { text: 'add a hat', images: [source] },
      providerOptions: { openai: { quality: 'low' } },
    })
    expect([sizeOf(edited.image.uint8Array), edited.usage.inputTokens]).toEqual(['1024x1024', 3 + 323])
  })

  it('makes and edits pictures by its provider for compatible services', async () => {
    const market = createOpenAICompatible({ name: 'market', ...address })
    const made = await generateImage({ model: market.imageModel(BY_IMAGE), prompt: 'a cat', size: '1024x1024', n: 2 })
    expect(made.images.map(({ uint8Array: bytes }) => sizeOf(bytes))).toEqual(['1024x1024', '1024x1024'])
    const edited = await generateImage({
      model: market.imageModel(BY_TOKEN),
      prompt: { text: 'add a hat', images: [source, source] },
      providerOptions: { market: { quality: 'low' } },
    })
    expect(sizeOf(edited.image.uint8Array)).toBe('1024x1024')
  })
})

describe('OpenRouter’s own client', () => {
  it('makes pictures on its own path, whole and streamed, and uses source pictures', async () => {
    const router = new OpenRouter({
      serverURL: address.baseURL,
      apiKey: address.apiKey,
      retryConfig: { strategy: 'none' },
    })
    const asked = { model: `openai/${BY_TOKEN}`, prompt: 'a cat', quality: 'low' as const, size: '1024x1024' }
    const whole = await router.images.generate({ imageGenerationRequest: asked })
    if (!('data' in whole)) throw new Error('a whole answer was asked for')
    expect(sizeOf(whole.data[0]?.b64Json ?? '')).toBe('1024x1024')
    const url = `data:image/png;base64,${source.toString('base64')}`
    const edited = await router.images.generate({
      imageGenerationRequest: { ...asked, inputReferences: [{ type: 'image_url', imageUrl: { url } }] },
    })
    expect(edited).toMatchObject({ usage: { promptTokens: 2 + 323 } })
    const stream = await router.images.generate({ imageGenerationRequest: { ...asked, stream: true } })
    if (!(Symbol.asyncIterator in stream)) throw new Error('a stream was asked for')
    const events = []
    for await (const event of stream) events.push(event)
    expect(events).toHaveLength(1)
  })
})

describe('LiteLLM’s requests', () => {
  const headers = () => ({ authorization: `Bearer ${address.apiKey}` })

  it('are OpenAI’s, with members of a provider’s own beside them', async () => {
    const body = {
      model: BY_IMAGE,
      prompt: 'a cat',
      n: 1,
      size: '1024x1024',
      response_format: 'b64_json',
      user: 'somebody',
    }
    const own = { style: 'vivid', quality: 'hd', metadata: { tags: ['a'] }, drop_params: true }
    const answer = await fetch(`${address.baseURL}/images/generations`, {
      method: 'POST',
      headers: { ...headers(), 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...own }),
    })
    expect([answer.status, answer.headers.get('x-mkt-adapted-params')]).toEqual([200, null])
  })

  it('for an edit are a form with files under image[]', async () => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ model: BY_TOKEN, prompt: 'add a hat', n: '1', quality: 'low' }))
      form.set(name, value)
    for (const name of ['a.png', 'b.png'])
      form.append('image[]', new Blob([new Uint8Array(source)], { type: 'image/png' }), name)
    const answer = await fetch(`${address.baseURL}/images/edits`, { method: 'POST', headers: headers(), body: form })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ usage: { input_tokens: 3 + 2 * 323 } })
  })
})
