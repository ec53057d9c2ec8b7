import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, stepCountIs, tool } from 'ai'
import OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import { until } from '#test/support/until.ts'

/** The sample provider answers for it on responses alone. */
const MODEL = 'gpt-5-codex'
/** Nobody sells it for less. */
const DISCOUNT_PERCENT = 90
/** Reference prices in micro-USD a token. */
const PRICE = { input: 1.25, cached: 0.125, output: 10 }
const QUESTION = 'What is the weather in Bern?'
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, additionalProperties: false }
const PICTURE = 'iVBORw0KGgo='
const Offer = z.object({ id: z.string(), api_format: z.string() })
const Cost = z.object({ buyer_cost_micro: z.number().int() })

let network: Network
let openai: OpenAI
let anthropic: Anthropic

const ask = (method: string, path: string, key: string, body?: object) =>
  fetch(network.sandbox.api_base_url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

beforeAll(async () => {
  network = await sharedNetwork()
  const { api_base_url: origin, buyer_key: apiKey, seller_key: seller, provider_url: provider } = network.sandbox
  openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: `${origin}/compat`, apiKey, maxRetries: 0 })
  const place = { api_key: 'sk-of-a-responses-seller', seller_base_url: `${provider}/v1` }
  const made = await ask('POST', '/v1/seller/offers', seller, { model: MODEL, discount: DISCOUNT_PERCENT, ...place })
  expect(Offer.parse(await made.json()).api_format).toBe('responses')
  await until('the offer is on sale', 10_000, async () => {
    const answer = await ask('GET', `/api/markets/${MODEL}`, '')
    return (await answer.text()).includes(`"discount_pct":${DISCOUNT_PERCENT}`)
  })
})

/** The charge at the seller's share of the list price, rounded up once. */
function due(input: number, cached: number, output: number): number {
  const list = (input - cached) * PRICE.input + cached * PRICE.cached + output * PRICE.output
  return Math.ceil(Number(((list * (100 - DISCOUNT_PERCENT)) / 100).toFixed(6)))
}

describe.each([
  ['whole', false],
  ['streamed', true],
])('a tool loop with thoughts and a picture, %s, costs what its usage says', (_form, isStreamed) => {
  it('of chat', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: SCHEMA } }]
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: QUESTION },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } },
        ],
      },
    ]
    const turn = async () => {
      const request = { model: MODEL, messages, tools, max_tokens: 400, reasoning_effort: 'low' as const }
      const stream = { ...request, stream: true as const, stream_options: { include_usage: true } }
      const answer = isStreamed
        ? await openai.chat.completions.stream(stream).finalChatCompletion()
        : await openai.chat.completions.create(request)
      const { usage } = answer
      const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0
      expect(usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0)
      expect(Cost.parse(usage).buyer_cost_micro).toBe(
        due(usage?.prompt_tokens ?? 0, cached, usage?.completion_tokens ?? 0),
      )
      return answer.choices[0]?.message
    }
    const first = await turn()
    const [call] = first?.tool_calls ?? []
    if (first === undefined || call === undefined) throw new Error('no call was made')
    messages.push(first, { role: 'tool', tool_call_id: call.id, content: 'Sunny.' })
    expect((await turn())?.content).toEqual(expect.stringMatching(/./))
  })

  it('of messages', async () => {
    const tools = [{ name: 'get_weather', input_schema: SCHEMA }]
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: PICTURE }
    const messages: Anthropic.MessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: QUESTION },
          { type: 'image', source },
        ],
      },
    ]
    const turn = async () => {
      const thinking = { type: 'enabled' as const, budget_tokens: 1_024 }
      const request = { model: MODEL, max_tokens: 2_000, messages, tools, thinking }
      let told: unknown
      const note = (event: Anthropic.MessageStreamEvent) => {
        if (event.type === 'message_delta') told = event.usage
      }
      const answer = isStreamed
        ? await anthropic.messages.stream(request).on('streamEvent', note).finalMessage()
        : await anthropic.messages.create(request)
      if (!isStreamed) told = answer.usage
      const { input_tokens: fresh, cache_read_input_tokens: cached, output_tokens: output } = answer.usage
      expect(Cost.parse(told).buyer_cost_micro).toBe(due(fresh + (cached ?? 0), cached ?? 0, output))
      return answer
    }
    const { content } = await turn()
    const call = content.find((block) => block.type === 'tool_use')
    if (call?.type !== 'tool_use') throw new Error('no call was made')
    expect(content.map(({ type }) => type)).toContain('redacted_thinking')
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'Sunny.' }
    messages.push({ role: 'assistant', content }, { role: 'user', content: [result] })
    expect((await turn()).stop_reason).toBe('end_turn')
  })

  it('of responses', async () => {
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters: SCHEMA, strict: true }]
    const input: ResponseInputItem[] = [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: QUESTION },
          { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}`, detail: 'low' },
        ],
      },
    ]
    const turn = async () => {
      const include = ['reasoning.encrypted_content' as const]
      const reasoning = { effort: 'low' as const, summary: 'auto' as const }
      const request = { model: MODEL, input, tools, store: false, include, reasoning, max_output_tokens: 400 }
      const answer = isStreamed
        ? await openai.responses.stream(request).finalResponse()
        : await openai.responses.create(request)
      const { usage } = answer
      const cached = usage?.input_tokens_details.cached_tokens ?? 0
      expect(Cost.parse(usage).buyer_cost_micro).toBe(due(usage?.input_tokens ?? 0, cached, usage?.output_tokens ?? 0))
      return answer
    }
    const { output } = await turn()
    const call = output.find((item) => item.type === 'function_call')
    if (call?.type !== 'function_call') throw new Error('no call was made')
    expect(output.find((item) => item.type === 'reasoning')).toMatchObject({ encrypted_content: expect.any(String) })
    for (const item of output) if (item.type === 'reasoning' || item.type === 'function_call') input.push(item)
    input.push({ type: 'function_call_output', call_id: call.call_id, output: 'Sunny.' })
    expect((await turn()).output_text).toEqual(expect.stringMatching(/./))
  })
})

describe('the AI SDK', () => {
  const tools = {
    get_weather: tool({
      description: 'Weather of a city',
      inputSchema: z.object({ city: z.string() }),
      execute: () => 'Sunny.',
    }),
  }
  it.each(['chat', 'responses'] as const)('finishes its own loop of %s', async (wire) => {
    const address = { baseURL: `${network.sandbox.api_base_url}/v1`, apiKey: network.sandbox.buyer_key }
    const model =
      wire === 'responses'
        ? createOpenAI(address).responses(MODEL)
        : createOpenAICompatible({ name: 'market', ...address })(MODEL)
    const providerOptions = { openai: { store: false, include: ['reasoning.encrypted_content'] } }
    const { text, steps } = await generateText({
      model,
      tools,
      providerOptions,
      prompt: QUESTION,
      stopWhen: stepCountIs(4),
    })
    expect(steps.flatMap(({ toolCalls }) => toolCalls).length).toBeGreaterThan(0)
    expect(text).toMatch(/./)
  })
})

it('a limit below the protocol’s is raised to it, held for, named and charged as used', async () => {
  const answer = await openai.chat.completions.create({
    model: MODEL,
    max_tokens: 3,
    messages: [{ role: 'user', content: 'Say something short.' }],
  })
  expect(answer.choices[0]?.finish_reason).toBe('length')
  expect(answer.usage).toMatchObject({ completion_tokens: 16, adapted_params: ['max_tokens'] })
  const { usage } = answer
  expect(Cost.parse(usage).buyer_cost_micro).toBe(due(usage?.prompt_tokens ?? 0, 0, 16))
})

it('several answers are refused before any money, as nobody sells them', async () => {
  const asked = { model: MODEL, n: 2, messages: [{ role: 'user' as const, content: 'hi' }] }
  await expect(openai.chat.completions.create(asked)).rejects.toMatchObject({ status: expect.any(Number) })
})
