import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { SavedViewRow } from '#control-plane/db/saved-views.ts'
import { deleteSavedView, insertSavedView, listSavedViews, updateSavedView } from '#control-plane/db/saved-views.ts'
import type { ViewScreen } from '#control-plane/db/tables/saved-views.ts'
import { VIEW_SCREENS } from '#control-plane/db/tables/saved-views.ts'
import { lockUser } from '#control-plane/db/users.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { UserId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { readViewQuery, ViewQuery } from './view-query.ts'

/** Most views of an account, of all screens. */
const MAX_VIEWS = 100
const MAX_NAME_CHARS = 60

/** The screens with views. */
export const ViewScreenSchema = z.enum(VIEW_SCREENS)
const ViewName = oneLine(MAX_NAME_CHARS).trim().min(1)
const ViewId = oneLine(100)

/** Filters of a screen under a name. */
export const SavedViewSchema = z
  .object({
    id: z.string(),
    screen: ViewScreenSchema,
    name: z.string(),
    query: z.string().describe('The filters, as the address of the screen has them after `?`.'),
    createdAt: UnixMs,
  })
  .meta({ id: 'SavedView', description: 'Filters of a list on the page, kept under a name.' })
export type SavedView = z.infer<typeof SavedViewSchema>

/** The views of the caller, by name. */
export const SavedViewListSchema = z.object({ views: z.array(SavedViewSchema).readonly() })
export type SavedViewList = z.infer<typeof SavedViewListSchema>

function viewOf({ createdAt, ...facts }: SavedViewRow): SavedView {
  return { ...facts, createdAt: createdAt.getTime() }
}

function requireQuery(screen: ViewScreen, query: string): string {
  const read = readViewQuery(screen, query)
  if ('fault' in read) throw new AppError('invalid_request', { message: read.fault })
  return read.query
}

function requireFreeName(held: readonly SavedViewRow[], { screen, name }: Pick<SavedViewRow, 'screen' | 'name'>): void {
  if (!held.some((view) => view.screen === screen && view.name === name)) return
  throw new AppError('conflict', { message: `You have a view named ${name} here. Choose another name.` })
}

/** The caller's views while no other call changes them. */
async function lockViews(trx: Trx, user: UserId): Promise<SavedViewRow[]> {
  await lockUser(trx, user)
  return listSavedViews(trx, user, MAX_VIEWS)
}

/** A view of the caller, while no other call changes it. Throws `not_found`. */
async function lockView(trx: Trx, user: UserId, id: string) {
  const held = await lockViews(trx, user)
  const view = held.find((one) => one.id === id)
  if (view === undefined) throw new AppError('not_found')
  return { view, others: held.filter((one) => one !== view) }
}

/** Saves filters. Throws `conflict` for a name in use and above {@link MAX_VIEWS}, `invalid_request` for the query. */
export const createSavedView = defineOperation({
  name: 'saved-view.create',
  summary: 'Save the filters of a list',
  about: `Only you see your views. The query has filters of that screen alone. An account has at most ${MAX_VIEWS} views.`,
  example: { screen: 'logs', name: 'Failed calls', query: 'outcome=failed&period=7d' },
  access: 'session',
  input: z.strictObject({ screen: ViewScreenSchema, name: ViewName, query: ViewQuery }),
  limit: 'write',
  idempotency: 'none',
  output: SavedViewSchema,
  run: async (ctx, { user }, { screen, name, ...input }): Promise<SavedView> => {
    const query = requireQuery(screen, input.query)
    const row = { id: ctx.ids.make('viw'), screen, name, query, createdAt: new Date(ctx.clock.now()) }
    const make = async (trx: Trx) => {
      const held = await lockViews(trx, user)
      requireFreeName(held, row)
      if (held.length === MAX_VIEWS) {
        throw new AppError('conflict', { message: `An account has at most ${MAX_VIEWS} views. Delete one first.` })
      }
      await insertSavedView(trx, user, row)
    }
    await ctx.change(make, () => ({ subject: row.id, before: null, after: { screen, name, query } }))
    return viewOf(row)
  },
})

/** Lists the caller's views, of all screens or of one. */
export const listOwnSavedViews = defineOperation({
  name: 'saved-view.list',
  summary: 'List your saved views',
  about: 'The views of all screens or of one, by name.',
  access: 'session',
  input: z.strictObject({ screen: ViewScreenSchema.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: SavedViewListSchema,
  run: async (ctx, { user }, { screen }): Promise<SavedViewList> => {
    const held = await listSavedViews(ctx.db, user, MAX_VIEWS)
    return { views: held.filter((view) => screen === undefined || view.screen === screen).map(viewOf) }
  },
})

/** Renames a view, or gives it other filters. Throws `not_found`, `conflict`, `invalid_request`. */
export const changeSavedView = defineOperation({
  name: 'saved-view.update',
  summary: 'Change a saved view',
  about: 'Changes the name, the filters or both. The screen stays.',
  example: { name: 'Failed calls of this week' },
  access: 'session',
  input: z.strictObject({ view: ViewId, name: ViewName.optional(), query: ViewQuery.optional() }),
  limit: 'write',
  idempotency: 'none',
  output: SavedViewSchema,
  run: async (ctx, { user }, input): Promise<SavedView> => {
    const change = async (trx: Trx) => {
      const { view: before, others } = await lockView(trx, user, input.view)
      const query = input.query === undefined ? before.query : requireQuery(before.screen, input.query)
      const after = { ...before, name: input.name ?? before.name, query }
      requireFreeName(others, after)
      await updateSavedView(trx, user, after)
      return { before, after }
    }
    const { after } = await ctx.change(change, (changed) => ({
      subject: changed.after.id,
      before: { name: changed.before.name, query: changed.before.query },
      after: { name: changed.after.name, query: changed.after.query },
    }))
    return viewOf(after)
  },
})

/** Deletes a view. Throws `not_found`. */
export const removeSavedView = defineOperation({
  name: 'saved-view.remove',
  summary: 'Delete a saved view',
  about: 'The list and its filters stay as they are.',
  example: {},
  access: 'session',
  input: z.strictObject({ view: ViewId }),
  limit: 'write',
  idempotency: 'none',
  output: SavedViewSchema,
  run: async (ctx, { user }, input): Promise<SavedView> => {
    const remove = async (trx: Trx) => {
      const { view } = await lockView(trx, user, input.view)
      await deleteSavedView(trx, user, view.id)
      return view
    }
    const changeOf = ({ id, name, query }: SavedViewRow) => ({ subject: id, before: { name, query }, after: null })
    return viewOf(await ctx.change(remove, changeOf))
  },
})
