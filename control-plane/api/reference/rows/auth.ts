import type { Descriptions } from './described.ts'

const tag = 'Sign-in'
const address = '0x52908400098527886e0f7030069857d2e4169ee7'

const challenge = {
  tag,
  summary: 'Get a message for a wallet to sign',
  description: 'Send the message back with its signature before it expires.',
  example: { address },
}
const exchange = 'The signed message proves the wallet; a new wallet gets its accounts. The key is shown once.'

export const AUTH_DESCRIPTIONS: Descriptions = {
  'GET /v1/seller/auth/challenge': challenge,
  'GET /v1/buyer/auth/challenge': challenge,
  'GET /v1/auth/challenge': challenge,
  'POST /v1/seller/auth/keys': {
    tag,
    summary: 'Exchange a signed message for a seller key',
    description: exchange,
    refusals: [403, 409],
  },
  'POST /v1/buyer/auth/keys': {
    tag,
    summary: 'Exchange a signed message for a buyer key',
    description: exchange,
    refusals: [403, 409],
  },
  'POST /v1/auth/session': {
    tag,
    summary: 'Sign a browser in',
    description: 'Sets a cookie that stands for the wallet on both sides of the market.',
    refusals: [403],
  },
  'GET /v1/auth/session': {
    tag,
    summary: 'Say who is signed in',
    description: 'The session’s wallet and the user that it belongs to.',
    example: {},
  },
  'DELETE /v1/auth/session': {
    tag,
    summary: 'Sign a browser out',
    description: 'Ends the session of the cookie.',
    example: {},
  },
  'POST /v1/auth/key-session': {
    tag,
    summary: 'Sign a browser in with a key or the code of a link',
    description: 'Sets a cookie with the rights of that key alone. It ends with the key.',
    refusals: [401, 403],
  },
  'DELETE /v1/auth/key-session': {
    tag,
    summary: 'Sign a browser out that was signed in with a key',
    description: 'Ends the session. The key itself stays valid.',
    example: {},
    refusals: [401, 403],
  },
  'POST /v1/auth/codes': {
    tag,
    summary: 'Make the code of a sign-in link',
    description:
      'The code stands behind `#code=` of the page `/sign-in`, and signs one browser in with the calling key.',
    refusals: [401, 403],
  },
}
