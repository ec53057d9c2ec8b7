import { sql } from 'kysely'
import type { BudgetId, OrganizationId, UserId, WorkspaceId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import { bigint, id, nullable } from './tables/column.ts'
import { KEY_TABLES } from './tables/keys.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'

/** The subject of a budget: a workspace, or a member in all workspaces of the organisation. */
export type BudgetSubject = { readonly organization: OrganizationId } & (
  | { readonly workspace: WorkspaceId; readonly user: null }
  | { readonly workspace: null; readonly user: UserId }
)

export type BudgetRow = {
  readonly id: BudgetId
  readonly workspace: WorkspaceId | null
  readonly user: UserId | null
  readonly limitMicro: bigint
}

const COLUMNS = ['id', 'workspace_id as workspace', 'user_id as user', 'limit_micro as limitMicro'] as const

export async function listBudgets(db: Database, organization: OrganizationId): Promise<BudgetRow[]> {
  return db.selectFrom('budget').select(COLUMNS).where('organization_id', '=', organization).orderBy('id').execute()
}

export async function findBudget(trx: Trx, { workspace, user, organization }: BudgetSubject) {
  const all = trx.selectFrom('budget').select(COLUMNS).where('organization_id', '=', organization)
  const own = workspace === null ? all.where('user_id', '=', user) : all.where('workspace_id', '=', workspace)
  return own.executeTakeFirst()
}

type NewBudget = BudgetSubject & { readonly id: BudgetId; readonly limitMicro: bigint; readonly at: number }

export async function insertBudget(trx: Trx, { id, organization, workspace, user, limitMicro, at }: NewBudget) {
  await trx
    .insertInto('budget')
    .values({
      id,
      organization_id: organization,
      workspace_id: workspace,
      user_id: user,
      limit_micro: limitMicro,
      created_at: new Date(at),
    })
    .execute()
}

export async function updateBudget(trx: Trx, id: BudgetId, limitMicro: bigint): Promise<void> {
  await trx.updateTable('budget').set({ limit_micro: limitMicro }).where('id', '=', id).execute()
}

export async function deleteBudget(trx: Trx, id: BudgetId): Promise<void> {
  await trx.deleteFrom('budget').where('id', '=', id).execute()
}

/** Records that the keys whose calls count for a budget must be published again. */
export async function insertKeyChangesOfBudget(trx: Trx, budget: BudgetSubject): Promise<void> {
  const { organization, workspace, user } = budget
  const isCounted = workspace === null ? sql`k.user_id = ${user}` : sql`w.id = ${workspace}`
  await sql`insert into key_change (key_id) select k.id from api_key k join workspace w on w.id = k.workspace_id
    where w.organization_id = ${organization} and ${isCounted} and k.type = 'buyer' and k.revoked_at is null`.execute(
    trx,
  )
}

/** The budgets that count the calls of keys, by key. Keys without one are missing. */
export async function findBudgetsOfKeys(
  db: Database | Trx,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await readRows(
    db,
    { key: KEY_TABLES.api_key.id, budget: ORGANIZATION_TABLES.budget.id },
    sql`select k.id as key, b.id as budget from api_key k
    join workspace w on w.id = k.workspace_id and k.type = 'buyer'
    join budget b on b.organization_id = w.organization_id and (b.workspace_id = w.id or b.user_id = k.user_id)
    where k.id = any(${[...keys]}::text[])`,
  )
  const byKey = new Map<string, string[]>()
  for (const { key, budget } of rows) byKey.set(key, [...(byKey.get(key) ?? []), budget])
  return byKey
}

/** The booked cost of an organisation's calls by workspace and member, in micro-USD. */
export type SpentRow = { readonly workspace: WorkspaceId; readonly user: UserId | null; readonly spentMicro: bigint }

/** Sums the calls from the id `floor` on. A running job counts with its quote. */
export async function sumSpent(db: Database, organization: OrganizationId, floor: string): Promise<SpentRow[]> {
  return readRows(
    db,
    { workspace: id('wsp'), user: nullable(id('usr')), spentMicro: bigint() },
    sql`select k.workspace_id as workspace, k.user_id as user, sum(used.micro)::bigint as "spentMicro"
    from workspace w join api_key k on k.workspace_id = w.id and k.type = 'buyer'
    cross join lateral (
      select sum(charge) as micro from settlement where key_id = k.id and rid >= ${floor}
      union all select sum(quote) from job where key_id = k.id and rid >= ${floor} and ended_at is null
    ) used
    where w.organization_id = ${organization} and used.micro > 0 group by 1, 2`,
  )
}
