import { createHmac } from 'node:crypto'
import type { AccountId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'

/** Sellers whose alias is remembered: worked out again for each of their offers it would cost more than the rest. */
const MAX_REMEMBERED = 100_000
const aliases = new WeakMap<Secret, Map<AccountId, string>>()

/** What a public order book calls a seller: the same everywhere, and it tells nothing of the account. */
export function sellerAlias(account: AccountId, pepper: Secret): string {
  const known = aliases.get(pepper) ?? new Map<AccountId, string>()
  aliases.set(pepper, known)
  const found = known.get(account)
  if (found !== undefined) return found
  if (known.size >= MAX_REMEMBERED) known.clear()
  const alias = `seller-${createHmac('sha256', pepper.reveal()).update(`alias\n${account}`).digest('hex').slice(0, 8)}`
  known.set(account, alias)
  return alias
}
