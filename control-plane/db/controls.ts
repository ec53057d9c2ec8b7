import type { Database, Trx } from './database.ts'

/** The author and the time of a change. */
type Changed = { readonly changedAt: Date; readonly changedBy: string }
export type SwitchRow = { readonly name: string; readonly isOn: boolean; readonly reason: string } & Changed
export type LimitRow = { readonly name: string; readonly perKey: number; readonly perWallet: number | null } & Changed

/** Every switch that an operator has ever set. */
export async function listSwitches(db: Database | Trx): Promise<SwitchRow[]> {
  return db
    .selectFrom('feature_switch')
    .select(['name', 'is_on as isOn', 'reason', 'changed_at as changedAt', 'changed_by as changedBy'])
    .orderBy('name')
    .execute()
}

export async function upsertSwitch(db: Database | Trx, row: SwitchRow): Promise<void> {
  const set = { is_on: row.isOn, reason: row.reason, changed_at: row.changedAt, changed_by: row.changedBy }
  await db
    .insertInto('feature_switch')
    .values({ name: row.name, ...set })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(set))
    .execute()
}

/** Every limit that an operator has ever set. */
export async function listLimits(db: Database | Trx): Promise<LimitRow[]> {
  return db
    .selectFrom('rate_limit')
    .select([
      'name',
      'per_key as perKey',
      'per_wallet as perWallet',
      'changed_at as changedAt',
      'changed_by as changedBy',
    ])
    .orderBy('name')
    .execute()
}

export async function upsertLimit(db: Database | Trx, row: LimitRow): Promise<void> {
  const set = {
    per_key: row.perKey,
    per_wallet: row.perWallet,
    changed_at: row.changedAt,
    changed_by: row.changedBy,
  }
  await db
    .insertInto('rate_limit')
    .values({ name: row.name, ...set })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(set))
    .execute()
}

/** Deletes an operator's limit, so that the default applies again. Returns true when there was one. */
export async function deleteLimit(db: Database | Trx, name: string): Promise<boolean> {
  const deletedRow = await db.deleteFrom('rate_limit').where('name', '=', name).executeTakeFirst()
  return deletedRow.numDeletedRows > 0n
}
