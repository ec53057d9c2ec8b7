import { SECOND } from '#shared/clock.ts'

/** 1 December 2026, in Unix milliseconds. */
export const AN_INSTANT = 1_796_083_200_000
/** The ULID of every example. A record's id has the prefix of its kind before it. */
const ULID = '01KBZ3V7Q8M4T2C9XJ6R5WDHNE'
const WALLET = '0x8f3a52c7d1e94b06a7c85d3e2f91b04c6a7d8e35'
const TRANSACTION = `0x${'4be1f07c9d2a63e8'.repeat(4)}`
const MODEL = 'gpt-5-mini'

/** Examples of members by their name. */
const BY_NAME: Readonly<Record<string, string>> = {
  model: MODEL,
  model_id: MODEL,
  requested_model: MODEL,
  top_model: MODEL,
  provider_model: MODEL,
  provider_model_id: MODEL,
  canonical_slug: 'openai/gpt-5-mini',
  model_name: 'OpenAI: GPT-5 Mini',
  display_name: 'OpenAI: GPT-5 Mini',
  provider: 'openai',
  provider_slug: 'openai',
  provider_name: 'OpenAI',
  base_url: 'https://api.openai.com/v1',
  seller_base_url: 'https://api.openai.com/v1',
  host: 'api.openai.com',
  owned_by: 'openai',
  wallet: WALLET,
  payer: WALLET,
  sender: WALLET,
  recipient: WALLET,
  address: WALLET,
  payout_address: WALLET,
  spender: WALLET,
  tx_hash: TRANSACTION,
  transaction: TRANSACTION,
  network: 'eip155:8453',
  key: 'inf_…',
  api_key: 'inf_…',
  key_prefix: 'inf_163r845n',
  key_id: `key_${ULID}`,
  offer_id: `ofr_${ULID}`,
  offer: `ofr_${ULID}`,
  payout_id: `pay_${ULID}`,
  organization: `org_${ULID}`,
  workspace: `wsp_${ULID}`,
  buyer_account: `acc_${ULID}`,
  seller_account: `acc_${ULID}`,
  request_id: ULID,
  organization_name: 'Acme',
  label: 'research-agent',
  email: 'ada@example.com',
  endpoint: 'chat',
  finish_reason: 'stop',
  stop_reason: 'end_turn',
  content: 'Hello!',
  text: 'Hello!',
  month: '2026-12',
  day: '2026-12-01',
  role: 'assistant',
  url: 'https://example.com/files/1.png',
  unit: 'input_tokens',
  kind: 'call',
  key_fingerprint: '9f2c41d0',
  message: 'The request is invalid.',
  code: 'invalid_request',
  description: 'A small, fast model.',
  size: '1024x1024',
  output_format: 'png',
  content_type: 'video/mp4',
  seconds: '8',
  secret: 'whsec_…',
  resource_id: 'crypto-rpc',
  resource: 'crypto-rpc',
  resource_type: 'crypto-rpc',
  asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  pay_to: WALLET,
  prompt: '0.00000025',
  completion: '0.000002',
  made_by: WALLET,
  invited_by: WALLET,
  user: `usr_${ULID}`,
  account: `acc_${ULID}`,
  of: `wsp_${ULID}`,
  actor: `usr_${ULID}`,
  operation: 'offer.update',
  event: 'offer.unhealthy',
  method: 'POST',
  path: '/v1/chat/completions',
  type: 'text',
  b64_json: 'iVBORw0KGgo…',
  modality: 'text->text',
  polling_url: 'https://example.com/v1/videos/job_01',
  tag: 'openai',
  slug: 'openai',
}

/** Examples of lists by the name of the member. */
const LISTS: Readonly<Record<string, string>> = {
  models_allowed: MODEL,
  models: MODEL,
  providers_blocked: 'sandbox-b',
  input_modalities: 'text',
  output_modalities: 'text',
  supported_parameters: 'temperature',
  methods: 'POST',
  paths: '/v1/images',
  adapted_params: 'top_k',
  supported_features: 'tools',
}

/** The kind of the id of each named schema. Ids of calls have no prefix. */
const PREFIXES: Readonly<Record<string, string>> = {
  AllowanceDraw: 'drw_',
  AllowancePermit: 'prm_',
  AuditEntry: 'aud_',
  BookOffer: 'ofr_',
  BuyerKey: 'key_',
  BuyerKeyCreated: 'key_',
  BuyerKeyRotated: 'key_',
  ChatAnswer: 'chatcmpl-',
  CompletionAnswer: 'cmpl-',
  Delivery: 'whd_',
  Deposit: 'dep_',
  Email: 'eml_',
  Generation: '',
  HealthLine: 'hlt_',
  Invitation: 'inv_',
  InviteLink: 'ivl_',
  Job: 'job_',
  KeyOffer: 'ofr_',
  KeySession: 'ses_',
  Member: 'usr_',
  MessageAnswer: 'msg_',
  MusicJob: 'job_',
  MusicJobSubmitted: 'job_',
  Offer: 'ofr_',
  OfferFigures: 'ofr_',
  OpenAiVideo: 'job_',
  OpenAiVideoDeleted: 'job_',
  OpenAiVideoSubmitted: 'job_',
  Organization: 'org_',
  OrganizationKey: 'key_',
  OrganizationKeyCreated: 'key_',
  OwnProvider: 'prv_',
  OwnWorkspace: 'wsp_',
  Passkey: 'psk_',
  RecoveredSession: 'ses_',
  ResourceBookLine: 'ofr_',
  ResponseAnswer: 'resp_',
  Sale: '',
  SavedKey: 'key_',
  SavedView: 'viw_',
  SellerKey: 'key_',
  SellerKeyCreated: 'key_',
  Session: 'ses_',
  StatementLine: '',
  UsageItem: '',
  VideoJob: 'job_',
  VideoJobSubmitted: 'job_',
  Webhook: 'whk_',
  WebhookWithSecret: 'whk_',
  Workspace: 'wsp_',
}

/** Examples of numbers by the end of the member's name. */
const NUMBERS: readonly (readonly [end: RegExp, example: number])[] = [
  [/output.*_per_1m$/, 2_000_000],
  [/_per_1m$/, 250_000],
  [/_micro$/, 1_250],
  [/_usdc?$/, 1.25],
  [/_ms$/, 420],
  [/_pct$|^discount$/, 30],
  [/^context_length$/, 400_000],
  [/^created$/, AN_INSTANT / SECOND],
  [/cost/, 0.000_125],
  [/_tokens$/, 120],
  [/^(requests|calls|count|total_requests)/, 12],
]

const MICRO_DIGITS = String.raw`^-?\d+$`
const DECIMAL = String.raw`^-?\d+(\.\d+)?$`

/** An example of a text; undefined for a member without one. */
export function textExample(name: string, pattern: unknown, description: unknown): string | undefined {
  if (pattern === MICRO_DIGITS) return '1250000'
  if (pattern === DECIMAL) return '1.25'
  if (typeof description === 'string' && description.includes('YYYY-MM-DD')) return '2026-12-01'
  return BY_NAME[name]
}

/** An example of a number; undefined for a member without one. */
export function numberExample(name: string): number | undefined {
  return NUMBERS.find(([end]) => end.test(name))?.[1]
}

/** An example of a list of texts; undefined for a member without one. */
export function listExample(name: string): readonly string[] | undefined {
  const item = LISTS[name]
  return item === undefined ? undefined : [item]
}

/** Schemas of which the id is that of a model. */
const MODELS = new Set(['CatalogEntry', 'CompatModel', 'Endpoints', 'ImageEndpoints', 'ImageModel', 'VideoModel'])
const NAMES: Readonly<Record<string, string>> = { Provider: 'OpenAI', Organization: 'Acme', SavedView: 'Failed calls' }

/** The id and the name of a record of a named schema; undefined for schemas that are no records. */
export function recordExamples(schema: string): Partial<Readonly<Record<'id' | 'name', string>>> | undefined {
  if (MODELS.has(schema)) return { id: MODEL, name: 'OpenAI: GPT-5 Mini' }
  const prefix = PREFIXES[schema]
  const name = NAMES[schema]
  if (prefix === undefined && name === undefined) return undefined
  return {
    ...(prefix === undefined ? {} : { id: `${prefix}${ULID}` }),
    ...(name === undefined ? {} : { name }),
  }
}
