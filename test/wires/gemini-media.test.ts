import type { ContentListUnion, GenerateContentConfig } from '@google/genai'
import { GoogleGenAI } from '@google/genai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { embeddings } from '#data-plane/wires/embeddings/index.ts'
import { images } from '#data-plane/wires/images/index.ts'
import type { Model } from '#shared/catalog/model.ts'
import { microUsd } from '#shared/money.ts'
import { canServe } from '#shared/protocols/index.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'

const EMBEDDER = 'gemini-embedding-001'
const PAINTER = 'gemini-2.5-flash-image'
const TIERED = 'gemini-3-pro-image-preview'
const IMAGEN = 'imagen-4.0-generate-001'
const PNG = 'iVBORw0KGgo='
const RECEIPT: Receipt = {
  chargeMicro: microUsd(3),
  listMicro: microUsd(5),
  listInputMicro: microUsd(5),
  usage: { input: 9, imageOutput: 1_290 },
}

function planOf(providerModel: string, model: Partial<Model>, apiFormat: 'gemini' | 'vertex' = 'gemini'): ModelPlan {
  const offer = offerOf({ apiFormat, providerModel })
  const entry = buildModel({ id: providerModel, features: [], parameters: [], ...model })
  return buildPlan({ offer, target: buildTarget(entry) })
}

const vectorPlan = (providerModel = EMBEDDER) => planOf(providerModel, { endpoints: ['embeddings'] })
const picturePlan = (providerModel = PAINTER) =>
  planOf(providerModel, { endpoints: ['chat', 'image', 'image-edit'], outputModalities: ['image', 'text'] })
const imagenPlan = (apiFormat: 'gemini' | 'vertex' = 'vertex') =>
  planOf(IMAGEN, { endpoints: ['image'], outputModalities: ['image'] }, apiFormat)

const readVectors = (body: object) => embeddings.read(buildRaw(JSON.stringify({ model: EMBEDDER, ...body })))
const readPictures = (body: object) =>
  images.read(buildRaw(JSON.stringify({ model: PAINTER, prompt: 'a cat', ...body })))

function sentFor(call: ReturnType<typeof readPictures>, plan: ModelPlan) {
  const { path, body, pieces, adaptedParams } = call.encode(plan)
  const text = pieces === undefined ? body : Buffer.concat([...pieces]).toString('utf8')
  return { path, body: JSON.parse(text), adaptedParams }
}

/** Requests that Google's own client sends. */
async function sentByClient(ask: (client: GoogleGenAI) => Promise<unknown>, vertexai = false) {
  let sent: { path: string; body: unknown } | undefined
  const record: typeof fetch = async (address, init) => {
    const { pathname } = new URL(String(address instanceof Request ? address.url : address))
    sent = { path: pathname, body: JSON.parse(String(init?.body)) }
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  const httpOptions = { baseUrl: 'https://a.example', apiVersion: 'v1', fetch: record }
  await ask(new GoogleGenAI({ apiKey: 'key', vertexai, httpOptions }))
  if (sent === undefined) throw new Error('no request was sent')
  return sent
}

function heardFrom(call: ReturnType<typeof readPictures>, plan: ModelPlan, answer: object) {
  const decoder = call.decoder(plan)
  decoder.push(Buffer.from(JSON.stringify(answer)))
  decoder.end()
  return { failure: decoder.failure(), reported: decoder.ending().reported, text: () => decoder.finish(RECEIPT) }
}

describe('vectors of a seller of Gemini’s own protocol', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 5 })

  it('are requested like by Google’s own client', async () => {
    const ask = fc.record({
      input: texts,
      dimensions: fc.option(fc.integer({ min: 1, max: 3_072 }), { nil: undefined }),
    })
    const property = fc.asyncProperty(ask, async ({ input, dimensions }) => {
      const { path, body, adaptedParams } = sentFor(readVectors({ input, dimensions }), vectorPlan())
      const config = dimensions === undefined ? {} : { outputDimensionality: dimensions }
      const client = await sentByClient(({ models }) =>
        models.embedContent({ model: EMBEDDER, contents: input, config }),
      )
      expect({ path: `/v1${path}`, body }).toEqual(client)
      expect(adaptedParams).toEqual([])
    })
    await fc.assert(property, { numRuns: 200 })
  })

  it('name members without a place there', () => {
    const call = readVectors({ input: 'a', user: 'u', encoding_format: 'base64', provider: 'sandbox-e' })
    expect(sentFor(call, vectorPlan()).adaptedParams).toEqual(['user'])
    expect(sentFor(call, vectorPlan('tunedModels/mine')).path).toBe('/tunedModels/mine:batchEmbedContents')
  })

  it("return in the requested encoding, with Google's figures", () => {
    const answer = {
      embeddings: [{ values: [0.5, -1] }, { values: [1, 0.25] }],
      usageMetadata: { promptTokenCount: 9, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 9 }] },
    }
    const input = ['a', 'b']
    const whole = heardFrom(readVectors({ input }), vectorPlan(), answer)
    expect(whole.reported.inputTokens).toBe(9)
    expect(JSON.parse(whole.text()).data).toEqual([
      { object: 'embedding', index: 0, embedding: [0.5, -1] },
      { object: 'embedding', index: 1, embedding: [1, 0.25] },
    ])
    const packed = heardFrom(readVectors({ input, encoding_format: 'base64' }), vectorPlan(), answer)
    const bytes = Buffer.from(Float32Array.from([0.5, -1]).buffer).toString('base64')
    expect(JSON.parse(packed.text()).data[0].embedding).toBe(bytes)
  })

  it.each([
    ['no list', {}],
    ['a missing vector', { embeddings: [{ values: [1] }] }],
    ['an entry without a vector', { embeddings: [{ values: [1] }, {}] }],
    ['a vector of words', { embeddings: [{ values: [1] }, { values: ['1'] }] }],
    ['a malformed entry', { embeddings: [{ values: [1] }, null] }],
  ])('fail with %s', (_what, answer) => {
    expect(heardFrom(readVectors({ input: ['a', 'b'] }), vectorPlan(), answer).failure).toMatchObject({
      kind: 'malformed',
    })
  })

  it.each([
    ['lists of tokens', { input: [1, 2] }],
    ['more texts than a batch has', { input: Array.from({ length: 101 }, () => 'a') }],
  ])('come from another seller for %s', (_what, body) => {
    const { needs } = readVectors(body).demand
    expect(needs).toMatchObject({ openAiFormat: true })
    expect(readVectors({ input: Array.from({ length: 100 }, () => 'a') }).demand.needs).not.toHaveProperty(
      'openAiFormat',
    )
    const served = ['openai', 'embeddings'] as const
    expect(served.map((need) => canServe({ apiFormat: 'gemini' }, need))).toEqual([false, true])
  })
})

describe('pictures of a seller of Gemini’s own protocol', () => {
  it.each([
    ['from words', {}, 'a cat', {}],
    ['of a ratio', { size: '1536x1024' }, 'a cat', { imageConfig: { aspectRatio: '3:2' } }],
    ['of a named ratio', { aspect_ratio: '16:9' }, 'a cat', { imageConfig: { aspectRatio: '16:9' } }],
    ['with a seed', { seed: 7 }, 'a cat', { seed: 7 }],
  ] as const)('are requested like by Google’s own client, %s', async (_what, ask, contents, config) => {
    const { path, body, adaptedParams } = sentFor(readPictures(ask), picturePlan())
    const client = await sentByClient(({ models }) => drawn(models, PAINTER, contents, config))
    expect({ path: `/v1${path}`, body }).toEqual(client)
    expect(adaptedParams).toEqual([])
  })

  it('begin with the pictures of an edit, and have tiers from generation 3 on', async () => {
    const source = `data:image/png;base64,${PNG}`
    const { path, body } = sentFor(readPictures({ image: source, size: '2K' }), picturePlan(TIERED))
    const contents = [{ text: 'a cat' }, { inlineData: { mimeType: 'image/png', data: PNG } }]
    const client = await sentByClient(({ models }) =>
      drawn(models, TIERED, contents, { imageConfig: { imageSize: '2K' } }),
    )
    expect({ path: `/v1${path}`, body }).toEqual(client)
  })

  it.each([
    ['two pictures', { n: 2 }, 'n'],
    ['an unknown ratio', { size: '1000x700' }, 'size'],
    ['more pixels than it makes', { size: '2K' }, 'size'],
    ['a URL that may be a film', { image: 'https://www.youtube.com/watch?v=1' }, 'image'],
  ])('come from another seller for %s', (_what, ask, param) => {
    expect(() => readPictures(ask).encode(picturePlan())).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    )
  })

  it('are read from the parts of the answer, except those of its thoughts', () => {
    const picture = { inlineData: { mimeType: 'image/png', data: PNG } }
    const draft = { inlineData: { mimeType: 'image/png', data: `${PNG.slice(0, -1)}A` } }
    const parts = [{ ...draft, thought: true }, { text: 'Here it is.' }, picture]
    const usageMetadata = {
      promptTokenCount: 9,
      candidatesTokenCount: 1_300,
      thoughtsTokenCount: 20,
      totalTokenCount: 1_329,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_290 }],
    }
    const answer = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }], usageMetadata }
    const { reported, text } = heardFrom(readPictures({}), picturePlan(), answer)
    expect(reported).toMatchObject({ inputTokens: 9, outputTokens: 1_320, imageOutputTokens: 1_290, images: 1 })
    expect(JSON.parse(text()).data).toEqual([{ b64_json: PNG }])
  })

  it.each([
    ['a blocked prompt', { promptFeedback: { blockReason: 'SAFETY' } }, { kind: 'error', status: 400 }],
    ['no candidates', {}, { kind: 'malformed' }],
    ['malformed data', { candidates: [{ content: { parts: [{ inlineData: {} }] } }] }, { kind: 'malformed' }],
  ])('fail with %s', (_what, answer, failure) => {
    expect(heardFrom(readPictures({}), picturePlan(), answer).failure).toMatchObject(failure)
  })

  it.each([
    ['NO_IMAGE', { finishReason: 'NO_IMAGE' }],
    ['IMAGE_SAFETY', { finishReason: 'IMAGE_SAFETY', content: {} }],
    ['text only', { finishReason: 'STOP', content: { parts: [{ text: 'I cannot.' }] } }],
  ])('are missing, and free, with %s', (_what, candidate) => {
    const { failure, reported, text } = heardFrom(readPictures({}), picturePlan(), { candidates: [candidate] })
    expect([failure, reported.images]).toEqual([undefined, 0])
    expect(JSON.parse(text()).data).toEqual([])
  })
})

describe('pictures of Imagen', () => {
  it('are requested at Vertex AI like by Google’s own client', async () => {
    const { path, body, adaptedParams } = sentFor(
      readPictures({ n: 2, aspect_ratio: '16:9', resolution: '2K' }),
      imagenPlan(),
    )
    const config = { numberOfImages: 2, aspectRatio: '16:9', imageSize: '2K' }
    const client = await sentByClient(
      ({ models }) => models.generateImages({ model: IMAGEN, prompt: 'a cat', config }),
      true,
    )
    expect({ path: `/v1/publishers/google${path}`, body }).toEqual(client)
    expect(adaptedParams).toEqual([])
  })

  it.each([
    ['five pictures', { n: 5 }, 'n'],
    ['an unknown ratio', { size: '1536x1024' }, 'size'],
    ['more pixels than it makes', { size: '4K' }, 'size'],
  ])('come from another seller for %s', (_what, ask, param) => {
    expect(() => readPictures(ask).encode(imagenPlan())).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    )
  })

  it('are only those that were not filtered', () => {
    const predictions = [{ bytesBase64Encoded: PNG, mimeType: 'image/png' }, { raiFilteredReason: 'Filtered.' }]
    const { reported, text } = heardFrom(readPictures({ n: 2 }), imagenPlan('gemini'), { predictions })
    expect(reported.images).toBe(1)
    expect(JSON.parse(text()).data).toEqual([{ b64_json: PNG }])
    expect(heardFrom(readPictures({}), imagenPlan(), {}).reported.images).toBe(0)
    expect(heardFrom(readPictures({}), imagenPlan(), { predictions: 'none' }).failure).toMatchObject({
      kind: 'malformed',
    })
  })
})

function drawn(
  models: GoogleGenAI['models'],
  model: string,
  contents: ContentListUnion,
  config: GenerateContentConfig,
): Promise<unknown> {
  return models.generateContent({ model, contents, config: { responseModalities: ['TEXT', 'IMAGE'], ...config } })
}
