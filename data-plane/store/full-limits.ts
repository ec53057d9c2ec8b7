import type { Time } from '#shared/clock.ts'
import { DAY, utcDay, utcMonth } from '#shared/clock.ts'
import type { ReserveAnswer } from '#shared/contract/money-scripts/reserve.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatMicroUsd } from '#shared/money.ts'
import type { MoneyConnection } from './money-connection.ts'

/** A note is kept for 32 days, longer than the longest period of a limit. */
const KEEP_MS = 32 * DAY
/** A limit that refuses call after call is noted once in this time. */
const AGAIN_MS = 10_000
const MAX_LIMITS = 10_000

type Capped = Extract<ReserveAnswer, { kind: 'capped' }>
type Refusal = Pick<Capped, 'at' | 'limitMicro'>

/** Notes caps and budgets that have refused a call. The control plane reads the notes and notifies their owners. */
export type FullLimits = {
  noteCap(key: { keyId: KeyId; account: AccountId }, answer: Capped): void
  /** `at` is the instant of the refusal, in Unix milliseconds. */
  noteBudget(budget: { readonly id: string; readonly limitMicro: MicroUsd }, at: number): void
}

/** No call waits for a note. A lost note is written again at the next refusal. */
export function createFullLimits(
  connection: Pick<MoneyConnection, 'writes'>,
  buckets: number,
  clock: Time,
): FullLimits {
  const notedAt = new Map<string, number>()

  function note(key: string, scope: 'day' | 'month', { at, limitMicro }: Refusal): void {
    const text = `${scope === 'day' ? utcDay(at) : utcMonth(at)} ${formatMicroUsd(limitMicro)}`
    const name = `${key} ${text}`
    const now = clock.monotonic()
    const last = notedAt.get(name)
    if (last !== undefined && now - last < AGAIN_MS) return
    if (notedAt.size >= MAX_LIMITS) notedAt.clear()
    notedAt.set(name, now)
    connection.writes
      .hset(key, scope, text)
      .then(() => connection.writes.pexpire(key, KEEP_MS))
      .catch(() => notedAt.delete(name))
  }

  return {
    noteCap: ({ keyId, account }, answer) =>
      note(moneyKeys.keyFull(moneyBucket(account, buckets), keyId), answer.scope, answer),
    noteBudget: ({ id, limitMicro }, at) => note(moneyKeys.budgetFull(id), 'month', { at, limitMicro }),
  }
}
