import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '#control-plane/db/database.ts'
import type { IngestCtx } from '#control-plane/services/booking/ingest.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { GateWorld } from '#test/support/books/gate.ts'
import { ids, log, startGateWorld } from '#test/support/books/gate.ts'
import { balanceOf, newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { POSTINGS_WITH_VOUCHERS } from '#test/support/voucher-rail/posting.ts'

let world: GateWorld
let db: Database
let ctx: IngestCtx
let seller: AccountId

beforeAll(async () => {
  world = await startGateWorld()
  db = world.db
  ctx = { ledger: world.ledger, gate: world.gate, clock: systemClock, ids, log }
  seller = await newAccount(db, 'seller_available')
})
afterAll(() => world.stop())

const post = (...events: string[]) => postBatch(ctx, { events, source: 'test' })
const poisonOf = async (text: string) =>
  (await db.selectFrom('usage_poison').selectAll().where('event', '=', text).execute()).at(0)
const entriesOf = async (tx: string) => {
  const { rows } = await sql<{ account: string; amount: bigint }>`select account, amount from ledger_entry
    where tx = ${tx}`.execute(db)
  return new Map(rows.map((row) => [row.account, Number(row.amount)]))
}

describe('a rail with a posting of its own', () => {
  it('is paid by the account in its posting, and the gate is not notified', async () => {
    const told: string[] = []
    const gate: IngestCtx['gate'] = {
      ...world.gate,
      ack: async (changes) => {
        told.push(...changes.map(({ account }) => account))
        return new Set()
      },
    }
    const rid = ids.ulid()
    const text = eventText(
      { rid, sellerAccount: seller, charge: 1_001 },
      { rail: 'voucher', account: null, keyId: null, wallet: '0xvoucher', payment: { nonce: 'n1' } },
    )
    const batch = { events: [text], source: 'test' }
    expect(await postBatch({ ...ctx, gate, postings: POSTINGS_WITH_VOUCHERS }, batch)).toMatchObject({ posted: 1 })
    const { externalFiat, fee } = PLATFORM_ACCOUNTS
    expect(await entriesOf(rid)).toEqual(
      new Map([
        [externalFiat, -1_001],
        [seller, 950],
        [fee, 51],
      ]),
    )
    expect(await db.selectFrom('settlement').selectAll().where('rid', '=', rid).execute()).toMatchObject([
      { account: externalFiat, rail: 'voucher' },
    ])
    expect(told).toEqual([])
    expect(await postBatch({ ...ctx, postings: POSTINGS_WITH_VOUCHERS }, batch)).toMatchObject({ repeats: 1 })
  })

  it('is set aside when no posting is known, and so is a charge where no charge is allowed', async () => {
    const account = await newAccount(db, 'buyer_credit', 100_000)
    const strange = eventText({ account, sellerAccount: seller, charge: 0 }, { rail: 'voucher' })
    const own = eventText({ account, sellerAccount: seller, charge: 7 }, { rail: 'own' })
    expect(await post(strange, own)).toMatchObject({ posted: 0, poisoned: 2 })
    expect(await poisonOf(strange)).toMatchObject({ reason: 'rail' })
    expect(await poisonOf(own)).toMatchObject({ reason: 'rail' })
    expect(await balanceOf(db, account)).toBe(100_000)
  })
})
