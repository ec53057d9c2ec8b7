import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { AlertMark, AlertPlace } from '#control-plane/db/webhook-alerts.ts'
import {
  BALANCE,
  clearRisenBalances,
  insertAlertMark,
  listAlertMarks,
  listLowBalances,
  listWatchedBudgets,
  listWatchedKeys,
  markText,
} from '#control-plane/db/webhook-alerts.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { DAY, utcDay, utcMonth } from '#shared/clock.ts'
import type { DeliveryId } from '#shared/ids.ts'
import { formatMicroUsd, microUsd } from '#shared/money.ts'
import type { Limited, SpendLimit } from './spend-limits.ts'
import { limitsOfBudget, limitsOfKey } from './spend-limits.ts'
import type { Announcement } from './webhook-deliveries.ts'
import { addDelivery } from './webhook-deliveries.ts'

/** Percentages of a limit at which an alert is sent. */
const LIMIT_ALERTS = [50, 80, 100] as const

/** Subjects of one page, most pages of one turn, and most low balances of one turn. */
const PAGE = 500
const MAX_PAGES = 200
const MAX_LOW_BALANCES = 1_000

type AlertCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log' | 'keyCounters'>

/** A page of keys or budgets with the webhooks that watch them, after a place. */
type ListLimited = (db: Database, after: AlertPlace, limit: number) => Promise<readonly Limited[]>

/** The subjects whose limits are watched. */
const LIMITED: readonly ListLimited[] = [
  async (...page) => (await listWatchedKeys(...page)).map(limitsOfKey),
  async (...page) => (await listWatchedBudgets(...page)).map(limitsOfBudget),
]

/** An alert that was not sent yet. */
type Due = { readonly limited: Limited; readonly limit: SpendLimit; readonly percent: number }

/**
 * Finds caps and budgets that reached one of the percentages, and balances that fell below a threshold. For each it
 * stores a delivery to every listening webhook: once per day or month of a limit, and again when the limit is changed;
 * once per fall of a balance. Returns the deliveries. The gate's count includes running calls at their highest cost, so
 * no alert is missed; an alert is sent only when the booked amount has reached the percentage, too.
 */
export async function findAlerts(ctx: AlertCtx): Promise<DeliveryId[]> {
  const deliveries: DeliveryId[] = []
  await clearRisenBalances(ctx.db)
  for (const { webhook, balance, threshold } of await listLowBalances(ctx.db, MAX_LOW_BALANCES)) {
    const data = { balance_usdc: balance.toString(), threshold_usdc: formatMicroUsd(microUsd(threshold)) }
    deliveries.push(...(await tell(ctx, { webhook, ...BALANCE }, { event: 'balance.low', data })))
  }
  for (const list of LIMITED) deliveries.push(...(await findReached(ctx, list)))
  return deliveries
}

async function findReached(ctx: AlertCtx, list: ListLimited): Promise<DeliveryId[]> {
  const deliveries: DeliveryId[] = []
  let after: AlertPlace = { webhook: '', subject: '' }
  for (let page = 0; page < MAX_PAGES; page++) {
    const subjects = await list(ctx.db, after, PAGE)
    const last = subjects.at(-1)
    if (last === undefined) break
    for (const due of await findDue(ctx, subjects)) deliveries.push(...(await tellOfLimit(ctx, due)))
    if (subjects.length < PAGE) break
    after = last
  }
  return deliveries
}

async function findDue(ctx: AlertCtx, subjects: readonly Limited[]): Promise<Due[]> {
  const now = ctx.clock.now()
  const counters = await ctx.keyCounters.read(
    subjects.map(({ counted }) => counted),
    now,
  )
  const reached = subjects.flatMap((limited, at) => {
    const counter = counters[at]
    const limits = counter === undefined ? [] : limited.limits(counter, now)
    return limits.flatMap((limit) =>
      LIMIT_ALERTS.filter((percent) => isReached(limit, limit.counted, percent)).map((percent) => ({
        limited,
        limit,
        percent,
      })),
    )
  })
  if (reached.length === 0) return []
  const names = [...new Set(reached.map(({ limited }) => limited.subject))]
  const webhooks = [...new Set(reached.map(({ limited }) => limited.webhook))]
  const alertMarks = await listAlertMarks(ctx.db, webhooks, names)
  return reached.filter((due) => !alertMarks.has(markText(markOf(due))))
}

/** A limit that refused a call after half of it was used counts as used up, although a smaller call might still fit. */
function isReached({ limit, isFull }: SpendLimit, used: bigint, percent: number): boolean {
  return used * 100n >= limit * BigInt(percent) || (percent === 100 && isFull && used * 2n >= limit)
}

/** A changed limit is reached anew, so the mark has its amount. */
function markOf({ limited: { webhook, subject }, limit, percent }: Due): AlertMark {
  return { webhook, subject, mark: `${limit.name} ${percent} of ${limit.limit}` }
}

/**
 * Sends the alert of a limit if the booked amount has reached the percentage, too. Otherwise the next turn tries again.
 */
async function tellOfLimit(ctx: AlertCtx, due: Due): Promise<DeliveryId[]> {
  const { limited, limit, percent } = due
  const now = ctx.clock.now()
  const period = { day: utcDay(now), month: utcMonth(now), postedBefore: now + DAY }
  const used = (await limited.sumBooked(ctx.db, period))[limit.period]
  return isReached(limit, used, percent) ? tell(ctx, markOf(due), limited.announce({ limit, percent, used })) : []
}

async function tell(ctx: AlertCtx, mark: AlertMark, announcement: Announcement): Promise<DeliveryId[]> {
  return transact(ctx.db, async (trx) => {
    if (!(await insertAlertMark(trx, mark, ctx.clock.now()))) return []
    return [await addDelivery(ctx, trx, mark.webhook, announcement)]
  })
}
