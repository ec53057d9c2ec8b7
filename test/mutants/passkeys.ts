import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const PASSKEY_PROOF = 'control-plane/services/sign-in/passkey-proof.ts'
const PASSKEYS = 'control-plane/services/sign-in/passkeys.ts'
const RECOVERY_CODE = 'control-plane/services/sign-in/recovery-code.ts'

const SIWE = 'control-plane/services/sign-in/siwe.ts'

const PASSKEYS_TEST = tests('doors/passkeys')
const SAMPLE_TEST = tests('doors/sample-buyer')

/** Mistakes that let another person into an account, or lock its owner out. */
export const PASSKEY_MUTANTS: readonly Mutant[] = [
  mutant('a-challenge-works-twice', PASSKEYS_TEST, `${PASSKEY_PROOF}#useChallenge`, {
    'if (!(await insertUsedNonce(ctx.db, nonce, end))) throw':
      'if ((await insertUsedNonce(ctx.db, nonce, end)) === null) throw',
  }),
  mutant('a-challenge-is-good-for-any-browser', PASSKEYS_TEST, `${PASSKEY_PROOF}#challengeSubject`, {
    "'passkey', purpose, user, browser": "'passkey', purpose, user, typeof browser",
  }),
  mutant('a-challenge-is-good-for-any-use', PASSKEYS_TEST, `${PASSKEY_PROOF}#challengeSubject`, {
    "'passkey', purpose, user, browser": "'passkey', typeof purpose, typeof user, browser",
  }),
  mutant('an-old-challenge-is-answered', PASSKEYS_TEST, `${PASSKEY_PROOF}#useChallenge`, {
    'ctx.clock.now() > end': 'ctx.clock.now() > end * 2',
  }),
  mutant('nobody-has-to-unlock-a-passkey', PASSKEYS_TEST, `${PASSKEY_PROOF}#provePasskey`, {
    'requireUserVerification: true': 'requireUserVerification: false',
  }),
  mutant('a-passkey-stands-for-another-user', PASSKEYS_TEST, `${PASSKEY_PROOF}#provePasskey`, {
    "|| Buffer.from(userHandle, 'base64url').toString() !== known.user": "|| userHandle === ''",
  }),
  mutant('a-wallet-is-linked-to-any-account', PASSKEYS_TEST, `${SIWE}#toLink`, {
    ' to account ${user}': ' to account',
  }),
  mutant('a-message-of-a-link-signs-in', PASSKEYS_TEST, `${SIWE}#toLink`, {
    'subjectOf: (wallet) => `link ${wallet}`': 'subjectOf: (wallet) => wallet',
  }),
  mutant('a-link-is-worded-as-a-sign-in', PASSKEYS_TEST, `${SIWE}#toLink`, { 'isExact: true': 'isExact: false' }),
  mutant('a-counter-goes-back-for-rivals', PASSKEYS_TEST, 'control-plane/db/passkeys.ts#updatePasskeyUsed', {
    'return numAffectedRows === 1n': 'return (numAffectedRows ?? 0n) >= 0n',
  }),
  mutant('the-last-way-in-goes', PASSKEYS_TEST, `${PASSKEYS}#removePasskey`, {
    'await requireSomeWay(ctx, trx, user)': 'void requireSomeWay',
  }),
  mutant('a-removed-passkey-leaves-its-sessions', PASSKEYS_TEST, `${PASSKEYS}#removePasskey`, {
    'await deleteOtherSessions(trx, user, sessionId)': 'void sessionId',
  }),
  mutant(
    'a-session-that-ended-changes-the-ways-in',
    PASSKEYS_TEST,
    'control-plane/services/sign-in/recent-sign-in.ts#lockSignedIn',
    { '!(await hasSession(trx, user, sessionId))': '(await hasSession(trx, user, sessionId)) === null' },
  ),
  mutant('a-stranger-enters-a-development-market', SAMPLE_TEST, 'control-plane/api/rest/door.ts#mountRest', {
    'row.isLocal && !isLoopbackAddress(request.ip)': 'row.isLocal && !isLoopbackAddress(request.ip) && row.isSignIn',
  }),
  mutant('a-recovery-code-is-found-as-it-is', tests('doors/recovery-codes'), `${RECOVERY_CODE}#renewCode`, {
    'const code = [...randomBytes(CODE_CHARS)]': 'const code = [...Buffer.alloc(CODE_CHARS)]',
  }),
  mutant(
    'a-linked-wallet-is-paid-at-once',
    tests('unit/payable-groups'),
    'control-plane/services/payouts/payable-groups.ts#groupsOf',
    { 'earning.recipient === null ? walletCools : null': 'null' },
  ),
  mutant('a-production-market-lets-everybody-in', SAMPLE_TEST, 'control-plane/config.ts#sampleBuyerOf', {
    "NODE_ENV === 'production' || isOpen": 'isOpen',
  }),
]
