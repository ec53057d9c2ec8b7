import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { InvariantRun } from '#control-plane/db/invariant-runs.ts'
import { insertInvariantRun, listInvariantRuns, trimInvariantRuns } from '#control-plane/db/invariant-runs.ts'
import { countBacklog } from '#control-plane/db/money-backlog.ts'
import { listFindings } from '#control-plane/db/money-findings.ts'
import { clearPayoutHold, listPayoutHolds, setPayoutHold } from '#control-plane/db/payout-holds.ts'
import { listShortfall, noteShortfall } from '#control-plane/db/shortfall.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MoneyReport } from '#control-plane/ports/ledger/money-check.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'

type WatchCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log' | 'checkMoney' | 'metrics' | 'payments'>

/** Most stored runs of the checker. */
const KEPT_RUNS = 500
const SHOWN_RUNS = 20
const SHOWN_ROWS = 100

/**
 * Runs the checker, stores its findings and shows them as metrics. Each broken invariant holds back payouts until a
 * person clears it, even when the next run finds it intact. Nothing else stops. A run that could not read a source
 * counts as failed and proves nothing about money. With `confirmAfterMs`, a breach counts only if it persists after
 * that time.
 */
export async function runInvariants(ctx: WatchCtx, confirmAfterMs = 0): Promise<InvariantRun> {
  const startedAt = ctx.clock.now()
  const begun = ctx.clock.monotonic()
  let report = await check(ctx)
  if (confirmAfterMs > 0 && report?.findings.some(({ state }) => state === 'breach')) {
    await ctx.clock.sleep(confirmAfterMs)
    report = await check(ctx)
  }
  const findings = report?.findings ?? []
  const breaches = findings.filter(({ state }) => state === 'breach').map(({ id }) => id)
  const run: InvariantRun = {
    id: ctx.ids.ulid(),
    startedAt,
    tookMs: Math.round(ctx.clock.monotonic() - begun),
    findings,
    breaches,
    failure: report === undefined ? 'one of ledger, gate and journals could not be read' : null,
  }
  await insertInvariantRun(ctx.db, run)
  for (const { id, state, detail } of findings) {
    if (state !== 'breach') continue
    ctx.log.error({ invariant: id, detail }, 'an invariant of money is broken')
    await setPayoutHold(ctx.db, ctx.ids.ulid(), `invariant:${id}`)
  }
  await trimInvariantRuns(ctx.db, KEPT_RUNS)
  if (report !== undefined) ctx.metrics.invariants(findings, startedAt)
  ctx.metrics.backlog(await countBacklog(ctx.db))
  const gas = await ctx.payments?.gasMoney?.().catch(() => undefined)
  if (gas !== undefined) ctx.metrics.gasMoney(gas)
  return run
}

async function check(ctx: WatchCtx): Promise<MoneyReport | undefined> {
  return ctx.checkMoney().catch((error: unknown) => {
    ctx.log.error({ err: error }, 'the money could not be checked')
    return undefined
  })
}

export const RunViewSchema = z.object({
  id: z.string(),
  startedAt: UnixMs,
  tookMs: z.number(),
  findings: z
    .array(
      z.object({
        id: z.string(),
        state: z.enum(['ok', 'breach', 'none']),
        detail: z.string(),
      }),
    )
    .readonly(),
  breaches: z.array(z.string()).readonly(),
  failure: z.string().nullable(),
})
export const DifferenceViewSchema = z.object({
  subject: z.string(),
  detail: z.string(),
  kind: z.string(),
  firstSeenAt: UnixMs,
  timesSeen: z.number(),
})
export const HoldOfPayoutsSchema = z.object({
  id: z.string(),
  reason: z.string(),
  setAt: UnixMs,
  clearedAt: UnixMs.nullable(),
  clearedBy: z.string().nullable(),
  clearReason: z.string().nullable(),
})
export const MoneyStateSchema = z.object({
  runs: z.array(RunViewSchema).readonly(),
  /** Differences that comparisons found and that still persist. */
  differences: z.array(DifferenceViewSchema).readonly(),
  payoutHolds: z.array(HoldOfPayoutsSchema).readonly(),
})
export type MoneyState = z.infer<typeof MoneyStateSchema>

/** Reads the last runs of the checker, the present differences, and the holds on payouts. */
export const readInvariants = defineOperation({
  name: 'invariants.read',
  summary: 'List the last runs of the money checker',
  about: 'Each answer also has the present differences and the holds on payouts.',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: MoneyStateSchema,
  run: async (ctx): Promise<MoneyState> => ({
    runs: await listInvariantRuns(ctx.db, SHOWN_RUNS),
    differences: await listFindings(ctx.db, SHOWN_ROWS),
    payoutHolds: await listPayoutHolds(ctx.db, true, SHOWN_ROWS),
  }),
})

export const runInvariantsNow = defineOperation({
  name: 'invariants.run',
  summary: 'Run the money checker now',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'none',
  idempotency: 'none',
  output: RunViewSchema,
  run: (ctx): Promise<InvariantRun> => runInvariants(ctx),
})

export const ClearedHoldSchema = z.object({ id: z.string() })

/** Clears one hold on payouts. The reason is required, because the next person reads it. */
export const clearHold = defineOperation({
  name: 'payoutHold.clear',
  summary: 'Clear one hold on payouts',
  access: 'operator',
  input: z.strictObject({ id: oneLine(26).length(26), reason: oneLine(500).trim().min(1) }),
  limit: 'none',
  idempotency: 'none',
  output: ClearedHoldSchema,
  run: async (ctx, actor, { id, reason }): Promise<{ readonly id: string }> => {
    const clear = async (trx: Trx) => {
      if (await clearPayoutHold(trx, { id, by: tenantOf(actor), reason })) return
      throw new AppError('not_found', { message: 'No active hold on payouts has this id.' })
    }
    await ctx.change(clear, () => ({ subject: id, before: { cleared: false }, after: { cleared: true, reason } }))
    return { id }
  },
})

/** A posting that drew on the shortfall or paid it off, in micro-USD. */
export const ShortfallRowSchema = z.object({
  tx: z.string(),
  kind: z.string(),
  amountMicro: MicroDigits,
  at: UnixMs,
  reason: z.string().nullable(),
  /** The buyer whose balance did not cover the charge. */
  account: z.string().nullable(),
})
export const ShortfallReportSchema = z.object({
  owedMicro: MicroDigits,
  lines: z.array(ShortfallRowSchema).readonly(),
})
export type ShortfallReport = z.infer<typeof ShortfallReportSchema>

/** Lists the charges that the platform could not collect, each with its known cause. */
export const readShortfall = defineOperation({
  name: 'shortfall.read',
  summary: 'List charges that the platform covered',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: ShortfallReportSchema,
  run: async (ctx): Promise<ShortfallReport> => {
    const [{ shortfallMicro }, lines] = await Promise.all([countBacklog(ctx.db), listShortfall(ctx.db, SHOWN_ROWS)])
    return {
      owedMicro: shortfallMicro.toString(),
      lines: lines.map(({ amount, at, ...rest }) => ({ ...rest, amountMicro: amount.toString(), at: at.getTime() })),
    }
  },
})

/** Records the cause of a posting's shortfall. */
export const explainShortfall = defineOperation({
  name: 'shortfall.explain',
  summary: 'Record the cause of a shortfall',
  access: 'operator',
  input: z.strictObject({ tx: oneLine(26).length(26), reason: oneLine(500).trim().min(1) }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    tx: z.string(),
  }),
  run: async (ctx, actor, { tx, reason }): Promise<{ readonly tx: string }> => {
    const explain = async (trx: Trx) => {
      if (await noteShortfall(trx, { tx, reason, by: tenantOf(actor) })) return
      throw new AppError('not_found', { message: 'No posting with this id took money from the shortfall account.' })
    }
    await ctx.change(explain, () => ({ subject: tx, before: null, after: { reason } }))
    return { tx }
  },
})
