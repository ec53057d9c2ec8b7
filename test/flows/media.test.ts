import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { wavTone } from '#dev/provider/media/sound.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const EMBEDDER = 'text-embedding-3-small'
const SPEAKER = 'tts-1'
const LISTENER = 'gpt-4o-transcribe'
let network: Network
let client: OpenAI

beforeAll(async () => {
  network = await sharedNetwork()
  client = clientOf(network.sandbox.buyer_key)
})

afterAll(() => network?.remove())

function clientOf(apiKey: string, path = '/v1'): OpenAI {
  return new OpenAI({ baseURL: network.sandbox.api_base_url + path, apiKey, maxRetries: 0 })
}

const Cost = z.object({ cost: z.number(), buyer_cost_micro: z.number().int() })
const Lookup = z.object({
  buyer_cost_micro: z.number().int(),
  settlement_status: z.string(),
  settlement_error: z.string().nullable(),
  cancelled: z.boolean(),
  attempts: z.array(z.object({ provider: z.string(), status: z.number() })),
})

const headerCost = (headers: Headers) => Number(headers.get('x-mkt-buyer-cost-micro') ?? 'NaN')

async function lookUp(headers: Headers): Promise<z.infer<typeof Lookup>> {
  let found: z.infer<typeof Lookup> | undefined
  await until('the look-up has the call', 10_000, async () => {
    const answer = await fetch(`${network.sandbox.api_base_url}/v1/requests/${headers.get('x-request-id')}`, {
      headers: { authorization: `Bearer ${network.sandbox.buyer_key}` },
    })
    const record = answer.ok ? Lookup.parse(await answer.json()) : undefined
    if (record !== undefined && record.settlement_status !== 'pending') found = record
    return found !== undefined
  })
  if (found === undefined) throw new Error('the look-up is empty')
  return found
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(network.sandbox.api_base_url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${network.sandbox.buyer_key}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  })
}

async function codeOf(answer: Response): Promise<string> {
  const Refusal = z.object({ error: z.object({ code: z.string() }) })
  return Refusal.parse(await answer.json()).error.code
}

/** Sets the behaviour of a model for one call at its lowest-priced seller. */
async function behaveOnce(model: string, behaviour: string): Promise<void> {
  const Book = z.object({ offers: z.array(z.object({ seller_base_url: z.url() })) })
  const book = await fetch(`${network.sandbox.api_base_url}/api/markets/${model}`)
  const door = new URL('/__sandbox/behave', Book.parse(await book.json()).offers[0]?.seller_base_url)
  const answer = await fetch(door, { method: 'POST', body: JSON.stringify({ model, behaviour, times: 1 }) })
  expect(answer.status).toBe(200)
}

describe('embeddings', () => {
  it('reach the official client in both encodings with the same values and one cost', async () => {
    const ask = (encoding_format?: 'float' | 'base64') =>
      client.embeddings
        .create({
          model: EMBEDDER,
          input: ['one', 'two words'],
          dimensions: 16,
          ...(encoding_format ? { encoding_format } : {}),
        })
        .withResponse()
    const [plain, float, packed] = [await ask(), await ask('float'), await ask('base64')]
    expect(plain.data.data).toHaveLength(2)
    expect(plain.data.data[0]?.embedding).toHaveLength(16)
    expect(float.data.data[1]?.embedding.map(Math.fround)).toEqual(plain.data.data[1]?.embedding)
    const text = z.string().parse(packed.data.data[0]?.embedding)
    expect(Buffer.from(text, 'base64')).toHaveLength(64)
    for (const { data, response } of [plain, float, packed]) {
      const { cost, buyer_cost_micro } = Cost.parse(data.usage)
      expect(data.model).toBe(EMBEDDER)
      expect(data.usage.prompt_tokens).toBe(4)
      expect(buyer_cost_micro).toBe(1)
      expect(cost).toBe(0.000001)
      expect(headerCost(response.headers)).toBe(buyer_cost_micro)
      expect((await lookUp(response.headers)).buyer_cost_micro).toBe(buyer_cost_micro)
    }
  })

  it('accept tokens in place of text', async () => {
    const one = await client.embeddings.create({ model: EMBEDDER, input: [1, 2, 3] })
    const two = await client.embeddings.create({ model: EMBEDDER, input: [[1, 2, 3], [4]] })
    expect([one.data.length, one.usage.prompt_tokens]).toEqual([1, 3])
    expect([two.data.length, two.usage.prompt_tokens]).toEqual([2, 4])
  })

  it.each([
    ['missing', undefined],
    ['[]', []],
    ['an empty text', ''],
    ['an empty text among texts', ['a', '']],
    ['a mixture of texts and tokens', ['a', [1]]],
    ['100,000 strings', Array.from({ length: 100_000 }, () => 'x')],
  ])('are refused for an input with %s', async (_name, input) => {
    const answer = await post('/v1/embeddings', { model: EMBEDDER, input })
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'invalid_request'])
    expect(headerCost(answer.headers)).toBe(0)
  })

  it('have no path with a floor', async () => {
    expect((await post('/min5/v1/embeddings', { model: EMBEDDER, input: 'x' })).status).toBe(404)
    expect((await post('/v1/embeddings', { model: EMBEDDER, input: 'x' }, { 'x-min-discount': '30' })).status).toBe(200)
  })

  it('are not sold by a model of another kind, nor a chat by an embedder', async () => {
    const wrong = await post('/v1/embeddings', { model: 'gpt-5-mini', input: 'x' })
    const chat = await post('/v1/chat/completions', { model: EMBEDDER, messages: [{ role: 'user', content: 'x' }] })
    expect([wrong.status, await codeOf(wrong)]).toEqual([404, 'no_sellers_for_model'])
    expect([chat.status, await codeOf(chat)]).toEqual([404, 'no_sellers_for_model'])
    const sizes = await post('/v1/embeddings', { model: 'mistral-embed', input: 'x', dimensions: 8 })
    expect([sizes.status, await codeOf(sizes)]).toEqual([400, 'model_capability_unsupported'])
  })
})

describe('the JSON of embeddings and speech', () => {
  const GOOD = {
    '/v1/embeddings': { model: EMBEDDER, input: 'x' },
    '/v1/audio/speech': { model: SPEAKER, voice: 'alloy', input: 'x' },
  }
  const send = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(network.sandbox.api_base_url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${network.sandbox.buyer_key}`,
        'content-type': 'application/json',
        ...headers,
      },
      body,
    })

  for (const [path, good] of Object.entries(GOOD)) {
    const text = JSON.stringify(good)
    it.each<[string, string | Uint8Array<ArrayBuffer>, number]>([
      ['an open brace', '{', 400],
      ['nothing', '', 400],
      ['trailing comma', `${text.slice(0, -1)},}`, 400],
      ['NaN', text.replace('{', '{"dimensions":NaN,'), 400],
      ['UTF-16', new Uint8Array(Buffer.from(text, 'utf16le')), 400],
      ['NUL in the model', JSON.stringify({ ...good, model: 'x\u0000' }), 400],
      ['__proto__', text.replace('{', '{"__proto__":{"model":"x"},'), 400],
      ['depth', `{"input":${'['.repeat(100_000)}`, 400],
      ['no model', JSON.stringify({ ...good, model: undefined }), 400],
      ['unknown model', JSON.stringify({ ...good, model: 'nope' }), 400],
      ['unknown provider', JSON.stringify({ ...good, provider: 'nope' }), 400],
      ['unreadable block list', JSON.stringify({ ...good, providers_blocked: {} }), 400],
      ['a floor over 100', JSON.stringify({ ...good, min_discount_pct: 101 }), 400],
    ])(`%s is refused on ${path} in the envelope of /v1`, async (_row, body, status) => {
      const answer = await send(path, body)
      expect(answer.status).toBe(status)
      const Refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }), request_id: z.string() })
      expect(Refusal.parse(await answer.json()).request_id).toBe(answer.headers.get('x-request-id'))
    })

    it(`is read on ${path} like on chat`, async () => {
      const odd = JSON.stringify({ ...good, input: 'a \ud800 \u0000' })
      expect((await send(path, `\ufeff${text}`)).status).toBe(200)
      expect((await send(path, odd)).status).toBe(200)
      expect((await send(path, text.replace('{', '{"model":"nope",'))).status).toBe(200)
      expect((await send(path, text, { 'content-type': 'text/plain' })).status).toBe(415)
      expect((await send(path, text, { 'content-encoding': 'gzip' })).status).toBe(415)
    })
  }
})

describe('speech', () => {
  const input = 'Ten chars.'
  const speak = (text = input, path = '/v1') =>
    clientOf(network.sandbox.buyer_key, path).audio.speech.create({
      model: SPEAKER,
      voice: 'alloy',
      input: text,
      response_format: 'wav',
    })

  it('reaches the official client as bytes, priced per character in its head', async () => {
    const answer = await speak('Ünï 👋 ten')
    expect(answer.headers.get('content-type')).toBe('audio/wav')
    // Nine characters at 15 micro-USD each, less 40 %.
    expect(headerCost(answer.headers)).toBe(81)
    expect(answer.headers.get('x-mkt-list-cost-micro')).toBe('135')
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes.equals(wavTone('Ünï 👋 ten'.length * 0.06))).toBe(true)
    expect((await lookUp(answer.headers)).buyer_cost_micro).toBe(81)
  })

  it('arrives as a stream while it is made', async () => {
    await behaveOnce(SPEAKER, 'drip')
    const answer = await speak()
    const reader = answer.body?.getReader()
    const first = await reader?.read()
    expect(first?.value?.length).toBeLessThan(wavTone(0.6).length)
    let bytes = first?.value?.length ?? 0
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) bytes += part.value.length
    expect(bytes).toBe(wavTone(0.6).length)
  })

  it('obeys a floor in the path and in the header', async () => {
    expect((await speak(input, '/min30/v1')).status).toBe(200)
    await expect(speak(input, '/min90/v1')).rejects.toMatchObject({ status: 503, code: 'minimum_discount_not_met' })
    const answer = await post('/v1/audio/speech', { model: SPEAKER, voice: 'a', input }, { 'x-min-discount': '99' })
    expect(answer.status).toBe(503)
  })

  it.each([
    ['server-error', 502],
    ['rate-limited', 429],
    ['html-in-200', 502],
    ['error-in-200', 503],
    ['cut-before-content', 502],
    ['bad-request', 400],
  ])('is refused as JSON when every seller answers %s, and costs nothing', async (behaviour, status) => {
    const model = `sandbox/${behaviour}`
    const answer = await post('/v1/audio/speech', { model, voice: 'alloy', input })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(headerCost(answer.headers)).toBe(0)
    expect((await lookUp(answer.headers)).buyer_cost_micro).toBe(0)
  })

  it('is served by the next seller when the first one fails before any sound', async () => {
    const model = 'tts-1-hd'
    await behaveOnce(model, 'server-error')
    const answer = await post('/v1/audio/speech', { model, voice: 'alloy', input })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
    expect(answer.headers.get('x-mkt-marketplace-attempts')).toBe('2')
    // The second seller keeps 70 % of 30 micro-USD per character.
    expect(headerCost(answer.headers)).toBe(210)
  })

  it('that breaks off is cut and costs nothing', async () => {
    const answer = await post('/v1/audio/speech', { model: 'sandbox/cut-mid-stream', voice: 'alloy', input })
    expect(answer.status).toBe(200)
    await expect(answer.arrayBuffer()).rejects.toThrow()
    const record = await lookUp(answer.headers)
    expect([record.buyer_cost_micro, record.settlement_error]).toEqual([0, 'upstream_error'])
  })

  it('without a sound costs nothing', async () => {
    const answer = await post('/v1/audio/speech', { model: 'sandbox/empty', voice: 'alloy', input })
    expect([answer.status, headerCost(answer.headers), (await answer.arrayBuffer()).byteLength]).toEqual([200, 0, 0])
  })
})

describe('transcriptions', () => {
  const file = (seconds = 7.5, name = 'talk.wav') => toFile(wavTone(seconds), name, { type: 'audio/wav' })
  const HEARD = 'This was heard in talk.wav.'

  it('reach the official client with their duration and cost', async () => {
    const { data, response } = await client.audio.transcriptions
      .create({ model: 'whisper-1', file: await file(), language: 'en', prompt: 'names', temperature: 0 })
      .withResponse()
    expect(data.text).toBe(HEARD)
    const usage = Cost.extend({ type: z.literal('duration'), seconds: z.number() }).parse(data.usage)
    // The provider reports eight seconds and the file has 7.5. Only those are charged, at 100 micro-USD each, less 40
    // %.
    expect(usage).toMatchObject({ seconds: 7.5, buyer_cost_micro: 450, cost: 0.00045 })
    expect(headerCost(response.headers)).toBe(450)
    expect((await lookUp(response.headers)).buyer_cost_micro).toBe(450)
  })

  // Two tokens of the prompt at 2.50, 75 of sound at 6 and 7 of the transcript at 10 US dollars per million, less 40 %.
  const TOKENS = {
    type: 'tokens',
    input_tokens: 77,
    input_token_details: { text_tokens: 2, audio_tokens: 75 },
    output_tokens: 7,
    total_tokens: 84,
    buyer_cost_micro: 315,
  }

  it('reach the official client with their tokens where their model is billed by tokens', async () => {
    const asked = { model: LISTENER, file: await file(), prompt: 'names' }
    const { data, response } = await client.audio.transcriptions.create(asked).withResponse()
    expect(data).toMatchObject({ text: HEARD, usage: TOKENS })
    expect(headerCost(response.headers)).toBe(315)
    expect((await lookUp(response.headers)).buyer_cost_micro).toBe(315)
    const plain = await client.audio.transcriptions.create({ ...asked, response_format: 'text' }).withResponse()
    expect([plain.data, headerCost(plain.response.headers)]).toEqual([`${HEARD}\n`, 315])
    const done: unknown[] = []
    for await (const event of await client.audio.transcriptions.create({ ...asked, stream: true })) {
      if (event.type === 'transcript.text.done') done.push(event)
    }
    expect(done).toMatchObject([{ text: HEARD, usage: TOKENS }])
  })

  it('come in each format', async () => {
    const ask = async (response_format: 'text' | 'srt' | 'vtt') =>
      client.audio.transcriptions.create({ model: 'whisper-1', file: await file(), response_format }).withResponse()
    for (const [format, text] of [
      ['text', `${HEARD}\n`],
      ['srt', `1\n00:00:00,000 --> 00:00:07,500\n${HEARD}\n\n`],
      ['vtt', `WEBVTT\n\n00:00:00.000 --> 00:00:07.500\n${HEARD}\n\n`],
    ] as const) {
      const { data, response } = await ask(format)
      expect(data).toBe(text)
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(headerCost(response.headers)).toBe(450)
    }
    const verbose = await client.audio.transcriptions.create({
      model: 'whisper-1',
      file: await file(),
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    expect(verbose).toMatchObject({ text: HEARD, duration: 7.5, language: 'english', words: [] })
    // Clients check each segment for all of its members.
    expect(verbose.segments).toMatchObject([
      { seek: 0, tokens: [expect.any(Number)], no_speech_prob: expect.any(Number) },
    ])
  })

  it('arrive whole from a model that cannot stream', async () => {
    const stream = await client.audio.transcriptions.create({ model: 'whisper-1', file: await file(), stream: true })
    let text = ''
    const done: unknown[] = []
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') text += event.delta
      if (event.type === 'transcript.text.done') done.push(event)
    }
    expect(text).toBe(HEARD)
    expect(done).toHaveLength(1)
    expect(done[0]).toMatchObject({ text: HEARD, usage: { type: 'duration', seconds: 7.5, buyer_cost_micro: 450 } })
  })

  it('accept a file of 25 MB and send all of it on, once per attempt', async () => {
    const bytes = Buffer.alloc(26_214_400, 'noise')
    const model = 'gpt-4o-mini-transcribe'
    await behaveOnce(model, 'server-error')
    const audio = await toFile(bytes, 'long talk.webm', { type: 'audio/webm' })
    const { data, response } = await client.audio.transcriptions.create({ model, file: audio }).withResponse()
    expect(data.text).toBe('This was heard in long talk.webm.')
    expect(response.headers.get('x-mkt-marketplace-attempts')).toBe('2')
    expect(headerCost(response.headers)).toBeGreaterThan(0)
  })

  const form = (fields: Readonly<Record<string, string>>, audio: Buffer | undefined = wavTone(1)) => {
    const data = new FormData()
    if (audio !== undefined) data.append('file', new Blob([new Uint8Array(audio)]), 'talk.wav')
    for (const [name, value] of Object.entries(fields)) data.append(name, value)
    return data
  }
  const send = (body: FormData | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, path = '') =>
    fetch(`${network.sandbox.api_base_url}${path}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${network.sandbox.buyer_key}`, ...headers },
      body,
    })

  it('are refused for a body of another kind', async () => {
    expect((await post('/v1/audio/transcriptions', { model: LISTENER })).status).toBe(415)
    const cut = new TextEncoder().encode('--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nx')
    const type = { 'content-type': 'multipart/form-data; boundary=b' }
    expect((await send(cut, type)).status).toBe(400)
    expect((await send(cut, { 'content-type': 'multipart/form-data' })).status).toBe(415)
    expect((await send(form({ model: LISTENER }), { 'content-encoding': 'gzip' })).status).toBe(415)
    const large = await send(form({ model: LISTENER }, Buffer.alloc(26_214_401)))
    expect([large.status, await codeOf(large)]).toEqual([413, 'request_too_large'])
    expect(large.headers.get('x-mkt-marketplace-attempts')).toBe('0')
  })

  it.each([
    ['no model', {}, 'model'],
    ['an unknown format', { model: LISTENER, response_format: 'docx' }, 'response_format'],
    ['a stream that is not a boolean', { model: LISTENER, stream: '1' }, 'stream'],
    ['a stream of subtitles', { model: LISTENER, stream: 'true', response_format: 'srt' }, 'stream'],
    ['heat', { model: LISTENER, temperature: 'hot' }, 'temperature'],
    ['timestamps of a text', { model: 'whisper-1', 'timestamp_granularities[]': 'word' }, 'timestamp_granularities'],
  ])('are refused for %s', async (_name, fields, param) => {
    const answer = await send(form(fields))
    const Refusal = z.object({ error: z.object({ code: z.string(), param: z.string() }) })
    expect(answer.status).toBe(400)
    expect(Refusal.parse(await answer.json()).error).toEqual(expect.objectContaining({ param }))
  })

  it('are refused without a file, and to strangers before their file is read', async () => {
    const none = new FormData()
    none.append('model', LISTENER)
    expect((await send(none)).status).toBe(400)
    const nobody = await send(form({ model: LISTENER }), { authorization: '' })
    expect(nobody.status).toBe(402)
    expect((await send(form({ model: LISTENER }), { authorization: 'Bearer inf_nonsense' })).status).toBe(401)
  })

  it('obey routing fields of the form and forward none of them', async () => {
    const fields = { model: LISTENER, provider: 'sandbox-b', min_discount_pct: '10', allow_untrusted: 'false' }
    const answer = await send(form(fields))
    expect([answer.status, answer.headers.get('x-mkt-provider-family')]).toEqual([200, 'sandbox-b'])
    expect((await send(form({ ...fields, min_discount_pct: '010' }))).status).toBe(400)
    expect((await send(form({ ...fields, min_discount_pct: '95' }))).status).toBe(503)
    expect((await send(form({ model: LISTENER }), {}, '/min95')).status).toBe(503)
    expect((await send(form({ ...fields, provider: '["nope"]' }))).status).toBe(400)
  })

  it('that fail cost nothing', async () => {
    for (const behaviour of ['server-error', 'malformed-sse', 'cut-mid-stream', 'html-in-200']) {
      const answer = await send(form({ model: `sandbox/${behaviour}` }))
      expect(answer.status).toBe(502)
      expect((await lookUp(answer.headers)).buyer_cost_micro).toBe(0)
    }
  })
})
