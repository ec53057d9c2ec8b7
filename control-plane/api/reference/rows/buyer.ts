import type { Descriptions } from './described.ts'

const tag = 'Account'
const hooks = 'Webhooks'
const HOOK = '/v1/buyer/webhooks/:id'

const retired = { tag, summary: 'Retired', description: 'Answers 410 with the way to go.', refusals: [410] }

const ACCOUNT: Descriptions = {
  'GET /v1/buyer/me': {
    tag,
    summary: 'Read balance, totals and recent calls',
    description: 'The state of the account in one answer.',
    example: {},
  },
  'GET /v1/payments/balance': {
    tag,
    summary: 'Read the balance',
    description: 'What the account can spend.',
    example: {},
  },
  'POST /v1/payments/deposits': {
    tag,
    summary: 'Ask how to deposit USDC',
    description:
      'Answers the address that transfers go to, and which wallet’s transfers are credited. With amount_usd it also opens a deposit by signature: the sender signs typed_data (EIP-3009) and needs no ETH.',
    example: {},
    refusals: [403, 409],
  },
  'GET /v1/payments/deposits': {
    tag,
    summary: 'List deposits, newest first',
    description: 'Transfers that fill the balance, with their states.',
    example: { max_items: 10 },
  },
  'POST /v1/payments/deposits/:id/signature': {
    tag,
    summary: 'Hand in the signature of a deposit',
    description: 'The treasury brings it to the chain. It is credited after its last confirmation.',
    example: { signature: `0x${'1'.repeat(130)}` },
    refusals: [402, 403, 409],
  },
  'GET /v1/buyer/allowance': {
    tag,
    summary: 'Read how the account pays from its wallet',
    description: 'The allowance that the wallet gave, and what was drawn from it.',
    example: {},
    refusals: [409],
  },
  'POST /v1/buyer/allowance': {
    tag,
    summary: 'Let the account pay from its wallet',
    description:
      'The wallet allows `spender` to take USDC. With amount_usd the answer has a permit (EIP-2612) for it to sign, for which it needs no ETH; it may also call `approve` itself.',
    example: {},
    refusals: [403, 409],
  },
  'POST /v1/buyer/allowance/signature': {
    tag,
    summary: 'Hand in the signature of a permit',
    description: 'The treasury brings it to the chain.',
    example: { value: '20000000', deadline: 1_767_225_600, signature: `0x${'1'.repeat(130)}` },
    refusals: [402, 403, 404, 409],
  },
  'DELETE /v1/buyer/allowance': {
    tag,
    summary: 'End payment from the wallet',
    description: 'Where the wallet still allows something, the answer has a permit of nothing for it to sign.',
    example: {},
    refusals: [403, 404, 409],
  },
  'GET /v1/buyer/preferences': {
    tag,
    summary: 'Read what every call goes by',
    description: 'The preferences of the account. A call can be stricter.',
    example: {},
  },
  'PUT /v1/buyer/preferences': {
    tag,
    summary: 'Say what every call goes by',
    description: 'Replaces all three; what is left out is as on a new account.',
    example: { allow_untrusted: false, providers_blocked: [], min_discount_pct: 5 },
    refusals: [403],
  },
  'POST /v1/buyer/providers': {
    tag,
    summary: 'Add a provider key of your own',
    description:
      'Tried before the marketplace for its model, or after it where the model is null. Such calls cost 0 here.',
    example: {
      model: 'gpt-5-mini',
      base_url: 'https://api.example.com/v1',
      api_key: 'sk-example-provider-key',
      priority: 1,
    },
    refusals: [403, 502],
  },
  'GET /v1/buyer/providers': {
    tag,
    summary: 'List own provider keys',
    description: 'The providers that the account reaches with keys of its own, without the secrets.',
    example: {},
  },
  'DELETE /v1/buyer/providers': {
    tag,
    summary: 'Remove the own provider key that the body names',
    description: 'Calls no longer use the key.',
    example: { id: 'own_01K00000000000000000000000' },
    refusals: [403],
  },
  'DELETE /v1/buyer/providers/:id': {
    tag,
    summary: 'Remove an own provider key',
    description: 'Calls no longer use the key.',
    example: {},
    refusals: [403],
  },
  'GET /v1/buyer/fallback-key': retired,
  'POST /v1/buyer/fallback-key': retired,
  'PUT /v1/buyer/fallback-key': retired,
  'DELETE /v1/buyer/fallback-key': retired,
  'GET /v1/requests': {
    tag: 'Calls',
    summary: 'List calls, newest first',
    description: 'Calls of the account with their states and costs.',
    example: { limit: 5 },
  },
  'GET /v1/requests/:id': {
    tag: 'Calls',
    summary: 'Look a call up',
    description:
      'What it cost, who served it, why it went there, and where its money stands. Id: the x-request-id header. Without a key the id of a call that a wallet paid is answered, with its money alone.',
    example: {},
  },
}

const WEBHOOKS: Descriptions = {
  'POST /v1/buyer/webhooks': {
    tag: hooks,
    summary: 'Make a webhook',
    description:
      'The first answer alone has the signing secret. Without `events`, the webhook gets every kind of event.',
    example: { url: 'https://hooks.example.com/market', events: ['balance.low'], low_balance_usd: 1 },
    refusals: [403],
  },
  'GET /v1/buyer/webhooks': {
    tag: hooks,
    summary: 'List webhooks',
    description: 'The webhooks of the account, without their secrets.',
    example: {},
  },
  [`GET ${HOOK}`]: {
    tag: hooks,
    summary: 'Read a webhook',
    description: 'One webhook of the account, without its secret.',
    example: {},
  },
  [`PATCH ${HOOK}`]: {
    tag: hooks,
    summary: 'Change a webhook',
    description: 'What is left out stays; null takes away.',
    example: { low_balance_usd: 2 },
    refusals: [403],
  },
  [`DELETE ${HOOK}`]: {
    tag: hooks,
    summary: 'Remove a webhook',
    description: 'No more events are sent to its address.',
    example: {},
    refusals: [403],
  },
  [`POST ${HOOK}/rotate-secret`]: {
    tag: hooks,
    summary: 'Give a webhook a new secret',
    description: 'Both secrets sign until the window is over.',
    example: {},
    refusals: [403],
  },
  [`POST ${HOOK}/test`]: {
    tag: hooks,
    summary: 'Send a test event',
    description: 'Sends one event to the webhook’s address.',
    example: {},
    refusals: [403],
  },
  [`GET ${HOOK}/deliveries`]: {
    tag: hooks,
    summary: 'List what was sent',
    description: 'Deliveries to the webhook and what its address answered.',
    example: { max_items: 10 },
  },
}

export const BUYER_DESCRIPTIONS: Descriptions = { ...ACCOUNT, ...WEBHOOKS }
