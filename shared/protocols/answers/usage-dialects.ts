/** The way to a member: the names from a `usage` object, or from the answer around it. */
export type Place = readonly string[]

/** Figures of a usage object that are counts. */
export type CountName =
  | 'inputTokens'
  | 'outputTokens'
  | 'cachedTokens'
  | 'cacheMissTokens'
  | 'cacheWriteTokens'
  | 'cacheWriteShortTokens'
  | 'cacheWriteLongTokens'
  | 'cachedAudioTokens'
  | 'reasoningTokens'
  | 'citationTokens'
  | 'audioInputTokens'
  | 'audioOutputTokens'
  | 'imageInputTokens'
  | 'imageOutputTokens'
  | 'searches'

/** A count, and its places in the dialects of one protocol. The largest figure at any of them applies. */
type CountRow = readonly [CountName, ...Place[]]

const INPUT_DETAILS = ['prompt_tokens_details', 'input_tokens_details', 'input_token_details'] as const
const OUTPUT_DETAILS = ['completion_tokens_details', 'output_tokens_details', 'output_token_details'] as const

function inEach(details: readonly string[], ...place: string[]): Place[] {
  return details.map((name) => [name, ...place])
}

/** The dialects of OpenAI's protocol. The names of other providers follow those of OpenAI. */
const OPENAI_COUNTS: readonly CountRow[] = [
  ['inputTokens', ['prompt_tokens'], ['input_tokens']],
  ['outputTokens', ['completion_tokens'], ['output_tokens']],
  [
    'cachedTokens',
    ...inEach(INPUT_DETAILS, 'cached_tokens'),
    // Moonshot and Together; DeepSeek; gateways to Claude; xAI before its details.
    ['cached_tokens'],
    ['prompt_cache_hit_tokens'],
    ['cache_read_input_tokens'],
    ['cached_prompt_text_tokens'],
  ],
  // DeepSeek.
  ['cacheMissTokens', ['prompt_cache_miss_tokens']],
  [
    'cacheWriteTokens',
    ...inEach(INPUT_DETAILS, 'cache_write_tokens'),
    // Alibaba; gateways to Claude.
    ['prompt_tokens_details', 'cache_creation_input_tokens'],
    ['prompt_tokens_details', 'cache_creation_tokens'],
    ['cache_creation_input_tokens'],
  ],
  [
    'cacheWriteShortTokens',
    ...inEach(INPUT_DETAILS, 'cache_write_tokens_details', 'ttl_30m_tokens'),
    ['prompt_tokens_details', 'cache_creation', 'ephemeral_5m_input_tokens'],
    ['cache_creation', 'ephemeral_5m_input_tokens'],
  ],
  [
    'cacheWriteLongTokens',
    ...inEach(INPUT_DETAILS, 'cache_write_tokens_details', 'ttl_12h_tokens'),
    ['prompt_tokens_details', 'cache_creation', 'ephemeral_1h_input_tokens'],
    ['cache_creation', 'ephemeral_1h_input_tokens'],
  ],
  ['cachedAudioTokens', ...inEach(INPUT_DETAILS, 'cached_tokens_details', 'audio_tokens')],
  [
    'reasoningTokens',
    ...inEach(OUTPUT_DETAILS, 'reasoning_tokens'),
    // Perplexity, and xAI before its details.
    ['reasoning_tokens'],
  ],
  ['citationTokens', ['citation_tokens']],
  ['audioInputTokens', ...inEach(INPUT_DETAILS, 'audio_tokens')],
  ['audioOutputTokens', ...inEach(OUTPUT_DETAILS, 'audio_tokens')],
  ['imageInputTokens', ...inEach(INPUT_DETAILS, 'image_tokens')],
  ['imageOutputTokens', ...inEach(OUTPUT_DETAILS, 'image_tokens')],
  [
    'searches',
    // OpenRouter under either name; Perplexity.
    ['server_tool_use', 'web_search_requests'],
    ['server_tool_use_details', 'web_search_requests'],
    ['num_search_queries'],
  ],
]

/** The dialects of Anthropic's protocol. Its input excludes tokens read from or written to a cache. */
const MESSAGES_COUNTS: readonly CountRow[] = [
  ['inputTokens', ['input_tokens']],
  ['outputTokens', ['output_tokens']],
  ['cachedTokens', ['cache_read_input_tokens']],
  ['cacheWriteTokens', ['cache_creation_input_tokens']],
  ['cacheWriteShortTokens', ['cache_creation', 'ephemeral_5m_input_tokens']],
  ['cacheWriteLongTokens', ['cache_creation', 'ephemeral_1h_input_tokens']],
  ['reasoningTokens', ['output_tokens_details', 'thinking_tokens']],
  ['searches', ['server_tool_use', 'web_search_requests']],
]

/**
 * The dialect of Bedrock's Converse. Its input excludes tokens read from or written to a cache. Its list of writes by
 * lifetime is read as `writes`.
 */
const CONVERSE_COUNTS: readonly CountRow[] = [
  ['inputTokens', ['inputTokens']],
  ['outputTokens', ['outputTokens']],
  ['cachedTokens', ['cacheReadInputTokens'], ['cacheReadInputTokenCount']],
  ['cacheWriteTokens', ['cacheWriteInputTokens'], ['cacheWriteInputTokenCount']],
  ['cacheWriteShortTokens', ['writes', 'short']],
  ['cacheWriteLongTokens', ['writes', 'long']],
]

/** Searches that an answer of OpenAI's Responses counts outside of its usage. Opened pages are not among them. */
const BESIDE_COUNTS: readonly CountRow[] = [['searches', ['tool_usage', 'web_search', 'num_requests']]]

/** The counts of a dialect by the names of members, so that the reader walks over the received members. */
export type CountTree = { readonly [member: string]: CountName | CountTree }

export const OPENAI_TREE = treeOf(OPENAI_COUNTS)
export const MESSAGES_TREE = treeOf(MESSAGES_COUNTS)
export const CONVERSE_TREE = treeOf(CONVERSE_COUNTS)
export const BESIDE_TREE = treeOf(BESIDE_COUNTS)

function treeOf(rows: readonly CountRow[]): CountTree {
  const tree: Branch = Object.create(null)
  for (const [name, ...places] of rows) for (const place of places) grow(tree, place, name)
  return tree
}

type Branch = { [member: string]: CountName | Branch }

function grow(tree: Branch, place: Place, name: CountName): void {
  let branch = tree
  for (const member of place.slice(0, -1)) {
    const next = branch[member] ?? Object.create(null)
    branch[member] = next
    branch = next
  }
  branch[place.at(-1) ?? ''] = name
}

/** A member with a cost, and the pico-USD in a unit of it. */
export type OwnCost = { readonly place: Place; readonly picoAUnit: number }

/**
 * Members of a usage object with the provider's own cost, and the pico-USD in a unit of each: xAI's ticks, Perplexity's
 * and OpenRouter's dollars, DeepInfra's estimate.
 */
export const OWN_COSTS: readonly OwnCost[] = [
  { place: ['cost_in_usd_ticks'], picoAUnit: 100 },
  { place: ['cost', 'total_cost'], picoAUnit: 1e12 },
  { place: ['cost'], picoAUnit: 1e12 },
  { place: ['estimated_cost'], picoAUnit: 1e12 },
]

/** The bill behind OpenRouter's own fee, when it calls with its customer's key. */
export const OWN_COST_BEHIND: OwnCost = { place: ['cost_details', 'upstream_inference_cost'], picoAUnit: 1e12 }

/** Members of a usage object about the service of the request. */
export const SERVED_WORDS = [
  ['serviceTier', 'service_tier'],
  ['speed', 'speed'],
  ['region', 'inference_geo'],
  // Perplexity.
  ['searchContext', 'search_context_size'],
] as const

/** Members that identify Perplexity. Its reasoning is outside its output, and outside its total, too. */
export const THOUGHTS_OUTSIDE = ['citation_tokens', 'num_search_queries', 'search_context_size'] as const
