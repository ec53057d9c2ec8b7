import { z } from 'zod'
import {
  countFailedCalls,
  listPricesOfVersions,
  sumBilledByProvider,
  sumBilledCalls,
  sumNewestStated,
  sumStated,
} from '#control-plane/db/drift.ts'
import type { DayWindow } from '#control-plane/db/provider-bills.ts'
import { listBilled } from '#control-plane/db/provider-bills.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Day } from '#control-plane/services/input-fields.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart, utcDay } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { formatUnitPrice, PICO_PER_MICRO, picoUsd } from '#shared/money.ts'
import { byText } from '#shared/text-order.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import { BILL_CLASSES } from './billed-class.ts'
import { DRIFT_CAUSES } from './drift-causes.ts'
import type { DriftRow } from './drift-rows.ts'
import { driftRows, picoOf } from './drift-rows.ts'

/** Most rows of one answer. The largest differences come first. */
export const MAX_DRIFT_ROWS = 500
/** Most days of one answer, and the default number of days. */
const MAX_DAYS = 92
const USUAL_DAYS = 30
/** Most calls of all sellers that the operators' live drift reads. */
const NEWEST_CALLS = 20_000

const UsdText = z.string().regex(/^-?\d+(\.\d+)?$/)
const Billed = UsdText.describe('US dollars as a decimal number.')
const Listed = UsdText.describe('The same calls at the list price, in US dollars.')
const Difference = UsdText.describe('Billed less list, in US dollars.')
const Percent = z.number().nullable().describe('The difference in percent of the list cost; null without a list cost.')
const DayText = z.string().describe('A day in UTC: YYYY-MM-DD.')

/** A row of the comparison. */
export const DriftRowSchema = z
  .object({
    provider: z.string(),
    day: DayText,
    model: z.string().describe('The provider’s own name of the model; `account` for costs of no model.'),
    billedClass: z.enum(BILL_CLASSES).describe('The part of the bill; `all` for a bill without parts.'),
    units: z.string().nullable().describe('Units by the bill; null where a line has none.'),
    billedUsd: Billed,
    listUsd: Listed,
    differenceUsd: Difference,
    differencePct: Percent,
    calls: Count.describe('Calls of the model on the day that the market sold, of every class.'),
    failedCalls: Count.describe('Calls of the model on the day that failed at your offers. A provider may bill them.'),
    cause: z.enum(DRIFT_CAUSES).describe('The likely cause of the difference.'),
  })
  .meta({ id: 'DriftRow', description: 'A part of a provider’s bill beside the list cost of the same calls.' })
export type DriftRowView = z.infer<typeof DriftRowSchema>

/** The percentage above which operators are alerted, and the most providers that metrics name. */
const ALARM_PCT = 1
const MAX_GAUGED = 100

/** Calls whose answers state their cost. */
export const StatedDriftSchema = z
  .object({
    provider: z.string(),
    calls: Count,
    statedUsd: UsdText.describe('The cost by the provider’s own account, in US dollars.'),
    listUsd: Listed,
    differenceUsd: Difference,
    differencePct: Percent,
  })
  .meta({
    id: 'StatedDrift',
    description: 'Costs that answers of a provider state, beside the list cost of the calls.',
  })
export type StatedDrift = z.infer<typeof StatedDriftSchema>

export const DriftSchema = z
  .object({
    from: DayText,
    to: DayText.describe('The last day, in UTC.'),
    billedUsd: Billed,
    listUsd: Listed,
    differenceUsd: Difference,
    differencePct: Percent,
    total: Count.describe('Rows of the days. At most 500 of them are listed, the largest differences first.'),
    rows: z.array(DriftRowSchema).readonly(),
    stated: z.array(StatedDriftSchema).readonly().describe('Costs that answers state, without a bill.'),
  })
  .meta({ id: 'Drift', description: 'What providers billed a seller, beside the list cost of the same calls.' })
export type Drift = z.infer<typeof DriftSchema>

const DayFields = { from: Day.optional(), to: Day.optional() }

/**
 * Compares providers' bills of the caller with the list cost of the same calls, by model, day and class. Days without a
 * bill are left out. Throws `invalid_request` for more than 92 days.
 */
export const readDrift = defineOperation({
  name: 'drift.read',
  summary: 'Compare providers’ bills with the list cost',
  about:
    'By model, day and class, with the likely cause of each difference. Days without a bill are left out. `stated` is the cost in the answers themselves.',
  access: 'seller',
  input: z.strictObject({ ...DayFields, provider: oneLine(64).min(1).optional(), workspaceId: WorkspaceField }),
  limit: 'read',
  idempotency: 'none',
  output: DriftSchema,
  run: async (ctx, actor, { from, to, provider, workspaceId }): Promise<Drift> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const window = { ...readDays({ from, to }, ctx.clock.now()), provider }
    const [billed, calls, failures, stated] = await Promise.all([
      listBilled(ctx.db, seller, window),
      sumBilledCalls(ctx.db, seller, window),
      countFailedCalls(ctx.db, seller, window),
      sumStated(ctx.db, seller, window),
    ])
    const versions = [...new Set(calls.map(({ priceVersion }) => priceVersion))]
    const prices = await listPricesOfVersions(ctx.db, versions)
    const rows = driftRows({ billed, calls, failures, prices, today: utcDay(ctx.clock.now()) }).sort(bySize)
    const sum = (read: (row: DriftRow) => bigint) => rows.reduce((total, row) => total + read(row), 0n)
    const { billedUsd, ...sums } = shownDifference(
      sum((row) => row.billed),
      sum((row) => row.list),
    )
    return {
      from: window.from,
      to: utcDay(Date.parse(window.to) - DAY),
      billedUsd,
      ...sums,
      total: rows.length,
      rows: rows.slice(0, MAX_DRIFT_ROWS).map(viewRow),
      stated: stated.filter((row) => provider === undefined || row.provider === provider).map(viewStated),
    }
  },
})

/**
 * Reads the range of days, the last excluded. Throws `invalid_request` for days in the wrong order, and for too many.
 */
function readDays(input: { from: string | undefined; to: string | undefined }, now: number): DayWindow {
  const last = Date.parse(input.to ?? utcDay(now))
  const first = input.from === undefined ? last - (USUAL_DAYS - 1) * DAY : Date.parse(input.from)
  if (first > last) throw new AppError('invalid_request', { message: 'from must not be after to.', param: 'from' })
  if (last - first >= MAX_DAYS * DAY) {
    throw new AppError('invalid_request', { message: `The range must be at most ${MAX_DAYS} days.`, param: 'from' })
  }
  return { from: utcDay(first), to: utcDay(last + DAY) }
}

function bySize(left: DriftRow, right: DriftRow): number {
  const [a, b] = [sizeOf(left), sizeOf(right)]
  if (a !== b) return a < b ? 1 : -1
  return byText(`${left.day} ${left.model} ${left.billedClass}`, `${right.day} ${right.model} ${right.billedClass}`)
}

function sizeOf({ billed, list }: DriftRow): bigint {
  return billed > list ? billed - list : list - billed
}

/** Two costs in pico-USD and their difference, in the form of the answers. */
function shownDifference(billed: bigint, list: bigint) {
  return {
    billedUsd: usd(billed),
    listUsd: usd(list),
    differenceUsd: usd(billed - list),
    differencePct: percentOf(billed, list),
  }
}

function usd(pico: bigint): string {
  return pico < 0n ? `-${formatUnitPrice(picoUsd(-pico))}` : formatUnitPrice(picoUsd(pico))
}

/** The difference in percent of the list, with two decimals. */
function percentOf(billed: bigint, list: bigint): number | null {
  return list <= 0n ? null : Number(((billed - list) * 10_000n) / list) / 100
}

function viewRow({
  provider,
  day,
  model,
  billedClass,
  billed,
  list,
  calls,
  failed,
  units,
  cause,
}: DriftRow): DriftRowView {
  const figures = shownDifference(billed, list)
  return {
    provider,
    day,
    model,
    billedClass,
    units: units?.toString() ?? null,
    ...figures,
    calls,
    failedCalls: failed,
    cause,
  }
}

type Stated = { readonly provider: string; readonly calls: number; readonly list: string; readonly statedPico: string }

function viewStated({ provider, calls, list, statedPico }: Stated): StatedDrift {
  const { billedUsd: statedUsd, ...figures } = shownDifference(BigInt(statedPico), picoOf(list))
  return { provider, calls, statedUsd, ...figures }
}

/** A provider's drift for operators: by the bills of all sellers, or by the costs that answers state. */
export const ProviderDriftSchema = z
  .object({
    provider: z.string(),
    source: z
      .enum(['bills', 'answers'])
      .describe('`bills` of sellers, or `answers` of the last day that state a cost.'),
    sellers: Count.nullable().describe('Sellers with a bill; null for answers.'),
    calls: Count,
    billedUsd: Billed,
    listUsd: Listed,
    differenceUsd: Difference,
    differencePct: Percent,
  })
  .meta({ id: 'ProviderDrift', description: 'The drift of a provider over all sellers.' })
export type ProviderDrift = z.infer<typeof ProviderDriftSchema>

/**
 * Lists the providers whose drift over all sellers is above a percentage, by bills and, for the newest 20,000 calls of
 * the last day, by the costs that answers state. A difference that the rounding of each call explains does not count.
 */
export const listProviderDrift = defineOperation({
  name: 'drift.providers',
  summary: 'List providers whose bills differ from the list',
  about: 'Over all sellers, by their bills and by the costs in answers of the last day.',
  access: 'operator',
  input: z.strictObject({ ...DayFields, abovePct: wholeNumber(0, 100).prefault(1) }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(ProviderDriftSchema).readonly(),
  run: async (ctx, _actor, { from, to, abovePct }): Promise<readonly ProviderDrift[]> => {
    const rows = await driftOfProviders(ctx, { ...readDays({ from, to }, ctx.clock.now()), isSoldOnly: false })
    return rows.filter((row) => isAbove(row, abovePct)).map(viewProvider)
  },
})

/** Sets the metrics of each provider's drift and of the number of providers above 1%. */
export async function watchDrift(ctx: Pick<Ctx, 'db' | 'clock' | 'metrics'>): Promise<void> {
  const days = readDays({ from: undefined, to: undefined }, ctx.clock.now())
  const rows = await driftOfProviders(ctx, { ...days, isSoldOnly: true })
  const shownRows = rows.map((row) => ({
    provider: row.provider,
    source: row.source,
    percent: isRounding(row) ? 0 : (percentOf(row.billed, row.list) ?? 0),
  }))
  ctx.metrics.drift(
    [...shownRows].sort((left, right) => Math.abs(right.percent) - Math.abs(left.percent)).slice(0, MAX_GAUGED),
  )
  const above = rows.filter((row) => isAbove(row, ALARM_PCT)).map(({ provider }) => provider)
  ctx.metrics.findings('provider_drift', new Set(above).size)
}

type ProviderSums = Pick<ProviderDrift, 'provider' | 'source' | 'sellers' | 'calls'> & {
  /** Pico-USD. */
  readonly billed: bigint
  readonly list: bigint
}

async function driftOfProviders(
  ctx: Pick<Ctx, 'db' | 'clock'>,
  window: DayWindow & { readonly isSoldOnly: boolean },
): Promise<ProviderSums[]> {
  const [bills, answers] = await Promise.all([
    sumBilledByProvider(ctx.db, window),
    sumNewestStated(ctx.db, { since: periodStart(ctx.clock.now(), DAY), limit: NEWEST_CALLS }),
  ])
  return [
    ...bills.map(({ provider, sellers, calls, list, billedPico }) => {
      const sums = { billed: BigInt(billedPico), list: picoOf(list) }
      return { provider, source: 'bills' as const, sellers, calls, ...sums }
    }),
    ...answers.map(({ provider, calls, list, statedPico }) => {
      const sums = { billed: BigInt(statedPico), list: picoOf(list) }
      return { provider, source: 'answers' as const, sellers: null, calls, ...sums }
    }),
  ]
}

function viewProvider({ provider, source, sellers, calls, billed, list }: ProviderSums): ProviderDrift {
  return { provider, source, sellers, calls, ...shownDifference(billed, list) }
}

function isAbove(row: ProviderSums, abovePct: number): boolean {
  const percent = percentOf(row.billed, row.list)
  if (percent === null) return row.billed !== 0n
  return Math.abs(percent) > abovePct && !isRounding(row)
}

/** True for a difference of at most one micro-USD a call: each list cost is rounded up. */
function isRounding({ billed, list, calls }: ProviderSums): boolean {
  return list >= billed && list - billed <= BigInt(calls) * PICO_PER_MICRO
}
