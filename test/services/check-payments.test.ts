import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import { findChainPayment } from '#control-plane/db/chain-payments.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { bookPayment } from '#control-plane/services/payments/book-payment.ts'
import { HOUR } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import type { GateWorld } from '#test/support/books/gate.ts'
import { ids, log, startGateWorld } from '#test/support/books/gate.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

const WALLET = `0x${'12'.repeat(20)}`
const HASH = `0x${'1'.repeat(64)}`
const NONCE = `0x${'7'.repeat(64)}`
const CHARGE = 700
const PAST = new Date(Date.now() - 2 * HOUR).toISOString()

let world: GateWorld
let books: TestDatabase
let buyer: AccountId
let rid: string

beforeAll(async () => {
  world = await startGateWorld()
})
afterAll(() => world.stop())

/** Books with one payment: 1,000 micro-USD were taken, and the call cost 700. */
beforeEach(async () => {
  books = await createTestDatabase()
  buyer = await newAccount(books.db, 'buyer_credit')
  const seller = await newAccount(books.db, 'seller_available')
  rid = ids.ulid()
  const event = eventText({ rid, account: buyer, sellerAccount: seller, charge: CHARGE }, { rail: 'x402-upto' })
  await sql`insert into chain_payment (rid, rail, network, asset, payer, nonce, account, amount, due, charge, came, event,
      state, payload, requirement, body_digest, valid_until, serve_until, tx_hash)
    values (${rid}, 'x402-upto', 'eip155:8453', ${WALLET}, ${WALLET}, '7', ${buyer}, 5000, 1000, ${CHARGE}, 1000, ${event},
      'confirmed', '{}', '{}', ${'ab'.repeat(32)}, now(), now(), ${HASH})`.execute(books.db)
  const payment = await findChainPayment(books.db, rid)
  if (payment === undefined) throw new Error('no payment')
  await bookPayment({ ledger: createMoneyLedger(books.db), gate: world.gate, ids, log }, payment)
})
afterEach(() => books.drop())

async function findings() {
  // The books have no gate: another database of the same Redis is empty.
  const where = { databaseUrl: books.url, redisUrl: `${world.redisUrl}/9`, journalDir: undefined }
  const { findings } = await checkMoney(where, { isQuiesced: false, maxLooks: 1 })
  return findings.filter(({ state }) => state === 'breach')
}

const breaches = async () => (await findings()).map(({ id }) => id)

/** Runs statements without the triggers that would refuse them. */
async function force(...statements: string[]): Promise<void> {
  await books.db.connection().execute(async (connection) => {
    await sql`set session_replication_role = replica`.execute(connection)
    for (const statement of statements) await sql.raw(statement).execute(connection)
    await sql`reset session_replication_role`.execute(connection)
  })
}

const drop = (constraint: string) => `alter table chain_payment drop constraint ${constraint}`
const set = (change: string) => `update chain_payment set ${change}`
const second = (changes: object) =>
  `insert into chain_payment select (jsonb_populate_record(p, '${JSON.stringify({ rid: ids.ulid(), ...changes })}')).*
    from chain_payment p`
const sent = (digit: number, isReverted = false) =>
  `insert into chain_transaction (hash, sender, nonce, ref, raw, is_reverted, mined_at)
    values ('0x${String(digit).repeat(64)}', '${WALLET}', ${digit}, 'one', '0x', ${isReverted}, now())`
const SHORT = `state = 'written_off', reason = 'x'`
const ENTRIES = `tx = (select tx from ledger_key where key like 'payment:%')`
/** A transfer to the treasury that is credited as a deposit. */
const credited = (nonce: string | null, transaction: string) =>
  `insert into treasury_move (chain_id, asset, treasury, direction, tx_hash, place, block, log_index, party, amount, nonce,
      kind, ref)
    values (8453, '${WALLET}', '${WALLET}', 'in', '${transaction}', 0, 1, 0, '${WALLET}', 1000,
      ${nonce === null ? 'null' : `'${nonce}'`}, 'deposit', 'dep_1')`
const OPEN = { nonce: '8', event: null, charge: null, tx_hash: null, booked_at: null, due: null, came: null }

const PLANTS: readonly (readonly [id: string, what: string, statements: () => string[]])[] = [
  [
    'I9',
    'money from wallets without a payment',
    () => [`update ledger_entry set amount = amount * 2 where ${ENTRIES}`],
  ],
  ['I16', 'two calls with one authorization', () => [drop('chain_payment_once'), second({ tx_hash: '0x2' })]],
  ['I16', 'two calls with one transfer', () => [second({ nonce: '8' })]],
  ['I16', 'two transfers with one authorization', () => [sent(1), sent(2)]],
  ['I16', 'more taken than was signed', () => [drop('chain_payment_due_within'), set('due = 5001')]],
  ['I16', 'more received than was signed', () => [drop('chain_payment_came_within'), set('came = 5001')]],
  ['I16', 'a charge above the due amount', () => [drop('chain_payment_charge_within'), set('charge = 1001')]],
  ['I16', 'a transfer that was reverted', () => [sent(1, true)]],
  ['I16', 'a wallet’s call without a payment', () => ['delete from chain_payment']],
  ['I16', 'a call settled at another charge than its payment', () => [set('charge = 699')]],
  ['I17', 'a booked payment that the ledger lacks', () => ['delete from ledger_key']],
  ['I17', 'a payment booked at another amount', () => [set('came = 999')]],
  [
    'I17',
    'a payment booked as a write-off',
    () => [
      `update ledger_tx set kind = 'write_off' where id in
    (select tx from ledger_key where key like 'payment:%')`,
    ],
  ],
  [
    'I17',
    'a write-off with a received amount',
    () => [set(`state = 'written_off', reason = 'x', charge = 1000, came = null`)],
  ],
  ['I17', "a short payment without the platform's part", () => [set(`${SHORT}, came = 400`)]],
  ['I17', 'a short payment without a booking', () => ['delete from ledger_key', set(`${SHORT}, came = 400`)]],
  ['I17', 'a booked payment whose call is not settled', () => ['delete from settlement']],
  ['I17', 'a payment in the ledger without its mark', () => [set('booked_at = null')]],
  ['I17', 'a booked payment without a row', () => ['delete from chain_payment']],
  ['I17', 'a write-off without a reason', () => [set(`state = 'written_off'`)]],
  ['I17', 'a payment due for over an hour', () => [second({ ...OPEN, state: 'due', due: 9, serve_until: PAST })]],
  ['I17', 'a claim that is never released', () => [second({ ...OPEN, state: 'claimed', valid_until: PAST })]],
  [
    'I17',
    'a confirmed payment without a booking',
    () => [second({ ...OPEN, state: 'confirmed', due: 9, came: 9, tx_hash: '0x2', serve_until: PAST })],
  ],
]

describe('the rules of payments by wallet', () => {
  it('find valid books consistent, with open claims and payments', async () => {
    expect(await breaches()).toEqual([])
    const young = { valid_until: new Date(Date.now() + HOUR).toISOString(), serve_until: new Date().toISOString() }
    await force(
      second({ ...OPEN, ...young, state: 'claimed' }),
      second({ ...OPEN, ...young, nonce: '9', state: 'due', due: 9, event: '{}', charge: 9 }).concat(
        ` where nonce = '7'`,
      ),
    )
    expect(await breaches()).toEqual([])
  })

  it('find a breach of I16: a transfer that is a deposit and pays for a call, by its authorization or its transaction', async () => {
    const both = async () => (await findings()).filter(({ detail }) => detail.includes('is a deposit and pays for'))
    await force(credited(NONCE, `0x${'3'.repeat(64)}`))
    expect(await both()).toEqual([])
    await force(`update treasury_move set tx_hash = '${HASH}'`)
    expect(await both()).toMatchObject([{ id: 'I16' }])
    await force(set(`nonce = '${NONCE}'`), `update treasury_move set nonce = null`)
    expect(await both()).toEqual([])
    await force(`update treasury_move set nonce = '${NONCE}'`)
    expect(await both()).toMatchObject([{ id: 'I16' }])
  })

  it.each(PLANTS)('find a breach of %s: %s', async (id, _, statements) => {
    await force(...statements())
    expect(await breaches()).toContain(id)
  })
})
