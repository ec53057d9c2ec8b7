import { isGiven, isRecord } from '#shared/json-members.ts'
import { SEARCH_CONTEXTS } from '#shared/price-list.ts'
import type { CostRow, CostTable, MemberCost, Ordered } from './read-members.ts'
import { costs, costsBut, free, isOff } from './read-members.ts'
import type { Surcharge } from './surcharge.ts'
import { regionOf } from './surcharge.ts'

type Rows = readonly CostRow[]

/** The time for which a cache holds writes at its plain price, with each protocol's name. */
const PLAIN_CACHE = { cache_control: '5m', prompt_cache_breakpoint: '30m' } as const
type CacheMark = keyof typeof PLAIN_CACHE
/** The members by which a part, a message or a tool ends the cached prefix. */
export const CACHE_MARKS = Object.keys(PLAIN_CACHE) as readonly CacheMark[]

/** The surcharge of a cache mark on a part, a message or a tool. */
export function cacheMarkCost(name: CacheMark, mark: unknown): Surcharge | undefined {
  if (!isRecord(mark)) return undefined
  const ttl = mark['ttl'] ?? undefined
  if (ttl !== undefined && ttl !== PLAIN_CACHE[name]) return 'cache_write_long'
  return name === 'prompt_cache_breakpoint' ? 'cache_write' : undefined
}

/** Tiers, speeds, regions and caches of OpenAI, Anthropic, Google, Bedrock, xAI, Groq, DeepInfra and MiniMax. */
const SERVICE: Rows = [
  ['service_tier', costsBut('service_tier', ['auto', 'default', 'standard', 'standard_only', 'on_demand'])],
  ['serviceTier', costsBut('service_tier', ['auto', 'default', 'standard', 'unspecified', 'SERVICE_TIER_UNSPECIFIED'])],
  ['speed', costsBut('service_tier', ['standard'])],
  ['performance_config', performanceCost],
  ['performanceConfig', performanceCost],
  ['inference_geo', regionCost],
  ['prompt_cache_options', cacheOptionsCost],
]

/** Members that make or use a cache which its provider keeps, and bills by the hour: Google's, and Moonshot's. */
const CACHES: Rows = ['cachedContent', 'cached_content', 'cache_id'].map((name) => [name, costs('cache_storage')])

/** Members of the OpenAI protocols for the content and the length of the answer, and for the user. */
const OPENAI: Rows = free(
  'model',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
  'n',
  'stop',
  'seed',
  'user',
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'metadata',
  'store',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
)

/** Parameters of vLLM, SGLang, llama.cpp, TGI and the hosts that run them. Each token of their answers is reported. */
const OPEN_HOSTS: Rows = free(
  'top_k',
  'top_a',
  'min_p',
  'typical_p',
  'tfs',
  'repetition_penalty',
  'repetition_context_size',
  'length_penalty',
  'no_repeat_ngram_size',
  'mirostat',
  'mirostat_tau',
  'mirostat_eta',
  'mirostat_mode',
  'mirostat_lr',
  'dry_multiplier',
  'dry_base',
  'dry_allowed_length',
  'xtc_probability',
  'xtc_threshold',
  'dynatemp_range',
  'stop_token_ids',
  'bad_words',
  'include_stop_str_in_output',
  'skip_special_tokens',
  'logits_bias',
  'spaces_between_special_tokens',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
  'guided_decoding_backend',
  'structured_outputs',
  'grammar',
  'regex',
  'ebnf',
  'random_seed',
  'do_sample',
)

/** Members of chat completions alone, of OpenAI, OpenRouter and the clients that speak to both. */
const CHAT: Rows = free(
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'response_format',
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
  'verbosity',
  'transforms',
  'image_config',
  'route',
  // Reasoning, templates and the form of an answer at Moonshot, Z.AI, DeepSeek, Alibaba, Groq, MiniMax and vLLM.
  'thinking',
  'thinking_budget',
  'reasoning_format',
  'reasoning_split',
  'clear_thinking',
  'preserve_thinking',
  'chat_template',
  'chat_template_kwargs',
  'add_generation_prompt',
  'continue_final_message',
  'partial',
  'tool_stream',
  'incremental_output',
  'result_format',
  'vl_high_resolution_images',
  'disable_tool_validation',
  'request_id',
  'user_id',
  'documents',
  'citation_options',
  'citation_quality',
  'safe_prompt',
  'prompt_mode',
  'safety_settings',
  'perf_metrics_in_response',
  'context_length_exceeded_behavior',
  'prompt_truncate_len',
  // Search filters of Perplexity's models.
  'disable_search',
  'search_mode',
  'search_domain_filter',
  'search_language_filter',
  'search_recency_filter',
  'search_after_date_filter',
  'search_before_date_filter',
  'last_updated_after_filter',
  'stream_mode',
  'last_updated_before_filter',
  'return_images',
  'return_related_questions',
  'image_domain_filter',
  'image_format_filter',
  'language_preference',
  'enable_search_classifier',
)

/** Chat completions. */
export const CHAT_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  ...OPENAI,
  ...OPEN_HOSTS,
  ...CHAT,
  ...SERVICE,
  // An empty object asks OpenAI and Perplexity to search with their defaults.
  ['web_search_options', searchCost],
  ['search_parameters', (value) => (isRecord(value) && value['mode'] === 'off' ? undefined : 'search')],
  ['venice_parameters', veniceCost],
  ['search_settings', costs('search')],
  ['enable_search', costs('search')],
  ['search_options', costs('search')],
  ['search_type', costsBut('deep_search', ['fast'])],
  ['enable_thinking', costs('thinking')],
  ['modalities', (value) => (Array.isArray(value) && value.includes('audio') ? 'audio_output' : undefined)],
  ['audio', costs('audio_output')],
  ['prediction', costs('prediction')],
  ['speculation', costs('prediction')],
  ['plugins', costs('plugins')],
  ['models', costs('other_model')],
  ['fallbacks', costs('other_model')],
  ['fallback_models', costs('other_model')],
  ...CACHES,
])

/** Legacy completions. */
export const COMPLETIONS_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  ...OPENAI,
  ...OPEN_HOSTS,
  ...SERVICE,
  // A `best_of` above `n` is refused by the parser.
  ...free('prompt', 'suffix', 'echo', 'best_of', 'reasoning', 'reasoning_effort', 'include_reasoning'),
  ['prediction', costs('prediction')],
  ['speculation', costs('prediction')],
  ['plugins', costs('plugins')],
  ['models', costs('other_model')],
])

/** Embeddings, of OpenAI and of the hosts of open models. */
export const EMBEDDINGS_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  ...SERVICE,
  ...free(
    'model',
    'input',
    'encoding_format',
    'dimensions',
    'user',
    'stream',
    'input_type',
    'task',
    'truncate',
    'truncation',
    'truncate_prompt_tokens',
    'late_chunking',
    'normalized',
    'normalize',
    'embedding_type',
    'output_dtype',
    'output_dimension',
  ),
  ['models', costs('other_model')],
])

/**
 * The messages and responses protocols. Their requests are forwarded by allow-lists, so that only costly members have a
 * row.
 */
export const SERVICE_MEMBERS: CostTable = new Map([...SERVICE, ...CACHES])

function performanceCost(value: unknown): Surcharge | undefined {
  const latency = isRecord(value) ? (value['latency'] ?? 'standard') : value
  return latency === 'standard' ? undefined : 'service_tier'
}

function cacheOptionsCost(value: unknown): Surcharge | undefined {
  if (!isRecord(value)) return isOff(value) ? undefined : 'cache_write_long'
  const { mode, ...others } = value
  const isPlain = (mode ?? 'implicit') === 'implicit' && !Object.values(others).some(isGiven)
  return isPlain ? undefined : cacheMarkCost('prompt_cache_breakpoint', value)
}

/** An unknown size counts as a deeper search, which has no line in any price list. */
function searchCost(value: unknown): Surcharge | Ordered {
  const { search_context_size: size, search_type: type } = isRecord(value) ? value : {}
  const searchContext = SEARCH_CONTEXTS.find((context) => context === size)
  if ((type ?? 'fast') !== 'fast' || (searchContext === undefined && isGiven(size))) return 'deep_search'
  return searchContext === undefined ? 'search' : { surcharge: 'search', searchContext }
}

function regionCost(value: unknown): Surcharge | Ordered | undefined {
  if (value === 'global' || isOff(value)) return undefined
  const region = regionOf(value)
  return region === undefined ? 'region' : { surcharge: 'region', region }
}

const VENICE_SEARCHES: readonly string[] = ['enable_web_search', 'enable_web_scraping', 'enable_x_search']

function veniceCost(value: unknown): Surcharge | undefined {
  if (!isRecord(value)) return isOff(value) ? undefined : 'search'
  const isPlain = VENICE_SEARCHES.every((name) => (value[name] ?? 'off') === 'off' || isOff(value[name]))
  return isPlain ? undefined : 'search'
}
