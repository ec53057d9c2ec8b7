import { sql } from 'kysely'
import type { IncidentId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { id } from './tables/column.ts'
import type { IncidentState } from './tables/market.ts'
import { MARKET_TABLES } from './tables/market.ts'

/** An incident that operators declared. Without a model and a provider it concerns the whole market. */
const DECLARED_ROW = {
  id: id('inc'),
  title: MARKET_TABLES.declared_incident.title,
  models: MARKET_TABLES.declared_incident.models,
  providers: MARKET_TABLES.declared_incident.providers,
  state: MARKET_TABLES.declared_incident.state,
  startedAt: MARKET_TABLES.declared_incident.started_at,
  endedAt: MARKET_TABLES.declared_incident.ended_at,
}
export type DeclaredRow = RowOf<typeof DECLARED_ROW>

/** A note about an incident, and the incident's state from then on. */
export type NoteRow = { readonly at: Date; readonly state: IncidentState; readonly note: string }

const COLUMNS = sql`id, title, models, providers, state, started_at as "startedAt", ended_at as "endedAt"`

export async function insertDeclared(trx: Trx, row: DeclaredRow): Promise<void> {
  await trx
    .insertInto('declared_incident')
    .values({ ...publicPart(row), id: row.id, started_at: row.startedAt })
    .execute()
}

/** Updates every field of an incident but its beginning. */
export async function updateDeclared(trx: Trx, row: DeclaredRow): Promise<void> {
  await trx.updateTable('declared_incident').set(publicPart(row)).where('id', '=', row.id).execute()
}

function publicPart({ title, models, providers, state, endedAt }: DeclaredRow) {
  return { title, models: [...models], providers: [...providers], state, ended_at: endedAt }
}

/** Reads the incident and locks it until the end of the transaction. */
export async function lockDeclared(trx: Trx, id: string): Promise<DeclaredRow | undefined> {
  const rows = await readRows(
    trx,
    DECLARED_ROW,
    sql`select ${COLUMNS} from declared_incident where id = ${id} for update`,
  )
  return rows[0]
}

/** Adds a note after the existing ones. The caller has locked the incident. */
export async function insertNote(trx: Trx, incident: IncidentId, { at, state, note }: NoteRow): Promise<void> {
  await sql`insert into declared_incident_note (incident, number, at, state, note)
    select ${incident}, count(*) + 1, ${at}, ${state}, ${note}
    from declared_incident_note where incident = ${incident}`.execute(trx)
}

/** The notes of some incidents. The notes of one incident come in the order in which they were made. */
export async function listNotes(
  db: Database | Trx,
  incidents: readonly IncidentId[],
): Promise<(NoteRow & { readonly incident: IncidentId })[]> {
  return db
    .selectFrom('declared_incident_note')
    .select(['incident', 'at', 'state', 'note'])
    .where('incident', 'in', incidents)
    .orderBy('incident')
    .orderBy('number')
    .execute()
}

export type DeclaredFilter = {
  /** Unix milliseconds. Selects incidents that began before `to` and had not ended at `from`. */
  readonly from: number
  readonly to: number
  /** Selects incidents of this model or provider, and those of the whole market. */
  readonly model: string | undefined
  readonly provider: string | undefined
  /** The id of the last incident on the page before. */
  readonly after: string | undefined
}

/** Declared incidents, the latest declared first. */
export async function listDeclared(db: Database, filter: DeclaredFilter, limit: number): Promise<DeclaredRow[]> {
  const { from, to, model = null, provider = null, after = null } = filter
  const rows = await readRows(
    db,
    DECLARED_ROW,
    sql`select ${COLUMNS} from declared_incident
    where started_at < ${new Date(to)} and (ended_at is null or ended_at >= ${new Date(from)})
      and (${model}::text is null or models = '{}' or ${model} = any(models))
      and (${provider}::text is null or providers = '{}' or ${provider} = any(providers))
      and (${after}::text is null or id < ${after})
    order by id desc limit ${limit}`,
  )
  return rows
}
