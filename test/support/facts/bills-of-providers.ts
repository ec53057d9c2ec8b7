/** Models with prices under conditions. */
export const BILLED_MODELS = [
  'bills-tiered',
  'bills-claude',
  'bills-sonar',
  'bills-ear',
  'bills-ear-by-tokens',
] as const
export type BilledModel = (typeof BILLED_MODELS)[number]

/** Prices in the makers' lists of such models, in US dollars per token and per search. */
export const BILLED_FACTS: Readonly<Record<BilledModel, object>> = {
  'bills-tiered': {
    context_length: 1_050_000,
    supported_parameters: [],
    pricing: {
      prompt: '0.000002',
      completion: '0.00001',
      input_cache_read: '0.0000002',
      overrides: [
        { min_prompt_tokens: 272_000, prompt: '0.000004', completion: '0.000015', input_cache_read: '0.0000004' },
        { service_tier: 'priority', prompt: '0.000004', completion: '0.00002', input_cache_read: '0.0000004' },
      ],
    },
  },
  'bills-claude': {
    context_length: 1_000_000,
    supported_parameters: [],
    pricing: {
      prompt: '0.000003',
      completion: '0.000015',
      input_cache_read: '0.0000003',
      input_cache_write: '0.00000375',
      input_cache_write_1h: '0.000006',
      web_search: '0.01',
      overrides: [
        { service_tier: 'fast', prompt: '0.000006', completion: '0.00003' },
        {
          regions: ['us'],
          prompt: '0.0000033',
          completion: '0.0000165',
          input_cache_read: '0.00000033',
          input_cache_write: '0.000004125',
          input_cache_write_1h: '0.0000066',
        },
        { service_tier: 'fast', regions: ['us'], prompt: '0.0000066', completion: '0.000033' },
      ],
    },
  },
  'bills-sonar': {
    context_length: 128_000,
    supported_parameters: [],
    pricing: {
      prompt: '0.000001',
      completion: '0.000001',
      request: '0.005',
      overrides: [
        { search_context_size: 'low', request: '0.005' },
        { search_context_size: 'high', request: '0.012' },
      ],
    },
  },
  'bills-ear': {
    architecture: { input_modalities: ['audio'], output_modalities: ['text'] },
    pricing: { prompt: '0', completion: '0' },
    unit_pricing: { seconds: '0.0001', minimum_seconds: 10 },
    supported_parameters: [],
    endpoints: ['transcription'],
  },
  'bills-ear-by-tokens': {
    context_length: 16_000,
    architecture: { input_modalities: ['audio'], output_modalities: ['text'] },
    pricing: { prompt: '0.0000025', completion: '0.00001', audio: '0.000006' },
    top_provider: { max_completion_tokens: 2_000 },
    supported_parameters: [],
    endpoints: ['transcription'],
  },
}

/**
 * A call, the usage that its provider reports, and its cost in micro-USD, calculated by hand: at the list price, and at
 * a discount of 25 %.
 */
export type Bill = {
  readonly name: string
  readonly model: BilledModel
  readonly usage: object
  readonly serviceTier?: string
  readonly list: number
  readonly paid: number
  readonly looksUp: object
  /** The provider's own cost in the form that the seller reads. */
  readonly ownCost?: string
}

export const BILLS: readonly Bill[] = [
  {
    name: 'a prompt of 300,000 tokens',
    model: 'bills-tiered',
    usage: { prompt_tokens: 300_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 50_000 } },
    // 250,000 tokens at 4 US dollars a million, 50,000 from the cache at 0.40, and 100 at 15.
    list: 1_021_500,
    paid: 766_125,
    looksUp: { input_tokens: 300_000, cache_read_tokens: 50_000, price_conditions: ['prompt_tokens>=272001'] },
  },
  {
    name: 'a call that asked for the priority tier and got it',
    model: 'bills-tiered',
    usage: { prompt_tokens: 1_000, completion_tokens: 100 },
    serviceTier: 'priority',
    list: 6_000,
    paid: 4_500,
    looksUp: { price_conditions: ['service_tier=priority'] },
  },
  {
    name: 'a call that asked for the priority tier and got the standard one',
    model: 'bills-tiered',
    usage: { prompt_tokens: 1_000, completion_tokens: 100 },
    serviceTier: 'default',
    list: 3_000,
    paid: 2_250,
    looksUp: { price_conditions: [] },
  },
  {
    name: 'a cache of an hour',
    model: 'bills-claude',
    usage: {
      input_tokens: 60,
      output_tokens: 10,
      cache_creation_input_tokens: 90_000,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 90_000 },
    },
    // 60 tokens at 3, 90,000 at 6 and 10 at 15 US dollars a million.
    list: 540_330,
    paid: 405_248,
    looksUp: { cache_write_tokens: 90_000, price_conditions: [] },
  },
  {
    name: 'two searches',
    model: 'bills-claude',
    usage: { input_tokens: 9_000, output_tokens: 100, server_tool_use: { web_search_requests: 2 } },
    // 9,000 tokens at 3, 100 at 15 US dollars a million, and two searches of a cent.
    list: 48_500,
    paid: 36_375,
    looksUp: { searches: 2 },
  },
  {
    name: 'a fast call',
    model: 'bills-claude',
    usage: { input_tokens: 1_000, output_tokens: 100, speed: 'fast' },
    // 1,000 tokens at 6 and 100 at 30 US dollars a million.
    list: 9_000,
    paid: 6_750,
    looksUp: { price_conditions: ['service_tier=fast'] },
  },
  {
    name: 'a call that is processed in the United States',
    model: 'bills-claude',
    usage: { input_tokens: 1_000, output_tokens: 100, inference_geo: 'us' },
    // 1,000 tokens at 3.30 and 100 at 16.50 US dollars a million.
    list: 4_950,
    paid: 3_713,
    looksUp: { price_conditions: ['region=us'] },
  },
  {
    name: 'a search that finds much',
    model: 'bills-sonar',
    usage: { prompt_tokens: 1_000, completion_tokens: 100, search_context_size: 'high' },
    // 1,100 tokens at 1 US dollar a million, and the fee of the request.
    list: 13_100,
    paid: 9_825,
    looksUp: { price_conditions: ['search_context=high'] },
  },
  {
    name: 'a search without a request for it that finds much',
    model: 'bills-sonar',
    usage: { prompt_tokens: 1_000, completion_tokens: 100, search_context_size: 'high' },
    list: 13_100,
    paid: 9_825,
    looksUp: { price_conditions: ['search_context=high'] },
  },
  {
    name: 'a transcript of a second',
    model: 'bills-ear',
    usage: { type: 'duration', seconds: 1 },
    // Ten seconds of a hundredth of a cent.
    list: 1_000,
    paid: 750,
    looksUp: { price_conditions: [] },
  },
  {
    name: 'a transcript that is billed by its tokens',
    model: 'bills-ear-by-tokens',
    usage: {
      type: 'tokens',
      input_tokens: 30,
      input_token_details: { text_tokens: 20, audio_tokens: 10 },
      output_tokens: 100,
      total_tokens: 130,
    },
    // 20 tokens of text at 2.50, 10 of sound at 6 and 100 of the transcript at 10 US dollars a million.
    list: 1_110,
    paid: 833,
    looksUp: { input_tokens: 30, output_tokens: 100, price_conditions: [] },
  },
  {
    name: 'an answer with the cost that the provider states',
    model: 'bills-tiered',
    usage: { prompt_tokens: 1_000, completion_tokens: 100, cost_in_usd_ticks: 30_000_007 },
    list: 3_000,
    paid: 2_250,
    looksUp: {},
    ownCost: '0.0030000007',
  },
]
