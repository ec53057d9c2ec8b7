import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { integer, text } from './tables/column.ts'
import { PROVIDER_BILL_TABLES } from './tables/provider-bills.ts'

/** A line of a bill: a UTC day, the provider's name of a model, its word for a part of the cost, and the cost. */
export type BilledLine = {
  /** `2026-11-21`. */
  readonly day: string
  readonly model: string
  /** Empty for the total of the day and the model. */
  readonly line: string
  readonly units: bigint | null
  readonly billedPico: bigint
}

export type NewBill = {
  readonly seller: AccountId
  readonly provider: string
  readonly lines: readonly BilledLine[]
  readonly source: 'file' | 'key'
  /** Unix milliseconds. */
  readonly at: number
  /** The first day that is kept, `2025-11-21`. */
  readonly keptSince: string
  /**
   * The class of a line: lines of one class are the same part of a bill in other words. Undefined for a part of its
   * own.
   */
  readonly classOf: (line: string) => string | undefined
}

/**
 * Stores the lines of a bill, replacing earlier ones of the same day, model and class in any wording. A line for the
 * total of its day and model replaces its parts, and parts replace the total. Returns the number of lines that the
 * seller has.
 */
export async function replaceBill(trx: Trx, bill: NewBill): Promise<number> {
  const { seller, provider, source } = bill
  const lines = sql`jsonb_to_recordset(${JSON.stringify(
    bill.lines.map((line) => ({
      ...line,
      part: bill.classOf(line.line) ?? null,
      units: line.units?.toString() ?? null,
      billedPico: line.billedPico.toString(),
    })),
  )}::jsonb) l(day date, model text, line text, part text, units bigint, "billedPico" bigint)`
  // Two imports of a seller would write the same rows.
  await sql`select pg_advisory_xact_lock(hashtextextended(${seller}, 194))`.execute(trx)
  const words = await readRows(
    trx,
    { line: PROVIDER_BILL_TABLES.provider_bill.line },
    sql`select distinct line from provider_bill where seller_account = ${seller} and provider = ${provider}`,
  )
  const parts = JSON.stringify(Object.fromEntries(words.map(({ line }) => [line, bill.classOf(line) ?? null])))
  await sql`delete from provider_bill b where seller_account = ${seller} and (day < ${bill.keptSince}::date
    or (provider = ${provider} and exists (select 1 from ${lines} where l.day = b.day and l.model = b.model
      and (l.line = b.line or l.line = '' or b.line = '' or l.part = ${parts}::jsonb ->> b.line))))`.execute(trx)
  await sql`insert into provider_bill (seller_account, provider, day, model, line, units, billed_pico, source, imported_at)
    select ${seller}, ${provider}, l.day, l.model, l.line, l.units, l."billedPico", ${source}, ${new Date(bill.at)}
    from ${lines}`.execute(trx)
  const [row] = await readRows(
    trx,
    { count: integer() },
    sql`select count(*)::int as count from provider_bill where seller_account = ${seller}`,
  )
  return row?.count ?? 0
}

/** Days as text, the last excluded. */
export type DayWindow = { readonly from: string; readonly to: string }

const BILLED_ROW = {
  provider: PROVIDER_BILL_TABLES.provider_bill.provider,
  day: text(),
  model: PROVIDER_BILL_TABLES.provider_bill.model,
  line: PROVIDER_BILL_TABLES.provider_bill.line,
  units: PROVIDER_BILL_TABLES.provider_bill.units,
  billedPico: PROVIDER_BILL_TABLES.provider_bill.billed_pico,
}
export type BilledRow = RowOf<typeof BILLED_ROW>

/** The lines of a seller's bills for some days, of all providers or of one. */
export function listBilled(
  db: Database,
  seller: AccountId,
  { from, to, provider }: DayWindow & { readonly provider: string | undefined },
): Promise<BilledRow[]> {
  return readRows(
    db,
    BILLED_ROW,
    sql`select provider, to_char(day, 'YYYY-MM-DD') as day, model, line, units, billed_pico as "billedPico"
    from provider_bill where seller_account = ${seller} and day >= ${from}::date and day < ${to}::date
      ${provider === undefined ? sql`` : sql`and provider = ${provider}`}
    order by provider, day, model, line`,
  )
}

/** Deletes a seller's bills by a provider, of all days or of some. Returns the number of lines. */
export async function deleteBills(
  trx: Trx,
  seller: AccountId,
  {
    provider,
    from,
    to,
  }: { readonly provider: string; readonly from: string | undefined; readonly to: string | undefined },
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`delete from provider_bill where seller_account = ${seller}
    and provider = ${provider} ${from === undefined ? sql`` : sql`and day >= ${from}::date`}
    ${to === undefined ? sql`` : sql`and day <= ${to}::date`}`.execute(trx)
  return Number(numAffectedRows)
}
