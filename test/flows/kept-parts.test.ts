import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

/** The model refuses the second turn when its thought or the signature of its call is missing. */
const MODEL = 'sandbox/kept-parts'
const QUESTION = 'What is the weather in Bern?'
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } } }

let network: Network
let openai: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  network = await sharedNetwork()
  const { api_base_url: origin, buyer_key: apiKey } = network.sandbox
  openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: `${origin}/compat`, apiKey, maxRetries: 0 })
})

afterAll(() => network?.remove())

describe.each([
  ['whole', false],
  ['streamed', true],
])('a tool loop of two turns with a stock client, %s', (_name, isStreamed) => {
  it('of chat', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: SCHEMA } }]
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }]
    const ask = async () => {
      const request = { model: MODEL, messages, tools, provider: 'sandbox-a' }
      const answer = isStreamed
        ? await openai.chat.completions.stream(request).finalChatCompletion()
        : await openai.chat.completions.create(request)
      return answer.choices[0]?.message
    }
    const first = await ask()
    const [call] = first?.tool_calls ?? []
    if (first === undefined || call === undefined) throw new Error('no call was made')
    messages.push(first, { role: 'tool', tool_call_id: call.id, content: 'Sunny.' })
    expect((await ask())?.content).toEqual(expect.stringMatching(/./))
  })

  it('of messages', async () => {
    const tools = [{ name: 'get_weather', input_schema: SCHEMA }]
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: QUESTION }]
    const ask = async () => {
      const request = { model: MODEL, max_tokens: 200, messages, tools, provider: 'sandbox-a' }
      return isStreamed ? anthropic.messages.stream(request).finalMessage() : anthropic.messages.create(request)
    }
    const { content } = await ask()
    const call = content.find((block) => block.type === 'tool_use')
    if (call?.type !== 'tool_use') throw new Error('no call was made')
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'Sunny.' }
    messages.push({ role: 'assistant', content }, { role: 'user', content: [result] })
    expect((await ask()).stop_reason).toBe('end_turn')
  })

  it('of responses', async () => {
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters: SCHEMA, strict: false }]
    const input: ResponseInputItem[] = [{ role: 'user', content: QUESTION }]
    const ask = async () => {
      const include = ['reasoning.encrypted_content' as const]
      const request = { model: MODEL, input, tools, store: false, include, provider: 'sandbox-a' }
      return isStreamed ? openai.responses.stream(request).finalResponse() : openai.responses.create(request)
    }
    const { output } = await ask()
    const call = output.find((item) => item.type === 'function_call')
    if (call?.type !== 'function_call') throw new Error('no call was made')
    for (const item of output) {
      if (item.type === 'reasoning') input.push({ ...item, summary: [] })
    }
    input.push(call, { type: 'function_call_output', call_id: call.call_id, output: 'Sunny.' })
    expect((await ask()).output_text).toEqual(expect.stringMatching(/./))
  })
})
