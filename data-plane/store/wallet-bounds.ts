import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MoneyConnection } from './money-connection.ts'

/**
 * Says what an account lacks that may spend no more: a balance, or where it pays from its wallet, an allowance. Only refused
 * calls ask. A server that does not answer names the balance, which is true of every account.
 */
export type WalletBounds = (account: AccountId) => Promise<'balance' | 'allowance'>

export function createWalletBounds({ reads }: Pick<MoneyConnection, 'reads'>, buckets: number): WalletBounds {
  return async (account) => {
    const bound = await reads.get(moneyKeys.walletBound(moneyBucket(account, buckets), account)).catch(() => null)
    return bound === 'allowance' ? 'allowance' : 'balance'
  }
}
