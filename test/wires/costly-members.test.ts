import { describe, expect, it } from 'vitest'
import { isKeptFrom } from '#data-plane/pipeline/plan/costly-members.ts'
import { isCovered } from '#shared/members/surcharge.ts'
import { picoUsd } from '#shared/money.ts'
import { buildModel } from '#test/support/bytes/build-market.ts'
import type { Kind, Setting } from '#test/support/bytes/sent-call.ts'
import { MESSAGES, PIECES, sent, TOKENS } from '#test/support/bytes/sent-call.ts'

const LONG = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const marked = (mark: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a', ...mark }] }] })
const tool = (mark: object) => ({
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } }, ...mark }],
})

describe('a member that raises the cost of a call above every price', () => {
  it.each<[Kind, object, string, Setting?]>([
    ...(['chat', 'completions', 'embeddings', 'messages', 'responses', 'images', 'speech'] as const).flatMap((kind) =>
      ['priority', 'fast', 'flex', 'performance', 'scale'].map((tier): [Kind, object, string] => [
        kind,
        { service_tier: tier },
        'service_tier',
      ]),
    ),
    ['transcriptions', { service_tier: 'flex' }, 'service_tier'],
    ['video', { service_tier: 'priority' }, 'service_tier'],
    ['music', { service_tier: 'priority' }, 'service_tier'],
    ['chat', { serviceTier: 'priority' }, 'serviceTier'],
    ['chat', { speed: 'fast' }, 'speed'],
    ['messages', { speed: 'fast' }, 'speed'],
    ['messages', { inference_geo: 'us' }, 'inference_geo'],
    ['responses', { inference_geo: 'us' }, 'inference_geo'],
    ['chat', { performanceConfig: { latency: 'optimized' } }, 'performanceConfig'],
    ['chat', { prompt_cache_options: { mode: 'explicit', ttl: '12h' } }, 'prompt_cache_options'],
    ['chat', { prompt_cache_options: { ttl: '12h' } }, 'prompt_cache_options'],
    ['responses', { prompt_cache_options: { ttl: '12h' } }, 'prompt_cache_options'],
    ['chat', { prompt_cache_options: { mode: 'explicit' } }, 'prompt_cache_options'],
    ['chat', { prompt_cache_options: { mode: 'Explicit' } }, 'prompt_cache_options'],
    ['responses', { prompt_cache_options: { TTL: '12h' } }, 'prompt_cache_options'],
    ['chat', marked(LONG), 'messages[0].content.cache_control'],
    ['chat', { messages: [{ role: 'system', content: 'a', ...LONG }, ...MESSAGES] }, 'messages.cache_control'],
    ['chat', tool(LONG), 'tools.cache_control'],
    ['chat', marked(LONG), 'messages[0].content.cache_control', { apiFormat: 'messages' }],
    ['messages', marked(LONG), 'messages.0.content.0.cache_control'],
    ['messages', { system: [{ type: 'text', text: 'a', ...LONG }] }, 'system.0.cache_control'],
    ['messages', { tools: [{ name: 'f', input_schema: {}, ...LONG }] }, 'tools.cache_control'],
    [
      'messages',
      marked({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a', ...LONG }] }),
      'messages.0.content.0.content.0.cache_control',
    ],
    [
      'chat',
      marked({ prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }),
      'messages[0].content.prompt_cache_breakpoint',
    ],
    ['chat', { web_search_options: {} }, 'web_search_options'],
    ['chat', { web_search_options: { search_context_size: 'high' } }, 'web_search_options'],
    [
      'chat',
      { web_search_options: { search_context_size: 'high' } },
      'web_search_options',
      { prices: { ...TOKENS, calls: picoUsd(5_000_000_000n) } },
    ],
    ['chat', { search_type: 'pro' }, 'search_type'],
    ['chat', { enable_search: true }, 'enable_search'],
    ['chat', { search_parameters: { mode: 'auto' } }, 'search_parameters'],
    ['chat', { venice_parameters: { enable_web_search: 'auto' } }, 'venice_parameters'],
    ['chat', { enable_thinking: true }, 'enable_thinking'],
    ['chat', { plugins: [{ id: 'web', max_results: 10 }] }, 'plugins'],
    ['chat', { models: ['dearest'] }, 'models'],
    ['chat', { fallbacks: ['dearest'] }, 'fallbacks'],
    ['chat', { modalities: ['text', 'audio'] }, 'modalities'],
    ['images', { quality: 'hd' }, 'quality', { prices: PIECES }],
    ['images', { complexity: 'high' }, 'complexity'],
    ['images', { frame_count: 4 }, 'frame_count'],
    ['images', { output_format: 'gif' }, 'output_format'],
    ['images', { steps: 50 }, 'steps', { apiFormat: 'together' }],
    ['images', { num_inference_steps: 50 }, 'num_inference_steps', { apiFormat: 'fal' }],
    ['video', { generate_audio: true }, 'generate_audio'],
    ['video', { fps: 60 }, 'fps'],
    ['video', { frames_per_second: '60' }, 'frames_per_second'],
  ])('%s: %j is refused, and %s is named', (kind, members, param, setting) => {
    expect(sent(kind, members, setting)).toBe(`unsupported_parameter ${param}`)
  })

  it.each<[Kind, string, unknown, Setting?]>([
    ...['auto', 'default', 'standard', 'standard_only', 'on_demand'].map((tier): [Kind, string, unknown] => [
      'chat',
      'service_tier',
      tier,
    ]),
    ['chat', 'prompt_cache_options', { mode: 'implicit' }],
    ['chat', 'web_search_options', {}, { prices: { ...TOKENS, calls: picoUsd(5_000_000_000n) } }],
    ['chat', 'web_search_options', {}, { prices: { ...TOKENS, searches: picoUsd(10_000_000_000n) } }],
    ['chat', 'enable_search', true, { prices: { ...TOKENS, searches: picoUsd(10_000_000_000n) } }],
    ['chat', 'prediction', { type: 'content', content: 'a' }, { offer: { passes: ['prediction'] } }],
    ['completions', 'speculation', 'a', { offer: { passes: ['prediction'] } }],
    ['chat', 'enable_search', false],
    ['chat', 'enable_thinking', false],
    ['chat', 'enable_thinking', true, { prices: { ...TOKENS, reasoning: picoUsd(60_000_000n) } }],
    ['chat', 'search_parameters', { mode: 'off' }],
    ['chat', 'venice_parameters', { include_venice_system_prompt: false }],
    ['chat', 'plugins', []],
    ['chat', 'models', []],
    ['chat', 'modalities', ['text']],
    ['chat', 'modalities', ['text', 'audio'], { prices: { ...TOKENS, audioOutput: picoUsd(64_000_000n) } }],
    ['images', 'quality', 'standard', { prices: PIECES }],
    ['images', 'quality', 'high'],
    ['images', 'output_format', 'webp'],
    ['images', 'steps', 4, { apiFormat: 'together' }],
    ['images', 'steps', 50, { apiFormat: 'together', parameters: ['steps'] }],
    ['video', 'generate_audio', false],
    ['video', 'generate_audio', true, { parameters: ['generate_audio'] }],
    ['video', 'fps', 24],
  ])('%s: %s of %j is forwarded', (kind, name, value, setting) => {
    const { body } = sent(kind, { [name]: value }, setting) as Exclude<ReturnType<typeof sent>, string>
    expect(JSON.parse(body)[name]).toEqual(value)
  })

  it('is ignored where the model lists its parameters without it: no seller receives it', () => {
    const answer = sent('chat', { web_search_options: {} }, { parameters: ['temperature'] })
    expect(answer).toMatchObject({
      adaptedParams: ['web_search_options', 'max_tokens'],
      body: expect.not.stringContaining('search'),
    })
    const picture = sent('images', { quality: 'hd' }, { parameters: ['size'], prices: PIECES })
    expect(picture).toMatchObject({ adaptedParams: ['quality'], body: expect.not.stringContaining('hd') })
  })

  it('excludes only the sellers that would receive it', () => {
    expect(sent('messages', marked(LONG), { apiFormat: 'openai' })).toMatchObject({
      body: expect.not.stringContaining('cache_control'),
    })
  })

  it('is refused by the first member without a price', () => {
    expect(sent('chat', { enable_search: true, service_tier: 'flex' })).toBe('unsupported_parameter enable_search')
  })
})

describe('an unknown member', () => {
  it.each<[Kind, object]>([
    ['chat', { use_beam_search: true, best_of: 4, min_tokens: 500, ignore_eos: true }],
    ['chat', { stop_server_tools_when: [{ type: 'max_cost' }], extra_body: { google: { thinking: 1 } } }],
    ['chat', { a_new_member: { deep: true } }],
    ['completions', { use_beam_search: true, min_tokens: 500 }],
    ['embeddings', { instruction: 'Represent this for retrieval.' }],
    ['speech', { voices: ['a', 'b'] }],
    ['transcriptions', { url: 'https://example.com/long.mp3' }],
    ['images', { loras: ['a'], upscale: 4 }],
    ['video', { upscale: 4 }],
    ['music', { stems: 4 }],
    ['messages', { service_plan: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    ['responses', { service_plan: 'x' }],
  ])('%s: %j is left out and named', (kind, members) => {
    const answer = sent(kind, members)
    expect(answer).toMatchObject({ adaptedParams: expect.arrayContaining(Object.keys(members)) })
    const { body } = answer as Exclude<typeof answer, string>
    for (const name of Object.keys(members)) expect(body).not.toContain(`"${name}"`)
  })
})

/** Members that OpenAI's SDK, the AI SDK, LangChain, Codex, opencode, Cline and Continue send. */
const OF_CLIENTS = {
  user: 'u',
  metadata: { a: 'b' },
  store: false,
  seed: 7,
  logit_bias: { 5: 1 },
  logprobs: true,
  top_logprobs: 2,
  n: 1,
  stop: ['x'],
  temperature: 1,
  top_p: 1,
  top_k: 40,
  min_p: 0.1,
  repetition_penalty: 1.1,
  presence_penalty: 0,
  frequency_penalty: 0,
  parallel_tool_calls: true,
  reasoning_effort: 'low',
  reasoning: { effort: 'low' },
  verbosity: 'low',
  safety_identifier: 's',
  prompt_cache_key: 'k',
  prompt_cache_retention: '24h',
  response_format: { type: 'text' },
  service_tier: 'auto',
  thinking: { type: 'enabled' },
  chat_template_kwargs: { enable_thinking: false },
  thinking_budget: 512,
  transforms: ['middle-out'],
  reasoning_format: 'parsed',
  reasoning_split: true,
  tool_stream: true,
}

const OFFER = { apiFormat: 'openai', baseUrl: 'https://api.openai.com/v1', providerModel: 'gpt-5-mini' } as const

describe('the seller’s consent', () => {
  it('lets unknown members through', () => {
    const asked = { a_new_member: { deep: true } }
    const answer = sent('chat', asked, { offer: { passes: ['unknown'] } }) as Exclude<ReturnType<typeof sent>, string>
    expect(JSON.parse(answer.body)).toMatchObject(asked)
    expect(answer.adaptedParams).toEqual(['max_tokens'])
    expect(sent('chat', asked, { offer: { passes: ['region'] } })).toMatchObject({
      adaptedParams: ['a_new_member', 'max_tokens'],
    })
  })

  it('is useless without a price', () => {
    const passes = ['unknown', 'service_tier']
    expect(sent('chat', { service_tier: 'flex' }, { offer: { passes } })).toBe('unsupported_parameter service_tier')
  })

  it('buys no two tiers at once', () => {
    const tier = (serviceTier: 'flex' | 'priority') => ({ name: serviceTier, when: { serviceTier }, unitPrices: {} })
    const sold = { model: buildModel(), price: { unitPrices: TOKENS, overrides: [tier('flex'), tier('priority')] } }
    const member = (param: string, asked: 'flex' | 'priority') =>
      isCovered({ param, surcharge: 'service_tier', tier: asked }, sold, { tier: 'flex', region: undefined })
    expect([member('service_tier', 'flex'), member('serviceTier', 'priority')]).toEqual([true, false])
  })

  it('is required for each priced member, by name', () => {
    const tier = { param: 'service_tier', surcharge: 'service_tier', isCovered: true } as const
    const kept = (passes: readonly string[] | undefined, isCovered = true) =>
      isKeptFrom({ ...OFFER, ...(passes && { passes: [...passes] }) }, { ...tier, isCovered })
    expect([kept(undefined), kept([]), kept(['unknown', 'region']), kept(['service_tier'])]).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect(kept(['service_tier'], false)).toBe(true)
    const counted = { ...tier, surcharge: 'audio_output' } as const
    expect(isKeptFrom(OFFER, counted)).toBe(false)
  })
})

describe('a voice that is sold by the character', () => {
  it('gets speaking instructions only where its model lists them', () => {
    const asked = { speed: 0.25, instructions: 'Whisper.' }
    const unlisted = sent('speech', asked) as Exclude<ReturnType<typeof sent>, string>
    expect(unlisted.adaptedParams).toEqual(['speed', 'instructions'])
    expect(JSON.parse(unlisted.body)).not.toHaveProperty('speed')
    const listed = sent('speech', asked, { parameters: ['speed', 'instructions'] })
    expect(JSON.parse((listed as typeof unlisted).body)).toMatchObject(asked)
  })
})

describe('the members of known clients', () => {
  it('are forwarded unchanged, and none is named', () => {
    const answer = sent('chat', { ...OF_CLIENTS, ...tool({}) }) as Exclude<ReturnType<typeof sent>, string>
    expect(JSON.parse(answer.body)).toMatchObject(OF_CLIENTS)
    expect(answer.adaptedParams).toEqual(['max_tokens'])
  })
})

describe('a mark of a prompt cache', () => {
  const plain = { cache_control: { type: 'ephemeral' } }

  it('is forwarded where writes have a price, and left out and named where they have none', () => {
    const asked = { ...marked(plain), ...tool(plain) }
    const written = sent('chat', asked, { prices: { ...TOKENS, cacheWrite: picoUsd(5_000_000n) } })
    expect(written).toMatchObject({ body: expect.stringContaining('"text":"a","cache_control"') })
    const unpriced = sent('chat', asked)
    expect(unpriced).toMatchObject({ body: expect.not.stringContaining('cache_control') })
    expect(unpriced).toMatchObject({ adaptedParams: ['cache_control', 'max_tokens'] })
  })
})
