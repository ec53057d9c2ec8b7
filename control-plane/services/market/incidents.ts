import { z } from 'zod'
import type { IncidentRow } from '#control-plane/db/incidents.ts'
import { listIncidents } from '#control-plane/db/incidents.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { findNamedModel } from '#control-plane/services/catalog/named-model.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { Millis, ModelName, PageSize } from '#control-plane/services/fields.ts'
import { signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { countOnSale } from './market-parts.ts'

/** How far one list reaches, and how far it reaches when nobody says. */
const MAX_SPAN_MS = 31 * DAY
const SPAN_MS = 7 * DAY

/**
 * A time during which offers of a model at a provider were down: backed off after failures of real calls. Times are Unix
 * milliseconds. It names no offer and no seller.
 */
export const IncidentSchema = z.object({
  id: z.string(),
  model: z.string(),
  provider: z.string(),
  startedAt: UnixMs,
  /** When the last of the offers was back; null while one is still down. */
  endedAt: UnixMs.nullable(),
  /** Offers that were down, and how many are on sale there now. */
  offers: z.number(),
  offersOnSale: z.number(),
  /** How often one of them was taken out of the rotation. */
  backOffs: z.number(),
  /** The error that most of them had: `timeout`, `rate_limit` …; null when nobody said. */
  cause: z.string().nullable(),
})
export type Incident = z.infer<typeof IncidentSchema>
export const IncidentPageSchema = signedPageSchema(IncidentSchema)
export type IncidentPage = z.infer<typeof IncidentPageSchema>

/** Which incidents are listed: of a time, of a model, of a provider. */
export const IncidentList = z.strictObject({
  from: Millis.optional(),
  to: Millis.optional(),
  model: ModelName.optional(),
  provider: z.string().min(1).max(64).optional(),
  maxItems: PageSize,
  nextToken: z.string().max(400).optional(),
})

/** Incidents of the market out of real traffic, newest first; for everybody. Throws `not_found` for an unknown model. */
export const marketIncidents = defineOperation({
  name: 'market.incidents',
  access: 'public',
  input: IncidentList,
  limit: 'read',
  idempotency: 'none',
  output: IncidentPageSchema,
  run: async (ctx, _actor, { maxItems, nextToken, model: name, provider, ...span }): Promise<IncidentPage> => {
    const now = ctx.clock.now()
    const { from, to } = readSpan(span, now)
    const model = await findNamedModel(ctx, name)
    const scope = { list: 'incidents', tenant: 'public', filters: [model, provider, span.from, span.to] }
    const after = nextToken === undefined ? undefined : readCursor(ctx, scope, nextToken)
    const rows = await listIncidents(ctx.db, { from, to, model, provider, after }, maxItems + 1)
    const onSale = await countOnSale(ctx, rows)
    const incidents = rows.map((row, at) => view(row, onSale[at] ?? 0, now))
    const cursorOf = ({ id }: Incident) => signCursor(ctx, scope, id)
    return signedPageOf(incidents, maxItems, (incident) => incident, cursorOf)
  },
})

type Span = { readonly from?: number | undefined; readonly to?: number | undefined }

/** The time that a list of incidents looks at: to now unless it says otherwise, at most 31 days. */
export function readSpan({ from, to }: Span, now: number): { readonly from: number; readonly to: number } {
  const end = to ?? now
  const begin = from ?? end - SPAN_MS
  if (begin > end) throw new AppError('invalid_request', { message: 'from is not after to.', param: 'from' })
  if (end - begin <= MAX_SPAN_MS) return { from: begin, to: end }
  throw new AppError('invalid_request', { message: 'A list of incidents spans at most 31 days.', param: 'from' })
}

function view({ startedAt, endsAt, ...facts }: IncidentRow, offersOnSale: number, now: number): Incident {
  const endedAt = endsAt.getTime()
  return { ...facts, offersOnSale, startedAt: startedAt.getTime(), endedAt: endedAt > now ? null : endedAt }
}
