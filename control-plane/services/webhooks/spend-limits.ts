import type { Database } from '#control-plane/db/database.ts'
import type { UsePeriod } from '#control-plane/db/money-epoch.ts'
import { sumBudgetUse, sumKeyUse } from '#control-plane/db/money-epoch.ts'
import type { WatchedBudget, WatchedKey } from '#control-plane/db/webhook-alerts.ts'
import type { CounterSubject } from '#control-plane/ports/gate/gate.ts'
import type { KeyCounter } from '#control-plane/ports/key-counters/key-counters.ts'
import { hasRefused } from '#control-plane/ports/key-counters/key-counters.ts'
import { nextUtcDay, nextUtcMonth, utcDay, utcMonth } from '#shared/clock.ts'
import { formatMicroUsd, microUsd } from '#shared/money.ts'
import type { Announcement } from './webhook-deliveries.ts'

/** A limit of spend in the present day or month. Amounts are micro-USD. */
export type SpendLimit = {
  readonly period: 'day' | 'month'
  /** `day 2026-11-21`, `month 2026-11`. */
  readonly name: string
  readonly limit: bigint
  /** The count of the gate, which includes running calls at their highest cost. */
  readonly counted: bigint
  /** The limit has refused a call because too little was left for it. */
  readonly isFull: boolean
  readonly resetsAt: number
}

/** A limit that reached a percentage by its booked amount. */
export type ReachedLimit = { readonly limit: SpendLimit; readonly percent: number; readonly used: bigint }

/** A key or a budget whose limits a webhook watches. */
export type Limited = {
  readonly webhook: WatchedKey['webhook']
  /** The id of the key or of the budget. */
  readonly subject: string
  readonly counted: CounterSubject
  readonly limits: (counter: KeyCounter, now: number) => readonly SpendLimit[]
  readonly sumBooked: (db: Database, period: UsePeriod) => Promise<{ readonly day: bigint; readonly month: bigint }>
  readonly announce: (reached: ReachedLimit) => Announcement
}

/** The caps of a key. */
export function limitsOfKey(key: WatchedKey): Limited {
  const { webhook, keyId, account, label, capDailyMicro, capMonthlyMicro } = key
  return {
    webhook,
    subject: keyId,
    counted: { keyId, account },
    limits: (counter, now) => [
      ...(capDailyMicro === null ? [] : [dayOf(counter, capDailyMicro, now)]),
      ...(capMonthlyMicro === null ? [] : [monthOf(counter, capMonthlyMicro, now)]),
    ],
    sumBooked: (db, period) => sumKeyUse(db, keyId, period),
    announce: ({ limit, percent, used }) => ({
      event: 'key.cap_reached',
      data: {
        key_id: keyId,
        key_label: label,
        period: limit.period,
        percent,
        refusing: limit.isFull,
        cap_usdc: formatMicroUsd(microUsd(limit.limit)),
        used_usdc: formatMicroUsd(microUsd(used)),
        resets_at: limit.resetsAt,
      },
    }),
  }
}

/** The monthly budget of a member or a workspace. */
export function limitsOfBudget(budget: WatchedBudget): Limited {
  const { webhook, budgetId, organization, organizationName, workspace, user, name, limitMicro } = budget
  return {
    webhook,
    subject: budgetId,
    counted: { budgetId },
    limits: (counter, now) => [monthOf(counter, limitMicro, now)],
    sumBooked: async (db, period) => ({ day: 0n, month: await sumBudgetUse(db, budgetId, period) }),
    announce: ({ limit, percent, used }) => ({
      event: 'budget.reached',
      data: {
        organization_id: organization,
        organization_name: organizationName,
        budget_of: workspace ?? user,
        name,
        percent,
        refusing: limit.isFull,
        limit_usdc: formatMicroUsd(microUsd(limit.limit)),
        used_usdc: formatMicroUsd(microUsd(used)),
        resets_at: limit.resetsAt,
      },
    }),
  }
}

const dayOf = ({ dayMicro: counted, dayRefusal }: KeyCounter, limit: bigint, now: number): SpendLimit => ({
  period: 'day',
  name: `day ${utcDay(now)}`,
  limit,
  counted,
  isFull: hasRefused(limit, dayRefusal),
  resetsAt: nextUtcDay(now),
})

const monthOf = ({ monthMicro: counted, monthRefusal }: KeyCounter, limit: bigint, now: number): SpendLimit => ({
  period: 'month',
  name: `month ${utcMonth(now)}`,
  limit,
  counted,
  isFull: hasRefused(limit, monthRefusal),
  resetsAt: nextUtcMonth(now),
})
