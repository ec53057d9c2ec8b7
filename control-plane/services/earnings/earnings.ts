import { z } from 'zod'
import { findBalances } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { readAtOnce } from '#control-plane/db/database.ts'
import type { DayOfModel } from '#control-plane/db/earnings.ts'
import { sumEarnings } from '#control-plane/db/earnings.ts'
import { sumPendingSales } from '#control-plane/db/payment-views.ts'
import { sumPayouts } from '#control-plane/db/treasury-transfers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { groupBy } from '#control-plane/services/market/market-rows.ts'
import { MediaUnitsSchema, mediaUnitsOfRows } from '#control-plane/services/media-units.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { findPayoutHold, PayoutHoldViewSchema } from '#control-plane/services/payouts/payout-hold.ts'
import { Count, MicroDigits, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { lastUtcDays, nextUtcDay } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { ulidTime } from '#shared/ids.ts'
import { microUsd, microUsdToDollars } from '#shared/money.ts'
import { byText } from '#shared/text-order.ts'
import { newestSales, SaleViewSchema, viewSale } from './sales.ts'

/** Number of days of each range, with today. Null covers all time. */
const RANGES = { '7d': 7, '30d': 30, '90d': 90, lifetime: null } as const
const RANGE_NAMES = ['7d', '30d', '90d', 'lifetime'] as const
const RECENT_SALES = 20

/** Null with days that were archived before the market summed what buyers paid. */
const GrossMicro = WholeMicro.nullable().describe(
  'Payments of buyers, in micro-USD: the fee and the earnings of the seller. Null for days that were archived without this sum.',
)
const FeeMicro = WholeMicro.nullable().describe('The fee of the market, in micro-USD. Null where the gross is null.')

/** The earnings of one UTC day. `micro` figures are whole micro-USD. */
export const EarningsDaySchema = z.object({
  day: z.string().describe('A day in UTC: YYYY-MM-DD.'),
  earnedMicro: WholeMicro,
  grossMicro: GrossMicro,
  feeMicro: FeeMicro,
  earnedUsd: z.number(),
  requests: Count,
  inputTokens: Count,
  outputTokens: Count,
  totalTokens: Count,
  ...MediaUnitsSchema.shape,
})
export type EarningsDay = z.infer<typeof EarningsDaySchema>

export const EarningsModelSchema = z.object({
  model: z.string(),
  earnedMicro: WholeMicro,
  grossMicro: GrossMicro,
  feeMicro: FeeMicro,
  earnedUsd: z.number(),
  requests: Count,
  totalTokens: Count,
  ...MediaUnitsSchema.shape,
  /** Unix milliseconds. */
  lastSaleAt: UnixMs,
})
export type EarningsModel = z.infer<typeof EarningsModelSchema>

/** A summary of the range. */
export const EarningsShareSchema = z.object({
  earnedUsd: z.number(),
  earnedMicro: WholeMicro,
  grossMicro: GrossMicro,
  feeMicro: FeeMicro,
  requests: Count,
  tokens: Count,
  /** The model with the highest earnings, null without sales, and its share of all earnings. */
  topModel: z.string().nullable(),
  shareBps: Count,
})
export type EarningsShare = z.infer<typeof EarningsShareSchema>

/** A seller's earnings. `usdc` figures are micro-USD as plain digits. */
export const EarningsSchema = z
  .object({
    range: z.enum(RANGE_NAMES),
    /** The earnings of all time, whatever the range: pending, in flight and paid. */
    totalEarnedUsdc: MicroDigits,
    /** Earnings not yet paid out: the seller's balance, and sales that wait for the chain. */
    pendingUsdc: MicroDigits,
    inFlightUsdc: MicroDigits,
    paidUsdc: MicroDigits,
    /** An entry for each day of the range. A lifetime has only days with sales. */
    daily: z.array(EarningsDaySchema).readonly(),
    byModel: z.array(EarningsModelSchema).readonly(),
    share: EarningsShareSchema,
    recentSales: z.array(SaleViewSchema).readonly(),
    payoutHold: PayoutHoldViewSchema.optional(),
  })
  .meta({
    id: 'Earnings',
    description: 'The earnings of a seller: totals of all time, and the days and models of a range.',
  })
export type Earnings = z.infer<typeof EarningsSchema>

/** Reads the caller's earnings, computed now from booked calls and the account. */
export const getEarnings = defineOperation({
  name: 'earnings.get',
  summary: 'Get earnings',
  about: 'Sums of the sales in the range.',
  example: { range: '7d' },
  access: 'seller',
  input: z.strictObject({ range: z.enum(RANGE_NAMES).default('7d'), workspaceId: WorkspaceField }),
  limit: 'read',
  idempotency: 'none',
  output: EarningsSchema,
  run: async (ctx, actor, { range, workspaceId }): Promise<Earnings> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const now = ctx.clock.now()
    const length = RANGES[range]
    const { since, days } = length === null ? { since: 0, days: [] } : lastUtcDays(now, length)
    const span = { from: since, to: nextUtcDay(now) }
    const [hold, { sums, sales, balance, unbooked, payouts }] = await Promise.all([
      findPayoutHold(ctx, seller),
      readAtOnce(ctx.db, (trx) => readParts(trx, seller, span)),
    ])
    const inFlight = payouts.reduce((sum, row) => sum + row.inFlight, 0n)
    const paidOut = payouts.reduce((sum, row) => sum + row.paid, 0n)
    const byModel = sumModels(sums)
    return {
      range,
      totalEarnedUsdc: (balance + unbooked + inFlight + paidOut).toString(),
      pendingUsdc: (balance + unbooked).toString(),
      inFlightUsdc: inFlight.toString(),
      paidUsdc: paidOut.toString(),
      daily: sumDays(sums, days),
      byModel,
      share: shareOf(byModel, sums),
      recentSales: sales.map(viewSale),
      ...(hold === undefined ? {} : { payoutHold: hold }),
    }
  },
})

/** Reads the parts of one answer in one snapshot: a sale is in the list and in every sum, or in none. */
async function readParts(db: Database, seller: AccountId, span: { readonly from: number; readonly to: number }) {
  return {
    sums: await sumEarnings(db, seller, span),
    sales: await newestSales(db, seller, { before: undefined, limit: RECENT_SALES }),
    balance: await readBalance({ db }, seller),
    unbooked: await sumPendingSales(db, seller),
    payouts: await sumPayouts(db, seller),
  }
}

export async function readBalance(ctx: Pick<Ctx, 'db'>, seller: AccountId): Promise<bigint> {
  const [found] = await findBalances(ctx.db, [seller])
  return found?.balance ?? 0n
}

/** Sums by day, with a day of zeros for each of `days` without a sale. */
function sumDays(rows: readonly DayOfModel[], days: readonly string[]): EarningsDay[] {
  const byDay = groupBy(rows, (row) => row.day)
  const shownDays = [...new Set([...days, ...byDay.keys()])].sort(byText)
  return shownDays.map((day) => {
    const { inputTokens, outputTokens, ...sum } = sumOf(byDay.get(day) ?? [])
    return { day, ...sum, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
  })
}

/** Sums by model, the highest earnings first. */
function sumModels(rows: readonly DayOfModel[]): EarningsModel[] {
  const models = [...groupBy(rows, (row) => row.model)].map(([model, own]) => {
    const { inputTokens, outputTokens, ...sum } = sumOf(own)
    const lastSaleAt = Math.max(...own.map(({ lastSale }) => ulidTime(lastSale)))
    return { model, ...sum, totalTokens: inputTokens + outputTokens, lastSaleAt }
  })
  return models.sort(
    (left, right) =>
      right.earnedMicro - left.earnedMicro || right.requests - left.requests || (left.model < right.model ? -1 : 1),
  )
}

function sumOf(rows: readonly DayOfModel[]) {
  const sum = (read: (row: DayOfModel) => bigint) => rows.reduce((total, row) => total + read(row), 0n)
  const earned = sum((row) => row.earned)
  return {
    ...moneyOf(rows, earned),
    requests: Number(sum((row) => row.requests)),
    inputTokens: Number(sum((row) => row.inputTokens)),
    outputTokens: Number(sum((row) => row.outputTokens)),
    ...mediaUnitsOfRows(rows),
  }
}

/** Net, gross and fee of sales. The fee is the difference, so they add up to the micro-USD. */
function moneyOf(rows: readonly DayOfModel[], earned: bigint) {
  const gross = rows.reduce<bigint | null>(
    (sum, { charged }) => (sum === null || charged === null ? null : sum + charged),
    0n,
  )
  return {
    earnedMicro: Number(earned),
    earnedUsd: microUsdToDollars(microUsd(earned)),
    grossMicro: gross === null ? null : Number(gross),
    feeMicro: gross === null ? null : Number(gross - earned),
  }
}

function shareOf(byModel: readonly EarningsModel[], sums: readonly DayOfModel[]): EarningsShare {
  const [top] = byModel
  const total = sums.reduce((sum, row) => sum + row.earned, 0n)
  return {
    ...moneyOf(sums, total),
    requests: byModel.reduce((sum, row) => sum + row.requests, 0),
    tokens: byModel.reduce((sum, row) => sum + row.totalTokens, 0),
    topModel: top?.model ?? null,
    shareBps: top === undefined || total === 0n ? 0 : Number((BigInt(top.earnedMicro) * 10_000n) / total),
  }
}
