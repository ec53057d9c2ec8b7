import { randomUUID } from 'node:crypto'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import type { ModelMessage } from 'ai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'
import { at } from './asked.ts'

const QUESTION = 'What is the weather in Bern?'
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } } }
const FORMS = [
  ['whole', false],
  ['streamed', true],
] as const

const Models = z.object({ data: z.array(z.looseObject({ id: z.string(), pricing: z.unknown() })) })
const Prices = z.looseObject({
  prompt: z.coerce.number(),
  completion: z.coerce.number(),
  input_cache_read: z.coerce.number(),
})
const Booked = z.looseObject({
  provider: z.string(),
  buyer_cost_micro: z.number().int().positive(),
  confirmed_at: z.string().nullable(),
})
const Usage = z.looseObject({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  buyer_cost_micro: z.number(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }).optional(),
})
const Thoughts = z.looseObject({
  completion_tokens_details: z.looseObject({ reasoning_tokens: z.number().positive() }),
})

/** A seller of one protocol, and the features of its answers. */
export type LoopSeller = {
  /** The seller's description, for the titles. */
  readonly title: string
  readonly network: () => Network
  /** The provider's id. The provider has one offer of the model. */
  readonly seller: string
  readonly model: string
  /** The offer's discount in %. */
  readonly discount: number
  /** True where a message shows the thought with its signature. */
  readonly showsThoughts?: boolean
  /** True where the usage counts the tokens of thoughts. */
  readonly countsThoughts?: boolean
  /** Receives the usage of each turn of a loop, in the terms of its wire. */
  checkUsage?(wire: 'chat' | 'messages' | 'responses', usage: unknown): void
}

/** Sends a request to the market with the seller's key. */
export async function askAsSeller({ sandbox }: Network, method: string, path: string, body?: object): Promise<unknown> {
  const { seller_key: key, api_base_url: origin } = sandbox
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
  }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  return (await fetch(origin + path, { method, headers, ...sent })).json()
}

/** Reads a path of the market with the buyer's key. */
export async function readAsBuyer({ sandbox }: Network, path: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${sandbox.buyer_key}` }
  return (await fetch(sandbox.api_base_url + path, { headers })).json()
}

/** The figures of a call, once it is booked. */
async function booked(network: Network, rid: string): Promise<z.infer<typeof Booked>> {
  let found: z.infer<typeof Booked> | undefined
  await until(`${rid} is booked`, 10_000, async () => {
    found = Booked.parse(await readAsBuyer(network, `/v1/requests/${rid}`))
    return found.confirmed_at !== null
  })
  if (found === undefined) throw new Error('the call is not booked')
  return found
}

type Told = { readonly usage: unknown; readonly rid: string }

async function wholeUsage(openai: OpenAI, request: OpenAI.ChatCompletionCreateParamsNonStreaming): Promise<Told> {
  const { data, response } = await openai.chat.completions.create(request).withResponse()
  return { usage: data.usage, rid: response.headers.get('x-request-id') ?? '' }
}

async function streamedUsage(openai: OpenAI, request: OpenAI.ChatCompletionCreateParamsNonStreaming): Promise<Told> {
  const asked = openai.chat.completions.create({ ...request, stream: true })
  const { data, response } = await asked.withResponse()
  let usage: unknown
  for await (const chunk of data) usage = chunk.usage ?? usage
  return { usage, rid: response.headers.get('x-request-id') ?? '' }
}

/**
 * Tool loops with a picture at a seller, by stock clients of every wire, whole and streamed, and the cost of a call.
 */
export function toolLoopSuite(sold: LoopSeller): void {
  const { title, network, seller, model, discount, showsThoughts = false, countsThoughts = false, checkUsage } = sold
  let openai: OpenAI
  let anthropic: Anthropic

  beforeAll(() => {
    const { api_base_url: origin, buyer_key: apiKey } = network().sandbox
    openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 })
    anthropic = new Anthropic({ baseURL: `${origin}/compat`, apiKey, maxRetries: 0 })
  })

  describe.each(FORMS)(`a tool loop with a picture at ${title}, %s`, (_form, isStreamed) => {
    it('of chat, by OpenAI’s client', async () => {
      const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: SCHEMA } }]
      const image = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PICTURE}` } }
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'user', content: [{ type: 'text', text: QUESTION }, image] },
      ]
      const ask = async () => {
        const request = at(seller, { model, messages, tools, reasoning_effort: 'low' as const })
        const answer = isStreamed
          ? await openai.chat.completions.stream(request).finalChatCompletion()
          : await openai.chat.completions.create(request)
        checkUsage?.('chat', answer.usage)
        return answer.choices[0]?.message
      }
      const first = await ask()
      const [call] = first?.tool_calls ?? []
      if (first === undefined || call?.type !== 'function') throw new Error('the answer has no call')
      expect(JSON.parse(call.function.arguments)).toEqual({ city: QUESTION })
      // A seller of the same protocol sends thoughts under its own name for them.
      expect(JSON.stringify(first)).toMatch(/"reasoning(?:_content)?":"./)
      messages.push(first, { role: 'tool', tool_call_id: call.id, content: 'Sunny.' })
      expect((await ask())?.content).toEqual(expect.stringMatching(/./))
    })

    it('of messages, by Anthropic’s client', async () => {
      const tools = [{ name: 'get_weather', input_schema: SCHEMA }]
      const image: Anthropic.ImageBlockParam = {
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: PICTURE },
      }
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: QUESTION }, image] }]
      const ask = async () => {
        const thinking = { type: 'enabled' as const, budget_tokens: 1_024 }
        const request = at(seller, { model, max_tokens: 4_000, messages, tools, thinking })
        let told: unknown
        const note = (event: Anthropic.MessageStreamEvent) => {
          if (event.type === 'message_delta') told = event.usage
        }
        const answer = isStreamed
          ? await anthropic.messages.stream(request).on('streamEvent', note).finalMessage()
          : await anthropic.messages.create(request)
        // Only the last event has the cost of a stream.
        checkUsage?.('messages', Object.assign({}, answer.usage, told))
        return answer
      }
      const { content } = await ask()
      if (showsThoughts) expect(content[0]).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/./) })
      const call = content.find((block) => block.type === 'tool_use')
      if (call?.type !== 'tool_use') throw new Error('the answer has no call')
      expect(call.input).toEqual({ city: QUESTION })
      const result = { type: 'tool_result' as const, tool_use_id: call.id, content: [image] }
      messages.push({ role: 'assistant', content }, { role: 'user', content: [result] })
      expect((await ask()).stop_reason).toBe('end_turn')
    })

    it('of responses, by OpenAI’s client', async () => {
      const tools = [{ type: 'function' as const, name: 'get_weather', parameters: SCHEMA, strict: false }]
      const image = {
        type: 'input_image' as const,
        detail: 'auto' as const,
        image_url: `data:image/png;base64,${PICTURE}`,
      }
      const input: ResponseInputItem[] = [{ role: 'user', content: [{ type: 'input_text', text: QUESTION }, image] }]
      const ask = async () => {
        const include = ['reasoning.encrypted_content' as const]
        const reasoning = { effort: 'low' as const }
        const request = at(seller, { model, input, tools, store: false, include, reasoning })
        const answer = isStreamed
          ? await openai.responses.stream(request).finalResponse()
          : await openai.responses.create(request)
        checkUsage?.('responses', answer.usage)
        return answer
      }
      const { output } = await ask()
      const call = output.find((item) => item.type === 'function_call')
      if (call?.type !== 'function_call') throw new Error('the answer has no call')
      for (const item of output) if (item.type === 'reasoning') input.push({ ...item, summary: [] })
      input.push(call, { type: 'function_call_output', call_id: call.call_id, output: 'Sunny.' })
      expect((await ask()).output_text).toEqual(expect.stringMatching(/./))
    })

    it('by the AI SDK', async () => {
      const { api_base_url: origin, buyer_key: apiKey } = network().sandbox
      const market = createOpenAICompatible({ name: 'market', baseURL: `${origin}/v1`, apiKey, includeUsage: true })
      const said: ModelMessage[] = [
        {
          role: 'user',
          content: [
            { type: 'text', text: QUESTION },
            { type: 'image', image: PICTURE, mediaType: 'image/png' },
          ],
        },
      ]
      const request = {
        model: market(model),
        messages: said,
        tools: {
          get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async () => 'Sunny.' }),
        },
        stopWhen: stepCountIs(3),
        providerOptions: { market: { provider: seller } },
      }
      const answer = isStreamed ? streamText(request) : await generateText(request)
      expect(await answer.text).toMatch(/./)
      expect(await answer.steps).toHaveLength(2)
    })
  })

  describe(`a call of ${title}`, () => {
    it.each(FORMS)('costs its usage at its price, less the discount, %s', async (_form, isStreamed) => {
      const request = at(seller, {
        model,
        messages: [{ role: 'user' as const, content: `Write 40 words. ${'Think. '.repeat(400)}` }],
        reasoning_effort: 'high' as const,
      })
      const { usage, rid } = isStreamed ? await streamedUsage(openai, request) : await wholeUsage(openai, request)
      if (countsThoughts) Thoughts.parse(usage)
      const { prompt_tokens: input, completion_tokens: output, ...told } = Usage.parse(usage)
      const { buyer_cost_micro: cost, prompt_tokens_details: details } = told
      const { data: models } = Models.parse(await readAsBuyer(network(), '/v1/models'))
      const found = models.find(({ id }) => id === model || id.endsWith(`/${model}`))
      const { prompt, completion, input_cache_read: cacheRead } = Prices.parse(found?.pricing)
      const cached = details?.cached_tokens ?? 0
      const list = (input - cached) * prompt + cached * cacheRead + output * completion
      expect(cost).toBe(Math.ceil(Math.round(list * 1e6 * (100 - discount) * 10) / 1e3))
      const row = await booked(network(), rid)
      expect(row).toMatchObject({ provider: seller, buyer_cost_micro: cost })
    })
  })
}
