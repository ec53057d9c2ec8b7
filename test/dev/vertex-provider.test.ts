import type Anthropic from '@anthropic-ai/sdk'
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk'
import { OAuth2Client } from 'google-auth-library'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'

const MODEL = 'claude-opus-4@20250514'
const QUESTION = 'What is the weather in Bern?'
const tools = [
  { name: 'get_weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } },
]

let provider: SampleProvider

beforeAll(async () => {
  provider = await createSampleProvider({ host: '127.0.0.1', port: 0, name: 'sandbox' })
})
afterAll(() => provider.close())

function clientWith(token: string): AnthropicVertex {
  const authClient = new OAuth2Client({ credentials: { access_token: token, expiry_date: Date.now() * 2 } })
  return new AnthropicVertex({
    baseURL: provider.url,
    region: 'europe-west1',
    projectId: 'sample',
    authClient,
    maxRetries: 0,
  })
}

it.each([
  ['whole', false],
  ['streamed', true],
])(
  'Anthropic’s own client for Vertex AI completes a loop with a thought and a picture at the sample provider, %s',
  async (_form, isStreamed) => {
    const client = clientWith('ya29.a-token')
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBORw0KGgo=' }
    const picture = { type: 'image' as const, source }
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: QUESTION }, picture] }]
    const ask = async () => {
      const thinking = { type: 'enabled' as const, budget_tokens: 1_024 }
      const request = { model: MODEL, max_tokens: 4_000, messages, tools, thinking }
      return isStreamed ? client.messages.stream(request).finalMessage() : client.messages.create(request)
    }
    const { content } = await ask()
    expect(content[0]).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/./) })
    const call = content.find((block) => block.type === 'tool_use')
    if (call?.type !== 'tool_use') throw new Error('the answer has no call')
    expect(call.input).toEqual({ city: QUESTION })
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: [picture] }
    messages.push({ role: 'assistant', content }, { role: 'user', content: [result] })
    expect((await ask()).stop_reason).toBe('end_turn')
  },
)

it('Anthropic’s own client for Vertex AI receives a refusal of its token', async () => {
  const request = { model: MODEL, max_tokens: 10, messages: [{ role: 'user' as const, content: 'hi' }] }
  const refusal = await clientWith('sk-bad')
    .messages.create(request)
    .catch((error: unknown) => error)
  expect(refusal).toMatchObject({ status: 401 })
})
