import { z } from 'zod'
import type { HealthLogRow } from '#control-plane/db/health-log.ts'
import { deleteOldHealthEvents, insertHealthEvents, isOfferOf, listHealthEvents } from '#control-plane/db/health-log.ts'
import { deleteOldIncidents } from '#control-plane/db/incidents.ts'
import type { HealthAction } from '#control-plane/db/tables/offers.ts'
import { HEALTH_ACTIONS } from '#control-plane/db/tables/offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { Instant, isInOrder, PageSize, SINCE_FIRST } from '#control-plane/services/input-fields.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'
import type { ErrorClass, HealthEvent } from '#shared/contract/health-event.ts'
import { ERROR_CLASSES, HealthEventSchema } from '#shared/contract/health-event.ts'
import { AppError, redact } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'
import { renewRefused } from './renew-refused.ts'

const Batch = z.object({ v: z.literal(1), events: z.array(z.unknown()).max(10_000) })

/** Stores a batch of health events. Events that break the contract are dropped, and the log gives their number. */
export async function storeHealthEvents(ctx: Pick<Ctx, 'db' | 'log' | 'clock'>, data: unknown): Promise<void> {
  const batch = Batch.safeParse(data)
  if (!batch.success) {
    ctx.log.warn('a batch of health events was not readable')
    return
  }
  const events: HealthEvent[] = []
  for (const raw of batch.data.events) {
    const event = HealthEventSchema.safeParse(raw)
    if (event.success) events.push({ ...event.data, detail: redact(event.data.detail) })
  }
  const dropped = batch.data.events.length - events.length
  if (dropped > 0) ctx.log.warn({ dropped }, 'health events were not readable')
  if (events.length === 0) return
  await insertHealthEvents(ctx.db, events)
  await renewRefused(ctx, events)
}

/** A health change that the control plane made to an offer, and its reason. */
export type HealthEntry = {
  readonly offer: string
  readonly model: string
  readonly action: HealthAction
  readonly detail: string
  readonly errorClass?: ErrorClass
  readonly statusCode?: number | null
  /** Unix milliseconds. */
  readonly backedOffUntil?: number
}

const NODE = 'control-plane'

/** Writes entries to the health log. The change stays even when the log cannot store it. */
export async function logHealth(
  ctx: Pick<Ctx, 'db' | 'ids' | 'clock' | 'log'>,
  entries: readonly HealthEntry[],
): Promise<void> {
  const at = ctx.clock.now()
  const events = entries.map((entry) => ({
    id: ctx.ids.make('hlt'),
    at,
    node: NODE,
    rid: null,
    errorClass: null,
    statusCode: null,
    backedOffUntil: null,
    ...entry,
  }))
  if (events.length === 0) return
  await insertHealthEvents(ctx.db, events).catch((error: unknown) =>
    ctx.log.warn({ err: error, events: events.length }, 'health events were not stored'),
  )
}

/** A line of the log. `timestamp` is Unix milliseconds, `category` the cause, `action` the reaction. */
export const HealthLineSchema = z
  .object({
    id: z.string(),
    timestamp: UnixMs,
    offerId: z.string(),
    model: z.string(),
    errorCategory: z.enum(ERROR_CLASSES).nullable(),
    errorDetail: z.string(),
    statusCode: z.number().int().nullable(),
    actionTaken: z.enum(HEALTH_ACTIONS),
    backedOffUntil: UnixMs.nullable(),
  })
  .meta({
    id: 'HealthLine',
    description: 'A change in the health of an offer: the failure, and the reaction of the market.',
  })
export type HealthLine = z.infer<typeof HealthLineSchema>
export const HealthPageSchema = signedPageSchema(HealthLineSchema)
export type HealthPage = z.infer<typeof HealthPageSchema>

/**
 * Lists the health log of the caller, or of a workspace, newest first by default. Throws `not_found` for an offer of
 * another seller, and for a workspace that the caller cannot use.
 */
export const listHealthLog = defineOperation({
  name: 'health-log.list',
  summary: 'List the health events of offers',
  about: 'Failed calls and changes of state, for all offers or one.',
  example: { maxItems: 10 },
  access: 'seller',
  input: z
    .strictObject({
      offerId: oneLine(100).optional(),
      since: Instant.optional(),
      until: Instant.optional(),
      sortOrder: z.enum(['ASC', 'DESC']).default('DESC'),
      maxItems: PageSize,
      nextToken: oneLine(200).optional(),
      workspaceId: WorkspaceField,
    })
    .refine(isInOrder, SINCE_FIRST),
  limit: 'read',
  idempotency: 'none',
  output: HealthPageSchema,
  run: async (ctx, actor, input): Promise<HealthPage> => {
    const { offerId, since, until, sortOrder, maxItems, nextToken } = input
    const seller = await accountOf(ctx, actor, input.workspaceId)
    if (offerId !== undefined && !(await isOfferOf(ctx.db, seller, offerId))) throw new AppError('not_found')
    const filters = [offerId ?? null, since ?? null, until ?? null, sortOrder]
    const scope = { list: 'health-log', tenant: seller, filters }
    const after = nextToken === undefined ? undefined : readPosition(readCursor(ctx, scope, nextToken))
    const filter = { seller, offer: offerId, since, until, after, isRising: sortOrder === 'ASC' }
    const rows = await listHealthEvents(ctx.db, filter, maxItems + 1)
    return signedPageOf(rows, maxItems, lineOf, ({ timestamp, id }) => signCursor(ctx, scope, `${timestamp}.${id}`))
  },
})

function readPosition(position: string): { at: Date; id: string } {
  const [at = '', id = ''] = position.split('.')
  return { at: new Date(Number(at)), id }
}

function lineOf(row: HealthLogRow): HealthLine {
  return {
    id: row.id,
    timestamp: row.at.getTime(),
    offerId: row.offer,
    model: row.model,
    errorCategory: row.errorClass,
    errorDetail: row.detail,
    statusCode: row.statusCode,
    actionTaken: row.action,
    backedOffUntil: row.backedOffUntil?.getTime() ?? null,
  }
}

/** Age at which lines are removed, and most lines of one purge. */
const KEPT_MS = 90 * DAY
const PURGE_BATCH = 20_000

/** Removes old lines and the incidents of their time. Returns the number of lines. */
export async function purgeHealthLog(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  const before = ctx.clock.now() - KEPT_MS
  await deleteOldIncidents(ctx.db, before)
  return deleteOldHealthEvents(ctx.db, before, PURGE_BATCH)
}
