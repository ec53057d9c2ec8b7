import type { Redis } from 'ioredis'
import { SECOND } from '#shared/clock.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'

/**
 * Account names are collected for this time before they are announced together, and the most names of one announcement.
 * A later look finds the others.
 */
const GATHER_MS = SECOND / 4
const MAX_ACCOUNTS = 1_000

/** Announces accounts with a balance that calls changed to the watchers of balances. Nothing depends on it. */
export type FundNews = { changed(account: AccountId): void }

/** Announcements over a connection that fails fast while Redis is away. */
export function createFundNews(redis: Redis): FundNews {
  const accounts = new Set<AccountId>()

  function tell(): void {
    redis.publish(CHANNELS.funds, JSON.stringify([...accounts])).catch(() => undefined)
    accounts.clear()
  }

  return {
    changed(account) {
      if (accounts.size === 0) setTimeout(tell, GATHER_MS).unref()
      if (accounts.size < MAX_ACCOUNTS) accounts.add(account)
    },
  }
}
