import type { Provider } from '@pydantic/genai-prices'
import { extractUsage, findProvider } from '@pydantic/genai-prices'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeConverseUsage } from '#shared/protocols/bedrock/usage.ts'
import { mergeGeminiUsage } from '#shared/protocols/gemini/usage.ts'
import { mergeMessagesUsage } from '#shared/protocols/messages/usage.ts'

/** Every provider of the package with readers of usage. The others (avian, novita, together, voyageai) have none. */
const PROVIDERS =
  `anthropic arcee aws azure baseten cerebras cloudflare cohere cursor deepseek doubleword fireworks github-copilot google
  groq huggingface_cerebras huggingface_fireworks-ai huggingface_groq huggingface_hyperbolic huggingface_nebius
  huggingface_novita huggingface_nscale huggingface_ovhcloud huggingface_publicai huggingface_sambanova
  huggingface_together minimax mistral modal moonshotai openai openrouter ovhcloud perplexity quicksilverpro typesafe x-ai
  zai zhipuai`.split(/\s+/)

/**
 * Readers of answers that no protocol here has: sockets, pages of documents, an editor's own events, and the native
 * answers of Cohere and Cloudflare, whose sellers speak OpenAI's protocol.
 */
const FOREIGN = new Set([
  'cloudflare default',
  'cohere default',
  'cohere embeddings',
  'cohere tokens',
  'cursor usage-event',
  'azure realtime',
  'openai realtime',
  'x-ai realtime',
  'mistral ocr',
  'mistral ocr_annotated',
])

type Reader = NonNullable<Provider['extractors']>[number]
type Mapping = Reader['mappings'][number]

const READERS = PROVIDERS.flatMap((id) => {
  const provider = findProvider({ providerId: id })
  return (provider?.extractors ?? []).flatMap((reader) => {
    const name = `${id} ${reader.api_flavor}`
    return provider === undefined || FOREIGN.has(name) ? [] : [{ name, provider, reader }]
  })
})

const SMALL = fc.nat({ max: 50_000 })
const CALLS = fc.record({
  fresh: SMALL,
  cached: SMALL,
  written: SMALL,
  long: SMALL,
  said: SMALL,
  thought: SMALL,
  searches: SMALL,
  heard: fc.double({ min: 0, max: 0.4, noNaN: true }),
  seen: fc.double({ min: 0, max: 0.4, noNaN: true }),
})
type Call = typeof CALLS extends fc.Arbitrary<infer Made> ? Made : never

const pathOf = ({ path }: Mapping): readonly unknown[] => (Array.isArray(path) ? path : [path])
const leafOf = (mapping: Mapping): string => String(pathOf(mapping).at(-1))
const isPlain = (mapping: Mapping) => pathOf(mapping).every((name) => typeof name === 'string')

/** An object that is being filled. */
type Filled = { [name: string]: unknown }

/** True where the input leaves out cache reads, and where the output leaves out reasoning. */
function formOf({ mappings }: Reader) {
  const inputs = mappings.filter(({ dest }) => dest === 'input_tokens').map(leafOf)
  const outputs = mappings.filter(({ dest }) => dest === 'output_tokens').map(leafOf)
  return {
    isCacheBeside: inputs.some((leaf) => /cache.*read/i.test(leaf)),
    isThoughtBeside: outputs.some((leaf) => /reasoning|thought/i.test(leaf)),
    isSplit: mappings.some((mapping) => /ephemeral/.test(leafOf(mapping))),
    hasWrites: mappings.some(({ dest }) => dest === 'cache_write_tokens'),
    isGoogle: inputs.includes('promptTokenCount'),
    isAmazon: inputs.includes('inputTokens'),
  }
}

/** The usage object that a reader expects, for one call. Details are parts of their totals. */
function usageFor(reader: Reader, call: Call): JsonObject {
  const { isCacheBeside, isThoughtBeside, isSplit, hasWrites, isGoogle } = formOf(reader)
  const names = new Set(reader.mappings.filter(isPlain).map(leafOf))
  const has = (pattern: RegExp) => [...names].some((name) => pattern.test(name))
  const cached = has(/cache.*read|^cached/i) ? call.cached : 0
  const writes = hasWrites ? call.written + (isSplit ? call.long : 0) : 0
  const thought = has(/reasoning|thinking|thought/i) ? call.thought : 0
  const input = isCacheBeside ? call.fresh : call.fresh + cached + writes
  const heard = Math.floor(call.fresh * call.heard)
  const seen = Math.floor(call.fresh * call.seen)
  const spoken = Math.floor(call.said * call.heard)
  const drawn = Math.floor(call.said * call.seen)
  const tools = isGoogle ? call.searches : 0
  const output = isThoughtBeside ? call.said : call.said + thought
  const values: readonly (readonly [RegExp, number])[] = [
    [/^ephemeral_5m/, call.written],
    [/^ephemeral_1h/, call.long],
    [/cache_?creation|cache_?write/i, writes],
    [/cache.*read|^cached/i, cached],
    [/reasoning|thinking|thought/i, thought],
    [/^toolUse/, tools],
    [/^(?:prompt|input)_?token/i, input],
    [/^(?:completion|output|candidates)_?token/i, output],
    [/search/, call.searches],
  ]
  const usage: Filled = {}
  for (const mapping of reader.mappings.filter(isPlain)) {
    const names = pathOf(mapping).map(String)
    const [leaf = '', parent = ''] = [names.at(-1), names.at(-2)]
    const isOutput = /completion|output/.test(parent)
    const part = {
      audio_tokens: isOutput ? spoken : heard,
      image_tokens: isOutput ? drawn : seen,
      text_tokens: isOutput ? output - drawn : input - seen,
    }[leaf]
    const value = part ?? values.find(([pattern]) => pattern.test(leaf))?.[1]
    // Cache tokens by modality, text tokens and cited pages repeat counts of other members.
    if (value !== undefined && !/cached_tokens_details|cache_creation$/.test(isSplit ? '' : parent))
      put(usage, names, value)
  }
  if (isGoogle) {
    usage['promptTokensDetails'] = modalities({ TEXT: input - heard - seen, AUDIO: heard, IMAGE: seen })
    usage['candidatesTokensDetails'] = modalities({ TEXT: call.said - spoken - drawn, AUDIO: spoken, IMAGE: drawn })
  }
  const total = input + tools + output + (isThoughtBeside && reader.root !== 'usage' ? thought : 0)
  return { ...usage, [isGoogle ? 'totalTokenCount' : 'total_tokens']: total + besideTotal(reader, thought) }
}

/** xAI counts reasoning beside its output and within its total. Perplexity's total leaves reasoning out. */
function besideTotal(reader: Reader, thought: number): number {
  const { isThoughtBeside } = formOf(reader)
  const isPerplexity = reader.mappings.some((mapping) => leafOf(mapping) === 'num_search_queries')
  return isThoughtBeside && !isPerplexity && reader.root === 'usage' ? thought : 0
}

function modalities(counts: Readonly<Record<string, number>>): object[] {
  return Object.entries(counts).map(([modality, tokenCount]) => ({ modality, tokenCount }))
}

function put(into: Filled, names: readonly string[], value: number): void {
  const [name = '', ...rest] = names
  if (rest.length === 0) {
    into[name] = value
    return
  }
  const inner = into[name]
  const branch: Filled = isRecord(inner) ? { ...inner } : {}
  into[name] = branch
  put(branch, rest, value)
}

function ours(reader: Reader, usage: JsonObject): ReportedUsage {
  const reported: ReportedUsage = { insaneFields: 0 }
  const { isGoogle, isAmazon, isCacheBeside } = formOf(reader)
  if (isGoogle) mergeGeminiUsage(reported, usage)
  else if (isAmazon) mergeConverseUsage(reported, { usage })
  else if (isCacheBeside) mergeMessagesUsage(reported, { fresh: 0 }, usage, true)
  else mergeAnswerUsage(reported, { usage })
  return reported
}

const NAMES = {
  input_tokens: 'inputTokens',
  output_tokens: 'outputTokens',
  cache_read_tokens: 'cachedTokens',
  cache_write_tokens: 'cacheWriteTokens',
  cache_write_5m_tokens: 'cacheWriteShortTokens',
  cache_write_1h_tokens: 'cacheWriteLongTokens',
  output_reasoning_tokens: 'reasoningTokens',
  input_audio_tokens: 'audioInputTokens',
  output_audio_tokens: 'audioOutputTokens',
  input_image_tokens: 'imageInputTokens',
  output_image_tokens: 'imageOutputTokens',
  web_searches: 'searches',
} as const satisfies Readonly<Record<string, keyof ReportedUsage>>

/** Both readings by the oracle's names, without zeros. */
function compared(counts: Readonly<Record<string, unknown>>, named: (name: keyof typeof NAMES) => unknown) {
  const names = Object.keys(NAMES) as (keyof typeof NAMES)[]
  const isRead = (name: string) => Object.hasOwn(counts, name)
  return Object.fromEntries(names.filter(isRead).map((name) => [name, Number(named(name) ?? 0)]))
}

describe('every reader of usage in the price list', () => {
  it.each(READERS.map(({ name, ...one }) => [name, one] as const))(
    '%s reads as ours does',
    (_name, { provider, reader }) => {
      fc.assert(
        fc.property(CALLS, (call) => {
          const usage = usageFor(reader, call)
          const answer = { model: 'any', [String(reader.root)]: usage }
          const counts = extractUsage(provider, answer, reader.api_flavor).usage
          const known: Record<string, unknown> = { ...counts }
          const reported = ours(reader, usage)
          expect(compared(known, (name) => reported[NAMES[name]])).toEqual(compared(known, (name) => known[name]))
          expect(reported.insaneFields).toBe(0)
        }),
      )
    },
  )

  it('is found under the id of its provider', () => {
    expect(PROVIDERS.filter((id) => findProvider({ providerId: id })?.id !== id)).toEqual([])
    expect(READERS.length).toBeGreaterThan(50)
  })
})
