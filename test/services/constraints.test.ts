import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAccount } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

let database: TestDatabase
let db: Database
const ids = createIds(systemClock)

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
  await transact(db, async (trx) => {
    await openAccount(trx, { id: 'acc_buyer', kind: 'buyer_credit', owner: 'usr_b' })
    await openAccount(trx, { id: 'acc_seller', kind: 'seller_available', owner: 'usr_s' })
  })
})
afterAll(() => database.drop())

/** The SQLSTATE or the constraint that refuses the statements. Fails the test when they pass. */
async function refusal(...statements: RawBuilder<unknown>[]): Promise<string> {
  const outcome = await db
    .transaction()
    .execute(async (trx) => {
      for (const statement of statements) await statement.execute(trx)
      throw new Error('let through')
    })
    .catch((error: unknown) => error)
  expect(outcome).toHaveProperty('code')
  const { code, constraint } = outcome as { code: string; constraint?: string }
  return constraint ?? code
}

const newTx = (id: string) => sql`insert into ledger_tx (id, kind) values (${id}, 'adjust')`
const entries = (tx: string, ...lines: [string, number][]) =>
  sql`insert into ledger_entry (tx, account, amount) values ${sql.join(
    lines.map(([account, amount]) => sql`(${tx}, ${account}, ${amount})`),
  )}`

describe('accounts', () => {
  it.each([
    ['a buyer below zero', sql`update account set balance = -1, version = 1 where id = 'acc_buyer'`],
    ['a seller below zero', sql`update account set balance = -1, version = 1 where id = 'acc_seller'`],
  ])('refuse %s', async (_, statement) => {
    expect(await refusal(statement)).toBe('account_not_overdrawn')
  })

  it('refuse a stored balance where the entries are summed, and a shortfall in favour of the platform', async () => {
    expect(await refusal(sql`update account set balance = 5, version = 1 where id = 'acc_platform_fee'`)).toBe(
      'account_summed_is_bare',
    )
    expect(await refusal(sql`update account set balance = 5, version = 1 where id = 'acc_platform_shortfall'`)).toBe(
      'account_shortfall_owed',
    )
  })

  it('refuse a balance that changes without its version, a lower version, and another kind or owner', async () => {
    for (const change of [
      'balance = 5',
      'version = -1',
      `kind = 'seller_pending'`,
      `owner = 'usr_x'`,
      `id = 'acc_y'`,
    ]) {
      expect(await refusal(sql.raw(`update account set ${change} where id = 'acc_buyer'`))).toBe('23001')
    }
  })

  it('refuse removal, a second platform account, an unknown kind and a strange id', async () => {
    expect(await refusal(sql`delete from account where id = 'acc_buyer'`)).toBe('23001')
    expect(await refusal(sql`insert into account (id, kind) values ('acc_fee2', 'platform_fee')`)).toBe(
      'account_platform_once',
    )
    expect(await refusal(sql`insert into account (id, kind, owner) values ('acc_z', 'bank', 'usr_z')`)).toBe(
      'account_kind_check',
    )
    expect(await refusal(sql`insert into account (id, kind, owner) values ('usr_z', 'buyer_credit', 'usr_z')`)).toBe(
      'account_id_check',
    )
    expect(await refusal(sql`insert into account (id, kind) values ('acc_z', 'buyer_credit')`)).toBe(
      'account_owner_known',
    )
  })
})

describe('the ledger', () => {
  const balanced: [string, number][] = [
    ['acc_promo', -7],
    ['acc_buyer', 7],
  ]

  it('refuses entries that do not sum to zero, also among balanced ones, also directly in a partition', async () => {
    const [good, bad] = [ids.ulid(), ids.ulid()]
    expect(await refusal(newTx(bad), entries(bad, ['acc_promo', -7], ['acc_buyer', 6]))).toBe('ledger_entry_sum_zero')
    expect(
      await refusal(
        newTx(good),
        newTx(bad),
        sql`insert into ledger_entry (tx, account, amount) values
          (${good}, 'acc_promo', -7), (${good}, 'acc_buyer', 7), (${bad}, 'acc_buyer', 7)`,
      ),
    ).toBe('ledger_entry_sum_zero')
    const { rows } = await sql<{ part: string }>`select relid::regclass::text as part
      from pg_partition_tree('ledger_entry') where isleaf`.execute(db)
    expect(rows.length).toBeGreaterThan(4)
    for (const { part } of rows) {
      const { rows: bounds } = await sql<{ low: string | null }>`select substring(pg_get_expr(relpartbound, oid)
        from 'FROM \\(''(\\w+)') as low from pg_class where oid = ${part}::regclass`.execute(db)
      const tx = bounds[0]?.low ?? '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'
      const statement = sql`insert into ${sql.id(part)} (tx, account, amount) values (${tx}, 'acc_buyer', 7)`
      expect(await refusal(newTx(tx), statement)).toBe('ledger_entry_sum_zero')
    }
  })

  it('refuses entries of an unknown account or transaction, of zero, twice for an account, and added later', async () => {
    const tx = ids.ulid()
    expect(await refusal(newTx(tx), entries(tx, ['acc_promo', -7], ['acc_nobody', 7]))).toBe('ledger_entry_account')
    expect(await refusal(entries(tx, ...balanced))).toBe('ledger_entry_once')
    expect(await refusal(newTx(tx), entries(tx, ['acc_promo', 0], ['acc_buyer', 0]))).toBe('ledger_entry_amount_check')
    expect(await refusal(newTx(tx), entries(tx, ['acc_promo', -7], ['acc_promo', 7]))).toMatch(/pkey/)
    expect(
      await refusal(newTx(tx), entries(tx, ...balanced), entries(tx, ['acc_external_fiat', -7], ['acc_seller', 7])),
    ).toBe('ledger_entry_once')
    expect(await refusal(newTx('not-a-ulid'))).toBe('ledger_tx_id_check')
  })

  it('never changes or loses a row, through the parent or a partition', async () => {
    const tx = ids.ulid()
    await newTx(tx).execute(db)
    await entries(tx, ...balanced).execute(db)
    await sql`insert into ledger_key (key, tx) values ('kept:1', ${tx})`.execute(db)
    const { rows } = await sql<{ part: string }>`select relid::regclass::text as part
      from pg_partition_tree('ledger_entry') union all select relid::regclass::text
      from pg_partition_tree('ledger_tx') union all select 'ledger_key'`.execute(db)
    for (const { part } of rows) expect(await refusal(sql`truncate ${sql.id(part)}`)).toBe('23001')
    expect(await refusal(sql`update ledger_entry set amount = amount * 2`)).toBe('23001')
    expect(await refusal(sql`delete from ledger_entry`)).toBe('23001')
    expect(await refusal(sql`update ledger_tx set kind = 'other'`)).toBe('23001')
    expect(await refusal(sql`delete from ledger_tx`)).toBe('23001')
    expect(await refusal(sql`update ledger_key set tx = ${ids.ulid()}`)).toBe('23001')
    expect(await refusal(sql`insert into ledger_key (key, tx) values ('kept:1', ${ids.ulid()})`)).toBe(
      'ledger_key_pkey',
    )
  })
})

describe('settlements', () => {
  const row = (changes: Record<string, unknown>) =>
    sql`insert into settlement select * from jsonb_populate_recordset(null::settlement, ${JSON.stringify([
      {
        rid: ids.ulid(),
        account: 'acc_buyer',
        seller_account: 'acc_seller',
        model: 'm',
        requested_model: 'm',
        wire: 'chat',
        endpoint: 'chat',
        rail: 'credit',
        node: 'n',
        is_streamed: false,
        outcome: 'succeeded',
        hold_amount: 100,
        charge: 99,
        list_cost: 200,
        seller_net: 94,
        fee: 5,
        fee_bps: 500,
        kept_bps: 5000,
        price_version: 'v1',
        price_conditions: [],
        searches: 0,
        usage_source: 'reported',
        input_tokens: 1,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cache_write_long_tokens: 0,
        output_tokens: 1,
        reasoning_tokens: 0,
        audio_input_tokens: 0,
        audio_output_tokens: 0,
        characters: 0,
        images: 0,
        image_input_tokens: 0,
        image_output_tokens: 0,
        images_2k: 0,
        images_4k: 0,
        milliseconds_1080p: 0,
        milliseconds_4k: 0,
        pixels: 0,
        milliseconds: 0,
        calls: 0,
        duration_ms: 1,
        overhead_ms: 0.5,
        attempts: [],
        anomalies: [],
        payload_hash: 'a'.repeat(64),
        started_at: new Date(),
        captured_at: new Date(),
        posted_at: new Date(),
        ...changes,
      },
    ])}::jsonb)`

  it.each([
    ['a charge over the hold', { charge: 101, seller_net: 95, fee: 6 }, 'settlement_within_hold'],
    ['a split that loses a micro-USD', { seller_net: 94, fee: 4 }, 'settlement_split_exact'],
    ['a split that is not floored', { seller_net: 95, fee: 4 }, 'settlement_split_floored'],
    ['a charge without a seller', { seller_account: null }, 'settlement_seller_known'],
    ['a negative charge', { charge: -1, seller_net: 0, fee: -1 }, 'settlement_charge_check'],
    ['a usage below zero', { output_tokens: -1 }, 'settlement_output_tokens_check'],
    ['an id that is not a ULID', { rid: 'x' }, 'settlement_rid_check'],
  ])('refuse %s', async (_, changes, constraint) => {
    expect(await refusal(row(changes))).toBe(constraint)
  })

  it('are written once', async () => {
    const rid = ids.ulid()
    await row({ rid }).execute(db)
    expect(await refusal(row({ rid }))).toMatch(/pkey/)
    expect(await refusal(sql`update settlement set charge = 1 where rid = ${rid}`)).toBe('23001')
    expect(await refusal(sql`delete from settlement where rid = ${rid}`)).toBe('23001')
    expect(await refusal(sql`truncate settlement`)).toBe('23001')
  })
})

describe('month partitions', () => {
  it('are created ahead, once, and hold the ids of their month', async () => {
    const make = () => sql<{ name: string }>`select make_month_partitions('2031-12-15Z', 1) as name`.execute(db)
    const first = (await make()).rows.map((row) => row.name)
    expect(first.filter((name) => name.startsWith('settlement'))).toEqual([
      'settlement_2031_11',
      'settlement_2031_12',
      'settlement_2032_01',
    ])
    expect((await make()).rows).toEqual([])
    const id = createIds({ now: () => Date.UTC(2032, 0, 1) }).ulid()
    await newTx(id).execute(db)
    const { rows } = await sql<{ part: string }>`select tableoid::regclass::text as part from ledger_tx
      where id = ${id}`.execute(db)
    expect(rows).toEqual([{ part: 'ledger_tx_2032_01' }])
  })
})
