import { createHmac } from 'node:crypto'
import type { AccountId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'

/** Most sellers whose alias is cached. Without the cache the aliases would cost more than the rest of a book. */
const MAX_REMEMBERED = 100_000

/** Makes the public names of sellers. A seller has the same name everywhere, and it reveals nothing of the account. */
export function createSellerAliases(pepper: Secret): (account: AccountId) => string {
  const aliases = new Map<AccountId, string>()
  return (account) => {
    const knownAlias = aliases.get(account)
    if (knownAlias !== undefined) return knownAlias
    if (aliases.size >= MAX_REMEMBERED) aliases.clear()
    const mac = createHmac('sha256', pepper.reveal()).update(`alias\n${account}`).digest('hex')
    const alias = `seller-${mac.slice(0, 8)}`
    aliases.set(account, alias)
    return alias
  }
}
