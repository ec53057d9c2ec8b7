import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { Id, IdPrefix } from '#shared/ids.ts'

/** A column type in PostgreSQL's spelling. */
type PgType =
  | 'text'
  | 'text[]'
  | 'bigint'
  | 'integer'
  | 'smallint'
  | 'boolean'
  | 'real'
  | 'double precision'
  | 'double precision[]'
  | 'numeric'
  | 'timestamp with time zone'
  | 'date'
  | 'jsonb'
  | 'bytea'

/**
 * A column as data. The types for queries are inferred from it, and a test compares it with the real schema. `Value` is
 * the column's type for kysely.
 */
export type DbColumn<Value> = {
  readonly type: PgType
  readonly isNullable: boolean
  /**
   * The source of a value that an insert leaves out: none, the column's default, or the database, which accepts no
   * other value.
   */
  readonly filledBy: 'insert' | 'default' | 'database'
  /** Every value that the column's check allows. */
  readonly values?: readonly string[]
  /** The prefix of its ids. */
  readonly prefix?: IdPrefix
  /** Never set. It only carries the type. */
  readonly value?: Value
}

/** Tables by name, and the columns of each by name. */
export type TableSet = Readonly<Record<string, Readonly<Record<string, DbColumn<unknown>>>>>

/** The kysely types of a set of tables. */
export type TablesOf<Set extends TableSet> = {
  -readonly [Table in keyof Set]: {
    -readonly [Name in keyof Set[Table]]: Set[Table][Name] extends DbColumn<infer Value> ? Value : never
  }
}

function column<Value>(type: PgType): DbColumn<Value> {
  return { type, isNullable: false, filledBy: 'insert' }
}

/** `Text` narrows the type beyond any check of the database. The code that writes the column ensures it. */
export const text = <Text extends string = string>() => column<Text>('text')
export const texts = <Text extends string = string>() => column<Text[]>('text[]')
/** A word from the list in a check of the column. */
export const oneOf = <const Word extends string>(values: readonly Word[]): DbColumn<Word> => ({
  ...text<Word>(),
  values,
})
export const id = <Prefix extends IdPrefix>(prefix: Prefix): DbColumn<Id<Prefix>> => ({ ...text<Id<Prefix>>(), prefix })
export const bigint = () => column<bigint>('bigint')
export const integer = () => column<number>('integer')
export const smallint = () => column<number>('smallint')
export const boolean = () => column<boolean>('boolean')
export const real = () => column<number>('real')
export const double = () => column<number>('double precision')
/** A list with null for a missing value. */
export const doubles = () => column<(number | null)[]>('double precision[]')
/** Exact and of any size. The driver returns it as digits. */
export const numeric = () => column<string>('numeric')
export const timestamp = () => column<Date>('timestamp with time zone')
/** Select it as text, because the driver would read it as an instant in its own time zone. */
export const date = () => column<ColumnType<never, string, string>>('date')
export const bytes = () => column<Buffer>('bytea')
/** JSON that is written as text and read as parsed values. Without a type the reader parses it with a schema. */
export const json = <Value = unknown>() => column<ColumnType<Value, string, string>>('jsonb')

type Nullable<Value> =
  Value extends ColumnType<infer Select, infer Insert, infer Update>
    ? ColumnType<Select | null, Insert | null, Update | null>
    : Value | null

export function nullable<Value>({ value: _, ...given }: DbColumn<Value>): DbColumn<Nullable<Value>> {
  return { ...given, isNullable: true }
}

export function withDefault<Value>({ value: _, ...given }: DbColumn<Value>): DbColumn<Generated<Value>> {
  return { ...given, filledBy: 'default' }
}

/** A column that only the database fills. */
export function made<Value>({ value: _, ...given }: DbColumn<Value>): DbColumn<GeneratedAlways<Value>> {
  return { ...given, filledBy: 'database' }
}
