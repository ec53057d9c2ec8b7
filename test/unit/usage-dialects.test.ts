import { extractUsage, findProvider } from '@pydantic/genai-prices'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimal } from '#shared/decimal.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeMessagesUsage } from '#shared/protocols/messages/usage.ts'

/** Costs without a bill in a call. */
const WRONG_COSTS = [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300, '0.1', null, {}, true]

function read(...frames: object[]): ReportedUsage {
  const reported: ReportedUsage = { insaneFields: 0 }
  for (const frame of frames) mergeAnswerUsage(reported, { ...frame })
  return reported
}

function readMessages(usage: object): ReportedUsage {
  const reported: ReportedUsage = { insaneFields: 0 }
  mergeMessagesUsage(reported, { fresh: 0 }, usage, true)
  return reported
}

const SMALL = fc.nat({ max: 50_000 })

/** The usage of one call. The details are parts of their totals. */
const CALLS = fc
  .record({ fresh: SMALL, cached: SMALL, written: SMALL, long: SMALL, said: SMALL, thought: SMALL, searches: SMALL })
  .map((call) => ({ ...call, input: call.fresh + call.cached + call.written + call.long }))
type Call = {
  readonly [Name in 'fresh' | 'cached' | 'written' | 'long' | 'said' | 'thought' | 'searches' | 'input']: number
}

type Dialect = {
  readonly provider: string
  readonly flavor: string
  readonly usage: (call: Call) => object
}

/** The usage object of a provider for the same call, in the form of its answers. */
const DIALECTS: readonly Dialect[] = [
  ...['openai', 'azure', 'openrouter'].map((provider) => ({
    provider,
    flavor: 'chat',
    usage: ({ input, cached, written, said, thought }: Call) => ({
      prompt_tokens: input,
      completion_tokens: said + thought,
      total_tokens: input + said + thought,
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      completion_tokens_details: { reasoning_tokens: thought },
    }),
  })),
  {
    provider: 'openai',
    flavor: 'responses',
    usage: ({ input, cached, written, said, thought }) => ({
      input_tokens: input,
      output_tokens: said + thought,
      total_tokens: input + said + thought,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      output_tokens_details: { reasoning_tokens: thought },
    }),
  },
  ...['deepseek', 'moonshotai', 'fireworks', 'zai', 'minimax', 'google'].map((provider) => ({
    provider,
    flavor: 'chat',
    usage: ({ input, cached, said, thought }: Call) => ({
      prompt_tokens: input,
      completion_tokens: said + thought,
      total_tokens: input + said + thought,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: thought },
      ...(provider === 'deepseek' && { prompt_cache_hit_tokens: cached, prompt_cache_miss_tokens: input - cached }),
      ...(provider === 'moonshotai' && { cached_tokens: cached }),
    }),
  })),
  ...['groq', 'mistral'].map((provider) => ({
    provider,
    flavor: 'default',
    usage: ({ input, cached, said, thought }: Call) => ({
      prompt_tokens: input,
      completion_tokens: said + thought,
      total_tokens: input + said + thought,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: thought },
    }),
  })),
  {
    provider: 'x-ai',
    flavor: 'chat',
    usage: ({ input, cached, said, thought }) => ({
      prompt_tokens: input,
      completion_tokens: said,
      total_tokens: input + said + thought,
      prompt_tokens_details: { cached_tokens: cached, text_tokens: input, image_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: thought, audio_tokens: 0 },
    }),
  },
  {
    provider: 'perplexity',
    flavor: 'default',
    usage: ({ input, said, thought, searches }) => ({
      prompt_tokens: input,
      completion_tokens: said,
      total_tokens: input + said,
      reasoning_tokens: thought,
      num_search_queries: searches,
    }),
  },
]

/** Our reading in the oracle's names, without zeros, as the oracle's own. */
function inOracleNames(reported: ReportedUsage): Record<string, number> {
  return withoutZeros({
    input_tokens: reported.inputTokens,
    output_tokens: reported.outputTokens,
    cache_read_tokens: reported.cachedTokens,
    cache_write_tokens: reported.cacheWriteTokens,
    cache_write_5m_tokens: reported.cacheWriteShortTokens,
    cache_write_1h_tokens: reported.cacheWriteLongTokens,
    output_reasoning_tokens: reported.reasoningTokens,
    web_searches: reported.searches,
  })
}

function withoutZeros(counts: Readonly<Record<string, number | undefined>>): Record<string, number> {
  const given = Object.entries(counts).filter((entry): entry is [string, number] => (entry[1] ?? 0) > 0)
  return Object.fromEntries(given)
}

function oracle(provider: string, flavor: string, usage: object): Record<string, number> {
  const found = findProvider({ providerId: provider })
  if (found === undefined) throw new Error(`${provider} is not known`)
  const { usage: counts } = extractUsage(found, { model: 'any', usage }, flavor)
  return withoutZeros(Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count)])))
}

describe('usage in the dialects of providers', () => {
  it.each(DIALECTS.map((dialect) => [dialect.provider, dialect.flavor, dialect] as const))(
    '%s (%s) is read as in the price list’s own reader',
    (provider, flavor, { usage }) => {
      fc.assert(
        fc.property(CALLS, (call) => {
          const given = usage(call)
          expect(inOracleNames(read({ usage: given }))).toEqual(oracle(provider, flavor, given))
        }),
      )
    },
  )

  it('Anthropic’s is read as in the price list’s own reader', () => {
    fc.assert(
      fc.property(CALLS, ({ fresh, cached, written, long, said, thought, searches }) => {
        const usage = {
          input_tokens: fresh,
          output_tokens: said + thought,
          cache_read_input_tokens: cached,
          cache_creation_input_tokens: written + long,
          cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: long },
          output_tokens_details: { thinking_tokens: thought },
          server_tool_use: { web_search_requests: searches },
        }
        expect(inOracleNames(readMessages(usage))).toEqual(oracle('anthropic', 'default', usage))
      }),
    )
  })

  it('reasoning is counted at the place that the total shows', () => {
    const grok = {
      prompt_tokens: 10_120,
      completion_tokens: 1_499,
      total_tokens: 14_428,
      prompt_tokens_details: { cached_tokens: 128 },
      completion_tokens_details: { reasoning_tokens: 2_809 },
    }
    expect(read({ usage: grok })).toMatchObject({ outputTokens: 4_308, reasoningTokens: 2_809 })
    expect(read({ usage: { ...grok, total_tokens: 11_619 } })).toMatchObject({ outputTokens: 1_499 })
    expect(read({ usage: { ...grok, total_tokens: 12_000 } })).toMatchObject({ outputTokens: 1_880 })
    const gemini = { prompt_tokens: 10, completion_tokens: 12, total_tokens: 522 }
    expect(read({ usage: gemini })).toMatchObject({ outputTokens: 12, unnamedTokens: 500 })
  })

  it('cache tokens that the total counts beside the prompt are input', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, cache_read_input_tokens: 90, total_tokens: 105 }
    expect(read({ usage })).toMatchObject({ inputTokens: 100, outputTokens: 5, cachedTokens: 90 })
    expect(read({ usage: { ...usage, prompt_tokens: 100 } })).toMatchObject({ inputTokens: 100 })
  })

  it.each([
    ['Moonshot', { cached_tokens: 29_500 }],
    ['DeepSeek', { prompt_cache_hit_tokens: 29_500, prompt_cache_miss_tokens: 34 }],
    ['a gateway with filled-in details', { prompt_tokens_details: { cached_tokens: 0 }, cached_tokens: 29_500 }],
    ['a gateway to Claude', { cache_read_input_tokens: 29_500 }],
  ])('cached tokens of %s are found', (_provider, members) => {
    const reported = read({ usage: { prompt_tokens: 29_534, completion_tokens: 8, total_tokens: 29_542, ...members } })
    expect(reported).toMatchObject({ inputTokens: 29_534, cachedTokens: 29_500 })
  })

  it('a prompt of cache hits and misses alone is their sum', () => {
    const usage = { prompt_cache_hit_tokens: 30, prompt_cache_miss_tokens: 4, completion_tokens: 8 }
    expect(read({ usage })).toMatchObject({ inputTokens: 34, cachedTokens: 30 })
  })

  it('a cache write is the sum of its parts where there is no total, and the total where there are no parts', () => {
    const split = { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 }
    const usage = { input_tokens: 10, output_tokens: 5 }
    for (const sum of [{}, { cache_creation_input_tokens: 0 }, { cache_creation_input_tokens: 100 }]) {
      const reported = readMessages({ ...usage, ...sum, cache_creation: split })
      expect(reported).toMatchObject({ inputTokens: 110, cacheWriteTokens: 100, cacheWriteLongTokens: 60 })
    }
    const whole = readMessages({ ...usage, cache_creation_input_tokens: 100, cache_creation: null })
    expect(whole).toMatchObject({ inputTokens: 110, cacheWriteTokens: 100 })
    const half = { ttl_30m_tokens: 40, ttl_12h_tokens: 60 }
    const openai = {
      prompt_tokens: 110,
      completion_tokens: 5,
      prompt_tokens_details: { cache_write_tokens_details: half },
    }
    expect(read({ usage: openai })).toMatchObject({ cacheWriteTokens: 100, cacheWriteLongTokens: 60 })
    const alibaba = { cache_creation: split, cache_creation_input_tokens: 100, cached_tokens: 0 }
    const qwen = read({ usage: { prompt_tokens: 110, completion_tokens: 5, prompt_tokens_details: alibaba } })
    expect(qwen).toMatchObject({ cacheWriteTokens: 100, cacheWriteLongTokens: 60 })
  })

  it('cached audio is counted apart', () => {
    const details = {
      cached_tokens: 90,
      audio_tokens: 80,
      cached_tokens_details: { audio_tokens: 70, text_tokens: 20 },
    }
    const usage = { prompt_tokens: 110, completion_tokens: 5, prompt_tokens_details: details }
    expect(read({ usage })).toMatchObject({ cachedTokens: 90, audioInputTokens: 80, cachedAudioTokens: 70 })
  })

  it('usage is found at every place where a provider puts it', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 }
    const found = { inputTokens: 9, outputTokens: 7, insaneFields: 0 }
    expect(read({ choices: [], usage })).toMatchObject(found)
    expect(read({ choices: [], x_groq: { id: 'req_1', usage } })).toMatchObject(found)
    expect(read({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] })).toMatchObject(found)
    expect(read({ usage }, { choices: [], usage: null })).toMatchObject(found)
    expect(read({ usage }, { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } })).toMatchObject(found)
  })

  it('the provider’s own cost is read in every form', () => {
    const cost = (usage: object) => read({ usage }).ownCost?.toString()
    expect(cost({ cost_in_usd_ticks: 37_756_000 })).toBe('3775600000')
    expect(cost({ cost: { input_tokens_cost: 0, request_cost: 0.005, total_cost: 0.00602 } })).toBe('6020000000')
    expect(cost({ cost: 0.00014 })).toBe('140000000')
    expect(cost({ estimated_cost: 1.4e-7 })).toBe('140000')
    // The fee of a gateway and the bill of the provider behind it, on a key that the gateway was given.
    const behind = (amount: unknown) => ({
      cost: 0.00014,
      is_byok: true,
      cost_details: { upstream_inference_cost: amount },
    })
    expect(cost(behind(0.0028))).toBe('2940000000')
    expect(cost({ ...behind(0.0028), is_byok: false })).toBe('140000000')
    for (const wrong of WRONG_COSTS) expect(cost(behind(wrong))).toBeUndefined()
    expect(cost({ cost: 0.00014, is_byok: true })).toBeUndefined()
    for (const wrong of WRONG_COSTS) {
      for (const name of ['cost', 'estimated_cost', 'cost_in_usd_ticks'])
        expect(cost({ [name]: wrong })).toBeUndefined()
      expect(cost({ cost: { total_cost: wrong } })).toBeUndefined()
      // A malformed member hides no other member.
      expect(cost({ cost: wrong, estimated_cost: 1e-6 })).toBe('1000000')
    }
    expect([cost({ cost: 1_000 }), cost({ cost: 1_000.01 })]).toEqual(['1000000000000000', undefined])
    fc.assert(
      fc.property(
        fc.nat({ max: 1_000_000_000 }),
        (micro) => cost({ cost: Number(decimal(micro, 6)) }) === `${BigInt(micro) * 1_000_000n}`,
      ),
    )
  })

  it('the provider’s own cost is read wherever usage is', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 7, cost: 0.00014 }
    for (const answer of [
      { usage },
      { choices: [], x_groq: { usage } },
      { choices: [{ index: 0, delta: {}, usage }] },
      { usage: { input_tokens: 9, output_tokens: 7, cost: 0.00014 } },
    ]) {
      expect(read(answer).ownCost?.toString()).toBe('140000000')
      // The last value of a stream counts; frames without usage remove nothing.
      expect(read({ usage: { ...usage, cost: 1 } }, answer, { usage: null }).ownCost?.toString()).toBe('140000000')
    }
    expect(readMessages({ input_tokens: 9, output_tokens: 7, cost: 0.00014 }).ownCost?.toString()).toBe('140000000')
  })

  it('the served tier, speed and region are kept', () => {
    expect(read({ service_tier: 'priority', usage: {} }).serviceTier).toBe('priority')
    expect(read({ service_tier: 'x'.repeat(41), usage: { service_tier: 7 } }).serviceTier).toBeUndefined()
    const usage = { input_tokens: 1, service_tier: 'batch', speed: 'fast', inference_geo: 'us' }
    expect(readMessages(usage)).toMatchObject({ serviceTier: 'batch', speed: 'fast', region: 'us' })
  })

  it("the number of searches is the provider's own count", () => {
    expect(read({ usage: { num_search_queries: 3 } }).searches).toBe(3)
    expect(read({ usage: { server_tool_use: { web_search_requests: 2 } } }).searches).toBe(2)
    expect(read({ tool_usage: { web_search: { num_requests: 4 } } }).searches).toBe(4)
  })

  it.each(['12', -1, 0.5, 1e300, true])('%s is no count, at any place', (wrong) => {
    const details = { cached_tokens: wrong, cache_write_tokens_details: { ttl_12h_tokens: wrong } }
    const reported = read({
      usage: { total_tokens: wrong, cached_tokens: wrong, reasoning_tokens: wrong, prompt_tokens_details: details },
      tool_usage: { web_search: { num_requests: wrong } },
    })
    expect(reported).toEqual({ insaneFields: 5 })
  })
})
