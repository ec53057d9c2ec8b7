import { transact } from '#control-plane/db/database.ts'
import { sumKeyUse } from '#control-plane/db/money-epoch.ts'
import type { AlertMark, WatchedKey } from '#control-plane/db/webhook-alerts.ts'
import {
  BALANCE,
  clearRisenBalances,
  insertAlertMark,
  listAlertMarks,
  listLowBalances,
  listWatchedKeys,
  markText,
} from '#control-plane/db/webhook-alerts.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { KeyCounter } from '#control-plane/ports/key-counters/key-counters.ts'
import { DAY, nextUtcDay, nextUtcMonth, utcDay, utcMonth } from '#shared/clock.ts'
import type { DeliveryId } from '#shared/ids.ts'
import { formatMicroUsd, microUsd } from '#shared/money.ts'
import type { Announcement } from './webhook-deliveries.ts'
import { addDelivery } from './webhook-deliveries.ts'

/** Percentages of a cap at which an alert is sent. */
const CAP_ALERTS = [50, 80, 100] as const

/** Keys of one page, most pages of one turn, and most low balances of one turn. */
const PAGE = 500
const MAX_PAGES = 200
const MAX_LOW_BALANCES = 1_000

type AlertCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log' | 'keyCounters'>

/** A cap of a key in the present day or month. */
type Cap = {
  readonly period: 'day' | 'month'
  /** `day 2026-11-21`, `month 2026-11`. */
  readonly name: string
  readonly cap: bigint
  readonly counted: bigint
  /** The cap has refused a call because too little was left for it. */
  readonly isFull: boolean
  readonly resetsAt: number
}

/** An alert that was not sent yet. */
type Due = { readonly key: WatchedKey; readonly cap: Cap; readonly percent: number }

/**
 * Finds caps that reached one of the percentages, and balances that fell below a threshold. For each it stores a
 * delivery to every listening webhook: once per day or month of a cap, once per fall of a balance. Returns the
 * deliveries. The gate's count includes running calls at their highest cost, so no alert is missed; an alert is sent
 * only when the booked amount has reached the percentage, too.
 */
export async function findAlerts(ctx: AlertCtx): Promise<DeliveryId[]> {
  const deliveries: DeliveryId[] = []
  await clearRisenBalances(ctx.db)
  for (const { webhook, balance, threshold } of await listLowBalances(ctx.db, MAX_LOW_BALANCES)) {
    const data = { balance_usdc: balance.toString(), threshold_usdc: formatMicroUsd(microUsd(threshold)) }
    deliveries.push(...(await tell(ctx, { webhook, ...BALANCE }, { event: 'balance.low', data })))
  }
  let after = { webhook: '', keyId: '' }
  for (let page = 0; page < MAX_PAGES; page++) {
    const keys = await listWatchedKeys(ctx.db, after, PAGE)
    const last = keys.at(-1)
    if (last === undefined) break
    for (const due of await findDue(ctx, keys)) deliveries.push(...(await tellOfCap(ctx, due)))
    if (keys.length < PAGE) break
    after = last
  }
  return deliveries
}

async function findDue(ctx: AlertCtx, keys: readonly WatchedKey[]): Promise<Due[]> {
  const now = ctx.clock.now()
  const counters = await ctx.keyCounters.read(keys, now)
  const reached = keys.flatMap((key, at) =>
    capsOf(key, counters[at], now).flatMap((cap) =>
      CAP_ALERTS.filter((percent) => isReached(cap, cap.counted, percent)).map((percent) => ({ key, cap, percent })),
    ),
  )
  if (reached.length === 0) return []
  const subjects = [...new Set(reached.map(({ key }) => key.keyId))]
  const alertMarks = await listAlertMarks(ctx.db, [...new Set(reached.map(({ key }) => key.webhook))], subjects)
  return reached.filter((due) => !alertMarks.has(markText(markOf(due))))
}

function capsOf(key: WatchedKey, counter: KeyCounter | undefined, now: number): Cap[] {
  if (counter === undefined) return []
  const { capDailyMicro, capMonthlyMicro } = key
  const day = {
    period: 'day',
    name: `day ${utcDay(now)}`,
    counted: counter.dayMicro,
    isFull: counter.isDayFull,
    resetsAt: nextUtcDay(now),
  } as const
  const month = {
    period: 'month',
    name: `month ${utcMonth(now)}`,
    counted: counter.monthMicro,
    isFull: counter.isMonthFull,
    resetsAt: nextUtcMonth(now),
  } as const
  return [
    ...(capDailyMicro === null ? [] : [{ ...day, cap: capDailyMicro }]),
    ...(capMonthlyMicro === null ? [] : [{ ...month, cap: capMonthlyMicro }]),
  ]
}

/** A cap that refused a call after half of it was used counts as used up, although a smaller call might still fit. */
function isReached({ cap, isFull }: Cap, used: bigint, percent: number): boolean {
  return used * 100n >= cap * BigInt(percent) || (percent === 100 && isFull && used * 2n >= cap)
}

function markOf({ key, cap, percent }: Due): AlertMark {
  return { webhook: key.webhook, subject: key.keyId, mark: `${cap.name} ${percent}` }
}

/**
 * Sends the alert of a cap if the booked amount has reached the percentage, too. Otherwise the next turn tries again.
 */
async function tellOfCap(ctx: AlertCtx, due: Due): Promise<DeliveryId[]> {
  const { key, cap, percent } = due
  const now = ctx.clock.now()
  const keyUse = await sumKeyUse(ctx.db, key.keyId, {
    day: utcDay(now),
    month: utcMonth(now),
    postedBefore: now + DAY,
  })
  const used = cap.period === 'day' ? keyUse.day : keyUse.month
  if (!isReached(cap, used, percent)) return []
  const data = {
    key_id: key.keyId,
    key_label: key.label,
    period: cap.period,
    percent,
    refusing: cap.isFull,
    cap_usdc: formatMicroUsd(microUsd(cap.cap)),
    used_usdc: formatMicroUsd(microUsd(used)),
    resets_at: cap.resetsAt,
  }
  return tell(ctx, markOf(due), { event: 'key.cap_reached', data })
}

async function tell(ctx: AlertCtx, mark: AlertMark, announcement: Announcement): Promise<DeliveryId[]> {
  return transact(ctx.db, async (trx) => {
    if (!(await insertAlertMark(trx, mark, ctx.clock.now()))) return []
    return [await addDelivery(ctx, trx, mark.webhook, announcement)]
  })
}
