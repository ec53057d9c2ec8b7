import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { Id, IdPrefix } from '#shared/ids.ts'

/** A type of a column, as PostgreSQL writes it. */
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
 * A column as data: the types that queries are checked with are inferred from it, and a test compares it with the real
 * schema. `Value` is what kysely takes for the column.
 */
export type Column<Value> = {
  readonly type: PgType
  readonly isNullable: boolean
  /** Who fills it where an insert says nothing: nobody, its default, or the database, which takes no other value. */
  readonly filledBy: 'insert' | 'default' | 'database'
  /** All that its check lets in. */
  readonly values?: readonly string[]
  /** What its ids begin with. */
  readonly prefix?: IdPrefix
  /** Never set: it carries the type. */
  readonly value?: Value
}

/** Tables by name, and the columns of each by name. */
export type TableSet = Readonly<Record<string, Readonly<Record<string, Column<unknown>>>>>

/** The types that kysely takes for a set of tables. */
export type TablesOf<Set extends TableSet> = {
  -readonly [Table in keyof Set]: {
    -readonly [Name in keyof Set[Table]]: Set[Table][Name] extends Column<infer Value> ? Value : never
  }
}

function column<Value>(type: PgType): Column<Value> {
  return { type, isNullable: false, filledBy: 'insert' }
}

/** `Text` narrows what no check of the database holds: those who write the column hold it. */
export const text = <Text extends string = string>() => column<Text>('text')
export const texts = <Text extends string = string>() => column<Text[]>('text[]')
/** One of a few words, which a check of the column names. */
export const oneOf = <const Word extends string>(values: readonly Word[]): Column<Word> => ({ ...text<Word>(), values })
/** The id of a record. */
export const id = <Prefix extends IdPrefix>(prefix: Prefix): Column<Id<Prefix>> => ({ ...text<Id<Prefix>>(), prefix })
export const bigint = () => column<bigint>('bigint')
export const integer = () => column<number>('integer')
export const smallint = () => column<number>('smallint')
export const boolean = () => column<boolean>('boolean')
export const real = () => column<number>('real')
export const double = () => column<number>('double precision')
/** A list that holds null where a value was missing. */
export const doubles = () => column<(number | null)[]>('double precision[]')
/** Exact and of any size: the driver gives it as its digits. */
export const numeric = () => column<string>('numeric')
export const timestamp = () => column<Date>('timestamp with time zone')
/** The driver would read it as an instant of its own time zone: select it as text. */
export const date = () => column<ColumnType<never, string, string>>('date')
export const bytes = () => column<Buffer>('bytea')
/** JSON: written as its text, read as what it holds. Without a type it is to be read with a schema. */
export const json = <Value = unknown>() => column<ColumnType<Value, string, string>>('jsonb')

type Nullable<Value> =
  Value extends ColumnType<infer Select, infer Insert, infer Update>
    ? ColumnType<Select | null, Insert | null, Update | null>
    : Value | null

export function nullable<Value>({ value: _, ...given }: Column<Value>): Column<Nullable<Value>> {
  return { ...given, isNullable: true }
}

/** A column with a default. */
export function withDefault<Value>({ value: _, ...given }: Column<Value>): Column<Generated<Value>> {
  return { ...given, filledBy: 'default' }
}

/** A column that the database alone fills. */
export function made<Value>({ value: _, ...given }: Column<Value>): Column<GeneratedAlways<Value>> {
  return { ...given, filledBy: 'database' }
}
