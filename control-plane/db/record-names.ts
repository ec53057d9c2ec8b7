import { sql } from 'kysely'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { text } from './tables/column.ts'

const NAME_ROW = { id: text(), name: text() }

/**
 * Names of records for operators, by id: the wallet of a user or of an account's owner, the model and the provider of
 * an offer or a call, the label of a key, the name of an organisation or a workspace, the title of an incident. A
 * record without a name is left out.
 */
export async function findRecordNames(
  db: Database,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const uniqueIds = [...new Set(ids.filter((id) => id !== null))]
  if (uniqueIds.length === 0) return new Map()
  const rows = await readRows(
    db,
    NAME_ROW,
    sql`select n.id, n.name from (
      select id, wallet as name from app_user
      union all
      select a.id, coalesce(u.wallet, o.name) from account a
        left join app_user u on u.id = a.owner left join organization o on o.id = a.owner
      union all
      select id, model || ' at ' || provider from offer
      union all
      select id, resource || ', lent' from lent_offer
      union all
      select rid, model || coalesce(' at ' || provider, '') from settlement
      union all
      select id, label from api_key
      union all
      select id, name from organization
      union all
      select w.id, o.name || ', ' || w.name from workspace w join organization o on o.id = w.organization_id
      union all
      select id, title from declared_incident
    ) n where n.id = any(${uniqueIds}) and n.name <> ''`,
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}
