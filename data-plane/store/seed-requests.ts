import type { Time } from '#shared/clock.ts'
import type { ReserveAnswer } from '#shared/contract/money-scripts/reserve.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MoneyConnection } from './money-connection.ts'
import { gateClosed } from './reserve-queue.ts'

/** Milliseconds for which a call waits for its account to be seeded, and between two looks. */
const SEED_WAIT_MS = 250
const SEED_LOOK_MS = 15
/** At most so many requests lie in the list. Nobody takes them while the control plane is away. */
const MAX_REQUESTS = 10_000

/** Asks the control plane to bring an account into the gate, and tries again until it is there. */
export function createSeedRequests(connection: Pick<MoneyConnection, 'writes'>, clock: Time) {
  const asked = new Map<AccountId, number>()

  async function ask(account: AccountId): Promise<void> {
    const now = clock.monotonic()
    const last = asked.get(account)
    if (last !== undefined && now - last < SEED_WAIT_MS) return
    if (asked.size > MAX_REQUESTS) asked.clear()
    asked.set(account, now)
    await Promise.all([
      connection.writes.lpush(moneyKeys.seedRequests, account),
      connection.writes.ltrim(moneyKeys.seedRequests, 0, MAX_REQUESTS - 1),
    ]).catch((error: unknown) => {
      throw gateClosed(error)
    })
  }

  return {
    /** The first answer other than `unseeded`; `unseeded` when the wait is over. */
    async retry(account: AccountId, tryAgain: () => Promise<ReserveAnswer>): Promise<ReserveAnswer> {
      const deadline = clock.monotonic() + SEED_WAIT_MS
      await ask(account)
      for (;;) {
        await clock.sleep(SEED_LOOK_MS)
        const answer = await tryAgain()
        if (answer.kind !== 'unseeded') return answer
        if (clock.monotonic() >= deadline) return answer
      }
    },
  }
}
