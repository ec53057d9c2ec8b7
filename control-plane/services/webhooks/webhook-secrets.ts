import type { Ctx } from '#control-plane/operation/ctx.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import type { AccountId, WebhookId } from '#shared/ids.ts'
import { openCredential, sealCredential } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'

type SealCtx = Pick<Ctx, 'ids' | 'settings'>
type Owner = { readonly id: WebhookId; readonly account: AccountId }

/** Seals a signing secret as JSON. It is sealed like a provider key, bound to its webhook instead of a host. */
export function sealWebhookSecret({ ids, settings }: SealCtx, { id, account }: Owner, secret: Secret): string {
  const binding = { id: ids.make('crd'), tenant: account, host: id, purpose: 'webhook' } as const
  return JSON.stringify(sealCredential(settings.keyRing, binding, secret))
}

/** Opens a sealed secret. Throws an Error for one that was sealed for another webhook. */
export function openWebhookSecret(
  { settings }: Pick<Ctx, 'settings'>,
  { id, account }: Owner,
  sealed: unknown,
): Secret {
  const read = SealedCredentialSchema.parse(sealed)
  if (read.purpose !== 'webhook' || read.host !== id || read.tenant !== account) {
    throw new Error('a webhook has the secret of another')
  }
  return openCredential(settings.keyRing, read)
}
