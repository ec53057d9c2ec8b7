import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const RENEWAL = 'control-plane/services/offers/renew-tokens.ts'
const ROWS = 'control-plane/db/credential-tokens.ts'
const LISTED = 'control-plane/db/listed-offers.ts'
const POLICY = 'control-plane/services/routing/account-policy.ts'
const GOOGLE = 'control-plane/ports/provider/google-token.ts'
const FORM = 'shared/protocols/google-credential.ts'

const TOKENS_TEST = tests('services/credential-tokens')
const VERTEX_TEST = tests('wires/vertex')

/** Mistakes in the creation, renewal and use of the access tokens of service accounts. */
export const TOKEN_MUTANTS: readonly Mutant[] = [
  mutant('a-token-is-renewed-after-its-end', TOKENS_TEST, RENEWAL, {
    'const RENEWED_AFTER = 0.75': 'const RENEWED_AFTER = 1.01',
  }),
  mutant('a-token-is-stored-for-every-account', TOKENS_TEST, `${ROWS}#storeToken`, {
    ".where('credential_id', '=', id)": ".where('credential_id', 'is not', null)",
  }),
  mutant('a-listing-renews-the-tokens-of-others', TOKENS_TEST, `${ROWS}#claimDueTokens`, {
    'and c.tenant = ${owner.tenant} and c.fingerprint = ${owner.fingerprint}': '',
  }),
  mutant('a-listing-waits-out-the-pause-of-failures', TOKENS_TEST, `${ROWS}#claimDueTokens`, {
    ' or t.failures > 0': '',
  }),
  mutant('tokens-are-made-for-accounts-that-nobody-uses', TOKENS_TEST, `${ROWS}#claimDueTokens`, {
    " and o.status <> 'inactive'": '',
  }),
  mutant('two-workers-make-one-token', TOKENS_TEST, `${ROWS}#claimDueTokens`, {
    'set next_at = ${new Date(until)}': 'set next_at = t.next_at',
  }),
  mutant('a-new-token-is-not-published', TOKENS_TEST, `${RENEWAL}#publishUses`, {
    'await publication.publishOffers([...new Set(offers.map(({ model }) => model))])': '',
  }),
  mutant('a-new-token-is-lost-with-the-process', TOKENS_TEST, LISTED, {
    " || coalesce(':' || t.xmin::text, '')": '',
  }),
  mutant('a-token-is-published-past-its-end', TOKENS_TEST, `${LISTED}#listActiveOffers`, {
    't.credential_id is null or t.expires_at > ${new Date(at)}': 'true',
  }),
  mutant(
    'an-offer-keeps-the-token-of-its-former-account',
    TOKENS_TEST,
    'control-plane/services/offers/rotate.ts#storeKey',
    {
      'credentialId, fingerprint, without': 'credentialId: offer.credentialId, fingerprint, without',
    },
  ),
  mutant('a-token-of-a-removed-offer-stays-published', TOKENS_TEST, `${LISTED}#listActiveOffers`, {
    " and o.status = 'active')": ')',
  }),
  mutant('a-former-token-leaves-after-a-pause-too-late', TOKENS_TEST, `${RENEWAL}#renew`, {
    'endsAt > at ? Math.min(at + pauseMs, endsAt) : at + pauseMs': 'at + pauseMs',
  }),
  mutant('makings-that-fail-are-repeated-at-once', TOKENS_TEST, `${RENEWAL}#renew`, {
    'Math.min(FIRST_PAUSE_MS * 2 ** due.failures, MAX_PAUSE_MS)': 'FIRST_PAUSE_MS',
  }),
  mutant('a-token-that-is-still-good-is-told-as-lost', TOKENS_TEST, `${RENEWAL}#renew`, {
    'if (endsAt <= at) await tell': 'await tell',
  }),
  mutant('a-new-token-of-a-buyer-is-lost-with-the-process', TOKENS_TEST, `${RENEWAL}#noteChange`, {
    'await markUnpublished(trx, accountDocumentName(account), ctx.clock.now())': 'void account',
  }),
  mutant('a-buyer-keeps-a-token-that-has-ended', TOKENS_TEST, `${POLICY}#isCallable`, {
    'tokenEndsAt.getTime() > at': 'tokenEndsAt.getTime() > 0',
  }),
  mutant('a-buyer-is-published-with-the-account-itself', TOKENS_TEST, POLICY, {
    'row.isAccount ? row.token : row.sealed': 'row.sealed',
  }),
  mutant('a-token-is-logged', TOKENS_TEST, `${RENEWAL}#renew`, {
    'const { tenant, host, purpose } = sealed':
      "const { tenant, host, purpose } = sealed\n    ctx.log.info({ token: answer.token.reveal() }, 'a token was made')",
  }),
  mutant('an-error-of-a-making-is-logged-with-the-account', TOKENS_TEST, `${RENEWAL}#renew`, {
    'const sealed = SealedCredentialSchema.parse(due.sealed)':
      "const sealed = SealedCredentialSchema.parse(due.sealed)\n  ctx.log.debug({ account: openCredential(ctx.settings.keyRing, sealed).reveal() }, 'a token is made')",
  }),
  mutant('the-words-of-the-address-of-tokens-are-repeated', TOKENS_TEST, `${GOOGLE}#read`, {
    "code === undefined ? '' : ` (${code})`": 'text',
  }),
  mutant('a-clock-that-differs-is-not-heeded', TOKENS_TEST, `${GOOGLE}#makeToken`, {
    'first.status === 400 ? skewedDate(first.date, clock.now()) : undefined': 'undefined',
  }),
  mutant('a-provider-is-asked-for-tokens-in-production', VERTEX_TEST, `${GOOGLE}#tokenUrl`, {
    'allowsLoopback && isLoopbackHost(hostname)': 'isLoopbackHost(hostname)',
  }),
  mutant('a-private-key-is-sent-to-a-provider', VERTEX_TEST, `${FORM}#refuseAccount`, {
    "if (sealed.startsWith('{')) throw new AppError('internal_error')": '',
  }),
  mutant('a-private-key-is-not-looked-for', VERTEX_TEST, FORM, {
    "return [pem, pem.replace(/-----[A-Z ]+-----|\\s/g, '')]": 'return [text]',
  }),
]
