import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import OpenAI from 'openai'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'
import { toolLoopSuite } from '#test/support/translation/tool-loop-suite.ts'

/** The provider at which the test lists the model. It has no other offer of the model. */
const SELLER = 'sandbox-a'
/** The sample provider serves this model on responses alone. */
const MODEL = 'gpt-5-codex'
/** The lowest price of the model. */
const DISCOUNT_PERCENT = 90
/** Reference prices in micro-USD per token. */
const PRICE = { input: 1.25, cached: 0.125, output: 10 }
const QUESTION = 'What is the weather in Bern?'
const Offer = z.object({ id: z.string(), api_format: z.string() })
const Cost = z.object({ buyer_cost_micro: z.number().int() })

let network: Network
let openai: OpenAI

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

const Details = z.looseObject({ cached_tokens: z.number() })
const Counts = z.looseObject({
  buyer_cost_micro: z.number().int(),
  prompt_tokens: z.number().optional(),
  completion_tokens: z.number().optional(),
  input_tokens: z.number().optional(),
  output_tokens: z.number().optional(),
  cache_read_input_tokens: z.number().nullish(),
  prompt_tokens_details: Details.nullish(),
  input_tokens_details: Details.nullish(),
})

toolLoopSuite({
  title: 'a seller of responses',
  network: () => network,
  seller: SELLER,
  model: MODEL,
  discount: DISCOUNT_PERCENT,
  countsThoughts: true,
  checkUsage(wire, usage) {
    const told = Counts.parse(usage)
    const input = told.prompt_tokens ?? told.input_tokens ?? 0
    const output = told.completion_tokens ?? told.output_tokens ?? 0
    const inside = told.prompt_tokens_details ?? told.input_tokens_details
    // Messages count cached tokens beside the input, and not within it.
    const cached = told.cache_read_input_tokens ?? inside?.cached_tokens ?? 0
    expect(told.buyer_cost_micro).toBe(due(wire === 'messages' ? input + cached : input, cached, output))
  },
})

describe('the AI SDK', () => {
  const tools = {
    get_weather: tool({
      description: 'Weather of a city',
      inputSchema: z.object({ city: z.string() }),
      execute: () => 'Sunny.',
    }),
  }
  it('finishes its own loop of responses', async () => {
    const address = { baseURL: `${network.sandbox.api_base_url}/v1`, apiKey: network.sandbox.buyer_key }
    const model = createOpenAI(address).responses(MODEL)
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

it('several choices are refused before any hold, because no seller supports them', async () => {
  const asked = { model: MODEL, n: 2, messages: [{ role: 'user' as const, content: 'hi' }] }
  await expect(openai.chat.completions.create(asked)).rejects.toMatchObject({ status: expect.any(Number) })
})
