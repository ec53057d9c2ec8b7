import type { Content, Part } from '@google/genai'
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel } from '@google/genai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { protocolOf } from '#shared/protocols/index.ts'

const MODEL = 'gemini-3-flash-preview'
const QUESTION = 'What is the weather in Bern?'
const tools = [
  {
    functionDeclarations: [
      { name: 'get_weather', parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } } },
    ],
  },
]

let provider: SampleProvider
let client: GoogleGenAI

function clientOf(apiKey: string, isVertex: boolean, headers: Record<string, string> = {}): GoogleGenAI {
  const baseUrl = provider.url.replace(/\/v1$/, '')
  return new GoogleGenAI({ apiKey, vertexai: isVertex, httpOptions: { baseUrl, apiVersion: 'v1', headers } })
}

beforeAll(async () => {
  provider = await createSampleProvider({ host: '127.0.0.1', port: 0, name: 'sandbox' })
  client = clientOf('sk-dev', false)
})
afterAll(() => provider.close())

describe('Google’s own client at the sample provider', () => {
  it('reads an answer, and the same in events, with equal usage', async () => {
    const request = { model: MODEL, contents: QUESTION, config: { thinkingConfig: { includeThoughts: true } } }
    const whole = await client.models.generateContent(request)
    expect(whole.text).toMatch(/./)
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = whole.usageMetadata ?? {}
    expect(thoughtsTokenCount).toBeGreaterThan(0)
    expect(whole.usageMetadata?.totalTokenCount).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount)
    let text = ''
    let thought = ''
    let last: unknown
    for await (const { candidates, usageMetadata } of await client.models.generateContentStream(request)) {
      for (const part of candidates?.[0]?.content?.parts ?? []) {
        if (part.thought === true) thought += part.text
        else text += part.text ?? ''
      }
      last = usageMetadata
    }
    expect(text).toBe(whole.text)
    expect(last).toEqual(whole.usageMetadata)
    expect(thought).toMatch(/./)
  })

  it('reads the same at Vertex AI, with the tier in the usage', async () => {
    const { models } = clientOf('sk-dev', true, { 'x-vertex-ai-llm-shared-request-type': 'priority' })
    const { text, usageMetadata } = await models.generateContent({ model: MODEL, contents: QUESTION })
    expect(text).toMatch(/./)
    expect(usageMetadata?.trafficType).toBe('ON_DEMAND_PRIORITY')
    expect(provider.requests.list().at(-1)?.path).toBe(`/v1/publishers/google/models/${MODEL}:generateContent`)
  })

  it('counts tokens free of charge', async () => {
    expect((await client.models.countTokens({ model: MODEL, contents: QUESTION })).totalTokens).toBe(7)
  })

  describe.each([
    ['at the Gemini API', () => client],
    ['at Vertex AI', () => clientOf('sk-dev', true)],
  ])('completes a loop of functions with a picture and thoughts %s,', (_where, clientAt) => {
    it.each([
      ['whole', false],
      ['streamed', true],
    ])('%s', async (_form, isStreamed) => {
      const ask = async (contents: Content[]): Promise<Part[]> => {
        const request = { model: MODEL, contents, config: { tools, thinkingConfig: { includeThoughts: true } } }
        const { models } = clientAt()
        if (!isStreamed) return (await models.generateContent(request)).candidates?.[0]?.content?.parts ?? []
        const parts: Part[] = []
        for await (const { candidates } of await models.generateContentStream(request)) {
          parts.push(...(candidates?.[0]?.content?.parts ?? []).filter(({ text }) => text !== ''))
        }
        return parts
      }
      const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }
      const first: Content = { role: 'user', parts: [{ text: QUESTION }, picture] }
      const answered = await ask([first])
      expect(answered.some(({ thought }) => thought === true)).toBe(true)
      const call = answered.find(({ functionCall }) => functionCall !== undefined)
      expect(call?.functionCall).toMatchObject({ name: 'get_weather', args: { city: QUESTION } })
      expect(call?.thoughtSignature).toMatch(/./)
      const result = { functionResponse: { name: 'get_weather', response: { output: 'Sunny.' } } }
      const next = [first, { role: 'model', parts: answered }, { role: 'user', parts: [result, picture] }]
      expect((await ask(next)).some(({ text = '', thought }) => thought !== true && text !== '')).toBe(true)
      const unsigned = { role: 'model', parts: [{ ...(call?.functionCall && { functionCall: call.functionCall }) }] }
      const refusal = await ask([first, unsigned, { role: 'user', parts: [result] }]).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(ApiError)
      expect(refusal).toMatchObject({
        status: 400,
        message: expect.stringContaining('missing a thought_signature in functionCall parts'),
      })
    })
  })

  it('makes vectors and pictures', async () => {
    const { models } = client
    const config = { outputDimensionality: 64 }
    const { embeddings } = await models.embedContent({ model: 'gemini-embedding-001', contents: ['a', 'b'], config })
    expect(embeddings?.map(({ values }) => values?.length)).toEqual([64, 64])
    const drawn = await models.generateContent({
      model: 'gemini-2.5-flash-image',
      contents: 'a cat',
      config: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    })
    expect(drawn.data).toMatch(/^iVBORw0KGgo/)
    expect(drawn.usageMetadata?.candidatesTokensDetails).toEqual([{ modality: 'IMAGE', tokenCount: 1_290 }])
    const asked = { model: 'imagen-4.0-generate-001', prompt: 'a cat', config: { numberOfImages: 2 } }
    const { generatedImages } = await clientOf('sk-dev', true).models.generateImages(asked)
    expect(generatedImages?.map(({ image }) => image?.mimeType)).toEqual(['image/png', 'image/png'])
  })

  it('has a list of models, each with the name that offers use', async () => {
    const { listing } = protocolOf({ apiFormat: 'gemini' })
    const headers = { 'x-goog-api-key': 'sk-dev' }
    const answer = await fetch(`${provider.url}${listing?.path}`, { headers })
    const names = [...(listing?.read(await answer.text()) ?? [])]
    expect(names).toContain('sandbox/echo')
    expect(names.some((name) => name.startsWith('models/'))).toBe(false)
  })

  it.each([
    ['a model of conversations', 'gemini-3-pro-preview', undefined],
    ['a maker of vectors', 'gemini-embedding-001', 'embeddings'],
    ['a model that chats and makes pictures', 'gemini-2.5-flash-image', 'image'],
    ['the same for an edit', 'gemini-2.5-flash-image', 'image-edit'],
    ['Imagen', 'imagen-4.0-generate-001', 'image'],
  ] as const)('answers the probe of a listing for %s', async (_what, model, endpoint) => {
    const { probe, mediaProbes } = protocolOf({ apiFormat: 'gemini' })
    const asked = (endpoint && mediaProbes?.[endpoint]) ?? probe
    const { path, body } = asked.request(model)
    const headers = { 'x-goog-api-key': 'sk-dev', 'content-type': 'application/json' }
    const answer = await fetch(provider.url + path, { method: 'POST', headers, body })
    expect(asked.isAnswer(answer.status, await answer.text())).toBe(true)
  })

  it('answers in a schema, and calls the forced function', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const config = { responseMimeType: 'application/json', responseJsonSchema: schema }
    const { text = '' } = await client.models.generateContent({ model: MODEL, contents: 'Bern', config })
    expect(JSON.parse(text)).toEqual({ city: 'Bern' })
    const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } }
    const forced = await client.models.generateContent({ model: MODEL, contents: 'Hi', config: { tools, toolConfig } })
    expect(forced.functionCalls).toHaveLength(1)
  })

  it('receives the provider’s refusals', async () => {
    const hear = (given: GoogleGenAI, model: string, config: object) =>
      given.models.generateContent({ model, contents: 'Hi', config }).catch((error: unknown) => error)
    expect(await hear(clientOf('sk-bad-key', false), MODEL, {})).toMatchObject({
      status: 400,
      message: expect.stringContaining('API_KEY_INVALID'),
    })
    const both = { thinkingConfig: { thinkingBudget: 1, thinkingLevel: ThinkingLevel.LOW } }
    expect(await hear(client, MODEL, both)).toMatchObject({ status: 400 })
    expect(await hear(client, 'sandbox%2Frate-limited', {})).toMatchObject({
      status: 429,
      message: expect.stringContaining('RESOURCE_EXHAUSTED'),
    })
  })
})
