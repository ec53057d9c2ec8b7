import type { CreatedSession } from '#control-plane/services/sign-in/sign-in.ts'
import {
  createSession,
  endSession,
  readChallenge,
  readSession,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import type { SignInMessage } from '#control-plane/services/sign-in/siwe.ts'
import { writeCreatedKey } from './keys.ts'
import type { RestAnswer, RestRow } from './route.ts'
import { restRow } from './route.ts'

export const SESSION_PATH = '/v1/auth/session'

/** The side decides nothing about a challenge: it proves the wallet. */
function challengeRow(path: string, envelope: 'v1' | 'seller'): RestRow {
  const write = ({ message, nonce, expiresAt }: SignInMessage) => ({ message, nonce, expires_at: expiresAt })
  return restRow({ method: 'GET', path, envelope, operation: readChallenge, write })
}

function signedIn({ id, wallet, createdAt, expiresAt, token }: CreatedSession): RestAnswer {
  const body = { id, wallet, created_at: createdAt, expires_at: expiresAt }
  return { kind: 'json', body, sessionToken: token.reveal() }
}

/** Signing in with a wallet: for a key of either side, or for a session. */
export const AUTH_ROWS: readonly RestRow[] = [
  challengeRow('/v1/seller/auth/challenge', 'seller'),
  challengeRow('/v1/buyer/auth/challenge', 'v1'),
  challengeRow('/v1/auth/challenge', 'v1'),
  restRow({
    method: 'POST',
    path: '/v1/seller/auth/keys',
    status: 201,
    envelope: 'seller',
    operation: signInForSellerKey,
    write: writeCreatedKey,
  }),
  restRow({
    method: 'POST',
    path: '/v1/buyer/auth/keys',
    status: 201,
    envelope: 'v1',
    operation: signInForBuyerKey,
    write: writeCreatedKey,
  }),
  restRow({
    method: 'POST',
    path: SESSION_PATH,
    status: 201,
    envelope: 'v1',
    operation: createSession,
    answer: signedIn,
  }),
  restRow({ method: 'GET', path: SESSION_PATH, envelope: 'v1', operation: readSession }),
  restRow({
    method: 'DELETE',
    path: SESSION_PATH,
    status: 204,
    envelope: 'v1',
    operation: endSession,
    answer: () => ({ kind: 'json', body: null, sessionToken: null }),
  }),
]
