import type { QueryExecutorProvider, RawBuilder, SelectType } from 'kysely'
import type { DbColumn } from './tables/column.ts'

/** The columns that a raw query returns, by name: columns of tables, and computed ones. */
type Shape = Readonly<Record<string, DbColumn<unknown>>>

/** The type of a raw query's row, by its shape. */
export type RowOf<Of extends Shape> = {
  readonly [Name in keyof Of]: Of[Name] extends DbColumn<infer Value> ? SelectType<Value> : never
}

/**
 * Runs a raw query and checks every row against its shape. Raw SQL becomes typed rows nowhere else. Throws for a column
 * that is missing, null or of another type, which is a fault of the query.
 */
export async function readRows<Of extends Shape>(
  db: QueryExecutorProvider,
  shape: Of,
  query: RawBuilder<unknown>,
): Promise<RowOf<Of>[]> {
  const { rows } = await query.execute(db)
  holdRows(shape, rows)
  return rows
}

function holdRows<Of extends Shape>(shape: Of, rows: unknown[]): asserts rows is RowOf<Of>[] {
  const columns = Object.entries(shape)
  for (const row of rows) {
    if (!isRecord(row)) throw new TypeError('a query returned a value that is not a row')
    for (const [name, column] of columns) {
      const value = row[name]
      if (value === null ? !column.isNullable : !isOfType(column.type, value)) {
        throw new TypeError(
          `the column ${name} of a query is no ${column.type}: ${value === null ? 'null' : typeof value}`,
        )
      }
    }
  }
}

function isRecord(row: unknown): row is Readonly<Record<string, unknown>> {
  return typeof row === 'object' && row !== null
}

/** True for a value, not null, that the driver produces for this type. */
function isOfType(type: DbColumn<unknown>['type'], value: unknown): boolean {
  switch (type) {
    case 'text':
    case 'numeric':
      return typeof value === 'string'
    case 'bigint':
      return typeof value === 'bigint'
    case 'integer':
    case 'smallint':
    case 'real':
    case 'double precision':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'timestamp with time zone':
    case 'date':
      return value instanceof Date
    case 'text[]':
    case 'double precision[]':
      return Array.isArray(value)
    case 'bytea':
      return Buffer.isBuffer(value)
    case 'jsonb':
      return value !== undefined
  }
}
