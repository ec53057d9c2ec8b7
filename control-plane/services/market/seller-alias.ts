import { createHmac } from 'node:crypto'
import type { AccountId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'

/** Sellers whose alias is remembered: worked out again for each of their offers it would cost more than the rest. */
const MAX_REMEMBERED = 100_000

/** Names sellers as a public order book does: the same everywhere, and it tells nothing of the account. */
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
