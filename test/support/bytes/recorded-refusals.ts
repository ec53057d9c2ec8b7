import { HOST_REFUSALS } from './host-refusals.ts'
import type { RecordedRefusal } from './recorded-refusal.ts'
import { NO_ACCESS, NO_ACCOUNT, NO_KEY, NO_QUOTA, NO_REGION, openAiRefusal as openai } from './recorded-refusal.ts'

const anthropic = (type: string, message: string) => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_011CSHoEeqs5C35K2UUqRy7',
})
const google = (code: number, status: string, message: string, ...details: readonly object[]) => ({
  error: { code, message, status, ...(details.length > 0 && { details }) },
})
const info = (reason: string) => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'googleapis.com',
})

/** Refusals by the makers of the two protocols, and by Google. */
const OF_MAKERS: readonly RecordedRefusal[] = [
  [
    'OpenAI, a wrong key',
    401,
    openai('Incorrect API key provided: sk-abc***xyz.', 'invalid_request_error', 'invalid_api_key'),
    NO_KEY,
    NO_KEY,
  ],
  [
    'OpenAI, no quota',
    429,
    openai(
      'You exceeded your current quota, please check your plan and billing details.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    NO_QUOTA,
    NO_QUOTA,
  ],
  [
    'OpenAI, billing',
    429,
    openai(
      'Your account is not active, please check your billing details.',
      'billing_not_active',
      'billing_not_active',
    ),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'OpenAI, hard limit',
    400,
    openai('Billing hard limit has been reached', 'invalid_request_error', 'billing_hard_limit_reached'),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'OpenAI, deactivated',
    401,
    openai(
      'The OpenAI account associated with this API key has been deactivated.',
      'invalid_request_error',
      'account_deactivated',
    ),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'OpenAI, a country',
    403,
    openai('Country, region, or territory not supported', 'request_forbidden', 'unsupported_country_region_territory'),
    NO_REGION,
    NO_REGION,
  ],
  [
    'OpenAI, another host',
    401,
    openai('Your authentication token is for another data residency.', 'invalid_request_error', 'incorrect_hostname'),
    NO_KEY,
    NO_KEY,
  ],
  [
    'OpenAI, unverified to stream',
    400,
    openai(
      'Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings',
      'invalid_request_error',
      'unsupported_value',
      'stream',
    ),
    NO_ACCESS,
    NO_ACCESS,
  ],
  [
    'OpenAI, a project without the model',
    403,
    openai('Project `proj_abc` does not have access to model `gpt-5`', 'invalid_request_error', 'model_not_found'),
    'not_found',
    'not_found',
  ],
  [
    'OpenAI, no such model',
    404,
    openai(
      'The model `gpt-9` does not exist or you do not have access to it.',
      'invalid_request_error',
      'model_not_found',
    ),
    'not_found',
    'not_found',
  ],
  [
    'OpenAI, a rate',
    429,
    openai(
      'Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000. Please try again in 8s.',
      'tokens',
      'rate_limit_exceeded',
    ),
    'rate_limited',
    'rate_limited',
  ],
  [
    'OpenAI, a day',
    429,
    openai(
      'Rate limit reached for gpt-4o in organization org-x on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.',
      'requests',
      'rate_limit_exceeded',
    ),
    NO_QUOTA,
    NO_QUOTA,
  ],
  [
    'OpenAI, too large',
    429,
    openai(
      'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 200000. The input or output tokens must be reduced in order to run successfully.',
      'tokens',
      'rate_limit_exceeded',
    ),
    'too_large',
    'too_large',
  ],
  [
    'OpenAI, context',
    400,
    openai(
      "This model's maximum context length is 128000 tokens.",
      'invalid_request_error',
      'context_length_exceeded',
      'messages',
    ),
    'context_length',
    'context_length',
  ],
  [
    'OpenAI, a value',
    400,
    openai("Invalid value: 'x'.", 'invalid_request_error', 'invalid_value', 'temperature'),
    'bad_request',
    'bad_request',
  ],
  [
    'OpenAI, tools with thoughts',
    400,
    openai(
      'Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.',
      'invalid_request_error',
      null,
      'reasoning_effort',
    ),
    'wrong_protocol',
    'wrong_protocol',
  ],
  [
    'OpenAI, tools with thoughts, another wording',
    400,
    openai(
      "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
      'invalid_request_error',
      null,
      'reasoning_effort',
    ),
    'wrong_protocol',
    'wrong_protocol',
  ],
  [
    'OpenAI, moderation',
    400,
    openai('Your request was rejected by the safety system.', 'image_generation_user_error', 'moderation_blocked'),
    'bad_request',
  ],
  ['OpenAI, a failure', 500, openai('The server had an error.', 'server_error', null), 'server_error', 'server_error'],
  ['OpenAI, slow down', 503, openai('Slow down', 'server_error', 'slow_down'), 'overloaded', 'overloaded'],
  [
    'OpenAI, an earlier answer',
    404,
    openai("Previous response with id 'resp_1' not found.", 'invalid_request_error', 'previous_response_not_found'),
    'bad_request',
    'bad_request',
  ],

  [
    'Anthropic, no credit',
    400,
    anthropic(
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  ['Anthropic, a wrong key', 401, anthropic('authentication_error', 'invalid x-api-key'), NO_KEY, NO_KEY],
  [
    'Anthropic, an organisation',
    400,
    anthropic('invalid_request_error', 'This organization has been disabled.'),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  ['Anthropic, billing', 402, anthropic('billing_error', 'Your payment failed.'), NO_ACCOUNT, NO_ACCOUNT],
  [
    'Anthropic, a limit of one’s own',
    400,
    anthropic(
      'invalid_request_error',
      'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    ),
    NO_QUOTA,
    NO_QUOTA,
  ],
  [
    'Anthropic, another client’s key',
    400,
    anthropic(
      'invalid_request_error',
      'This credential is only authorized for use with Claude Code and cannot be used for other API requests.',
    ),
    NO_KEY,
    NO_KEY,
  ],
  ['Anthropic, no such model', 404, anthropic('not_found_error', 'model: claude-9'), 'not_found', 'not_found'],
  [
    'Anthropic, a rate',
    429,
    anthropic(
      'rate_limit_error',
      'This request would exceed your organization’s rate limit of 400,000 input tokens per minute.',
    ),
    'rate_limited',
    'rate_limited',
  ],
  [
    'Anthropic, long context',
    429,
    anthropic('rate_limit_error', 'Extra usage is required for long context requests.'),
    'too_large',
    'too_large',
  ],
  ['Anthropic, overload', 529, anthropic('overloaded_error', 'Overloaded'), 'overloaded', 'overloaded'],
  ['Anthropic, time', 504, anthropic('timeout_error', 'Request timed out'), 'timeout', 'timeout'],
  [
    'Anthropic, context',
    400,
    anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    'context_length',
    'context_length',
  ],
  [
    'Anthropic, content',
    400,
    anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
    'bad_request',
    'bad_request',
  ],
  [
    'Anthropic, a body',
    413,
    anthropic('request_too_large', 'Request exceeds the maximum size'),
    'bad_request',
    'bad_request',
  ],

  [
    'Google, a wrong key in an array',
    400,
    [google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', info('API_KEY_INVALID'))],
    NO_KEY,
    NO_KEY,
  ],
  [
    'Google, an expired key',
    400,
    google(400, 'INVALID_ARGUMENT', 'API key expired. Please renew the API key.'),
    NO_KEY,
    NO_KEY,
  ],
  [
    'Google, a leaked key',
    403,
    google(403, 'PERMISSION_DENIED', 'Your API key was reported as leaked. Please use another API key.'),
    NO_KEY,
    NO_KEY,
  ],
  [
    'Google, a place',
    400,
    [google(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.')],
    NO_REGION,
    NO_REGION,
  ],
  [
    'Google, billing',
    403,
    google(403, 'PERMISSION_DENIED', 'This API method requires billing to be enabled.', info('BILLING_DISABLED')),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'Google, an API that is off',
    403,
    google(
      403,
      'PERMISSION_DENIED',
      'Generative Language API has not been used in project 1 before.',
      info('SERVICE_DISABLED'),
    ),
    NO_ACCESS,
    NO_ACCESS,
  ],
  [
    'Google, a day',
    429,
    google(429, 'RESOURCE_EXHAUSTED', 'You exceeded the quota of the metric.', {
      '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
      violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier', quotaValue: '50' }],
    }),
    NO_QUOTA,
    NO_QUOTA,
  ],
  [
    'Google, a minute',
    429,
    google(
      429,
      'RESOURCE_EXHAUSTED',
      'Resource has been exhausted.',
      { violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel', quotaValue: '15' }] },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' },
    ),
    'rate_limited',
    'rate_limited',
  ],
  ['Google, overload', 503, google(503, 'UNAVAILABLE', 'The model is overloaded.'), 'overloaded', 'overloaded'],
  ['Google, time', 504, google(504, 'DEADLINE_EXCEEDED', 'Deadline expired.'), 'timeout', 'timeout'],
  [
    'Google, an argument',
    400,
    [
      google(
        400,
        'INVALID_ARGUMENT',
        'Function call is missing a thought_signature in functionCall parts, position 2.',
      ),
    ],
    'bad_request',
    'bad_request',
  ],
]

export const RECORDED_REFUSALS: readonly RecordedRefusal[] = [...OF_MAKERS, ...HOST_REFUSALS]
