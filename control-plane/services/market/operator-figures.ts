import { z } from 'zod'
import { NEWEST_CALLS_OF_PERIOD } from '#control-plane/db/newest-calls.ts'
import type { CallFigures } from '#control-plane/db/operator-figures.ts'
import { countCallFigures, countErrors, sumFees } from '#control-plane/db/operator-figures.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant } from '#control-plane/services/input-fields.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, HOUR } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { isSummed, readSeries } from './market-series.ts'

/** The longest period in milliseconds. The hours of the period before are kept, too. */
const LONGEST = 31 * DAY
const MOST_ERRORS = 100

/** The figures of a period. */
export const PeriodFiguresSchema = z
  .object({
    from: UnixMs,
    to: UnixMs.describe('The end of the period, excluded, in Unix milliseconds.'),
    volumeMicro: MicroDigits.nullable().describe('Charges of the market’s calls. Null while calls are not summed yet.'),
    calls: Count.nullable().describe('Null while calls are not summed yet.'),
    chargedCalls: Count.nullable().describe('Null while calls are not summed yet.'),
    answeredPct: z
      .number()
      .nullable()
      .describe('The share of answered calls in the calls that a provider could have answered.'),
    answeredBase: Count.nullable().describe('The number of calls of which `answeredPct` is a share.'),
    feesMicro: MicroDigits.describe('Booked fees, less the fees that refunds returned.'),
    buyers: Count.describe('Accounts with a charged call.'),
    sellers: Count.describe('Accounts that sold a charged call.'),
    failedCalls: Count.describe('Calls that failed or were cut.'),
    chargedFailures: Count.describe('Failed calls that were charged for what they delivered.'),
    freeCalls: Count.describe('Calls that did not fail and had no charge.'),
    countedCalls: Count.describe(
      'The number of calls that buyers, sellers, errors and overhead are counted from: the newest of the period.',
    ),
    isWhole: z.boolean().describe('False where the period has more calls than were counted.'),
    overheadP50Ms: z.number().nullable().describe('Time that the market added to a call: the median.'),
    overheadP99Ms: z.number().nullable(),
    overheadCalls: Count.describe(
      'The number of calls that reached a provider. The overhead is measured from these calls.',
    ),
  })
  .meta({ id: 'PeriodFigures', description: 'Revenue, users, errors and overhead of a period.' })
export type PeriodFigures = z.infer<typeof PeriodFiguresSchema>

const ErrorCountSchema = z
  .object({
    errorCode: z.string(),
    provider: z.string().nullable().describe('Null where no provider was tried.'),
    calls: Count,
  })
  .meta({ id: 'ErrorCount', description: 'Failed calls with one error at one provider.' })

/** A period and the one of the same length before it. */
export const OperatorFiguresSchema = z
  .object({
    present: PeriodFiguresSchema,
    before: PeriodFiguresSchema,
    errors: z
      .array(ErrorCountSchema)
      .readonly()
      .describe('Failed calls of the period by error and provider, the most frequent first. At most 100 lines.'),
  })
  .meta({ id: 'OperatorFigures', description: 'The market in a period and in the period before it.' })
export type OperatorFigures = z.infer<typeof OperatorFiguresSchema>

/**
 * Reads revenue, users, errors and overhead of a period, and of the period before. Volume, calls and the answered share
 * are those of `market.series` over whole hours.
 */
export const readOperatorFigures = defineOperation({
  name: 'figures.read',
  summary: 'Read revenue, users, errors and overhead of a period and the one before',
  about:
    'The last 24 hours by default, at most 31 days. A period begins and ends with an hour. Volume, calls and the answered share are those of the market’s series. Fees come from the ledger.',
  access: 'operator',
  input: z.strictObject({ from: Instant.optional(), to: Instant.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: OperatorFiguresSchema,
  run: async (ctx, _actor, input): Promise<OperatorFigures> => {
    const to = Math.ceil((input.to ?? ctx.clock.now()) / HOUR) * HOUR
    const from = input.from === undefined ? to - DAY : Math.floor(input.from / HOUR) * HOUR
    const length = to - from
    if (length <= 0) throw new AppError('invalid_request', { message: 'to must be after from.', param: 'to' })
    if (length > LONGEST) {
      throw new AppError('invalid_request', { message: 'A period must have at most 31 days.', param: 'from' })
    }
    const [present, before, errors] = await Promise.all([
      readPeriod(ctx, { from, to }),
      readPeriod(ctx, { from: from - length, to: from }),
      countErrors(ctx.db, { since: from, until: to, limit: NEWEST_CALLS_OF_PERIOD }, MOST_ERRORS),
    ])
    return {
      present,
      before,
      errors: errors.map(({ provider, ...error }) => ({ ...error, provider: provider === '' ? null : provider })),
    }
  },
})

const NO_CALLS: CallFigures = {
  calls: 0,
  buyers: 0,
  sellers: 0,
  failed: 0,
  chargedFailures: 0,
  free: 0,
  overheadCalls: 0,
  overheadP50Ms: null,
  overheadP99Ms: null,
}

type Period = { readonly from: number; readonly to: number }

async function readPeriod(ctx: Pick<Ctx, 'db' | 'clock'>, period: Period): Promise<PeriodFigures> {
  const choice = { ...period, bucket: 'period', withSpeeds: false } as const
  const [isKnown, points, fees, counted = NO_CALLS] = await Promise.all([
    isSummed(ctx, choice),
    readSeries(ctx, choice),
    sumFees(ctx.db, period),
    countCallFigures(ctx.db, { since: period.from, until: period.to, limit: NEWEST_CALLS_OF_PERIOD }),
  ])
  const [point] = points
  const known = <Value>(value: Value) => (isKnown ? value : null)
  return {
    ...period,
    volumeMicro: known((point?.volumeMicro ?? 0n).toString()),
    calls: known(point?.calls ?? 0),
    chargedCalls: known(point?.trades ?? 0),
    answeredPct: known(point?.uptimePct ?? null),
    answeredBase: known(point?.uptimeBase ?? 0),
    feesMicro: fees.toString(),
    buyers: counted.buyers,
    sellers: counted.sellers,
    failedCalls: counted.failed,
    chargedFailures: counted.chargedFailures,
    freeCalls: counted.free,
    countedCalls: counted.calls,
    isWhole: counted.calls < NEWEST_CALLS_OF_PERIOD,
    overheadP50Ms: counted.overheadP50Ms,
    overheadP99Ms: counted.overheadP99Ms,
    overheadCalls: counted.overheadCalls,
  }
}
