import { z } from 'zod'
import { takeSampleCredit } from '#control-plane/services/ledger/sample-credit.ts'
import { linkWallet, readLinkChallenge } from '#control-plane/services/sign-in/link-wallet.ts'
import { createPasskeyAccount, createPasskeySession } from '#control-plane/services/sign-in/passkey-session.ts'
import {
  createPasskey,
  createPasskeyChallenge,
  readWaysIn,
  removePasskey,
} from '#control-plane/services/sign-in/passkeys.ts'
import type { RecoveredSession, RecoveryCode } from '#control-plane/services/sign-in/recovery-code.ts'
import {
  createRecoveryCode,
  createRecoverySession,
  RecoveredSessionSchema,
} from '#control-plane/services/sign-in/recovery-code.ts'
import { createSampleSession } from '#control-plane/services/sign-in/sample-session.ts'
import { SIGNED_IN } from './auth.ts'
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const NEW_RECOVERY_CODE = writtenAs(
  z.object({ code: z.string() }).meta({
    id: 'RecoveryCode',
    description: 'A code that signs a browser in once, without a passkey. It is shown once.',
  }),
  ({ code }: RecoveryCode) => ({ code: code.reveal() }),
)

const RECOVERED = writtenAs(
  RecoveredSessionSchema.omit({ token: true })
    .extend({ recoveryCode: z.string().describe('The next recovery code, which is shown once.') })
    .meta({ id: 'RecoveredSession', description: 'A session, and the recovery code that replaces the used one.' }),
  ({ token: _, recoveryCode, ...session }: RecoveredSession) => ({ ...session, recoveryCode: recoveryCode.reveal() }),
)

/** Signing in with a passkey, and the sign-in methods of an account. */
export const PASSKEY_ROWS: readonly RestRow[] = [
  restRow({
    method: 'POST',
    path: '/v1/auth/passkeys/challenge',
    tag: 'Sign-in',
    refusals: [401, 403, 409],
    envelope: 'v1',
    operation: createPasskeyChallenge,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/passkey-account',
    tag: 'Sign-in',
    refusals: [401, 403, 409],
    status: 201,
    envelope: 'v1',
    operation: createPasskeyAccount,
    body: SIGNED_IN,
    session: ({ token }) => token.reveal(),
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/passkey-session',
    tag: 'Sign-in',
    refusals: [401, 403, 409],
    status: 201,
    envelope: 'v1',
    operation: createPasskeySession,
    body: SIGNED_IN,
    session: ({ token }) => token.reveal(),
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/passkeys',
    tag: 'Sign-in',
    refusals: [403, 409],
    status: 201,
    envelope: 'v1',
    operation: createPasskey,
  }),
  restRow({ method: 'GET', path: '/v1/auth/ways-in', tag: 'Sign-in', envelope: 'v1', operation: readWaysIn }),
  restRow({
    method: 'DELETE',
    path: '/v1/auth/passkeys/:passkey',
    tag: 'Sign-in',
    refusals: [403, 404, 409],
    envelope: 'v1',
    operation: removePasskey,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/recovery-code',
    tag: 'Sign-in',
    refusals: [403],
    status: 201,
    envelope: 'v1',
    operation: createRecoveryCode,
    body: NEW_RECOVERY_CODE,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/recovery-session',
    tag: 'Sign-in',
    refusals: [401, 403],
    status: 201,
    envelope: 'v1',
    operation: createRecoverySession,
    body: RECOVERED,
    session: ({ token }) => token.reveal(),
  }),
  restRow({
    method: 'GET',
    path: '/v1/auth/wallet/challenge',
    tag: 'Sign-in',
    refusals: [401],
    envelope: 'v1',
    operation: readLinkChallenge,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/wallet',
    tag: 'Sign-in',
    refusals: [401, 403, 409],
    envelope: 'v1',
    operation: linkWallet,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/sample-session',
    tag: 'Sign-in',
    refusals: [403, 404],
    status: 201,
    envelope: 'v1',
    operation: createSampleSession,
    isLocal: true,
    body: SIGNED_IN,
    session: ({ token }) => token.reveal(),
  }),
  restRow({
    method: 'POST',
    path: '/v1/buyer/sample-credit',
    tag: 'Account',
    refusals: [404],
    envelope: 'v1',
    operation: takeSampleCredit,
    isLocal: true,
  }),
]
