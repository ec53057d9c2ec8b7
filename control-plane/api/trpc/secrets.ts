import type { CreatedKey } from '#control-plane/services/keys/key-views.ts'
import type { CreatedInviteLink } from '#control-plane/services/organizations/invite-links.ts'
import type { CreatedOrganizationKey } from '#control-plane/services/organizations/organization-keys.ts'
import type { CreatedUser } from '#control-plane/services/users/users.ts'
import type { WebhookWithSecret } from '#control-plane/services/webhooks/webhooks.ts'

/** A new key with the key itself as text, for the first answer only. */
export function withKey<Key extends CreatedKey | CreatedOrganizationKey>({ secret, ...key }: Key) {
  return { ...key, key: secret?.reveal() ?? null }
}

/** A new user with its keys as text, for the first answer only. */
export function withKeys({ buyerKey, sellerKey, ...facts }: CreatedUser) {
  return { ...facts, buyerKey: buyerKey?.reveal() ?? null, sellerKey: sellerKey?.reveal() ?? null }
}

/** A webhook with its signing secret as text, for the first answer only. */
export function withSecret({ secret, ...hook }: WebhookWithSecret) {
  return { ...hook, secret: secret?.reveal() ?? null }
}

/** A new invite link with its address as text. */
export function withUrl({ url, ...link }: CreatedInviteLink) {
  return { ...link, url: url.reveal() }
}
