import { z } from 'zod'
import { listModelsByName, listProviders } from '#control-plane/db/catalog.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { DeclaredRow } from '#control-plane/db/declared-incidents.ts'
import {
  insertDeclared,
  insertNote,
  listDeclared,
  listNotes,
  lockDeclared,
  updateDeclared,
} from '#control-plane/db/declared-incidents.ts'
import { INCIDENT_STATES } from '#control-plane/db/tables/market.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { findNamedModel } from '#control-plane/services/catalog/named-model.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { Instant, Label, ModelName } from '#control-plane/services/input-fields.ts'
import { signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { ProviderSchema } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'
import { manyLines, oneLine } from '#shared/texts.ts'
import { IncidentList, readSpan } from './incidents.ts'

/** Most notes of one incident. The last note is reserved for its resolution. */
export const MAX_NOTES = 20
const MAX_TOUCHED = 100

/** A declared incident in its public form. Times are Unix milliseconds. */
export const DeclaredIncidentSchema = z.object({
  id: z.string(),
  title: z.string(),
  /** The models and providers concerned. When both lists are empty, the incident concerns the whole market. */
  models: z.array(z.string()).readonly(),
  providers: z.array(z.string()).readonly(),
  state: z.enum(INCIDENT_STATES),
  startedAt: UnixMs,
  /** Null until it is resolved. */
  endedAt: UnixMs.nullable(),
  /** The notes about it, oldest first. */
  notes: z
    .array(
      z.object({
        at: UnixMs,
        state: z.enum(INCIDENT_STATES),
        note: z.string(),
      }),
    )
    .readonly(),
})
export type DeclaredIncident = z.infer<typeof DeclaredIncidentSchema>
export const DeclaredPageSchema = signedPageSchema(DeclaredIncidentSchema)
export type DeclaredPage = z.infer<typeof DeclaredPageSchema>

const OpenState = z.enum(['investigating', 'identified', 'monitoring'])
const Note = manyLines(2_000).trim().min(1)
const Models = z.array(ModelName).max(MAX_TOUCHED)
const Providers = z.array(ProviderSchema.shape.id).max(MAX_TOUCHED)
const Id = oneLine(100)

/** Declares a public incident. Throws `not_found` for an unknown model or provider. */
export const declareIncident = defineOperation({
  name: 'incident.declare',
  summary: 'Declare a public incident',
  about: '`state` is `investigating`, `identified` or `monitoring`.',
  access: 'operator',
  input: z.strictObject({
    title: Label,
    note: Note,
    state: OpenState.default('investigating'),
    models: Models.default([]),
    providers: Providers.default([]),
    /** The start of the incident, if earlier than now. */
    startedAt: Instant.optional(),
  }),
  limit: 'none',
  idempotency: 'none',
  output: DeclaredIncidentSchema,
  run: async (ctx, _actor, { note, startedAt, ...input }): Promise<DeclaredIncident> => {
    const now = ctx.clock.now()
    if (startedAt !== undefined && startedAt > now) {
      throw new AppError('invalid_request', { message: 'startedAt must be in the past.', param: 'startedAt' })
    }
    const row = { ...input, id: ctx.ids.make('inc'), startedAt: new Date(startedAt ?? now), endedAt: null }
    return transact(ctx.db, async (trx) => {
      const declared = { ...row, ...(await findTouched(trx, row)) }
      await insertDeclared(trx, declared)
      return say(ctx, trx, { before: null, after: declared, note })
    })
  },
})

/** Adds a note to an incident and changes the given fields. Throws `not_found`, and `conflict` once it is resolved. */
export const updateIncident = defineOperation({
  name: 'incident.update',
  summary: 'Add a note to an open incident',
  about: 'Changes the members that you send.',
  access: 'operator',
  input: z.strictObject({
    id: Id,
    note: Note,
    state: OpenState.optional(),
    title: Label.optional(),
    models: Models.optional(),
    providers: Providers.optional(),
  }),
  limit: 'none',
  idempotency: 'none',
  output: DeclaredIncidentSchema,
  run: (ctx, _actor, { id, note, ...changes }) =>
    transact(ctx.db, async (trx) => {
      const before = await lockOpen(trx, id)
      if ((await listNotes(trx, [before.id])).length >= MAX_NOTES - 1) {
        throw new AppError('conflict', {
          message: `An incident has at most ${MAX_NOTES} updates. The last one resolves it.`,
        })
      }
      const touched = { models: changes.models ?? before.models, providers: changes.providers ?? before.providers }
      const { state = before.state, title = before.title } = changes
      const after = { ...before, state, title, ...(await findTouched(trx, touched)) }
      await updateDeclared(trx, after)
      return say(ctx, trx, { before, after, note })
    }),
})

/** Resolves an incident with a last note. Throws `not_found`, and `conflict` for a resolved incident. */
export const endIncident = defineOperation({
  name: 'incident.end',
  summary: 'Resolve an incident',
  about: 'The incident takes no further notes.',
  access: 'operator',
  input: z.strictObject({ id: Id, note: Note }),
  limit: 'none',
  idempotency: 'none',
  output: DeclaredIncidentSchema,
  run: (ctx, _actor, { id, note }) =>
    transact(ctx.db, async (trx) => {
      const before = await lockOpen(trx, id)
      const after = { ...before, state: 'resolved', endedAt: new Date(ctx.clock.now()) } as const
      await updateDeclared(trx, after)
      return say(ctx, trx, { before, after, note })
    }),
})

/** Lists declared incidents, the latest declared first. Throws `not_found` for an unknown model. */
export const listDeclaredIncidents = defineOperation({
  name: 'incident.list',
  summary: 'List declared incidents, the latest first',
  about: 'The last seven days by default, at most 31 at once.',
  access: 'public',
  input: IncidentList,
  limit: 'read',
  idempotency: 'none',
  output: DeclaredPageSchema,
  run: async (ctx, _actor, { maxItems, nextToken, model: name, provider, ...span }): Promise<DeclaredPage> => {
    const model = await findNamedModel(ctx, name)
    const scope = { list: 'declared-incidents', tenant: 'public', filters: [model, provider, span.from, span.to] }
    const after = nextToken === undefined ? undefined : readCursor(ctx, scope, nextToken)
    const filter = { ...readSpan(span, ctx.clock.now()), model, provider, after }
    const found = await listDeclared(ctx.db, filter, maxItems + 1)
    const notes =
      found.length === 0
        ? []
        : await listNotes(
            ctx.db,
            found.map(({ id }) => id),
          )
    const viewOf = (row: DeclaredRow) =>
      view(
        row,
        notes.filter(({ incident }) => incident === row.id),
      )
    return signedPageOf(found, maxItems, viewOf, ({ id }) => signCursor(ctx, scope, id))
  },
})

type Announcement = { readonly before: DeclaredRow | null; readonly after: DeclaredRow; readonly note: string }

async function say(
  ctx: Pick<RunCtx, 'clock' | 'record'>,
  trx: Trx,
  { before, after, note }: Announcement,
): Promise<DeclaredIncident> {
  await insertNote(trx, after.id, { at: new Date(ctx.clock.now()), state: after.state, note })
  await ctx.record(trx, { subject: after.id, before, after: { ...after, note } })
  return view(after, await listNotes(trx, [after.id]))
}

async function lockOpen(trx: Trx, id: string): Promise<DeclaredRow> {
  const found = await lockDeclared(trx, id)
  if (found === undefined) throw new AppError('not_found', { message: 'No incident has this id.' })
  if (found.endedAt !== null)
    throw new AppError('conflict', { message: 'This incident is resolved. Declare a new one.' })
  return found
}

type Touched = Pick<DeclaredRow, 'models' | 'providers'>

/** Converts the models and providers of an incident to canonical names. Throws `not_found`. */
async function findTouched(trx: Trx, { models, providers }: Touched): Promise<Touched> {
  const canonical = new Map((await listModelsByName(trx, models)).map(({ alias, model }) => [alias, model]))
  const knownProviders = new Set((await listProviders(trx)).map(({ id }) => id))
  const missing = providers.find((id) => !knownProviders.has(id))
  if (missing !== undefined) throw new AppError('not_found', { message: `No provider is called ${missing}.` })
  const modelIds = models.map((name) => {
    const id = canonical.get(name.toLowerCase())
    if (id === undefined) throw new AppError('not_found', { message: `No model is called ${name}.` })
    return id
  })
  return { models: [...new Set(modelIds)], providers: [...new Set(providers)] }
}

type Notes = Awaited<ReturnType<typeof listNotes>>

function view({ startedAt, endedAt, ...facts }: DeclaredRow, notes: Notes): DeclaredIncident {
  return {
    ...facts,
    startedAt: startedAt.getTime(),
    endedAt: endedAt?.getTime() ?? null,
    notes: notes.map(({ at, state, note }) => ({ at: at.getTime(), state, note })),
  }
}
