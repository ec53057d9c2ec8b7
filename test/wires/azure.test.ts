import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { classifyRefusal } from '#data-plane/pipeline/attempt/classify-refusal.ts'
import { AZURE_ERRORS } from '#dev/provider/azure.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { otherProtocolSaid, protocolOf } from '#shared/protocols/index.ts'
import { buildMarketOffer, buildPlan, buildRaw } from '#test/support/build-market.ts'
import type { WireName } from '#test/support/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/heard-on-wire.ts'
import { offerOf } from '#test/support/wire-bytes.ts'

const KEY = 'key-of-the-resource'
const AZURE = ['azure', 'azureresponses'] as const satisfies readonly ProtocolName[]

let provider: SampleProvider
let resource: string

beforeAll(async () => {
  provider = await createSampleProvider({
    host: '127.0.0.1',
    port: 0,
    name: 'sandbox',
    hasModel: (name) => name !== 'no-such-deployment',
  })
  resource = `${new URL(provider.url).origin}/openai/v1`
})
afterAll(() => provider.close())

/** The answer of the resource to a request of a protocol, sent as the planes send it. */
async function sent(apiFormat: ProtocolName, path: string, body: string, key = KEY) {
  const headers: string[] = ['content-type', 'application/json']
  const request = { method: 'POST', host: 'acme.openai.azure.com', path, body, at: 0 }
  protocolOf({ apiFormat }).authorize(headers, key, request)
  const named = Array.from({ length: headers.length / 2 }, (_, at): [string, string] => [
    headers[2 * at] ?? '',
    headers[2 * at + 1] ?? '',
  ])
  const answer = await fetch(resource + path, { method: 'POST', headers: named, body })
  return { status: answer.status, text: await answer.text(), named: new Map(named) }
}

async function ask(apiFormat: ProtocolName, wire: WireName, isStreamed: boolean, said = 'Say something short.') {
  const plan = buildPlan({ offer: offerOf({ apiFormat, provider: 'azure', providerModel: 'my-deployment' }) })
  const ask =
    wire === 'responses' ? { input: said } : { ...WIRES[wire].ask, messages: [{ role: 'user', content: said }] }
  const body = { model: 'gpt-5-mini', ...ask, stream: isStreamed }
  const { path, body: text } = WIRES[wire].wire.read(buildRaw(JSON.stringify(body))).encode(plan)
  return { plan, path, answer: await sent(apiFormat, path, text) }
}

describe('the official SDK at a resource of Azure', () => {
  const client = () =>
    new OpenAI({ baseURL: resource, apiKey: 'unused', defaultHeaders: { 'api-key': KEY }, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Say something short.' }]

  it('reads chats, whole and streamed, and responses', async () => {
    const whole = await client().chat.completions.create({ model: 'my-deployment', messages })
    const streamed = await client().chat.completions.stream({ model: 'my-deployment', messages }).finalChatCompletion()
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
    const response = await client().responses.create({ model: 'my-deployment', input: 'Say something short.' })
    expect(response.output_text).toMatch(/./)
  })
})

describe.each(AZURE)('a seller of %s', (apiFormat) => {
  it.each(WIRE_NAMES.flatMap((wire) => [false, true].map((isStreamed) => [wire, isStreamed] as const)))(
    'answers on the %s wire, streamed %s, whatever its filter adds',
    async (wire, isStreamed) => {
      const { plan, answer } = await ask(apiFormat, wire, isStreamed)
      expect([answer.status, answer.named.get('api-key'), answer.named.has('authorization')]).toEqual([200, KEY, false])
      const heard = hearOnWire(wire, isStreamed, answer.text, { plan })
      expect(heard.text).toMatch(/./)
      expect(JSON.stringify(heard.turn)).not.toContain('content_filter_results')
    },
  )

  it('refuses a filtered prompt as the buyer’s, and a key or a deployment as the seller’s', async () => {
    const offer = buildMarketOffer({ apiFormat, provider: 'azure' })
    const judged = (status: number, text: string) => {
      const head = { status, contentType: 'application/json', headers: {}, retryAfterMs: undefined }
      const { errorClass, fault } = classifyRefusal(offer, head, text, { holdsKey: () => false, asked: () => '' })
      return [errorClass, fault === 'offer']
    }
    const { path, answer } = await ask('azure', 'chat', false, 'Please filter this.')
    expect([answer.status, judged(answer.status, answer.text)[1]]).toEqual([400, false])
    const probe = protocolOf({ apiFormat }).probe.request('no-such-deployment')
    const missing = await sent(apiFormat, probe.path, probe.body)
    expect([missing.status, judged(missing.status, missing.text)]).toEqual([404, ['not_found', true]])
    const wrong = await sent(apiFormat, path, '{}', 'sk-bad')
    expect([wrong.status, judged(wrong.status, wrong.text)[1]]).toEqual([401, true])
  })

  it('has no list of deployments, and its probe is one small call', async () => {
    const { listing, probe } = protocolOf({ apiFormat })
    expect(listing).toBeUndefined()
    const { path, body } = probe.request('my-deployment')
    const answer = await sent(apiFormat, path, body)
    expect(probe.isAnswer(answer.status, answer.text)).toBe(true)
  })
})

it('a deployment that answers on responses alone says so', async () => {
  const { path, body } = protocolOf({ apiFormat: 'azure' }).probe.request('gpt-5-codex')
  const { text, status } = await sent('azure', path, body)
  expect(status).toBe(400)
  expect(JSON.parse(text)).toEqual(AZURE_ERRORS.operation)
  const said = protocolOf({ apiFormat: 'azure' }).readError(text)
  expect(otherProtocolSaid({ apiFormat: 'azure' }, said)).toBe('azureresponses')
  expect(otherProtocolSaid({ apiFormat: 'messages' }, said)).toBeUndefined()
})
