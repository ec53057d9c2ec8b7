import type { AccountPayer } from '#data-plane/payment.ts'
import type { Clock } from '#shared/clock.ts'
import { utcDay, utcMonth } from '#shared/clock.ts'
import { ACCOUNT_FIELDS, readAccount } from '#shared/contract/money-scripts.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd, subtractToZero, ZERO } from '#shared/money.ts'
import type { MoneyConnection } from './money-connection.ts'

/** A key's money in the gate. Null means that the gate does not know the figure now. */
export type KeyStanding = {
  /** The amount that the account may still spend. */
  readonly spendableMicro: MicroUsd | null
  /** Held and used in the current UTC day and month. They are counted only for keys with a cap. */
  readonly dayMicro: MicroUsd | null
  readonly monthMicro: MicroUsd | null
  /** Held and used in the current UTC month, for each budget that counts the key's calls. */
  readonly budgetsMicro: readonly (MicroUsd | null)[]
}

export type ReadKeyStanding = (payer: AccountPayer) => Promise<KeyStanding>

type Parts = {
  readonly connection: Pick<MoneyConnection, 'reads'>
  /** The epoch in which calls are admitted now. Figures of an older epoch say nothing about this one. */
  readonly epoch: () => number | undefined
  readonly buckets: number
  readonly clock: Clock
}

/** Reads a key's money apart from the calls. It reserves nothing, and no call waits for it. */
export function createKeyStanding({ connection, epoch, buckets, clock }: Parts): ReadKeyStanding {
  return async ({ account, keyId, caps }) => {
    const bucket = moneyBucket(account, buckets)
    const isCounted = keyId !== null && (caps.dailyMicro !== null || caps.monthlyMicro !== null)
    const [balance, uses, budgetUses] = await Promise.all([
      connection.reads.hmget(moneyKeys.account(bucket, account), ...ACCOUNT_FIELDS).catch(() => undefined),
      isCounted
        ? connection.reads.hmget(moneyKeys.keyUse(bucket, keyId), 'd', 'du', 'm', 'mu').catch(() => undefined)
        : undefined,
      Promise.all(
        (caps.budgets ?? []).map(({ id }) =>
          connection.reads.hmget(moneyKeys.budget(id), 'm', 'mu').catch(() => undefined),
        ),
      ),
    ])
    const gateAccount = balance === undefined ? undefined : readAccount(balance)
    const now = clock.now()
    return {
      spendableMicro:
        gateAccount === undefined || !gateAccount.isSeeded || gateAccount.epoch !== epoch()
          ? null
          : subtractToZero(subtractToZero(gateAccount.postedMicro, gateAccount.heldMicro), gateAccount.unpostedMicro),
      dayMicro: uses === undefined ? null : usedIn(uses[0], uses[1], utcDay(now)),
      monthMicro: uses === undefined ? null : usedIn(uses[2], uses[3], utcMonth(now)),
      budgetsMicro: budgetUses.map((fields) =>
        fields === undefined ? null : usedIn(fields[0], fields[1], utcMonth(now)),
      ),
    }
  }
}

/** The amount of a counter in the current period. A counter of an older period gives zero. */
function usedIn(period: string | null | undefined, usedText: string | null | undefined, current: string): MicroUsd {
  return period != null && usedText != null && period >= current ? parseMicroUsd(usedText) : ZERO
}
