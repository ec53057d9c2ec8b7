import type { ConverseCommandInput, ConverseStreamOutput } from '@aws-sdk/client-bedrock-runtime'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConverseCall, sampleSecret } from '#dev/provider/bedrock-call.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { dataOf } from '#test/support/bytes/wire-bytes.ts'

const ID = 'AKIASANDBOXEXAMPLE01'
let provider: SampleProvider

beforeAll(async () => {
  provider = await createSampleProvider({ host: '127.0.0.1', port: 0, name: 'test' })
})
afterAll(() => provider.close())

type Request = {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
}

async function send({ method, path, headers: { host: _, ...headers }, body }: Request) {
  const answer = await fetch(new URL(path, provider.url), { method, headers, body })
  return {
    response: { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: answer.body },
  }
}

const client = (accessKeyId = ID, secretAccessKey = sampleSecret(ID)) =>
  new BedrockRuntimeClient({
    region: 'eu-central-1',
    endpoint: provider.url,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
    // The SDK's own handler speaks HTTP/2, and the sample provider HTTP/1.1.
    requestHandler: { handle: send },
  })

const ASK: ConverseCommandInput = {
  modelId: 'us.anthropic.claude-opus-4-20250514-v1:0',
  messages: [
    {
      role: 'user',
      content: [
        { text: 'What is the weather in Bern?' },
        { image: { format: 'png', source: { bytes: Buffer.from('iVBORw0KGgo=', 'base64') } } },
      ],
    },
  ],
  inferenceConfig: { maxTokens: 4_000 },
  toolConfig: {
    tools: [
      {
        toolSpec: {
          name: 'get_weather',
          inputSchema: { json: { type: 'object', properties: { city: { type: 'string' } } } },
        },
      },
    ],
  },
  additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
}

describe('the sample provider for AWS’s SDK', () => {
  it('answers a tool loop, whole', async () => {
    const first = await client().send(new ConverseCommand(ASK))
    const message = first.output?.message
    if (message?.content === undefined) throw new Error('there is no answer')
    expect(message.content[0]?.reasoningContent?.reasoningText?.signature).toMatch(/./)
    const call = message.content.find(({ toolUse }) => toolUse !== undefined)?.toolUse
    expect([first.stopReason, call?.name]).toEqual(['tool_use', 'get_weather'])
    expect(first.usage?.outputTokens).toBeGreaterThan(0)
    const result = { toolUseId: call?.toolUseId ?? '', content: [{ text: 'Sunny.' }] }
    const messages = [...(ASK.messages ?? []), message, { role: 'user' as const, content: [{ toolResult: result }] }]
    const second = await client().send(new ConverseCommand({ ...ASK, messages }))
    expect(second.stopReason).toBe('end_turn')
  })

  it('answers as a stream, with its usage at the end', async () => {
    const { stream } = await client().send(new ConverseStreamCommand(ASK))
    const events: ConverseStreamOutput[] = []
    for await (const event of stream ?? []) events.push(event)
    expect(events[0]?.messageStart?.role).toBe('assistant')
    expect(events.some((event) => event.contentBlockStart?.start?.toolUse?.name === 'get_weather')).toBe(true)
    const [stop, metadata] = events.slice(-2)
    expect(stop?.messageStop?.stopReason).toBe('tool_use')
    expect(metadata?.metadata?.usage?.outputTokens).toBeGreaterThan(0)
  })

  it('refuses a wrong secret, an unknown key and other requests that Bedrock refuses', async () => {
    const refusalOf = (asked: Promise<unknown>) =>
      asked.then(
        () => 'none',
        (error: unknown) => dataOf(error, 'name'),
      )
    const wrong = client(ID, sampleSecret('AKIASANDBOXEXAMPLE02'))
    expect(await refusalOf(wrong.send(new ConverseCommand(ASK)))).toBe('InvalidSignatureException')
    const unknown = client('AKIABADEXAMPLE000001')
    expect(await refusalOf(unknown.send(new ConverseCommand(ASK)))).toBe('UnrecognizedClientException')
    const [asked] = ASK.messages ?? []
    const twice = { ...ASK, messages: asked === undefined ? [] : [asked, asked] }
    expect(await refusalOf(client().send(new ConverseCommand(twice)))).toBe('ValidationException')
  })
})

describe('the path of a call', () => {
  it.each([
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5-20250929'],
    ['anthropic.claude-opus-4-6-v1', 'claude-opus-4-6'],
    ['claude-sonnet-4.5', 'claude-sonnet-4.5'],
    ['amazon.nova-pro-v1:0', 'amazon.nova-pro-v1:0'],
  ])('names the model of "%s"', (profile, model) => {
    const path = `/v1/model/${encodeURIComponent(profile)}/converse`
    expect(readConverseCall(path)).toEqual({ model, isStreamed: false })
  })
})
