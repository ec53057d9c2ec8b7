import { z } from 'zod'
import type { PlaygroundSecret } from '#control-plane/services/keys/playground.ts'
import { openPlayground, PlaygroundSecretSchema } from '#control-plane/services/keys/playground.ts'
import type { CreatedKeySession, SignInCode } from '#control-plane/services/sign-in/key-session.ts'
import {
  CreatedKeySessionSchema,
  createKeySession,
  createSignInCode,
  endKeySession,
  SignInCodeSchema,
} from '#control-plane/services/sign-in/key-session.ts'
import type { CreatedSession } from '#control-plane/services/sign-in/open-session.ts'
import { CreatedSessionSchema } from '#control-plane/services/sign-in/open-session.ts'
import {
  createSession,
  endSession,
  readChallenge,
  readSession,
  signInForBuyerKey,
  signInForSellerKey,
} from '#control-plane/services/sign-in/sign-in.ts'
import { NEW_BUYER_KEY, NEW_SELLER_KEY } from './keys.ts'
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const SESSION_PATH = '/v1/auth/session'
const KEY_SESSION_PATH = '/v1/auth/key-session'

/** A challenge proves the wallet. The side makes no difference. */
function challengeRow(path: string, envelope: 'v1' | 'seller'): RestRow {
  return restRow({ method: 'GET', path, tag: 'Sign-in', envelope, operation: readChallenge })
}

/** Only the cookie carries the token. */
export const SIGNED_IN = writtenAs(
  CreatedSessionSchema.omit({ token: true }).meta({
    id: 'Session',
    description: 'The session of a user who signed in. `wallet` is null until one is linked.',
  }),
  ({ token: _, ...session }: CreatedSession) => session,
)

const SIGNED_IN_BY_KEY = writtenAs(
  CreatedKeySessionSchema.omit({ token: true }).meta({
    id: 'KeySession',
    description: 'The session of a browser that signed in with a key.',
  }),
  ({ token: _, ...session }: CreatedKeySession) => session,
)

const NEW_CODE = writtenAs(
  SignInCodeSchema.extend({ code: z.string() }).meta({
    id: 'SignInCode',
    description: 'A code that signs a browser in once, with the link that holds it.',
  }),
  ({ code, expiresAt }: SignInCode) => ({ code: code.reveal(), expiresAt }),
)

const NEW_SECRET = writtenAs(
  PlaygroundSecretSchema.extend({ secret: z.string() }).meta({
    id: 'PlaygroundSecret',
    description: 'A secret that pays for the calls of one page. It ends with the session.',
  }),
  ({ secret, ...opened }: PlaygroundSecret) => ({ ...opened, secret: secret.reveal() }),
)

/** Signing in with a wallet, for a key of either side or for a session. */
export const AUTH_ROWS: readonly RestRow[] = [
  challengeRow('/v1/seller/auth/challenge', 'seller'),
  challengeRow('/v1/buyer/auth/challenge', 'v1'),
  challengeRow('/v1/auth/challenge', 'v1'),
  restRow({
    method: 'POST',
    path: '/v1/seller/auth/keys',
    tag: 'Sign-in',
    refusals: [403, 409],
    status: 201,
    envelope: 'seller',
    operation: signInForSellerKey,
    body: NEW_SELLER_KEY,
  }),
  restRow({
    method: 'POST',
    path: '/v1/buyer/auth/keys',
    tag: 'Sign-in',
    refusals: [403, 409],
    status: 201,
    envelope: 'v1',
    operation: signInForBuyerKey,
    body: NEW_BUYER_KEY,
  }),
  restRow({
    method: 'POST',
    path: SESSION_PATH,
    tag: 'Sign-in',
    refusals: [403],
    status: 201,
    envelope: 'v1',
    operation: createSession,
    body: SIGNED_IN,
    session: ({ token }) => token.reveal(),
  }),
  restRow({ method: 'GET', path: SESSION_PATH, tag: 'Sign-in', envelope: 'v1', operation: readSession }),
  restRow({
    method: 'DELETE',
    path: SESSION_PATH,
    tag: 'Sign-in',
    status: 204,
    envelope: 'v1',
    operation: endSession,
    session: () => null,
  }),
  restRow({
    method: 'POST',
    path: KEY_SESSION_PATH,
    tag: 'Sign-in',
    refusals: [401, 403],
    status: 201,
    envelope: 'v1',
    operation: createKeySession,
    body: SIGNED_IN_BY_KEY,
    session: ({ token }) => token.reveal(),
  }),
  restRow({
    method: 'DELETE',
    path: KEY_SESSION_PATH,
    tag: 'Sign-in',
    refusals: [401, 403],
    status: 204,
    envelope: 'v1',
    operation: endKeySession,
    session: () => null,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/codes',
    tag: 'Sign-in',
    refusals: [401, 403],
    status: 201,
    envelope: 'v1',
    operation: createSignInCode,
    body: NEW_CODE,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/playground',
    tag: 'Sign-in',
    refusals: [401, 403],
    status: 201,
    envelope: 'v1',
    operation: openPlayground,
    body: NEW_SECRET,
  }),
]
