import type { ErrorBody } from './error-body.ts'

/**
 * The cause of a provider's refusal. The first five are the seller's: the key, the account behind it (credit, billing,
 * a suspended organisation), its plan or quota, its region, and its access to the model. `size` is a request above this
 * account's limit for one request, `protocol` one that the provider serves only in another protocol of the same model;
 * `request`, `context` and `policy` concern the request alone. The others are the provider's.
 */
export type RefusalCause =
  | 'key'
  | 'account'
  | 'quota'
  | 'region'
  | 'access'
  | 'model'
  | 'size'
  | 'protocol'
  | 'context'
  | 'policy'
  | 'request'
  | 'rate'
  | 'overload'
  | 'timeout'
  | 'server'
  | 'unclear'

/**
 * A row of the table. It applies to a refusal with one of the codes, or whose text begins with the phrase. Phrases of
 * the seller's causes must begin the message, because a provider may repeat any text of a request after them.
 */
type Row = {
  readonly cause: RefusalCause
  /** The provider of the refusal, for readers of the table. */
  readonly of: string
  readonly codes?: readonly string[]
  readonly words?: RegExp
  /** The statuses of the row. Absent for all. */
  readonly statuses?: readonly number[]
}

/** Refusals of a request for its size, in wordings of no other refusal. They precede every other row. */
const SIZES: readonly Row[] = [
  { cause: 'size', of: 'OpenAI, Groq', words: /^request too large for /i, statuses: [413, 429] },
  { cause: 'size', of: 'Anthropic', words: /^extra usage is required for long context/i },
  { cause: 'size', of: 'Anthropic', words: /^the long context beta is not yet available/i },
  { cause: 'size', of: 'OpenRouter', words: /^this request requires more credits, or fewer max_tokens/i },
]

/** The seller's causes, by code. */
const SELLER_CODES: readonly Row[] = [
  { cause: 'key', of: 'OpenAI', codes: ['invalid_api_key', 'incorrect_hostname', 'invalid_organization'] },
  { cause: 'key', of: 'OpenAI', codes: ['mismatched_organization', 'mismatched_project', 'invalid_project'] },
  { cause: 'key', of: 'Anthropic', codes: ['authentication_error'] },
  { cause: 'key', of: 'Google', codes: ['api_key_invalid', 'access_token_expired', 'credentials_missing'] },
  { cause: 'key', of: 'Google', codes: ['api_key_service_blocked', 'api_key_ip_address_blocked'] },
  { cause: 'key', of: 'Google', codes: ['api_key_http_referrer_blocked', 'account_state_invalid'] },
  { cause: 'key', of: 'Google', codes: ['access_token_type_unsupported', 'unauthenticated'] },
  { cause: 'key', of: 'Bedrock', codes: ['unrecognizedclientexception', 'expiredtokenexception'] },
  { cause: 'key', of: 'Bedrock', codes: ['invalidsignatureexception', 'missingauthenticationtokenexception'] },
  { cause: 'key', of: 'Moonshot', codes: ['invalid_authentication_error', 'incorrect_api_key_error'] },
  { cause: 'key', of: 'Alibaba', codes: ['invalidapikey', 'invalid_api-key'] },
  { cause: 'key', of: 'Cerebras', codes: ['wrong_api_key'] },
  { cause: 'key', of: 'Z.AI', codes: ['1000', '1001', '1002', '1003', '1004'] },
  { cause: 'key', of: 'MiniMax', codes: ['minimax:1004', 'minimax:2049'] },

  { cause: 'account', of: 'OpenAI', codes: ['billing_not_active', 'billing_hard_limit_reached'] },
  { cause: 'account', of: 'OpenAI', codes: ['account_deactivated', 'access_terminated', 'account_suspended'] },
  { cause: 'account', of: 'Anthropic', codes: ['billing_error'] },
  { cause: 'account', of: 'Google', codes: ['billing_disabled', 'consumer_suspended', 'consumer_invalid'] },
  { cause: 'account', of: 'Google', codes: ['billing_status_insufficient', 'user_project_denied'] },
  { cause: 'account', of: 'Groq', codes: ['organization_restricted', 'project_restricted'] },
  { cause: 'account', of: 'Moonshot', codes: ['access_terminated_error'] },
  { cause: 'account', of: 'Alibaba', codes: ['arrearage'] },
  { cause: 'account', of: 'Novita', codes: ['not_enough_balance', 'insufficient_balance'] },
  { cause: 'account', of: 'Together', codes: ['credit_limit', 'credit_limit_exceeded', 'insufficient_credits'] },
  { cause: 'account', of: 'Cerebras', codes: ['payment_required_error', 'payment_required'] },
  { cause: 'account', of: 'Z.AI', codes: ['1110', '1111', '1112', '1113'] },
  { cause: 'account', of: 'MiniMax', codes: ['minimax:1008'] },

  { cause: 'quota', of: 'OpenAI', codes: ['insufficient_quota', 'quota_exceeded'] },
  { cause: 'quota', of: 'Google', codes: ['google:per_day', 'resource_quota_exceeded'] },
  { cause: 'quota', of: 'Bedrock', codes: ['servicequotaexceededexception'] },
  { cause: 'quota', of: 'Moonshot', codes: ['exceeded_current_quota_error'] },
  { cause: 'quota', of: 'Groq', codes: ['blocked_api_access', 'spend_limit_reached'] },
  { cause: 'quota', of: 'Alibaba', codes: ['allocationquota.freetieronly', 'freetieronly'] },
  { cause: 'quota', of: 'One API', codes: ['insufficient_user_quota', 'pre_consume_token_quota_failed'] },
  { cause: 'quota', of: 'Z.AI', codes: ['1304', '1308', '1309', '1310'] },
  { cause: 'quota', of: 'MiniMax', codes: ['minimax:2056'] },

  { cause: 'region', of: 'OpenAI', codes: ['unsupported_country_region_territory'] },
  { cause: 'region', of: 'Google', codes: ['location_policy_violated'] },

  { cause: 'access', of: 'Google', codes: ['service_disabled', 'iam_permission_denied'] },
  { cause: 'access', of: 'Groq', codes: ['model_terms_required', 'permissions_error'] },
  { cause: 'access', of: 'Groq', codes: ['model_permission_blocked_org', 'model_permission_blocked_project'] },
  { cause: 'access', of: 'Bedrock', codes: ['accessdeniedexception'] },
  { cause: 'access', of: 'Azure', codes: ['authenticationtypedisabled'] },
  { cause: 'access', of: 'Alibaba', codes: ['accessdenied.unpurchased', 'model.accessdenied', 'model_access_denied'] },
  { cause: 'access', of: 'Z.AI', codes: ['1220'] },

  { cause: 'model', of: 'OpenAI', codes: ['model_not_found', 'model_not_available', 'invalid_model'] },
  { cause: 'model', of: 'Groq', codes: ['model_decommissioned', 'model_deprecated', 'model_not_active'] },
  { cause: 'model', of: 'Azure', codes: ['deploymentnotfound', 'operationnotsupported', 'unknown_model'] },
  { cause: 'model', of: 'Moonshot', codes: ['resource_not_found_error'] },
  { cause: 'model', of: 'Z.AI', codes: ['1211'] },
]

/** The beginning of a refusal of tools together with reasoning on chats, by models that do both on responses. */
export const TOOLS_WITHOUT_THOUGHTS = /^function tools with reasoning_effort are not supported for /i

/** The seller's causes, by the beginning of a provider's text. */
const SELLER_WORDS: readonly Row[] = [
  { cause: 'account', of: 'Anthropic', words: /^your credit balance is too low to access/i },
  {
    cause: 'account',
    of: 'Anthropic',
    words: /^(?:this|your) organization has been (?:disabled|suspended|restricted)/i,
  },
  { cause: 'quota', of: 'Anthropic', words: /^you have reached your specified (?:api|workspace) usage limits/i },
  { cause: 'key', of: 'Anthropic', words: /^this credential is only authorized for use with /i },
  { cause: 'key', of: 'Anthropic', words: /^(?:invalid x-api-key|oauth token has (?:expired|been revoked))/i },
  { cause: 'key', of: 'Google', words: /^api key (?:not valid|expired|not found)\. please/i },
  { cause: 'key', of: 'Google', words: /^your api key was reported as leaked/i },
  { cause: 'account', of: 'Google', words: /^permission denied: consumer .{1,80} has been suspended/i },
  { cause: 'account', of: 'Google', words: /^this api method requires billing to be enabled/i },
  { cause: 'region', of: 'Google', words: /^user location is not supported for the api use/i },
  { cause: 'region', of: 'Google', words: /^gemini api free tier is not available in your country/i },
  { cause: 'region', of: 'OpenAI', words: /^country, region, or territory not supported/i },
  { cause: 'access', of: 'OpenAI', words: /^your organization must be verified to (?:use|stream) /i },
  { cause: 'access', of: 'OpenAI', words: /^project `?proj_\w+`? does not have access to model/i },
  {
    cause: 'account',
    of: 'OpenAI',
    words: /^your (?:account|access) (?:is not active|was terminated|has been (?:deactivated|suspended))/i,
  },
  { cause: 'quota', of: 'OpenAI', words: /^you exceeded your current quota/i },
  { cause: 'key', of: 'xAI, OpenAI', words: /^incorrect api key provided/i },
  { cause: 'account', of: 'xAI', words: /^your newly created teams? doesn'?t have any credits/i },
  {
    cause: 'quota',
    of: 'xAI',
    words: /^your team .{0,120}(?:used all available credits|reached its monthly spending limit)/i,
  },
  { cause: 'account', of: 'DeepSeek', words: /^insufficient balance\b/i },
  { cause: 'key', of: 'DeepSeek', words: /^authentication fails\b/i },
  { cause: 'model', of: 'DeepSeek', words: /^model not exist\b/i },
  { cause: 'account', of: 'OpenRouter', words: /^insufficient credits\b/i },
  { cause: 'quota', of: 'OpenRouter', words: /^(?:key limit exceeded|rate limit exceeded: free-models-per-day)/i },
  { cause: 'access', of: 'OpenRouter', words: /^no endpoints found matching your data policy/i },
  { cause: 'account', of: 'Fireworks', words: /^account \S{1,80} is suspended/i },
  { cause: 'account', of: 'fal', words: /^user is locked\. reason: exhausted balance/i },
  { cause: 'quota', of: 'Cohere', words: /^you are using a trial key, which is limited to/i },
  { cause: 'key', of: 'Cohere', words: /^invalid api token\b/i },
  { cause: 'quota', of: 'Mistral', words: /^inactive subscription or usage limit reached/i },
  { cause: 'quota', of: 'Azure', words: /^out of call volume quota\b/i },
  { cause: 'key', of: 'Azure', words: /^access denied due to invalid subscription key/i },
  { cause: 'access', of: 'Azure', words: /^access denied due to virtual network\/firewall rules/i },
  { cause: 'access', of: 'Azure', words: /^public access is disabled\b/i },
  { cause: 'access', of: 'Azure', words: /^the principal .{0,120} lacks the required data action/i },
  { cause: 'protocol', of: 'OpenAI, Azure', words: TOOLS_WITHOUT_THOUGHTS, statuses: [400] },
  { cause: 'model', of: 'Azure', words: /^api version not supported\b/i },
  { cause: 'model', of: 'Bedrock', words: /^the provided model identifier is invalid/i },
  { cause: 'model', of: 'Bedrock', words: /^invocation of model id .{1,240} with on-demand throughput/i },
  { cause: 'model', of: 'Bedrock', words: /^this model version has reached the end of its life/i },
  {
    cause: 'access',
    of: 'Bedrock',
    words: /^(?:you don't have access to the model|model use case details have not been submitted)/i,
  },
  { cause: 'account', of: 'Bedrock', words: /^operation not allowed$/i },
  { cause: 'quota', of: 'Bedrock', words: /^too many tokens per day\b/i },
  { cause: 'account', of: 'DeepInfra', words: /^inference prohibited, please enter a payment method/i },
  {
    cause: 'account',
    of: 'Chutes, Hyperbolic',
    words: /^(?:quota exceeded and account balance is|insufficient funds\b)/i,
  },
  { cause: 'account', of: 'Venice', words: /^insufficient usd or diem balance/i },
  { cause: 'model', of: 'Z.AI, vLLM', words: /^(?:unknown model\b|invalid model id$)/i },
]

/** Limits of a day or longer. A moment's wait does not help, so they are no mere rate. */
const PER_DAY = /\b(?:requests|tokens) per day\b|\((?:RPD|TPD)\)|\bdaily (?:token |request )?(?:limit|quota)\b/i

/** Causes in the request, by code. They do not count against the offer's health. */
const REQUEST_CODES: readonly Row[] = [
  { cause: 'policy', of: 'OpenAI', codes: ['moderation_blocked', 'content_policy_violation', 'invalid_prompt'] },
  {
    cause: 'policy',
    of: 'Azure, Moonshot',
    codes: ['content_filter', 'contentfilter', 'responsibleaipolicyviolation'],
  },
  { cause: 'policy', of: 'OpenRouter, fal', codes: ['content_moderation', 'flagged_input', 'moderation_error'] },
  { cause: 'policy', of: 'Alibaba', codes: ['data_inspection_failed', 'datainspectionfailed'] },
  { cause: 'policy', of: 'Z.AI, MiniMax', codes: ['1301', 'minimax:1026', 'minimax:1027'] },
  { cause: 'context', of: 'OpenAI', codes: ['context_length_exceeded', 'string_above_max_length'] },
  { cause: 'context', of: 'Z.AI', codes: ['1261'] },
  { cause: 'request', of: 'Anthropic', codes: ['request_too_large'] },
  { cause: 'request', of: 'OpenAI', codes: ['previous_response_not_found', 'file_not_found', 'invalid_image_url'] },
  { cause: 'request', of: 'MiniMax', codes: ['minimax:2013'] },
]

const SELLER_STATUSES: ReadonlySet<number> = new Set([401, 402, 407, 408, 429, 503, 529])
const CONTEXT_WORDS =
  /context[_ ](?:length|window)|maximum context|too many (?:input )?tokens|prompt is too long|input is too long/i
/** Wordings of refusals by content. Such a cause backs off no offer, so the wordings may be anywhere in the text. */
const POLICY_WORDS =
  /requires moderation|flagged (?:for|by)|^content violates usage guidelines|^output blocked by content filtering|safety[ _](?:check|system|policy|filter)/i
/**
 * Wordings about something that the request names and the provider does not have. A 404 with them does not concern a
 * model.
 */
const MISSING_WORDS =
  /^(?:no such file object|file not found|item with id|previous response with id|items are not persisted|no endpoints found that (?:support|can handle))/i

/** Statuses of codes, for an error in an answer of status 200 that matches no row. */
const CODE_STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  badrequesterror: 400,
  bad_request: 400,
  invalid_argument: 400,
  failed_precondition: 400,
  validationexception: 400,
  'minimax:1039': 429,
  permission_error: 403,
  permission_denied: 403,
  forbidden: 403,
  not_found_error: 404,
  not_found: 404,
  notfounderror: 404,
  request_timeout: 408,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  rate_limit_reached_error: 429,
  rate_limited: 429,
  resource_exhausted: 429,
  throttlingexception: 429,
  too_many_requests: 429,
  'minimax:1002': 429,
  '1302': 429,
  '1303': 429,
  modelnotreadyexception: 503,
  overloaded_error: 529,
  engine_overloaded: 529,
  engine_overloaded_error: 529,
  queue_exceeded: 503,
  slow_down: 503,
  service_tier_capacity_exceeded: 503,
  capacity_exceeded: 503,
  unavailable: 503,
  '1305': 503,
  api_error: 500,
  server_error: 500,
  internal: 500,
  internal_error: 500,
  modelerrorexception: 424,
  internalserverexception: 500,
  serviceunavailableexception: 503,
  modelstreamerrorexception: 500,
  timeout_error: 504,
  deadline_exceeded: 504,
  modeltimeoutexception: 408,
}
/** Codes of an overload, under any status. */
const OVERLOADS: ReadonlySet<string> = new Set([
  'overloaded_error',
  'engine_overloaded',
  'engine_overloaded_error',
  'queue_exceeded',
  'slow_down',
  'service_tier_capacity_exceeded',
  'capacity_exceeded',
  'modelnotreadyexception',
  '1305',
])

/** A refusal for the classifier. `status` is 200 for an error in a successful answer. */
export type SaidRefusal = {
  readonly status: number
  readonly body: ErrorBody
  /** The sent request, whose texts a provider may repeat. */
  requestText(): string
}

/** Finds the cause of a refusal: first by the provider's codes, then by its phrases, last by its status. */
export function causeOf(refusal: SaidRefusal): RefusalCause {
  const { body } = refusal
  const status = statusOf(refusal.status, body)
  const size = sizeCause(refusal, status)
  if (size !== undefined) return size
  const policy = body.codes.includes('content_filter') ? 'policy' : undefined
  const seller = policy ?? isRow(SELLER_CODES, status, body) ?? wordsCause(refusal, status)
  if (seller !== undefined) return seller
  if (status === 429 && PER_DAY.test(body.message)) return 'quota'
  const own = isRow(REQUEST_CODES, status, body)
  if (own !== undefined) return own
  if (!SELLER_STATUSES.has(status) && CONTEXT_WORDS.test(body.message) && status !== 403) return 'context'
  if ((status === 400 || status === 403) && POLICY_WORDS.test(body.message)) return 'policy'
  return body.codes.some((code) => OVERLOADS.has(code)) ? 'overload' : causeOfStatus(status, body)
}

/** The status of a refusal: its own, the one in its body, or that of its codes. */
export function statusOf(status: number, { status: bodyStatus, codes }: ErrorBody): number {
  if (status < 200 || status >= 300) return status
  const knownCode = codes.find((code) => Object.hasOwn(CODE_STATUS, code))
  return bodyStatus ?? (knownCode === undefined ? undefined : CODE_STATUS[knownCode]) ?? status
}

function isRow(rows: readonly Row[], status: number, { codes, message }: ErrorBody): RefusalCause | undefined {
  return rows.find(
    (row) =>
      (row.statuses === undefined || row.statuses.includes(status)) &&
      (row.codes?.some((code) => codes.includes(code)) === true || row.words?.test(message) === true),
  )?.cause
}

/** The row of a phrase, unless the request contains the phrase: its buyer may have wanted it to be repeated. */
function wordsCause({ body, requestText }: SaidRefusal, status: number): RefusalCause | undefined {
  const row = believedRow(SELLER_WORDS, body, requestText)
  return row && isRow([row], status, body)
}

/** The cause of a refusal of a request above the account's limit for one request. */
function sizeCause(refusal: SaidRefusal, status: number): RefusalCause | undefined {
  if (isAboveLimit(refusal, status)) return 'size'
  const row = believedRow(SIZES, refusal.body, refusal.requestText)
  return row && isRow([row], status, refusal.body) && sizeOf(refusal.body.message)
}

/** The row whose phrase begins the message and is not in the request. */
function believedRow(rows: readonly Row[], { message }: ErrorBody, requestText: () => string): Row | undefined {
  const row = rows.find(({ words }) => words?.test(message))
  const phrase = row?.words?.exec(message)?.[0]
  return phrase === undefined || isRepeated(phrase, requestText()) ? undefined : row
}

function isRepeated(phrase: string, requestText: string): boolean {
  const plain = requestText.replace(/\\u([0-9a-f]{4})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return plain.toLowerCase().includes(phrase.toLowerCase())
}

/** Characters of a request for a token, on average. */
const CHARS_A_TOKEN = 4

/** True when a limit of tokens is below this single request, so that no wait would help. */
function isAboveLimit({ body: { message, tokenLimit }, requestText }: SaidRefusal, status: number): boolean {
  if (status !== 429 && status !== 413) return false
  if (tokenLimit !== undefined && requestText().length / CHARS_A_TOKEN > tokenLimit) return true
  const [, limit, requestedTokens] =
    /\blimit:? ([\d,]{1,15})\b.{0,80}?\brequested:? ([\d,]{1,15})\b/i.exec(message) ?? []
  return limit !== undefined && requestedTokens !== undefined && figure(requestedTokens) > figure(limit)
}

function figure(digits: string): number {
  return Number(digits.replaceAll(',', ''))
}

/** Below this many tokens an account is empty, and not merely too small for one request. */
const NEARLY_EMPTY = 256

function sizeOf(message: string): RefusalCause {
  const affords = /^this request requires more credits.{0,80}? can only afford (\d{1,9})\b/i.exec(message)?.[1]
  return affords !== undefined && Number(affords) < NEARLY_EMPTY ? 'account' : 'size'
}

function causeOfStatus(status: number, body: ErrorBody): RefusalCause {
  switch (status) {
    case 401:
      return 'key'
    case 402:
      return 'account'
    case 403:
      // A web page comes from a firewall, which may have objected to the content of the request.
      return body.isJson ? 'key' : 'unclear'
    case 404:
      return MISSING_WORDS.test(body.message) ? 'request' : 'model'
    case 405:
    case 410:
      return 'model'
    case 407:
      return 'unclear'
    case 408:
    case 504:
    case 524:
      return 'timeout'
    case 429:
      return 'rate'
    case 424:
      return 'server'
    case 425:
    case 498:
    case 503:
    case 529:
      return 'overload'
    default:
      return status >= 500 ? 'server' : status >= 400 ? 'request' : 'unclear'
  }
}

/** The instructions for a seller, by the causes that only the seller can mend. */
export const SELLER_ADVICE: { readonly [Cause in RefusalCause]?: string } = {
  key: 'The provider refuses the key. Rotate the key of this offer.',
  account: 'The provider account has no credit or is suspended. Add credit or settle it at the provider.',
  quota: 'The quota of the provider account is used up. Raise the limit at the provider, or wait for its reset.',
  region: 'The provider does not serve this region. Use an account or a host that serves it.',
  access: 'The provider account has no access to the model. Ask the provider for access, or delete the offer.',
  model: 'The provider has no such model at this address. Check the model name of the offer.',
  protocol:
    'The provider supports tools with reasoning only through responses. List the model as responses to serve such calls.',
  size: 'A request was above a limit of the provider account. Raise that limit to serve large requests.',
}
