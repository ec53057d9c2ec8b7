import { GATEWAY_REFUSALS } from './gateway-refusals.ts'
import type { RecordedRefusal } from './recorded-refusal.ts'
import { NO_ACCOUNT, NO_KEY, NO_QUOTA, openAiRefusal as openai } from './recorded-refusal.ts'

/** Refusals by other makers on their own hosts. */
const OF_MAKERS: readonly RecordedRefusal[] = [
  [
    'xAI, a wrong key',
    400,
    {
      code: 'Client specified an invalid argument',
      error: 'Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai.',
    },
    NO_KEY,
    NO_KEY,
  ],
  [
    'xAI, no credit',
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error: "Your newly created teams doesn't have any credits yet.",
    },
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'xAI, a spending limit',
    429,
    {
      code: 'Some resource has been exhausted',
      error: 'Your team 1-2 has either used all available credits or reached its monthly spending limit.',
    },
    NO_QUOTA,
    NO_QUOTA,
  ],
  [
    'xAI, content',
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO',
    },
    'bad_request',
  ],
  [
    'DeepSeek, no credit',
    402,
    openai('Insufficient Balance', 'unknown_error', 'invalid_request_error'),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'DeepSeek, no such model',
    400,
    openai('Model Not Exist', 'invalid_request_error', 'invalid_request_error'),
    'not_found',
    'not_found',
  ],
  [
    'DeepSeek, a wrong key',
    401,
    openai('Authentication Fails, Your api key: ****abcd is invalid', 'authentication_error', 'invalid_request_error'),
    NO_KEY,
    NO_KEY,
  ],
  [
    'Moonshot, suspended',
    429,
    {
      error: {
        message: 'Your account org-1 is suspended, please check your plan.',
        type: 'exceeded_current_quota_error',
      },
    },
    NO_QUOTA,
    NO_QUOTA,
  ],
  [
    'Moonshot, overload',
    429,
    {
      error: { message: 'The engine is currently overloaded, please try again later', type: 'engine_overloaded_error' },
    },
    'overloaded',
    'overloaded',
  ],
  [
    'Moonshot, content',
    400,
    { error: { message: 'The request was rejected because it was considered high risk', type: 'content_filter' } },
    'bad_request',
  ],
  [
    'Z.AI, no credit',
    429,
    { error: { code: '1113', message: 'Insufficient balance or no resource package.' } },
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'Z.AI, a rate',
    429,
    { error: { code: '1302', message: 'High concurrency usage of this API' } },
    'rate_limited',
    'rate_limited',
  ],
  [
    'MiniMax, no credit',
    200,
    { id: '1', choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'MiniMax, a rate',
    200,
    { choices: null, base_resp: { status_code: 1002, status_msg: 'rate limit' } },
    'rate_limited',
    'rate_limited',
  ],
  [
    'Alibaba, arrears',
    400,
    openai('Access denied, please make sure your account is in good standing.', 'Arrearage', 'Arrearage'),
    NO_ACCOUNT,
    NO_ACCOUNT,
  ],
  [
    'Alibaba, the free tier',
    403,
    { code: 'AllocationQuota.FreeTierOnly', message: 'The free tier of the model has been exhausted.' },
    NO_QUOTA,
    NO_QUOTA,
  ],
  [
    'Alibaba, content',
    400,
    openai('Input data may contain inappropriate content.', null, 'data_inspection_failed'),
    'bad_request',
  ],
]

/** Refusals by every host except OpenAI's, Anthropic's and Google's. */
export const HOST_REFUSALS: readonly RecordedRefusal[] = [...OF_MAKERS, ...GATEWAY_REFUSALS]
