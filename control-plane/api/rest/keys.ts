import { toSnakeBody } from '#control-plane/api/case.ts'
import type { RotatedKey } from '#control-plane/services/keys/key-rotation.ts'
import type { CreatedKey, KeyView } from '#control-plane/services/keys/key-views.ts'
import type { KeyList } from '#control-plane/services/keys/keys.ts'

/** A key in a list: `expires_at` only where one was set, the terms of a buyer key beside the rest. */
export function writeKey(key: KeyView): object {
  const { id, keyPrefix, label, createdAt, lastUsedAt, revokedAt, expiresAt, terms } = key
  return {
    id,
    key_prefix: keyPrefix,
    label,
    created_at: createdAt,
    last_used_at: lastUsedAt,
    revoked_at: revokedAt,
    ...(expiresAt === null ? {} : { expires_at: expiresAt }),
    ...asObject(toSnakeBody(terms)),
  }
}

/** A list of keys, with the token of the next page where there is one. */
export function writeKeys({ keys, nextToken }: KeyList): object {
  return { keys: keys.map(writeKey), ...writeNext(nextToken) }
}

/** The token of the next page of a list that is whole as a rule. */
export function writeNext(nextToken: string | null): object {
  return nextToken === null ? {} : { next_token: nextToken }
}

/** A new key: the key itself under both of its names, in the first answer only. */
export function writeCreatedKey(created: CreatedKey): object {
  const { secret, wallet, keyType } = created
  const shown = secret === null ? {} : { key: secret.reveal(), api_key: secret.reveal() }
  return { ...shown, ...writeKey(created), key_type: keyType, wallet }
}

/** A key with a new secret, and until when the one before it goes on. */
export function writeRotatedKey(rotated: RotatedKey): object {
  return { ...writeCreatedKey(rotated), former_expires_at: rotated.formerExpiresAt }
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
