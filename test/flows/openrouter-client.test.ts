import { OpenRouter } from '@openrouter/sdk'
import { createGateway } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'

const MODEL = 'openai/gpt-5-mini'
/** Requests in a minute, one more than the control plane answers for a key. */
const MORE_THAN_A_KEY_READS = 61
const MESSAGES = [{ role: 'user' as const, content: 'Say hello to the market.' }]

let network: Network
let client: OpenRouter

beforeAll(async () => {
  network = await sharedNetwork()
  client = new OpenRouter({
    serverURL: `${network.sandbox.api_base_url}/v1`,
    apiKey: network.sandbox.buyer_key,
    retryConfig: { strategy: 'none' },
  })
})

afterAll(async () => {
  await network?.remove()
})

type ChatRequest = Parameters<OpenRouter['chat']['send']>[0]['chatRequest']
type ResponsesRequest = Parameters<OpenRouter['responses']['send']>[0]['responsesRequest']

async function chat(request: ChatRequest) {
  const answer = await client.chat.send({ chatRequest: request })
  if (!('choices' in answer)) throw new Error('a whole answer was asked for')
  return answer
}

async function streamChat(request: ChatRequest) {
  const answer = await client.chat.send({ chatRequest: { ...request, stream: true } })
  if ('choices' in answer) throw new Error('a stream was asked for')
  return answer
}

async function respond(request: ResponsesRequest) {
  const answer = await client.responses.send({ responsesRequest: request })
  if (!('output' in answer)) throw new Error('a whole answer was asked for')
  return answer
}

async function streamResponse(request: ResponsesRequest) {
  const answer = await client.responses.send({ responsesRequest: { ...request, stream: true } })
  if ('output' in answer) throw new Error('a stream was asked for')
  return answer
}

/** The parts of a cost, whose sum is that cost. */
function expectParts(details: { readonly [name: string]: unknown } | null | undefined, names: readonly string[]): void {
  const figures = z.record(z.string(), z.number()).parse(details)
  const parts = names.map((name) => figures[name] ?? Number.NaN)
  expect(parts.every((part) => part > 0)).toBe(true)
  expect(parts.reduce((sum, part) => sum + part)).toBeCloseTo(figures['upstreamInferenceCost'] ?? Number.NaN, 9)
}

describe("a buyer with OpenRouter's own client", () => {
  it.each([
    ['the OpenAI protocol', MODEL],
    ['the messages protocol', 'anthropic/claude-sonnet-4.5'],
  ])('chats, whole and streamed, by %s', async (_way, model) => {
    const whole = await chat({ model, messages: MESSAGES })
    expect(whole.choices[0]?.message.content).not.toBe('')
    expectParts({ ...whole.usage?.costDetails }, ['upstreamInferencePromptCost', 'upstreamInferenceCompletionsCost'])
    const stream = await streamChat({ model, messages: MESSAGES })
    let text = ''
    let cost: number | null | undefined
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      cost ??= chunk.usage?.cost
    }
    expect(text).toBe(whole.choices[0]?.message.content)
    expect(cost).toBeGreaterThan(0)
  })

  it.each([MODEL, 'anthropic/claude-sonnet-4.5'])('asks for responses of %s, whole and streamed', async (model) => {
    const tool = { type: 'function' as const, name: 'weather', parameters: { type: 'object' } }
    const request: ResponsesRequest = { model, input: 'Say hello to the market.', tools: [tool], truncation: 'auto' }
    const whole = await respond(request)
    expect(whole.status).toBe('completed')
    expectParts({ ...whole.usage?.costDetails }, ['upstreamInferenceInputCost', 'upstreamInferenceOutputCost'])
    const stream = await streamResponse(request)
    const kinds: string[] = []
    for await (const event of stream) kinds.push(event.type)
    expect(kinds.at(-1)).toBe('response.completed')
  })

  it('asks for embeddings', async () => {
    const answer = await client.embeddings.generate({
      requestBody: { model: 'openai/text-embedding-3-small', input: ['one', 'two'] },
    })
    if (typeof answer === 'string') throw new Error('the answer is not an object')
    expect(answer.data).toHaveLength(2)
    expect(answer.usage?.cost).toBeGreaterThan(0)
  })

  it('makes a film between two pictures and after a third, polls it at its address and downloads it', async () => {
    const picture = (name: string) => ({
      type: 'image_url' as const,
      imageUrl: { url: `https://example.com/${name}.png` },
    })
    const made = await client.videoGeneration.generate({
      videoGenerationRequest: {
        model: 'sandbox/video-job',
        prompt: 'A boat on a lake.',
        frameImages: [
          { ...picture('first'), frameType: 'first_frame' },
          { ...picture('last'), frameType: 'last_frame' },
        ],
        inputReferences: [picture('like')],
      },
    })
    expect(made.pollingUrl).toBe(`${network.sandbox.api_base_url}/v1/videos/${made.id}`)
    let seen = made
    await until('the film is done', 15_000, async () => {
      seen = await client.videoGeneration.getGeneration({ jobId: made.id })
      return seen.status === 'completed'
    })
    expect(seen.usage?.cost).toBe(0)
    const film = await fetch(seen.unsignedUrls?.[0] ?? '')
    expect([film.status, film.headers.get('content-type')]).toEqual([200, 'video/mp4'])
  })

  it('lists models, each with the members that its shape requires, and reads one', async () => {
    const pages = await client.models.list()
    const { result } = pages
    expect(result.data.length).toBe(result.totalCount)
    expect(result.links.next).toBeNull()
    const model = result.data.find(({ canonicalSlug }) => canonicalSlug === MODEL)
    expect(model?.architecture.modality).toMatch(/^text(\+\w+)*->text$/)
    const details = await fetch(new URL(model?.links.details ?? '', network.sandbox.api_base_url))
    expect(details.status).toBe(200)
  })

  it('pages through models, under filters and below a base URL with a floor', async () => {
    const floored = new OpenRouter({
      serverURL: `${network.sandbox.api_base_url}/min10/v1`,
      apiKey: network.sandbox.buyer_key,
      retryConfig: { strategy: 'none' },
    })
    for (const each of [client, floored]) {
      const whole = (await each.models.list()).result
      const seen: string[] = []
      for await (const { result } of await each.models.list({ limit: 50 })) {
        seen.push(...result.data.map(({ id }) => id))
        expect(result.totalCount).toBe(whole.data.length)
      }
      expect(seen).toEqual(whole.data.map(({ id }) => id))
      const { data } = (await each.models.list({ outputModalities: 'embeddings', category: 'science' })).result
      expect(data.length).toBeGreaterThan(0)
      expect((await each.embeddings.listModels()).result.data.map(({ id }) => id)).toEqual(data.map(({ id }) => id))
      expect((await each.models.count({ outputModalities: 'embeddings' })).data.count).toBe(data.length)
      expect((await each.models.get({ author: 'openai', slug: 'gpt-5-mini' })).data.canonicalSlug).toBe(MODEL)
      const own = await each.models.listForUser({ bearer: network.sandbox.buyer_key })
      expect(own.result.data.length).toBe(whole.data.length)
      expect((await each.endpoints.listZdrEndpoints()).data).toEqual([])
      const providers = (await each.providers.list()).data
      expect(providers.find(({ slug }) => slug === 'openai')?.name).toBe('OpenAI')
      expect((await each.endpoints.list({ author: 'openai', slug: 'gpt-5-mini' })).data.endpoints).not.toEqual([])
      expect((await each.apiKeys.getCurrentKeyMetadata()).data.label).not.toBe('')
      expect((await each.credits.getCredits()).data.totalCredits).toBeGreaterThan(0)
    }
  })

  it('lists makers of pictures and of films, and who makes pictures at which price', async () => {
    const { data } = await client.images.listModels()
    const slugs = data.map(({ id }) => id)
    expect(slugs).toContain('openai/gpt-image-1')
    const painter = data.find(({ id }) => id === 'openai/gpt-image-1')
    expect(painter?.supportedParameters['quality']).toMatchObject({ type: 'enum', values: ['low', 'high', 'medium'] })
    expect([painter?.supportsStreaming, painter?.architecture.outputModalities]).toEqual([true, ['image']])
    const told = await fetch(new URL(painter?.endpoints ?? '', network.sandbox.api_base_url))
    expect(told.status).toBe(200)
    const made = await client.images.listModelEndpoints({ author: 'black-forest-labs', slug: 'flux-1.1-pro' })
    const [best] = made.endpoints
    if (best === undefined) throw new Error('no provider makes pictures with the model')
    const whole = await client.endpoints.list({ author: 'black-forest-labs', slug: 'flux-1.1-pro' })
    const same = whole.data.endpoints.find(({ tag }) => tag === best.providerTag)
    expect(best.pricing).toEqual([
      { billable: 'output_image', unit: 'image', costUsd: Number(same?.pricing.image ?? Number.NaN) },
    ])
    const films = (await client.videoGeneration.listVideosModels()).data
    const film = films.find(({ canonicalSlug }) => canonicalSlug === 'openai/sora-2')
    expect(film).toMatchObject({
      supportedDurations: [4, 8, 12],
      supportedResolutions: ['720p'],
      supportedFrameImages: ['first_frame'],
      pricingSkus: { second: '0.1' },
      seed: false,
      supportedAspectRatios: null,
    })
    for (const slug of ['gpt-5-mini', 'gpt-0']) {
      const refused = client.images.listModelEndpoints({ author: 'openai', slug })
      await expect(refused).rejects.toMatchObject({ statusCode: 404 })
    }
  })

  it('requests the fastest and the lowest-priced by a suffix of a name, and sees its ignored members', async () => {
    for (const ending of [':nitro', ':floor']) {
      const { model } = await chat({ model: `${MODEL}${ending}`, messages: MESSAGES })
      expect(model).toBe('gpt-5-mini')
    }
    const url = `${network.sandbox.api_base_url}/v1/models?category=science&limit=1&sort=most-popular`
    const answer = await fetch(url)
    expect([answer.status, answer.headers.get('x-mkt-adapted-params')]).toEqual([200, 'category, sort'])
    for (const path of ['/v1/providers', '/v1/models/gpt-5-mini', '/api/inference/v1/models', '/v1/endpoints/zdr']) {
      const read = await fetch(`${network.sandbox.api_base_url}${path}?foo=1`)
      expect([path, read.status, read.headers.get('x-mkt-adapted-params')]).toEqual([path, 200, 'foo'])
    }
    const authorization = `Bearer ${network.sandbox.buyer_key}`
    for (const path of ['/v1/key', '/v1/credits', '/v1/videos', '/compat/v1/models']) {
      const read = await fetch(`${network.sandbox.api_base_url}${path}?foo=1`, { headers: { authorization } })
      expect([path, read.status, read.headers.get('x-mkt-adapted-params')]).toEqual([path, 200, 'foo'])
    }
    // The market's own reads stay strict.
    for (const path of ['/v1/prices', '/api/markets', '/v1/resource/markets', '/v1/requests']) {
      const read = await fetch(`${network.sandbox.api_base_url}${path}?foo=1`, { headers: { authorization } })
      const refused = z.object({ error: z.object({ param: z.string() }) }).parse(await read.json())
      expect([path, read.status, refused.error.param]).toEqual([path, 400, 'foo'])
    }
  })

  it('reads the limits of its key, and a call by the id in its answer', async () => {
    const { id, usage } = await chat({ model: MODEL, messages: MESSAGES })
    const { data } = await client.generations.getGeneration({ id })
    expect(id).toBe(`chatcmpl-${data.id}`)
    expect(data.totalCost).toBe(usage?.cost)
    await until('the key has used the amount', 10_000, async () => {
      const key = await client.apiKeys.getCurrentKeyMetadata()
      return key.data.usage >= (usage?.cost ?? Number.POSITIVE_INFINITY) && key.data.usageDaily === key.data.usage
    })
    const key = await client.apiKeys.getCurrentKeyMetadata()
    expect(key.data.label.length).toBeGreaterThan(0)
  })

  it("gets its key's limits before each of many calls, though the ledger is read only now and then", async () => {
    const { buyerKey: apiKey } = await doorsOf(network).user()
    const own = new OpenRouter({
      serverURL: `${network.sandbox.api_base_url}/v1`,
      apiKey,
      retryConfig: { strategy: 'none' },
    })
    for (let asked = 0; asked < MORE_THAN_A_KEY_READS; asked++) {
      const [key, credits] = await Promise.all([own.apiKeys.getCurrentKeyMetadata(), own.credits.getCredits()])
      expect([key.data.usage, credits.data.totalUsage]).toEqual([0, 0])
    }
  })

  it('lists who serves a model, at the prices that calls are charged', async () => {
    const { data } = await client.endpoints.list({ author: 'openai', slug: 'gpt-5-mini' })
    expect(data.id).toBe(MODEL)
    const [best] = data.endpoints.filter(({ status }) => status === 0)
    if (best === undefined) throw new Error('no provider serves the model')
    const { model } = await chat({ model: MODEL, messages: MESSAGES, provider: { only: [best.tag] } })
    expect(best.modelId).toBe(model.split('/').at(-1))
    const listed = (await client.models.list()).result.data.find(({ canonicalSlug }) => canonicalSlug === MODEL)
    const kept = 1 - (best.pricing.discount ?? Number.NaN)
    expect(Number(best.pricing.prompt)).toBeCloseTo(Number(listed?.pricing.prompt) * kept, 11)
    expect(Number(best.pricing.completion)).toBeCloseTo(Number(listed?.pricing.completion) * kept, 11)
    await expect(client.endpoints.list({ author: 'openai', slug: 'gpt-0' })).rejects.toMatchObject({ statusCode: 404 })
  })

  it('reads its credit as the rest and the used amount, to the micro', async () => {
    const { buyerKey } = await doorsOf(network).user(3)
    const own = new OpenRouter({ serverURL: `${network.sandbox.api_base_url}/v1`, apiKey: buyerKey })
    const answer = await own.chat.send({ chatRequest: { model: MODEL, messages: MESSAGES } })
    const cost = 'usage' in answer ? (answer.usage?.cost ?? Number.NaN) : Number.NaN
    await until('the call is booked', 10_000, async () => (await own.credits.getCredits()).data.totalUsage > 0)
    const activity = await own.analytics.getUserActivity({ groupBy: 'workspace' })
    expect(activity.data).toMatchObject([
      { date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), model: 'gpt-5-mini', requests: 1, usage: cost },
    ])
    expect(activity.data[0]?.promptTokens).toBeGreaterThan(0)
    expect((await own.analytics.getUserActivity({ date: '2020-01-01' })).data).toEqual([])
    const { data } = await own.credits.getCredits()
    expect(data).toEqual({ totalCredits: 3, totalUsage: cost })
    const gateway = createGateway({ baseURL: `${network.sandbox.api_base_url}/v1/ai`, apiKey: buyerKey })
    const { balance, totalUsed } = await gateway.getCredits()
    expect([Number(totalUsed), Math.round((Number(balance) + cost) * 1e6)]).toEqual([cost, 3_000_000])
    const refused = await fetch(`${network.sandbox.api_base_url}/v1/credits`)
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'authentication_required' } }])
  })

  it('sees who answered, at the top of each answer', async () => {
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${network.sandbox.api_base_url}/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const { provider } = z.object({ provider: z.string() }).parse(await answer.json())
      expect(provider).toBe(answer.headers.get('x-mkt-provider-family'))
    }
    await post('/chat/completions', { model: MODEL, messages: MESSAGES })
    await post('/chat/completions', { model: 'claude-sonnet-4.5', messages: MESSAGES })
    await post('/completions', { model: MODEL, prompt: 'Hello' })
    await post('/responses', { model: MODEL, input: 'Hello' })
    await post('/embeddings', { model: 'text-embedding-3-small', input: 'Hello' })
  })
})
