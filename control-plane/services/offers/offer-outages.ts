import { z } from 'zod'
import type { OutageRow } from '#control-plane/db/outages.ts'
import { listOutages } from '#control-plane/db/outages.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant, isInOrder, SINCE_FIRST } from '#control-plane/services/input-fields.ts'
import { groupBy } from '#control-plane/services/market/market-rows.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'
import { ERROR_CLASSES } from '#shared/contract/health-event.ts'

/** Most offers of one list of an answer. */
export const MAX_OUTAGE_OFFERS = 100
const USUAL_PERIOD_MS = 7 * DAY

const Cause = z.enum(ERROR_CLASSES)
const Milliseconds = Count.describe('Milliseconds.')

/** The ended outages of an offer together. */
export const OfferOutagesSchema = z
  .object({
    offerId: z.string(),
    model: z.string(),
    outages: Count,
    backOffs: Count,
    downMs: Milliseconds,
    longestMs: Milliseconds,
    lastAt: UnixMs.describe('The beginning of the last outage, in Unix milliseconds.'),
    causes: z.array(Cause).readonly().describe('The most frequent one first.'),
  })
  .meta({ id: 'OfferOutages', description: 'The ended outages of an offer together.' })

export const OngoingOutageSchema = z
  .object({
    offerId: z.string(),
    model: z.string(),
    startedAt: UnixMs,
    lastAt: UnixMs.describe('The last back-off, in Unix milliseconds.'),
    backedOffUntil: UnixMs,
    backOffs: Count,
    cause: Cause.nullable(),
    errorDetail: z.string(),
    statusCode: z.number().int().nullable(),
  })
  .meta({ id: 'OngoingOutage', description: 'An outage of an offer that gets no calls now.' })

export const OutageCauseSchema = z
  .object({ cause: Cause, outages: Count })
  .meta({ id: 'OutageCause', description: 'A cause, and the number of ended outages with it.' })

export const OutageReportSchema = z
  .object({
    since: UnixMs.describe('The beginning of the period. It is later than asked where the log has too many lines.'),
    until: UnixMs,
    outages: Count.describe('Ended outages of all offers.'),
    offers: Count.describe('Offers with an ended outage.'),
    downMs: Milliseconds,
    longestMs: Milliseconds,
    causes: z.array(OutageCauseSchema).readonly().describe('The most frequent one first.'),
    ongoing: z.array(OngoingOutageSchema).readonly().describe('Outages that had not ended, at most 100, newest first.'),
    ongoingOffers: Count.describe('Offers with an outage that had not ended.'),
    byOffer: z.array(OfferOutagesSchema).readonly().describe('At most 100 offers, the longest time down first.'),
  })
  .meta({
    id: 'OutageReport',
    description: 'The times in a period in which offers were backed off and got no calls.',
  })
export type OutageReport = z.infer<typeof OutageReportSchema>

/** Sums up the outages of the caller's offers, or of a workspace. Throws `not_found` for a foreign workspace. */
export const getOutages = defineOperation({
  name: 'offer.outages',
  summary: 'Get the outages of own offers',
  about:
    'Back-offs with less than five minutes between them are one outage, as in the incidents of the market. The last 7 days by default, from the newest 20,000 changes of health.',
  example: {},
  access: 'seller',
  input: z
    .strictObject({ since: Instant.optional(), until: Instant.optional(), workspaceId: WorkspaceField })
    .refine(isInOrder, SINCE_FIRST),
  limit: 'read',
  idempotency: 'none',
  output: OutageReportSchema,
  run: async (ctx, actor, { workspaceId, ...period }): Promise<OutageReport> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const until = period.until ?? ctx.clock.now()
    const since = period.since ?? until - USUAL_PERIOD_MS
    const { outages, cutAt } = await listOutages(ctx.db, { seller, since, until })
    return { since: cutAt?.getTime() ?? since, until, ...sumOutages(outages, until) }
  },
})

/** Sums outages, in total and by offer, as of an instant in Unix milliseconds. */
function sumOutages(outages: readonly OutageRow[], at: number): Omit<OutageReport, 'since' | 'until'> {
  const isEnded = ({ endsAt }: OutageRow) => endsAt.getTime() <= at
  const ended = outages.filter(isEnded)
  const ongoing = outages.filter((outage) => !isEnded(outage))
  const byOffer = groupBy(ended, ({ offer }) => offer)
  return {
    ...timesOf(ended),
    offers: byOffer.size,
    causes: causesOf(ended),
    ongoing: ongoing.slice(0, MAX_OUTAGE_OFFERS).map((outage) => ({
      offerId: outage.offer,
      model: outage.model,
      startedAt: outage.startedAt.getTime(),
      lastAt: outage.lastAt.getTime(),
      backedOffUntil: outage.endsAt.getTime(),
      backOffs: outage.backOffs,
      cause: outage.cause,
      errorDetail: outage.detail,
      statusCode: outage.statusCode,
    })),
    ongoingOffers: new Set(ongoing.map(({ offer }) => offer)).size,
    byOffer: [...byOffer]
      .map(([offerId, own]) => ({
        offerId,
        model: own[0]?.model ?? '',
        ...timesOf(own),
        backOffs: own.reduce((sum, { backOffs }) => sum + backOffs, 0),
        lastAt: own.reduce((last, { startedAt }) => Math.max(last, startedAt.getTime()), 0),
        causes: causesOf(own).map(({ cause }) => cause),
      }))
      .sort((left, right) => right.downMs - left.downMs)
      .slice(0, MAX_OUTAGE_OFFERS),
  }
}

function timesOf(outages: readonly OutageRow[]) {
  const lengths = outages.map(({ startedAt, endsAt }) => endsAt.getTime() - startedAt.getTime())
  return {
    outages: outages.length,
    downMs: lengths.reduce((sum, ms) => sum + ms, 0),
    longestMs: lengths.reduce((most, ms) => Math.max(most, ms), 0),
  }
}

function causesOf(outages: readonly OutageRow[]) {
  const times = new Map<NonNullable<OutageRow['cause']>, number>()
  for (const { cause } of outages) if (cause !== null) times.set(cause, (times.get(cause) ?? 0) + 1)
  return [...times].sort(([, left], [, right]) => right - left).map(([cause, count]) => ({ cause, outages: count }))
}
