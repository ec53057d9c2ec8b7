import type { SavedViewId, UserId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { ViewScreen } from './tables/saved-views.ts'

/** Filters of a screen under a name. */
export type SavedViewRow = {
  readonly id: SavedViewId
  readonly screen: ViewScreen
  readonly name: string
  readonly query: string
  readonly createdAt: Date
}

const COLUMNS = ['id', 'screen', 'name', 'query', 'created_at as createdAt'] as const

/** The views of a user, by name. */
export async function listSavedViews(db: Database | Trx, user: UserId, limit: number): Promise<SavedViewRow[]> {
  return db
    .selectFrom('saved_view')
    .select(COLUMNS)
    .where('user_id', '=', user)
    .orderBy('name')
    .orderBy('id')
    .limit(limit)
    .execute()
}

export async function insertSavedView(trx: Trx, user: UserId, view: SavedViewRow): Promise<void> {
  const { createdAt, ...facts } = view
  await trx
    .insertInto('saved_view')
    .values({ ...facts, user_id: user, created_at: createdAt })
    .execute()
}

/** Changes the name and the query of a user's view. */
export async function updateSavedView(
  trx: Trx,
  user: UserId,
  { id, name, query }: Pick<SavedViewRow, 'id' | 'name' | 'query'>,
): Promise<void> {
  await trx.updateTable('saved_view').set({ name, query }).where('id', '=', id).where('user_id', '=', user).execute()
}

export async function deleteSavedView(trx: Trx, user: UserId, id: SavedViewId): Promise<void> {
  await trx.deleteFrom('saved_view').where('id', '=', id).where('user_id', '=', user).execute()
}
