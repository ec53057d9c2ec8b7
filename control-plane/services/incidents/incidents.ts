import { z } from 'zod'
import type { IncidentRow } from '#control-plane/db/incidents.ts'
import { listIncidents, wereIncidentsSought } from '#control-plane/db/incidents.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { findNamedModel } from '#control-plane/services/catalog/named-model.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { Instant, ModelName, PageSize } from '#control-plane/services/input-fields.ts'
import { countOnSale } from '#control-plane/services/market/market-parts.ts'
import { signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'

/** Longest and default time span of one list. The default has UTC days, the last one included. */
const MAX_SPAN_MS = 31 * DAY
const SPAN_MS = 7 * DAY

/**
 * A time span in which offers of a model at a provider were backed off after failures of real calls. Times are Unix
 * milliseconds. The answer names no offer and no seller.
 */
export const IncidentSchema = z.object({
  id: z.string(),
  model: z.string(),
  provider: z.string(),
  startedAt: UnixMs,
  /** The instant at which the last offer came back; null while an offer is still down. */
  endedAt: UnixMs.nullable(),
  /** The number of offers that were down, and of offers on sale at present. */
  offers: z.number(),
  offersOnSale: z.number(),
  /** The number of times that an offer was taken out of the rotation. */
  backOffs: z.number(),
  /** The most frequent error class: `timeout`, `rate_limit` …; null when none was reported. */
  cause: z.string().nullable(),
})
export type Incident = z.infer<typeof IncidentSchema>
export const IncidentPageSchema = signedPageSchema(IncidentSchema)
export type IncidentPage = z.infer<typeof IncidentPageSchema>

/** The filters of a list: a time, a model, a provider. */
export const IncidentList = z.strictObject({
  from: Instant.optional(),
  to: Instant.optional(),
  model: ModelName.optional(),
  provider: oneLine(64).min(1).optional(),
  maxItems: PageSize,
  nextToken: oneLine(400).optional(),
})

/**
 * Lists incidents of the market from real traffic, newest first. Null until the health log was first read. Throws
 * `not_found` for an unknown model.
 */
export const marketIncidents = defineOperation({
  name: 'market.incidents',
  summary: 'List incidents detected from traffic, newest first',
  about: 'The last seven days by default, at most 31 at once. Null before the health of offers was first read.',
  access: 'public',
  input: IncidentList,
  limit: 'read',
  idempotency: 'none',
  output: IncidentPageSchema.nullable(),
  run: async (ctx, _actor, { maxItems, nextToken, model: name, provider, ...span }): Promise<IncidentPage | null> => {
    const now = ctx.clock.now()
    const { from, to } = readSpan(span, now)
    const model = await findNamedModel(ctx, name)
    const scope = { list: 'incidents', tenant: 'public', filters: [model, provider, span.from, span.to] }
    const after = nextToken === undefined ? undefined : readCursor(ctx, scope, nextToken)
    if (!(await wereIncidentsSought(ctx.db))) return null
    const rows = await listIncidents(ctx.db, { from, to, model, provider, after }, maxItems + 1)
    const onSale = await countOnSale(ctx, rows)
    const incidents = rows.map((row, at) => view(row, onSale[at] ?? 0, now))
    const cursorOf = ({ id }: Incident) => signCursor(ctx, scope, id)
    return signedPageOf(incidents, maxItems, (incident) => incident, cursorOf)
  },
})

type Span = { readonly from?: number | undefined; readonly to?: number | undefined }

/** Reads the time span of a list of incidents. It ends now by default and is at most 31 days long. */
export function readSpan({ from, to }: Span, now: number): { readonly from: number; readonly to: number } {
  const end = to ?? now
  const begin = from ?? periodStart(end, SPAN_MS)
  if (begin > end) throw new AppError('invalid_request', { message: 'from must not be after to.', param: 'from' })
  if (end - begin <= MAX_SPAN_MS) return { from: begin, to: end }
  throw new AppError('invalid_request', { message: 'A list of incidents can span at most 31 days.', param: 'from' })
}

function view({ startedAt, endsAt, ...facts }: IncidentRow, offersOnSale: number, now: number): Incident {
  const endedAt = endsAt.getTime()
  return { ...facts, offersOnSale, startedAt: startedAt.getTime(), endedAt: endedAt > now ? null : endedAt }
}
