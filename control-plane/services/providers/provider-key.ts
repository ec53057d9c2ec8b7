import { z } from 'zod'
import { findCredential } from '#control-plane/db/credentials.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { DEFAULT_PROTOCOL, ProtocolNameSchema } from '#shared/protocols/index.ts'
import { fingerprintCredential, openCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import type { CheckedBaseUrl } from './base-url.ts'
import { checkBaseUrl } from './base-url.ts'

/** A provider key: what can stand in a header and nothing else. */
export const ProviderKey = z
  .string()
  .min(8)
  .max(512)
  .regex(/^[\x21-\x7e]+$/, 'a key is printable ASCII without spaces')
  .transform((text) => new Secret(text))

/** What a saved key is named by. */
export const Fingerprint = z.string().regex(/^[0-9a-f]{64}$/, 'not a key fingerprint')

/** A provider key in hand, with what it is found by. */
export type ChosenKey = { readonly secret: Secret; readonly fingerprint: string }

type KeyChoice = { readonly apiKey?: Secret | undefined; readonly reuseKeyFingerprint?: string | undefined }

/** The provider key: the one given, or the saved one of the caller that a fingerprint names. */
export async function chooseKey(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  seller: AccountId,
  base: CheckedBaseUrl,
  choice: KeyChoice,
): Promise<ChosenKey> {
  const { apiKey, reuseKeyFingerprint } = choice
  if ((apiKey === undefined) === (reuseKeyFingerprint === undefined)) {
    throw new AppError('invalid_request', { message: 'Name an api_key or a reuse_key_fingerprint.', param: 'apiKey' })
  }
  const { host } = base.provider
  if (apiKey !== undefined) {
    return { secret: apiKey, fingerprint: fingerprintCredential(ctx.settings.fingerprintPepper, host, apiKey) }
  }
  const fingerprint = reuseKeyFingerprint ?? ''
  const saved = await findCredential(ctx.db, seller, fingerprint)
  if (saved === undefined) throw new AppError('not_found', { message: 'No such saved key.' })
  // A key is sent to the host it was saved for, and to no other.
  if (saved.host !== host) throw new AppError('invalid_base_url', { param: 'baseUrl' })
  return { secret: openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(saved.sealed)), fingerprint }
}

/** A provider's address and a key for it, as every question to a provider names them. */
export const PlaceInput = {
  apiKey: ProviderKey.optional(),
  reuseKeyFingerprint: Fingerprint.optional(),
  baseUrl: z.string().min(1).max(2_048).optional(),
  /** The same under the name that single offers know it by. */
  sellerBaseUrl: z.string().min(1).max(2_048).optional(),
  apiFormat: ProtocolNameSchema.default(DEFAULT_PROTOCOL),
}

export type Place = KeyChoice & {
  readonly baseUrl?: string | undefined
  readonly sellerBaseUrl?: string | undefined
}

/** The address that was named, checked against the allow-list, and the key. Throws as {@link checkBaseUrl} does. */
export async function choosePlace(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  seller: AccountId,
  place: Place,
): Promise<{ readonly base: CheckedBaseUrl; readonly key: ChosenKey }> {
  const raw = place.baseUrl ?? place.sellerBaseUrl
  if (raw === undefined) throw new AppError('invalid_request', { message: 'Name a base_url.', param: 'baseUrl' })
  const base = await checkBaseUrl(ctx, raw)
  return { base, key: await chooseKey(ctx, seller, base, place) }
}

type Refusal = { readonly status: number | null; readonly reason: string }

/** What a seller is told when its provider said no; the key itself is never in it. */
export function probeFailed({ provider }: CheckedBaseUrl, { status, reason }: Refusal): AppError {
  return new AppError('provider_probe_failed', {
    message: `The provider did not accept the probe: ${reason}.`,
    detail: { provider: provider.id, provider_status: status, reason },
  })
}
