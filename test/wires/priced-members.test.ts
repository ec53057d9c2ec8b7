import { describe, expect, it } from 'vitest'
import { PASSES } from '#shared/members/surcharge.ts'
import { picoUsd } from '#shared/money.ts'
import type { PriceOverride } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { canServe, PROTOCOL_NAMES } from '#shared/protocols/index.ts'
import type { Kind } from '#test/support/bytes/sent-call.ts'
import { demandOf, PIECES, sent, TOKENS } from '#test/support/bytes/sent-call.ts'

const FEE: UnitPrices = { ...TOKENS, calls: picoUsd(5_000_000_000n) }
const lineOf = (when: PriceOverride['when'], unitPrices: UnitPrices = TOKENS): PriceOverride => ({
  name: JSON.stringify(when),
  when,
  unitPrices,
})
const SIZES = (['low', 'medium', 'high'] as const).map((searchContext) => lineOf({ searchContext }, FEE))
const IN_US = [
  lineOf({ regions: ['us'] }),
  lineOf({ serviceTier: 'fast' }),
  lineOf({ serviceTier: 'fast', regions: ['us'] }),
]
const BIG = { imageSizes: ['1792x1024'] }
const PICTURES = [
  lineOf(BIG, PIECES),
  lineOf({ imageQuality: 'hd' }, PIECES),
  lineOf({ ...BIG, imageQuality: 'hd' }, PIECES),
]

describe('a member whose value has a line of its own in the price list', () => {
  const search = (size: unknown) => ({ web_search_options: { search_context_size: size } })
  const told = (answer: ReturnType<typeof sent>) => (typeof answer === 'string' ? answer : JSON.parse(answer.body))

  it.each(['low', 'medium', 'high'])('searches of the size %s are forwarded where the list has it', (size) => {
    expect(told(sent('chat', search(size), { prices: FEE, overrides: SIZES }))).toMatchObject(search(size))
    expect(sent('chat', search(size), { prices: FEE })).toBe('unsupported_parameter web_search_options')
    const others = SIZES.filter(({ when }) => when.searchContext !== size)
    expect(sent('chat', search(size), { prices: FEE, overrides: others })).toBe(
      'unsupported_parameter web_search_options',
    )
  })

  it('searches of an unknown size, and of another kind, are refused', () => {
    for (const options of [{ search_context_size: 'vast' }, { search_context_size: 7 }, { search_type: 'pro' }]) {
      const answer = sent('chat', { web_search_options: options }, { prices: FEE, overrides: SIZES })
      expect(answer).toBe('unsupported_parameter web_search_options')
    }
  })

  it('a region is sold by a seller who allows it, and by one whose host is there', () => {
    const asked = { inference_geo: 'us' }
    const passes = ['region']
    const claude = { apiFormat: 'messages', overrides: IN_US, offer: { passes } } as const
    expect(told(sent('messages', asked, claude))).toMatchObject(asked)
    expect(told(sent('chat', asked, claude))).toMatchObject(asked)
    expect(told(sent('responses', asked, claude))).toMatchObject(asked)
    expect(sent('messages', asked, { ...claude, offer: {} })).toBe('unsupported_parameter inference_geo')
    expect(sent('messages', { inference_geo: 'eu' }, claude)).toBe('unsupported_parameter inference_geo')
    // OpenAI's protocol cannot express it.
    expect(sent('chat', asked, { overrides: IN_US, offer: { passes } })).toBe('unsupported_parameter inference_geo')
    const there = { overrides: IN_US, offer: { baseUrl: 'https://us.api.openai.com/v1' } }
    for (const kind of ['chat', 'completions', 'embeddings'] as const) {
      expect(told(sent(kind, asked, there)), kind).not.toHaveProperty('inference_geo')
    }
    for (const kind of ['chat', 'messages', 'responses'] as const) {
      const answer = told(sent(kind, asked, { ...there, apiFormat: 'responses' }))
      expect(answer, kind).not.toHaveProperty('inference_geo')
    }
    const elsewhere = { overrides: IN_US, offer: { baseUrl: 'https://eu.api.openai.com/v1' } }
    expect(sent('chat', asked, elsewhere)).toBe('unsupported_parameter inference_geo')
  })

  it('a tier in a region needs a line for both', () => {
    const asked = { inference_geo: 'us', speed: 'fast' }
    const offer = { passes: ['region', 'service_tier'] }
    const at = { apiFormat: 'messages', offer } as const
    expect(told(sent('messages', asked, { ...at, overrides: IN_US }))).toMatchObject(asked)
    expect(told(sent('chat', asked, { ...at, overrides: IN_US }))).toMatchObject(asked)
    expect(sent('messages', asked, { ...at, overrides: IN_US.slice(0, 2) })).toMatch(/^unsupported_parameter/)
    expect(sent('messages', asked, { ...at, overrides: IN_US.slice(1) })).toMatch(/^unsupported_parameter/)
  })

  it.each<[object, string | undefined]>([
    [{}, undefined],
    [{ size: '1024x1024', quality: 'standard' }, undefined],
    [{ size: '1792x1024' }, undefined],
    [{ width: 1_792, height: 1_024 }, undefined],
    [{ quality: 'hd' }, undefined],
    [{ size: '1792x1024', quality: 'hd' }, undefined],
    [{ size: '1024x1792' }, 'size'],
    [{ image_size: 'square' }, 'size'],
    [{ resolution: '4K' }, 'resolution'],
    [{ size: '1024x1792', quality: 'hd' }, 'size'],
    [{ quality: 'auto' }, 'quality'],
    [{ quality: 'high' }, 'quality'],
  ])('a picture by the piece: %j has a price, or %s is refused', (asked, param) => {
    const answer = sent('images', asked, { prices: PIECES, overrides: PICTURES })
    if (param === undefined) expect(answer).toMatchObject({ body: expect.stringContaining('A boat.') })
    else expect(answer).toBe(`unsupported_parameter ${param}`)
  })

  it('a cache that is billed by the hour is refused everywhere', () => {
    for (const name of ['cachedContent', 'cached_content', 'cache_id']) {
      for (const kind of ['chat', 'messages', 'responses'] as const) {
        const answer = sent(kind, { [name]: 'cachedContents/a' }, { offer: { passes: [...PASSES] } })
        expect(answer, `${kind} ${name}`).toBe(`unsupported_parameter ${name}`)
      }
    }
  })
})

/** Protocols in which a seller of conversations may receive a call. */
const CHATS = PROTOCOL_NAMES.filter((apiFormat) => canServe({ apiFormat }, 'chat'))
const MESSAGE = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const ITEM = (content: unknown) => ({ input: [{ role: 'user', content }] })
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const HALF_DAY = { prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }
const REACTED = { type: 'text', text: 'a' }

/**
 * Members by which a provider bills more than tokens, each on the wires that have a place for it, and the part that is
 * sent.
 */
const DEAR: readonly (readonly [what: string, kinds: readonly Kind[], members: object, trace: string])[] = [
  ...['priority', 'fast', 'flex', 'performance', 'scale'].flatMap((tier) =>
    (['chat', 'completions', 'messages', 'responses'] as const).map(
      (kind) => [`E1 tier ${tier}`, [kind], { service_tier: tier }, tier] as const,
    ),
  ),
  ['E1 serviceTier', ['chat', 'messages', 'responses'], { serviceTier: 'priority' }, 'priority'],
  ['E1 speed', ['chat', 'messages', 'responses'], { speed: 'fast' }, 'fast'],
  ['E1 performance', ['chat', 'messages', 'responses'], { performanceConfig: { latency: 'optimized' } }, 'optimized'],
  ['E1 region', ['chat', 'messages', 'responses'], { inference_geo: 'us' }, 'inference_geo'],
  ['E2 in a message', ['chat', 'messages'], MESSAGE([{ ...REACTED, ...HOUR }]), '1h'],
  ['E2 in a tool', ['messages'], { tools: [{ name: 'f', input_schema: { type: 'object' }, ...HOUR }] }, '1h'],
  ['E2 at the top', ['chat', 'messages', 'responses'], HOUR, '1h'],
  ['E7', ['chat', 'completions'], { prediction: { type: 'content', content: 'REJECTED' } }, 'REJECTED'],
  ['E8 size', ['chat'], { web_search_options: { search_context_size: 'high' } }, 'search_context_size'],
  ['E8 kind', ['chat'], { search_type: 'pro' }, 'search_type'],
  ['E8 search', ['chat'], { web_search_options: {} }, 'web_search_options'],
  ['E9 search', ['chat', 'responses'], { enable_search: true }, 'enable_search'],
  ['E9 thoughts', ['chat', 'responses'], { enable_thinking: true }, 'enable_thinking'],
  ['E10 plugins', ['chat', 'completions', 'responses'], { plugins: [{ id: 'web' }] }, 'plugins'],
  ['E10 models', ['chat', 'completions', 'responses'], { models: ['dearest'] }, 'dearest'],
  ['E10 tools', ['chat', 'responses'], { stop_server_tools_when: [{ type: 'max_cost' }] }, 'max_cost'],
  ['E11 Venice', ['chat', 'responses'], { venice_parameters: { enable_web_search: 'on' } }, 'enable_web_search'],
  ['E11 xAI', ['chat', 'responses'], { search_parameters: { mode: 'on' } }, 'search_parameters'],
  ['E11 Google', ['chat', 'responses'], { extra_body: { google: { cached_content: 'a' } } }, 'cached_content'],
  ['E12 options', ['chat', 'responses'], { prompt_cache_options: { mode: 'explicit', ttl: '12h' } }, '12h'],
  ['E12 mark', ['chat'], MESSAGE([{ ...REACTED, ...HALF_DAY }]), '12h'],
  ['E21', ['chat'], { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }, 'alloy'],
  ['E23 beams', ['chat', 'completions', 'responses'], { use_beam_search: true }, 'use_beam_search'],
  ['E23 length', ['chat', 'completions', 'responses'], { min_tokens: 5_000, ignore_eos: true }, '5000'],
  ['caches by the hour', ['chat', 'messages', 'responses'], { cachedContent: 'caches/1' }, 'caches/1'],
  ['a container', ['messages', 'responses'], { container: 'kept-1' }, 'kept-1'],
  ['servers of tools', ['messages'], { mcp_servers: [{ type: 'url', name: 'SERVER' }] }, 'SERVER'],
  ['Bedrock’s own', ['chat', 'messages'], { additionalModelRequestFields: { a: 'EXTRA' } }, 'EXTRA'],
  ['guardrails', ['chat', 'messages'], { guardrailConfig: { guardrailIdentifier: 'GUARD' } }, 'GUARD'],
  ...['web_search', 'file_search', 'code_interpreter', 'image_generation', 'mcp', 'x_search'].map(
    (type) => [`the tool ${type}`, ['responses', 'chat'], { tools: [{ type }] }, `"${type}"`] as const,
  ),
  ...['web_search_20250305', 'web_fetch_20250910', 'code_execution_20250825'].map(
    (type) => [`the tool ${type}`, ['messages'], { tools: [{ type, name: 'found' }] }, type] as const,
  ),
]

describe('a billed member without a line in any price list', () => {
  const cases = DEAR.flatMap(([what, kinds, members, trace]) =>
    kinds.map((kind) => [what, kind, members, trace] as const),
  )

  it.each(cases)(
    '%s on %s is refused, or left out and named, at sellers of every protocol',
    (_what, kind, members, trace) => {
      for (const apiFormat of CHATS) {
        // The seller allows everything that a seller can allow, except unknown members.
        const passes = PASSES.filter((word) => word !== 'unknown')
        for (const words of [[], passes]) {
          const answer = sent(kind, members, { apiFormat, offer: { passes: words } })
          if (typeof answer === 'string') {
            expect(answer, apiFormat).toMatch(
              /^(?:unsupported_parameter|invalid_request|no_sellers_for_model|model_capability)/,
            )
            continue
          }
          // Output tokens that a model rejects are counted, and a seller may allow them.
          if (trace === 'REJECTED' && words.includes('prediction')) continue
          expect(answer.body, apiFormat).not.toContain(trace)
          expect(answer.adaptedParams.length, apiFormat).toBeGreaterThan(0)
        }
      }
    },
  )
})

describe('a part whose tokens only its reader can count', () => {
  const PAGES = { type: 'document', source: { type: 'url', url: 'https://files.example/a.pdf' } }
  const FILE = { filename: 'a.pdf', file_data: 'https://files.example/a.pdf' }
  it.each<[string, Kind, object]>([
    ['E3 a document by its address', 'messages', MESSAGE([PAGES])],
    [
      'E3 a document',
      'messages',
      MESSAGE([{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QUFB' } }]),
    ],
    ['E4 a file', 'chat', MESSAGE([{ type: 'file', file: FILE }])],
    ['E4 a film', 'chat', MESSAGE([{ type: 'video_url', video_url: { url: 'https://files.example/a.mp4' } }])],
    [
      'E4 sound',
      'chat',
      MESSAGE([{ type: 'input_audio', input_audio: { data: 'https://files.example/a.wav', format: 'wav' } }]),
    ],
    [
      'E4 sound by its address',
      'chat',
      MESSAGE([{ type: 'audio_url', audio_url: { url: 'https://files.example/a.wav' } }]),
    ],
    ['E4 a file of a response', 'responses', ITEM([{ type: 'input_file', file_url: 'https://files.example/a.pdf' }])],
    [
      'a picture of high resolution',
      'chat',
      {
        ...MESSAGE([{ type: 'image_url', image_url: { url: 'https://files.example/a.png' } }]),
        vl_high_resolution_images: true,
      },
    ],
  ])('%s may fill the context of its model', (_what, kind, members) => {
    expect(demandOf(kind, members)).toMatchObject({ bounds: { isOpenEnded: true } })
  })
})
