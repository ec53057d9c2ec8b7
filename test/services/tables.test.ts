import { readdirSync, readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHECKED_KINDS } from '#control-plane/check-ledger/ledger-rules.ts'
import { readRows } from '#control-plane/db/rows.ts'
import type { DbColumn, TableSet } from '#control-plane/db/tables/column.ts'
import { bigint, integer, nullable, text } from '#control-plane/db/tables/column.ts'
import { TABLES } from '#control-plane/db/tables.ts'
import { ACCOUNT_KINDS } from '#shared/ledger/account-kinds.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

type RealColumn = {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly isView: boolean
  readonly isNullable: boolean
  readonly filledBy: DbColumn<unknown>['filledBy']
  /** The checks of this column only, in PostgreSQL's spelling. */
  readonly checks: readonly string[]
}

/** The columns of all tables and views. Partitions have those of their parent. */
async function readColumns(): Promise<RealColumn[]> {
  const { rows } = await sql<RealColumn>`
    select c.relname as "table", a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      c.relkind = 'v' as "isView", not a.attnotnull as "isNullable",
      case when a.attgenerated <> '' or a.attidentity = 'a' then 'database'
        when d.oid is not null then 'default' else 'insert' end as "filledBy",
      array(select pg_get_constraintdef(k.oid) from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]) as checks
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
    order by 1, 2`.execute(database.db)
  return rows
}

/** The values that a check allows: `CHECK ((kind = ANY (ARRAY['a'::text, …])))`, or `= 'a'::text` for one. */
function wordsOf(checks: readonly string[]): Set<string> | undefined {
  const list = checks.find((check) => /^CHECK \(\(\w+ = (ANY \(ARRAY\[[^\]]*\]\)|'[^']*'::text)\)\)$/.test(check))
  return list === undefined ? undefined : quotedIn(list)
}

/** The quoted values of an expression in PostgreSQL's spelling. */
function quotedIn(text: string): Set<string> {
  return new Set([...text.matchAll(/'([^']*)'::text/g)].map(([, word = '']) => word))
}

const described: TableSet = TABLES

describe('the description of the tables', () => {
  it('has exactly the tables, columns, types, nulls and defaults of the real schema', async () => {
    const real = (await readColumns()).map(({ table, name, type, isView, isNullable, filledBy }) =>
      // A view has no nulls and defaults in the catalogue.
      isView ? { table, name, type } : { table, name, type, isNullable, filledBy },
    )
    const views = new Set(real.filter((column) => !('filledBy' in column)).map(({ table }) => table))
    const ours = Object.entries(described).flatMap(([table, columns]) =>
      Object.entries(columns).map(([name, { type, isNullable, filledBy }]) =>
        views.has(table) ? { table, name, type } : { table, name, type, isNullable, filledBy },
      ),
    )
    const byPlace = (columns: typeof real) =>
      Object.fromEntries(columns.map((column) => [`${column.table}.${column.name}`, column]))
    expect(byPlace(ours)).toEqual(byPlace(real))
  })

  it('has exactly the values that the checks allow', async () => {
    const real = (await readColumns()).filter(({ isView }) => !isView)
    const held = real.flatMap(({ table, name, checks }) => {
      const words = wordsOf(checks)
      return words === undefined ? [] : [[`${table}.${name}`, words] as const]
    })
    const ours = real.flatMap(({ table, name }) => {
      const values = described[table]?.[name]?.values
      return values === undefined ? [] : [[`${table}.${name}`, new Set(values)] as const]
    })
    expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(held.filter(([place]) => place !== 'account.currency')))
  })

  it('has the prefixes of ids that the checks require', async () => {
    const held = (await readColumns()).flatMap(({ table, name, checks }) => {
      const prefix = checks.map((check) => /~ '\^([a-z]{3})_/.exec(check)?.[1]).find((found) => found !== undefined)
      // No type here names the ids of lines of the health log.
      return prefix === undefined || table === 'health_log' ? [] : [[`${table}.${name}`, prefix] as const]
    })
    expect(held.length).toBeGreaterThan(10)
    for (const [place, prefix] of held) {
      const [table = '', name = ''] = place.split('.')
      expect([place, described[table]?.[name]?.prefix]).toEqual([place, prefix])
    }
  })
})

describe('the table of account kinds', () => {
  const kindsWhere = (is: (rule: (typeof ACCOUNT_KINDS)[keyof typeof ACCOUNT_KINDS]) => boolean) =>
    new Set(Object.entries(ACCOUNT_KINDS).flatMap(([kind, rule]) => (is(rule) ? [kind] : [])))

  /** The kinds in a constraint, or in an expression of the table `account`. */
  async function kindsIn(query: string): Promise<Set<string>> {
    const { rows } = await sql<{ text: string }>`select ${sql.raw(query)} as text`.execute(database.db)
    return quotedIn(rows[0]?.text ?? '')
  }
  const constraint = (name: string) =>
    kindsIn(`(select pg_get_constraintdef(oid) from pg_constraint where conname = '${name}')`)

  it('equals the constraints of the schema', async () => {
    expect(await constraint('account_kind_check')).toEqual(kindsWhere(() => true))
    expect(await constraint('account_not_overdrawn')).toEqual(kindsWhere(({ bound }) => bound === 'not_below_zero'))
    expect(await constraint('account_shortfall_owed')).toEqual(kindsWhere(({ bound }) => bound === 'not_above_zero'))
    expect(await constraint('account_summed_is_bare')).toEqual(kindsWhere(({ balance }) => balance === 'sum'))
    expect(await constraint('account_owner_known')).toEqual(kindsWhere(({ owner }) => owner === 'platform'))
    expect(await constraint('account_within_limit')).toEqual(kindsWhere(({ isGated }) => isGated))
    const summed = `(select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d join pg_attribute a
      on a.attrelid = d.adrelid and a.attnum = d.adnum where d.adrelid = 'account'::regclass and a.attname = 'is_summed')`
    expect(await kindsIn(summed)).toEqual(kindsWhere(({ balance }) => balance === 'sum'))
    const funded = `pg_get_indexdef('account_funded'::regclass)`
    expect(await kindsIn(funded)).toEqual(kindsWhere(({ isGated }) => isGated))
  })

  it("names the platform's accounts like the schema does", async () => {
    const rows = await database.db.selectFrom('account').select(['id', 'kind']).where('owner', 'is', null).execute()
    const named = Object.entries(ACCOUNT_KINDS).flatMap(([kind, rule]) => (rule.id === null ? [] : [[kind, rule.id]]))
    expect(Object.fromEntries(named)).toEqual(Object.fromEntries(rows.map(({ id, kind }) => [kind, id])))
  })

  it('equals the list inside the checker of the ledger', () => {
    expect(new Set<string>(CHECKED_KINDS.bounded)).toEqual(kindsWhere(({ bound }) => bound === 'not_below_zero'))
    expect(new Set<string>(CHECKED_KINDS.world)).toEqual(kindsWhere(({ side }) => side === 'world'))
  })
})

describe('rows of raw SQL', () => {
  it('are read by one function, which checks them against a shape', () => {
    const folder = new URL('../../control-plane/db/', import.meta.url)
    const typed = readdirSync(folder)
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => {
        const source = readFileSync(new URL(file, folder), 'utf8')
        // Raw SQL that only names a column, or is a condition of a kysely query, returns no rows.
        const claims = [...source.matchAll(/\bsql<(?!string>`[\w.]+`,|boolean>`[^`]*`\))/g)].map(
          () => `${file} says the type`,
        )
        const raw = /const \{ rows[^}]*\} =\s*await sql/.test(source) ? [`${file} reads rows by itself`] : []
        return [...claims, ...raw]
      })
    expect(typed).toEqual([])
  })

  it('arrive in the declared shape', async () => {
    const query = sql`select 'one' as name, 1::int8 as big, 2::int4 as small, null::text as nothing`
    const shape = { name: text(), big: bigint(), small: integer(), nothing: nullable(text()) }
    expect(await readRows(database.db, shape, query)).toEqual([{ name: 'one', big: 1n, small: 2, nothing: null }])
  })

  it.each([
    [
      'another type',
      { value: integer() },
      sql`select 1::int8 as value`,
      'the column value of a query is no integer: bigint',
    ],
    ['null', { value: text() }, sql`select null::text as value`, 'the column value of a query is no text: null'],
    [
      'nothing',
      { value: nullable(text()) },
      sql`select 1 as other`,
      'the column value of a query is no text: undefined',
    ],
  ])('are refused with %s where the shape differs', async (_, shape, query, message) => {
    await expect(readRows(database.db, shape, query)).rejects.toThrow(message)
  })
})
