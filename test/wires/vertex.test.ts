import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tokenUrl } from '#control-plane/ports/provider/google-token.ts'
import type { ModelPlan } from '#data-plane/call.ts'
import { classifyRefusal } from '#data-plane/pipeline/attempt/classify-refusal.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { readCredential, secretsOf } from '#shared/protocols/credential.ts'
import { canServe, protocolOf } from '#shared/protocols/index.ts'
import { buildMarketOffer, buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import type { WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'

const MODEL = 'claude-opus-4@20250514'
const TOKEN = 'ya29.a-token'
const PATH = `/models/${MODEL}`
const SPEAKER = { apiFormat: 'vertexclaude' } as const

let provider: SampleProvider
let project: string

beforeAll(async () => {
  provider = await createSampleProvider({
    host: '127.0.0.1',
    port: 0,
    name: 'sandbox',
    hasModel: (name) => name !== 'no-such-model',
  })
  const { origin } = new URL(provider.url)
  project = `${origin}/v1/projects/p/locations/europe-west1/publishers/anthropic`
})
afterAll(() => provider.close())

const planOf = (apiFormat: 'messages' | 'vertexclaude'): ModelPlan =>
  buildPlan({ offer: offerOf({ apiFormat, providerModel: MODEL }), maxOutputTokens: 50 })

const encodedAt = (apiFormat: 'messages' | 'vertexclaude', wire: WireName, ask: object = WIRES[wire].ask) =>
  WIRES[wire].wire.read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', ...ask }))).encode(planOf(apiFormat))

async function sent(path: string, body: string, token = TOKEN) {
  const headers: string[] = ['content-type', 'application/json']
  protocolOf(SPEAKER).authorize(headers, token, { method: 'POST', host: 'h', path, body, at: 0 })
  const named = Array.from({ length: headers.length / 2 }, (_, at): [string, string] => [
    headers[2 * at] ?? '',
    headers[2 * at + 1] ?? '',
  ])
  const answer = await fetch(project + path, { method: 'POST', headers: named, body })
  return { status: answer.status, text: await answer.text() }
}

describe('Claude at Vertex AI', () => {
  it.each(WIRE_NAMES.flatMap((wire) => [false, true].map((isStreamed) => [wire, isStreamed] as const)))(
    'answers on the %s wire, streamed %s',
    async (wire, isStreamed) => {
      const { path, body } = encodedAt('vertexclaude', wire, { ...WIRES[wire].ask, stream: isStreamed })
      expect(path).toBe(`${PATH}:${isStreamed ? 'streamRawPredict' : 'rawPredict'}`)
      const answer = await sent(path, body)
      expect(answer.status).toBe(200)
      const heard = hearOnWire(wire, isStreamed, answer.text, { plan: planOf('vertexclaude') })
      expect(heard.text).toMatch(/./)
    },
  )

  it.each(WIRE_NAMES)('receives the same as the protocol’s maker on the %s wire, except for the model', (wire) => {
    const ask = { ...WIRES[wire].ask, temperature: 0.5, seed: 7, user: 'u' }
    const [own, other] = [encodedAt('messages', wire, ask), encodedAt('vertexclaude', wire, ask)]
    const { model, ...members } = JSON.parse(own.body)
    expect(model).toBe(MODEL)
    expect(JSON.parse(other.body)).toEqual({ anthropic_version: 'vertex-2023-10-16', ...members })
    expect(other.adaptedParams).toEqual(own.adaptedParams)
  })

  it('gets a message in its own bytes', () => {
    const text = '{"model":"m","max_tokens":50,"messages":[{"role":"user","content" : "h\\u0069"}],"metadata": {}}'
    const { body } = WIRES.messages.wire.read(buildRaw(text)).encode(planOf('vertexclaude'))
    expect(body).toBe(
      '{"anthropic_version":"vertex-2023-10-16","max_tokens":50,' +
        '"messages":[{"role":"user","content" : "h\\u0069"}],"metadata":{}}',
    )
  })

  it('receives no URL of a picture or a document', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://files.example/a.png' } }
    const spoken = { max_tokens: 50, messages: [{ role: 'user', content: [image] }] }
    const within = { type: 'tool_result', tool_use_id: 'a', content: [image] }
    const seen = { max_tokens: 50, messages: [{ role: 'user', content: [within] }] }
    const part = { type: 'image_url', image_url: { url: 'https://files.example/a.png' } }
    const refusal = expect.objectContaining({ code: 'invalid_request', param: 'messages' })
    for (const [wire, ask] of [
      ['messages', spoken],
      ['messages', seen],
      ['chat', { messages: [{ role: 'user', content: [part] }] }],
    ] as const) {
      expect(() => encodedAt('vertexclaude', wire, ask)).toThrow(refusal)
      expect(encodedAt('messages', wire, ask).body).toContain('https://files.example/a.png')
    }
    expect([canServe(SPEAKER, 'chat'), canServe(SPEAKER, 'document-url')]).toEqual([true, false])
  })

  it('is called by the whole name of a model as well, which leads to no other path', () => {
    const whole = `projects/p/locations/global/publishers/anthropic/models/${MODEL}`
    const pathOf = (apiFormat: 'vertex' | 'vertexclaude', name: string) =>
      protocolOf({ apiFormat }).probe.request(name).path
    expect(pathOf('vertexclaude', whole)).toBe(`/${whole}:rawPredict`)
    expect(pathOf('vertex', whole)).toBe(`/${whole}:generateContent`)
    const climbing = 'projects/../locations/l/publishers/anthropic/models/m'
    expect(pathOf('vertexclaude', climbing)).toBe(`/models/${encodeURIComponent(climbing)}:rawPredict`)
  })

  it('never receives the private key of an account', () => {
    const request = { method: 'POST', host: 'h', path: '/', body: '', at: 0 }
    for (const apiFormat of ['vertex', 'vertexclaude'] as const) {
      const { authorize } = protocolOf({ apiFormat })
      expect(() => authorize([], '{"type":"service_account"}', request)).toThrow()
      const headers: string[] = []
      authorize(headers, 'Bearer ya29.made', request)
      expect(headers).toEqual(['authorization', 'Bearer ya29.made'])
      expect(secretsOf({ apiFormat }, 'Bearer ya29.made')).toEqual(['ya29.made'])
    }
  })

  it("has its private key searched for in providers' answers, with and without its lines", () => {
    const { privateKey: pem } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const file = { type: 'service_account', project_id: 'p', client_email: 'a@p.example', private_key: pem }
    const sealed = readCredential(SPEAKER, JSON.stringify(file)) ?? ''
    const body = pem.split('\n').slice(1, -2).join('')
    expect(secretsOf(SPEAKER, sealed)).toEqual([pem, body])
  })

  it('requests tokens at one address, except for a provider on this machine in development', () => {
    const google = 'https://oauth2.googleapis.com/token'
    const [here, there] = [new URL('http://127.0.0.11:8501/v1'), new URL('https://eu-aiplatform.googleapis.com/v1')]
    const [open, closed] = [{ allowsLoopback: true }, { allowsLoopback: false }]
    expect([tokenUrl(here, closed), tokenUrl(there, closed), tokenUrl(there, open)]).toEqual([google, google, google])
    expect(tokenUrl(here, open)).toBe('http://127.0.0.11:8501/token')
  })

  it('has no list of models, and its probe is one small call', async () => {
    const { listing, probe } = protocolOf(SPEAKER)
    expect(listing).toBeUndefined()
    const { path, body } = probe.request(MODEL)
    const answer = await sent(path, body)
    expect(probe.isAnswer(answer.status, answer.text)).toBe(true)
  })

  it('blames the seller for a refused token or model', async () => {
    const offer = buildMarketOffer({ ...SPEAKER, provider: 'vertex' })
    const judged = (status: number, text: string) => {
      const head = { status, contentType: 'application/json', headers: {}, retryAfterMs: undefined }
      const { errorClass, fault } = classifyRefusal(offer, head, text, { holdsKey: () => false, requestText: () => '' })
      return [errorClass, fault]
    }
    const { path, body } = encodedAt('vertexclaude', 'messages')
    const wrong = await sent(path, body, 'sk-bad')
    expect([wrong.status, judged(wrong.status, wrong.text)]).toEqual([401, ['credential_rejected', 'offer']])
    const missing = await sent('/models/no-such-model:rawPredict', body)
    expect([missing.status, judged(missing.status, missing.text)]).toEqual([404, ['not_found', 'offer']])
  })
})
