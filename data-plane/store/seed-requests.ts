import type { Time } from '#shared/clock.ts'
import type { ReserveAnswer } from '#shared/contract/money-scripts/reserve.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'
import type { MoneyConnection } from './money-connection.ts'

/** Milliseconds for which a call waits for its account to be seeded. */
const SEED_WAIT_MS = 2_000
/** Milliseconds before the first read and between two late ones. The pause doubles. */
const FIRST_LOOK_MS = 15
const LAST_LOOK_MS = 120
/** Milliseconds after which an account is asked for again. */
const ASK_AGAIN_MS = 250
/** Most requests in the list. They stay there while the control plane is away. */
const MAX_REQUESTS = 10_000

/** Asks the control plane to bring an account into the gate, and tries again until it is there. */
export function createSeedRequests(connection: Pick<MoneyConnection, 'writes'>, clock: Time) {
  const askedAt = new Map<AccountId, number>()

  async function ask(account: AccountId): Promise<void> {
    const now = clock.monotonic()
    const last = askedAt.get(account)
    if (last !== undefined && now - last < ASK_AGAIN_MS) return
    if (askedAt.size > MAX_REQUESTS) askedAt.clear()
    askedAt.set(account, now)
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
      for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_LOOK_MS)) {
        await clock.sleep(pauseMs)
        const answer = await tryAgain()
        if (answer.kind !== 'unseeded') return answer
        if (clock.monotonic() >= deadline) return answer
      }
    },
  }
}
