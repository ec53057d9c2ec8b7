import OpenAI, { AzureOpenAI } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProviderProbe } from '#control-plane/ports/provider/provider-probe.ts'
import { ModelName } from '#control-plane/services/input-fields.ts'
import { classifyRefusal } from '#data-plane/pipeline/attempt/classify-refusal.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { embeddings } from '#data-plane/wires/embeddings/index.ts'
import { imageEdits, images } from '#data-plane/wires/images/index.ts'
import { speech } from '#data-plane/wires/speech/index.ts'
import { transcriptions } from '#data-plane/wires/transcriptions/index.ts'
import { AZURE_ERRORS } from '#dev/provider/azure.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { systemClock } from '#shared/clock.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { otherProtocolSaid, protocolOf } from '#shared/protocols/index.ts'
import { Secret } from '#shared/secret.ts'
import { buildMarketOffer, buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import type { WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'

const KEY = 'key-of-the-resource'
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
const AZURE = ['azure', 'azureresponses', 'azuredeployments'] as const satisfies readonly ProtocolName[]

let provider: SampleProvider
let origin: string
let resource: string

beforeAll(async () => {
  provider = await createSampleProvider({
    host: '127.0.0.1',
    port: 0,
    name: 'sandbox',
    hasModel: (name) => name !== 'no-such-deployment',
  })
  origin = new URL(provider.url).origin
  resource = `${origin}/openai/v1`
})
afterAll(() => provider.close())

/** The answer of the resource to a request of a protocol, sent like the planes send it. */
async function sent(apiFormat: ProtocolName, path: string, body: string, key = KEY) {
  const headers: string[] = ['content-type', 'application/json']
  const request = { method: 'POST', host: 'acme.openai.azure.com', path, body, at: 0 }
  protocolOf({ apiFormat }).authorize(headers, key, request)
  const named = Array.from({ length: headers.length / 2 }, (_, at): [string, string] => [
    headers[2 * at] ?? '',
    headers[2 * at + 1] ?? '',
  ])
  const base = apiFormat === 'azuredeployments' ? `${origin}/openai` : resource
  const answer = await fetch(base + path, { method: 'POST', headers: named, body })
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

describe('the name of a deployment', () => {
  it.each(['..', '.', '../../x', 'a/./b', '..?api-version=2024-10-21'])('leads to no other path: %s', (name) => {
    expect(ModelName.safeParse(name).success).toBe(false)
  })

  it.each(['a/b', 'a%2f..b', 'a..b', 'x?api-version=..x', 'x?api-version=1&y=2', 'x#f', 'x@evil.example', '.x'])(
    'stays within its segment: %s',
    (name) => {
      expect(ModelName.safeParse(name).success).toBe(true)
      const { path } = protocolOf({ apiFormat: 'azuredeployments' }).probe.request(name)
      const { host, pathname } = new URL(`https://acme.openai.azure.com/openai${path}`)
      expect(host).toBe('acme.openai.azure.com')
      expect(pathname).toMatch(/^\/openai\/deployments\/[^/]+\/chat\/completions$/)
    },
  )
})

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

describe('the client of Azure at a deployment', () => {
  const client = (deployment?: string) =>
    new AzureOpenAI({ endpoint: origin, apiKey: KEY, apiVersion: '2024-10-21', deployment, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Say something short.' }]

  it('reads chats, whole and streamed, under the name in the address', async () => {
    const asked = { model: 'another-name', messages }
    const whole = await client('my-deployment').chat.completions.create(asked)
    const streamed = await client('my-deployment').chat.completions.stream(asked).finalChatCompletion()
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
    expect(whole.model).toBe('my-deployment')
  })

  it('finishes a tool loop', async () => {
    const said: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'What is the weather in Bern?' }]
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: { type: 'object' } } }]
    const ask = () => client().chat.completions.create({ model: 'my-deployment', messages: said, tools })
    const { message } = (await ask()).choices[0] ?? {}
    const [call] = message?.tool_calls ?? []
    if (message === undefined || call === undefined) throw new Error('the answer has no call')
    said.push(message, { role: 'tool', tool_call_id: call.id, content: 'Sunny.' })
    expect((await ask()).choices[0]?.message.content).toMatch(/./)
  })

  it('reads vectors, pictures, speech, transcripts and older completions', async () => {
    const azure = client('my-deployment')
    const model = 'my-deployment'
    expect((await azure.embeddings.create({ model, input: 'hi' })).data[0]?.embedding.length).toBeGreaterThan(0)
    expect((await azure.images.generate({ model, prompt: 'A house.' })).data).toHaveLength(1)
    const speech = await azure.audio.speech.create({ model, input: 'hi', voice: 'alloy' })
    expect((await speech.arrayBuffer()).byteLength).toBeGreaterThan(0)
    const file = new File(['sound'], 'a.mp3', { type: 'audio/mpeg' })
    expect((await azure.audio.transcriptions.create({ model, file })).text).toMatch(/./)
    expect((await azure.completions.create({ model, prompt: 'hi' })).choices).toHaveLength(1)
  })

  it("is refused in Azure's form", async () => {
    await expect(client('no-such-deployment').chat.completions.create({ model: 'x', messages })).rejects.toMatchObject({
      status: 404,
      code: 'DeploymentNotFound',
    })
    const filtered = [{ role: 'user' as const, content: 'Please filter this.' }]
    await expect(client('mine').chat.completions.create({ model: 'x', messages: filtered })).rejects.toMatchObject({
      status: 400,
      code: 'content_filter',
    })
    const plain = await fetch(`${origin}/openai/deployments/mine/chat/completions`, {
      method: 'POST',
      headers: { 'api-key': KEY },
      body: '{}',
    })
    expect([plain.status, await plain.json()]).toEqual([404, AZURE_ERRORS.resource])
  })
})

describe('a seller of a deployment', () => {
  const NAME = 'my-deployment'
  const form = (fields: object, file: string) => {
    const parts = Object.entries({ model: 'gpt-5-mini', ...fields }).map(
      ([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    const head = `--b\r\ncontent-disposition: form-data; name="${file}"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n`
    const content = file === 'image' ? PICTURE : Buffer.alloc(500)
    const body = Buffer.concat([Buffer.from(parts.join('') + head), content, Buffer.from('\r\n--b--\r\n')])
    return buildRaw(body, { 'content-type': 'multipart/form-data; boundary=b' })
  }
  const json = (members: object) => buildRaw(JSON.stringify({ model: 'gpt-5-mini', ...members }))

  it.each([
    ['chat', WIRES.chat.wire, json(WIRES.chat.ask), '/chat/completions'],
    ['messages', WIRES.messages.wire, json(WIRES.messages.ask), '/chat/completions'],
    ['responses', WIRES.responses.wire, json(WIRES.responses.ask), '/chat/completions'],
    ['older completions', completions, json({ prompt: 'hi', suffix: 'end' }), '/completions'],
    ['embeddings', embeddings, json({ input: 'hi' }), '/embeddings'],
    ['speech', speech, json({ input: 'hi', voice: 'alloy' }), '/audio/speech'],
    ['transcripts', transcriptions, form({}, 'file'), '/audio/transcriptions'],
    ['pictures', images, json({ prompt: 'A house.' }), '/images/generations'],
    ['edits of pictures', imageEdits, form({ prompt: 'A house.' }, 'image'), '/images/edits'],
  ] as const)('receives %s under the deployment’s name, and its version', async (_, wire, raw, path) => {
    const offer = offerOf({
      apiFormat: 'azuredeployments',
      provider: 'azure',
      providerModel: `${NAME}?api-version=2024-10-21`,
    })
    const model = buildModel({ parameters: [], endpoints: path === '/completions' ? ['completions'] : ['chat'] })
    const request = wire.read(raw).encode(buildPlan({ offer, target: buildTarget(model) }))
    expect(request.path).toBe(`/deployments/${NAME}${path}?api-version=2024-10-21`)
    const bytes = request.pieces === undefined ? Buffer.from(request.body) : Buffer.concat([...request.pieces])
    expect(bytes.toString('latin1')).toMatch(/"model":"my-deployment"|name="model"\r\n\r\nmy-deployment\r\n/)
    const answer = await fetch(`${origin}/openai${request.path}`, {
      method: 'POST',
      headers: { 'api-key': KEY, 'content-type': request.contentType },
      body: bytes,
    })
    expect(answer.status).toBe(200)
  })

  it.each([
    ['a/../../other', 'a%2F..%2F..%2Fother', '2025-04-01-preview'],
    ['a?b', 'a%3Fb', '2025-04-01-preview'],
    ['a#b', 'a%23b', '2025-04-01-preview'],
    ['a?api-version=2024-10-21&x=y', 'a%3Fapi-version%3D2024-10-21%26x%3Dy', '2025-04-01-preview'],
    ['a?api-version=2024-10-21', 'a', '2024-10-21'],
  ])(
    'receives requests at no other path and with no query member except a version: %s',
    (providerModel, name, version) => {
      const offer = offerOf({ apiFormat: 'azuredeployments', provider: 'azure', providerModel })
      const ask = { ...WIRES.chat.ask, model: 'gpt-5-mini?api-version=1', messages: [{ role: 'user', content: 'hi' }] }
      const { path } = WIRES.chat.wire.read(buildRaw(JSON.stringify(ask))).encode(buildPlan({ offer }))
      expect(path).toBe(`/deployments/${name}/chat/completions?api-version=${version}`)
    },
  )

  it("is probed with a request of its model's kind", async () => {
    const place = {
      baseUrl: new URL(`${origin}/openai`),
      apiFormat: 'azuredeployments' as const,
      apiKey: new Secret(KEY),
    }
    const probes = createProviderProbe({ allowsLoopback: true }, systemClock, async () => {
      throw new Error('there is no account')
    })
    for (const endpoint of ['chat', 'embeddings', 'speech', 'transcription', 'image', 'image-edit'] as const) {
      const asked = { ...place, endpoint, asksModel: 'any' as const }
      expect(await probes.probe({ ...asked, providerModel: NAME }), endpoint).toMatchObject({ isAccepted: true })
      const missing = await probes.probe({ ...asked, providerModel: 'no-such-deployment' })
      expect(missing, endpoint).toMatchObject({ isAccepted: false, status: 404 })
    }
    await probes.close()
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

  it('blames the buyer for a filtered prompt, and the seller for a key or a deployment', async () => {
    const offer = buildMarketOffer({ apiFormat, provider: 'azure' })
    const judged = (status: number, text: string) => {
      const head = { status, contentType: 'application/json', headers: {}, retryAfterMs: undefined }
      const { errorClass, fault } = classifyRefusal(offer, head, text, { holdsKey: () => false, requestText: () => '' })
      return [errorClass, fault === 'offer']
    }
    const { path, answer } = await ask(apiFormat, 'chat', false, 'Please filter this.')
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

it('a deployment that answers on responses alone reports that', async () => {
  const { path, body } = protocolOf({ apiFormat: 'azure' }).probe.request('gpt-5-codex')
  const { text, status } = await sent('azure', path, body)
  expect(status).toBe(400)
  expect(JSON.parse(text)).toEqual(AZURE_ERRORS.operation)
  const said = protocolOf({ apiFormat: 'azure' }).readError(text)
  expect(otherProtocolSaid({ apiFormat: 'azure' }, said)).toBe('azureresponses')
  expect(otherProtocolSaid({ apiFormat: 'messages' }, said)).toBeUndefined()
})
