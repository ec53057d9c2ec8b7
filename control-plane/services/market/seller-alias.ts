import { createHmac } from 'node:crypto'
import type { AccountId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'

/**
 * Most sellers whose alias is remembered. Without it, the alias of each offer would cost more than the rest of a book.
 */
const MAX_REMEMBERED = 100_000

/** Makes the public names of sellers. A seller has the same name everywhere, and it reveals nothing of the account. */
export function createSellerAliases(pepper: Secret): (account: AccountId) => string {
  const known = new Map<AccountId, string>()
  return (account) => {
    const found = known.get(account)
    if (found !== undefined) return found
    if (known.size >= MAX_REMEMBERED) known.clear()
    const mac = createHmac('sha256', pepper.reveal()).update(`alias\n${account}`).digest('hex')
    const alias = `seller-${mac.slice(0, 8)}`
    known.set(account, alias)
    return alias
  }
}
