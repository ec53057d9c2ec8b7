import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Queue } from 'bullmq'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import type { CheckConfig } from '#control-plane/check-ledger/config.ts'
import { readConfig } from '#control-plane/check-ledger/config.ts'
import { lineOf } from '#control-plane/check-ledger/finding.ts'
import { readJournals } from '#control-plane/check-ledger/journal-records.ts'
import type { Database } from '#control-plane/db/database.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import { openJournal } from '#data-plane/journal/journal.ts'
import { systemClock } from '#shared/clock.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { ids, log, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { insertCappedOffer, newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import { programArguments } from '#test/support/run/programs.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
let node: Node
let config: CheckConfig
let buyer: AccountId
let seller: AccountId
let rids: string[]

/** A market at rest after some business, with a gate and a journal. */
beforeAll(async () => {
  world = await startGateWorld()
  const journalDir = join(world.folder, 'journal')
  node = await world.node('node-1', { journalDir })
  await untilOpen(node)
  buyer = await newAccount(world.db, 'buyer_credit', 1_000_000)
  seller = await newAccount(world.db, 'seller_available')
  const ctx = { ledger: world.ledger, gate: world.gate, clock: systemClock, ids, log }
  await drainAccountChanges(ctx)
  const events: string[] = []
  for (let index = 0; index < 10; index++) {
    const hold = await node.funds.reserve(reserveRequest(buyer, { want: 5_000 }))
    const text = eventText({ rid: hold.rid, account: buyer, sellerAccount: seller, charge: 101 + index })
    node.journal.capture(hold, text)
    await node.funds.capture(hold, microUsd(101 + index), text)
    events.push(text)
  }
  const released = await node.funds.reserve(reserveRequest(buyer, { want: 5_000 }))
  await node.funds.release(released, 'failed', '{"buyer_cost_micro":0}')
  events.push(eventText({ rid: released.rid, account: buyer, sellerAccount: null, charge: 0 }))
  await node.journal.sync()
  await postBatch(ctx, { events, source: 'test' })
  rids = events.map((text) => JSON.parse(text).rid)
  config = { databaseUrl: world.databaseUrl, redisUrl: world.redisUrl, journalDir }
})
afterAll(() => world.stop())

const QUIESCENCE_MS = 1_000

async function breaches(where: CheckConfig = config, isQuiesced = false): Promise<string[]> {
  const { findings } = await checkMoney(where, { isQuiesced, quiescenceMs: QUIESCENCE_MS, maxLooks: 1 })
  return findings.filter(({ state }) => state === 'breach').map(({ id }) => id)
}

describe('a sound market', () => {
  it('is found consistent by a database that answers late at first', async () => {
    const relay = await startRelay(config.databaseUrl)
    const url = new URL(config.databaseUrl)
    url.port = String(relay.port)
    relay.fault({ drops: 'answers' })
    const found = breaches({ ...config, databaseUrl: url.href })
    await until('it connects', 10_000, () => relay.connections() > 0)
    relay.pass()
    expect(await found).toEqual([])
    await relay.close()
  })

  it('is found consistent, at rest, in the order of the invariants', async () => {
    const { findings } = await checkMoney(config, { isQuiesced: true, quiescenceMs: 10_000 })
    expect(findings.filter(({ state }) => state === 'breach')).toEqual([])
    expect(findings.map(({ id }) => id)).toEqual(Array.from({ length: 24 }, (_, index) => `I${index + 1}`))
    expect(findings.filter(({ state }) => state === 'ok').map(({ id }) => Number(id.slice(1)))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 24,
    ])
    expect(findings.map(lineOf).join('\n')).toMatch(/^I3 {3}ok {6}.+\n/m)
    const [folder] = await readJournals(config.journalDir)
    expect(folder).toMatchObject({ isLive: true, captures: { length: 10 } })
    expect(folder?.captures[0]).toMatchObject({ rid: rids[0], account: buyer, charge: 101n })
  })

  it('is found consistent by the command too, and the command fails on a breach', async () => {
    const run = promisify(execFile)
    const environment = { ...process.env, DATABASE_URL: config.databaseUrl, REDIS_URL: config.redisUrl }
    const program = await programArguments('control-plane/check-ledger/main.ts')
    const command = () =>
      run(process.execPath, program, {
        env: { ...environment, JOURNAL_DIR: config.journalDir },
      })
    expect((await command()).stdout).toMatch(/^I1 {3}ok .+\n(.+\n)*I19 {2}ok .+\n/)
    await world.redis.hincrby(`{m00}:a:${buyer}`, 'h', 1)
    const failed = await command().catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^I5 {3}BREACH .+holds 1/m) })
    await world.redis.hincrby(`{m00}:a:${buyer}`, 'h', -1)
  })

  it('is read from the home of the development network where no variable names a database', async () => {
    const home = await mkdtemp(join(tmpdir(), 'market-home-'))
    expect(() => readConfig({ MARKET_HOME: home })).toThrow(/DATABASE_URL/)
    expect(readConfig({ MARKET_HOME: home, DATABASE_URL: 'd', REDIS_URL: 'r' })).toMatchObject({ databaseUrl: 'd' })
  })
})

describe('in the gate and the journals', () => {
  const hold = () => `{m00}:h:${rids[0]}`
  const account = () => `{m00}:a:${buyer}`
  type Plant = readonly [id: string, what: string, plant: () => Promise<unknown>, undo: () => Promise<unknown>]
  const plants: Plant[] = [
    [
      'I5',
      'a hold without a call',
      () => world.redis.hincrby(account(), 'h', 7),
      () => world.redis.hincrby(account(), 'h', -7),
    ],
    [
      'I5',
      'an unposted amount without a call',
      () => world.redis.hincrby(account(), 'u', 7),
      () => world.redis.hincrby(account(), 'u', -7),
    ],
    [
      'I6',
      'an unknown state',
      () => world.redis.hset(hold(), 'st', 'lost'),
      () => world.redis.hset(hold(), 'st', 'posted'),
    ],
    ['I6', 'a deadline without a hold', () => zset('exp', 'add'), () => zset('exp', 'remove')],
    ['I6', 'a waiting capture without a hold', () => zset('unack', 'add'), () => zset('unack', 'remove')],
    [
      'I6',
      'a call that is both released and charged',
      () => world.redis.hset(hold(), 'st', 'released'),
      () => world.redis.hset(hold(), 'st', 'posted'),
    ],
    [
      'I13',
      'another charge in the gate',
      () => world.redis.hset(hold(), 'used', '102'),
      () => world.redis.hset(hold(), 'used', '101'),
    ],
    [
      'I14',
      'more spendable credit than the ledger has',
      () => world.redis.hincrby(account(), 'p', 9),
      () => world.redis.hincrby(account(), 'p', -9),
    ],
    [
      'I14',
      "a version above the ledger's",
      () => world.redis.hincrby(account(), 'ver', 1),
      () => world.redis.hincrby(account(), 'ver', -1),
    ],
  ]
  const zset = async (name: 'exp' | 'unack', how: 'add' | 'remove') => {
    const key = `{m00}:z:${name}:${(await world.redis.get('m:epoch'))?.split(':')[0]}`
    return how === 'add' ? world.redis.zadd(key, 1, ids.ulid()) : world.redis.del(key)
  }

  it.each(plants)('finds a breach of %s: %s', async (id, _, plant, undo) => {
    await plant()
    expect(await breaches()).toContain(id)
    await undo()
    expect(await breaches()).toEqual([])
  })

  it('finds a breach of I12 and I14: a capture in the journal alone', async () => {
    const old = Date.now() - 300_000
    const journalDir = await journalOf(eventText({ account: buyer, sellerAccount: seller, charge: 5, startedAt: old }))
    expect(await breaches({ ...config, journalDir })).toEqual(['I12', 'I14'])
  })

  it('finds a breach of I12 alone: a charge of a wallet that its payment lacks, too', async () => {
    const rid = ids.ulid()
    const input = { rid, account: buyer, sellerAccount: seller, charge: 5, startedAt: Date.now() - 300_000 }
    const text = eventText(input, { rail: 'x402-upto' })
    const where = { ...config, journalDir: await journalOf(text) }
    expect(await breaches(where)).toEqual(['I12'])
    // A payment keeps the event until its transfer is final and booked, which may take long.
    const [payer, digest] = [`0x${'c'.repeat(40)}`, 'ab'.repeat(32)]
    await sql`insert into chain_payment (rid, rail, network, asset, payer, nonce, account, amount, due, charge, event, state,
        payload, requirement, body_digest, valid_until, serve_until)
      values (${rid}, 'x402-upto', 'eip155:8453', ${payer}, ${payer}, '7', ${buyer}, 5000, 1000, 5, ${text}, 'due', '{}', '{}',
        ${digest}, now(), now())`.execute(world.db)
    expect(await breaches(where)).toEqual([])
  })

  it('finds a breach of I12: a capture that is settled with another amount', async () => {
    const text = eventText({ rid: rids[0] ?? '', account: buyer, sellerAccount: seller, charge: 5 })
    expect(await breaches({ ...config, journalDir: await journalOf(text) })).toEqual(['I12'])
  })

  it('finds a breach of I18: an offer over its daily cap', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const epoch = (await world.redis.get('m:epoch'))?.split(':')[0] ?? ''
    await insertCappedOffer(world.db, 'ofr_capped', 100)
    await world.redis.hset('{ofr_capped}:cap', { ep: epoch, d: today, du: '100' })
    expect(await breaches()).toEqual([])
    await world.redis.hincrby('{ofr_capped}:cap', 'du', 1)
    expect(await breaches()).toEqual(['I18'])
    await world.redis.del('{ofr_capped}:cap')
  })

  it('finds no breach of I18 in a cap that was lowered below its use during the day', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const epoch = (await world.redis.get('m:epoch'))?.split(':')[0] ?? ''
    await insertCappedOffer(world.db, 'ofr_lowered', 100)
    await world.redis.hset('{ofr_lowered}:cap', { ep: epoch, d: today, du: '100' })
    const setCap = (cap: number | null) =>
      sql`update offer set cap_daily_micro = ${cap} where id = 'ofr_lowered'`.execute(world.db)
    await setCap(60)
    expect(await breaches()).toEqual([])
    await world.redis.hincrby('{ofr_lowered}:cap', 'du', 1)
    expect(await breaches()).toEqual(['I18'])
    // Without a cap any amount may have been taken.
    await setCap(null)
    await setCap(50)
    expect(await breaches()).toEqual([])
    await world.redis.del('{ofr_lowered}:cap')
  })

  it('finds a breach of I10: a hold, a job or a balance that does not end', async () => {
    const open = await node.funds.reserve(reserveRequest(buyer, { want: 50 }))
    expect(await breaches(config, true)).toEqual(['I10'])
    await node.funds.release(open, 'test', '{}')

    const queue = new Queue(QUEUES.usage, { connection: { url: world.redisUrl } })
    await queue.add('batch', {})
    expect(await breaches(config, true)).toEqual(['I10'])
    await queue.obliterate()
    await queue.close()

    await newAccount(world.db, 'buyer_credit', 5)
    expect(await breaches(config, true)).toEqual(['I10'])
    await drainAccountChanges(world)
    await until('rest', 5_000, async () => (await breaches(config, true)).length === 0)
  })
})

/** A journal with one capture of a dead process. */
async function journalOf(text: string): Promise<string> {
  const dir = join(world.folder, `journal-${ids.ulid()}`)
  const journal = await openJournal({ dir, node: 'node-9', boot: ids.ulid(), clock: systemClock, log })
  journal.capture(JSON.parse(text), text)
  await journal.close()
  return dir
}

describe('in the ledger', () => {
  let copy: TestDatabase
  let where: CheckConfig

  /** Runs statements without the triggers and constraints that would refuse them. */
  async function force(...statements: string[]): Promise<void> {
    await copy.db.connection().execute(async (connection) => {
      await sql`set session_replication_role = replica`.execute(connection)
      for (const statement of statements) await sql.raw(statement).execute(connection)
      await sql`reset session_replication_role`.execute(connection)
    })
  }
  const settle = (rid: string, changes: Record<string, unknown>) =>
    `insert into settlement select (jsonb_populate_record(s, '${JSON.stringify({ rid, ...changes })}')).*
      from settlement s where rid = '${rids[0]}'`
  const drop = (constraint: string, table = 'settlement') => `alter table ${table} drop constraint ${constraint}`
  const tx = '00000000000000000000000001'
  const later = '00000000000000000000000002'
  /** A payout of 1,000 in a state, without entries in the ledger. */
  const payout = (state: string) => {
    const isSigned = state === 'signed' || state === 'paid'
    const signed = isSigned
      ? `8453, repeat('1', 42), repeat('1', 42), '0x', now() - interval '2 hours', 1`
      : 'null, null, null, null, null, null'
    return `insert into treasury_transfer (id, purpose, seller, in_flight, recipient, amount, mode, state, nonce,
        tx_hash, ended_at, chain_id, asset, treasury, signature, valid_until, signed_at_block)
      select 'pay_1', 'payout', min(id), min(id), '0x' || repeat('1', 40), 1000, 'batched', '${state}', '0x' || repeat('1', 64),
        ${state === 'paid' ? "'0x' || repeat('1', 64), now()" : 'null, null'},
        ${signed.replaceAll("repeat('1', 42)", "'0x' || repeat('1', 40)")} from account where kind = 'seller_available'`
  }

  const plants: [string, string, () => string[]][] = [
    [
      'I1',
      'a transaction that does not sum to zero',
      () => [
        `insert into ledger_tx (id, kind) values ('${tx}', 'adjust')`,
        `insert into ledger_entry values ('${tx}', 'acc_promo', -1)`,
      ],
    ],
    ['I1', 'a transaction without entries', () => [`insert into ledger_tx (id, kind) values ('${tx}', 'adjust')`]],
    ['I2', 'a trigger that is switched off', () => ['alter table ledger_entry_default disable trigger all']],
    [
      'I2',
      'a partition that can be truncated',
      () => ['drop trigger settlement_default_not_truncated on settlement_default'],
    ],
    ['I3', 'a balance without an entry', () => [`update account set balance = balance + 1 where id = '${seller}'`]],
    ['I3', 'a version without an entry', () => [`update account set version = version + 1 where id = '${seller}'`]],
    [
      'I4',
      'a buyer below zero',
      () => [drop('account_not_overdrawn', 'account'), `update account set balance = -1 where id = '${buyer}'`],
    ],
    [
      'I3',
      'an escrow without a running job',
      () => [
        `insert into account (id, kind, owner, balance, version) values ('acc_escrow_x', 'job_escrow', 'usr_1', 5, 1)`,
        `insert into ledger_tx (id, kind) values ('${tx}', 'adjust')`,
        `insert into ledger_entry values ('${tx}', 'acc_escrow_x', 5), ('${tx}', 'acc_promo', -5)`,
      ],
    ],
    [
      'I3',
      'an escrow that a correction by hand has moved',
      () => [
        `insert into account (id, kind, owner, balance, version) values ('acc_escrow_x', 'job_escrow', 'usr_1', 0, 2)`,
        ...[tx, later].flatMap((id, at) => [
          `insert into ledger_tx (id, kind) values ('${id}', 'adjust')`,
          `insert into ledger_entry values ('${id}', 'acc_escrow_x', ${5 - 10 * at}), ('${id}', 'acc_promo', ${10 * at - 5})`,
        ]),
      ],
    ],
    [
      'I6',
      'a job that ended without a settlement',
      () => [
        `insert into job (rid, account, escrow_account, provider_job, quote, paid, event, payload_hash, deadline_at,
          ended_at) values ('${tx}', '${buyer}', '${buyer}', 'p', 0, 0, '{}', '${'0'.repeat(64)}', now(), now())`,
      ],
    ],
    ['I7', 'a charge above its hold', () => [drop('settlement_within_hold'), settle(tx, { hold_amount: 1 })]],
    ['I8', 'a split that loses money', () => [drop('settlement_split_exact'), settle(tx, { fee: 1 })]],
    [
      'I8',
      'a split that favours the seller',
      () => [drop('settlement_split_floored'), settle(tx, { seller_net: 100, fee: 1 })],
    ],
    ['I9', 'money from nowhere', () => [`insert into ledger_entry values ('${tx}', 'acc_promo', 1)`]],
    ['I11', 'a failed call with a charge', () => [settle(tx, { outcome: 'failed' })]],
    ['I11', 'an empty answer with a charge', () => [settle(tx, { output_tokens: 0, reasoning_tokens: 0 })]],
    ['I13', 'a charge without a booking', () => [settle(tx, {})]],
    ['I13', 'a booking without a settlement', () => [`insert into ledger_tx (id, kind) values ('${tx}', 'settle')`]],
    [
      'I15',
      'two sellers of one call',
      () => [
        `insert into account (id, kind, owner) values ('acc_s2', 'seller_available', 'usr_2')`,
        `insert into ledger_entry values ('${rids[0]}', 'acc_s2', 5)`,
      ],
    ],
    ['I19', 'earnings without a sale', () => ['update offer_earning set earned = earned + 1']],
    ['I19', 'earnings that are missing', () => ['update offer_earning set allocated = 1']],
    ['I19', "a payout that its seller's account never paid", () => [payout('scheduled')]],
    [
      'I19',
      'money in transit without a payout',
      () => [
        `insert into account (id, kind, owner, balance, version) values ('acc_f', 'payout_in_flight', 'usr_f', 7, 1)`,
      ],
    ],
    ['I9', 'a sent payout that the books lack', () => [payout('paid')]],
    ['I17', 'a held payout without a reason', () => [payout('held')]],
    ['I17', 'a payout that no worker has followed', () => [payout('signed')]],
    ['I24', 'a shortfall', () => [`update account set balance = -5 where kind = 'platform_shortfall'`]],
  ]

  it.each(plants)('finds a breach of %s: %s', async (id, _, statements) => {
    copy = await createTestDatabase()
    await copyBusiness(copy.db)
    // The copy has no gate: another database of the same Redis is empty.
    where = { databaseUrl: copy.url, redisUrl: `${config.redisUrl}/9`, journalDir: undefined }
    expect(await breaches(where)).toEqual([])
    await force(...statements())
    expect(await breaches(where)).toContain(id)
    await copy.drop()
  })

  /** The accounts, entries and settlements of the world. */
  async function copyBusiness(db: Database): Promise<void> {
    await db.connection().execute(async (connection) => {
      await sql`set session_replication_role = replica`.execute(connection)
      for (const table of ['account', 'ledger_tx', 'ledger_key', 'ledger_entry', 'settlement', 'offer_earning']) {
        const columns = table === 'account' ? 'id, kind, owner, balance, version' : '*'
        const { rows } = await sql<{ rows: string | null }>`select jsonb_agg(to_jsonb(t))::text as rows
          from (select ${sql.raw(columns)} from ${sql.table(table)}) t`.execute(world.db)
        const into = table === 'account' ? `account (${columns})` : table
        await sql`insert into ${sql.raw(into)} select ${sql.raw(columns)}
          from jsonb_populate_recordset(null::${sql.table(table)}, ${rows[0]?.rows ?? '[]'}::jsonb)
          ${sql.raw(table === 'account' ? 'where owner is not null' : '')}`.execute(connection)
      }
      await sql`reset session_replication_role`.execute(connection)
    })
  }
})
