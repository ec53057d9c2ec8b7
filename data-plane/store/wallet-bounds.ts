import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MoneyConnection } from './money-connection.ts'

/**
 * Names the bound of an account that may spend no more: its balance, or for an account that pays from its wallet, the
 * allowance. Only refused calls ask for it. Without an answer the balance is named, which bounds every account.
 */
export type WalletBounds = (account: AccountId) => Promise<'balance' | 'allowance'>

export function createWalletBounds({ reads }: Pick<MoneyConnection, 'reads'>, buckets: number): WalletBounds {
  return async (account) => {
    const bound = await reads.get(moneyKeys.walletBound(moneyBucket(account, buckets), account)).catch(() => null)
    return bound === 'allowance' ? 'allowance' : 'balance'
  }
}
