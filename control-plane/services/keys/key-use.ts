import type { Database } from '#control-plane/db/database.ts'
import type { UsePeriod } from '#control-plane/db/money-epoch.ts'
import { readPostedHorizon, sumBudgetUse, sumKeyUse } from '#control-plane/db/money-epoch.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { CountedKey, CounterSubject } from '#control-plane/ports/gate/gate.ts'
import { utcDay, utcMonth } from '#shared/clock.ts'
import { microUsd } from '#shared/money.ts'

type KeyUseCtx = Pick<Ctx, 'gate' | 'clock'> & { readonly db: Database }

/**
 * Milliseconds by which the seed's instant lies in the future: the gate must have the mark before any posting after the
 * instant.
 */
const AHEAD_MS = 50
const LOOK_MS = 10
/** The most checks. Together they take longer than any writing transaction, because statements have a timeout. */
const MAX_LOOKS = 1_000

/**
 * Seeds a key's counter with the ledger's figures, so that a new cap counts earlier use of the key. Call it whenever a
 * key gets its first cap. A repeat changes nothing. A rebuild of the gate seeds every key with a cap. Calls continue
 * meanwhile. Throws AppError `service_unavailable` while the gate is away.
 */
export async function seedKeyUse(ctx: KeyUseCtx, key: CountedKey): Promise<void> {
  await seedCounter(ctx, key, (period) => sumKeyUse(ctx.db, key.keyId, period))
}

/** Seeds the counter of a new budget, as {@link seedKeyUse} does. The budget is stored already. */
export async function seedBudgetUse(ctx: KeyUseCtx, budgetId: string): Promise<void> {
  await seedCounter(ctx, { budgetId }, async (period) => ({
    day: 0n,
    month: await sumBudgetUse(ctx.db, budgetId, period),
  }))
}

type Sum = (period: UsePeriod) => Promise<{ readonly day: bigint; readonly month: bigint }>

async function seedCounter({ db, gate, clock }: KeyUseCtx, counted: CounterSubject, sum: Sum): Promise<void> {
  const mark = await gate.markUse(counted, (await readPostedHorizon(db)) + AHEAD_MS)
  if (mark === undefined) return
  const { postedBefore, now } = mark
  for (let looks = 0; (await readPostedHorizon(db)) < postedBefore && looks < MAX_LOOKS; looks++) {
    await clock.sleep(LOOK_MS)
  }
  const period = { day: utcDay(now), month: utcMonth(now), postedBefore }
  const { day, month } = await sum(period)
  await gate.seedUse(counted, { ...period, dayMicro: microUsd(day), monthMicro: microUsd(month) })
}
