import type { Time } from '#shared/clock.ts'
import { DAY, utcDay, utcMonth } from '#shared/clock.ts'
import type { ReserveAnswer } from '#shared/contract/money-scripts/reserve.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import type { MoneyConnection } from './money-connection.ts'

/** A note is kept for 32 days, longer than the longest period of a cap. */
const KEEP_MS = 32 * DAY
/** A key that refuses call after call is noted once in this time. */
const AGAIN_MS = 10_000
const MAX_KEYS = 10_000

type Capped = Extract<ReserveAnswer, { kind: 'capped' }>

/** Notes keys whose cap has refused a call. The control plane reads the notes and notifies the buyer. */
export type FullKeys = { note(key: { keyId: KeyId; account: AccountId }, answer: Capped): void }

/** No call waits for a note. A lost note is written again at the next refusal. */
export function createFullKeys(connection: Pick<MoneyConnection, 'writes'>, buckets: number, clock: Time): FullKeys {
  const notedAt = new Map<string, number>()
  return {
    note({ keyId, account }, { scope, at }) {
      const name = `${keyId} ${scope}`
      const now = clock.monotonic()
      const last = notedAt.get(name)
      if (last !== undefined && now - last < AGAIN_MS) return
      if (notedAt.size >= MAX_KEYS) notedAt.clear()
      notedAt.set(name, now)
      const key = moneyKeys.keyFull(moneyBucket(account, buckets), keyId)
      const period = scope === 'day' ? utcDay(at) : utcMonth(at)
      connection.writes
        .hset(key, scope, period)
        .then(() => connection.writes.pexpire(key, KEEP_MS))
        .catch(() => notedAt.delete(name))
    },
  }
}
