import { z } from 'zod'
import { findCredential } from '#control-plane/db/credentials.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { accountOf, credentialWords, PLAIN_KEY, readCredential } from '#shared/protocols/credential.ts'
import type { Speaker } from '#shared/protocols/index.ts'
import { DEFAULT_PROTOCOL, ProtocolNameSchema } from '#shared/protocols/index.ts'
import { fingerprintCredential, openCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'
import type { CheckedBaseUrl } from './base-url.ts'
import { checkBaseUrl } from './base-url.ts'

/** The longest credential, in characters: a service account with its key takes about 2,400. */
const MAX_CREDENTIAL_CHARS = 8_192

/** A credential of any protocol. {@link readKey} checks it for a certain protocol. */
export const ProviderKey = z
  .string()
  .min(8)
  .max(MAX_CREDENTIAL_CHARS)
  .describe('A key; for some protocols a JSON text with several parts.')
  .transform((text) => new Secret(text))

/** A key that a buyer's own request carries, for a provider of unknown protocol. */
export const PlainKey = PLAIN_KEY.schema.transform((text) => new Secret(text))

/**
 * A credential in its protocol's normal form, so that each has one fingerprint. Throws `invalid_request` for a text
 * that is no credential, without a word of the text.
 */
export function readKey(speaker: Speaker, secret: Secret): Secret {
  const text = readCredential(speaker, secret.reveal())
  if (text !== undefined) return new Secret(text)
  const message = `The api_key of ${speaker.apiFormat} must be ${credentialWords(speaker)}.`
  throw new AppError('invalid_request', { message, param: 'apiKey' })
}

/** The fingerprint that names a saved key. */
export const Fingerprint = z.string().regex(/^[0-9a-f]{64}$/, 'a key fingerprint must be 64 hexadecimal digits')

/** A provider key and its fingerprint. */
export type ChosenKey = { readonly secret: Secret; readonly fingerprint: string }

/** True for a key that is an account, whose tokens the market makes. */
export function isAccount(speaker: Speaker, { secret }: Pick<ChosenKey, 'secret'>): boolean {
  return accountOf(speaker, secret.reveal()) !== undefined
}

type KeyChoice = Speaker & {
  readonly apiKey?: Secret | undefined
  readonly reuseKeyFingerprint?: string | undefined
}

/** Returns the provider key of the input, or the caller's saved key of that fingerprint. */
export async function chooseKey(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  seller: AccountId,
  base: CheckedBaseUrl,
  choice: KeyChoice,
): Promise<ChosenKey> {
  const { apiKey, reuseKeyFingerprint } = choice
  if ((apiKey === undefined) === (reuseKeyFingerprint === undefined)) {
    throw new AppError('invalid_request', { message: 'Add an api_key or a reuse_key_fingerprint.', param: 'apiKey' })
  }
  const { host } = base
  if (apiKey !== undefined) {
    const secret = readKey(choice, apiKey)
    return { secret, fingerprint: fingerprintCredential(ctx.settings.fingerprintPepper, host, secret) }
  }
  const fingerprint = reuseKeyFingerprint ?? ''
  const credential = await findCredential(ctx.db, seller, fingerprint)
  if (credential === undefined) throw new AppError('not_found', { message: 'No saved key has this id.' })
  // A saved key is sent only to the host that it was saved for.
  if (credential.host !== host) {
    const message = `This saved key was saved for ${credential.host}, and is sent to no other host.`
    throw new AppError('invalid_request', { message, param: 'reuseKeyFingerprint' })
  }
  const secret = openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(credential.sealed))
  // The same host may also speak another protocol, with another form of credential.
  return { secret: readKey(choice, secret), fingerprint }
}

/** The address of a provider and a key for it, as input of every operation that calls a provider. */
export const PlaceInput = {
  apiKey: ProviderKey.optional(),
  reuseKeyFingerprint: Fingerprint.optional(),
  baseUrl: oneLine(2_048).min(1).optional(),
  /** An alias of the base URL, as in the input of single offers. */
  sellerBaseUrl: oneLine(2_048).min(1).optional(),
  apiFormat: ProtocolNameSchema.default(DEFAULT_PROTOCOL),
}

export type KeyPlace = KeyChoice & {
  readonly baseUrl?: string | undefined
  readonly sellerBaseUrl?: string | undefined
}

/** Returns the given address, checked against the allow-list, and the key. Throws as {@link checkBaseUrl} does. */
export async function choosePlace(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  seller: AccountId,
  place: KeyPlace,
): Promise<{ readonly base: CheckedBaseUrl; readonly key: ChosenKey }> {
  const raw = place.baseUrl ?? place.sellerBaseUrl
  if (raw === undefined) throw new AppError('invalid_request', { message: 'Add a base_url.', param: 'baseUrl' })
  const base = await checkBaseUrl(ctx, raw)
  return { base, key: await chooseKey(ctx, seller, base, place) }
}

/** The error for a seller who asks for a list that the protocol does not have. */
export function noList({ apiFormat }: Speaker): AppError {
  const message = `The protocol ${apiFormat} has no list of the models of a key. Name the models.`
  return new AppError('invalid_request', { message, param: 'model' })
}

type Refusal = { readonly status: number | null; readonly reason: string }

/** The error for a seller whose provider refused. It never contains the key. */
export function probeFailed({ provider }: CheckedBaseUrl, { status, reason }: Refusal): AppError {
  return new AppError('provider_probe_failed', {
    message: `The provider did not accept the test call: ${reason}.`,
    detail: { provider: provider.id, provider_status: status, reason },
  })
}
