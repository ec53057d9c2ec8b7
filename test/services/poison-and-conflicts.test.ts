import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAccount } from '#control-plane/db/accounts.ts'
import { transact } from '#control-plane/db/database.ts'
import { machineOperator, NOBODY } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import {
  discardPoisoned,
  listContradictions,
  listPoisoned,
  readPoisoned,
  resolveContradiction,
  retryPoisoned,
} from '#control-plane/services/booking/poison-and-conflicts.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import { withAuditFault } from '#test/support/books/audit-faults.ts'
import type { Node } from '#test/support/books/gate.ts'
import { figures, ids, reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { balanceOf, newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let node: Node
const operator = machineOperator('test')

beforeAll(async () => {
  market = await startMarket()
  node = await market.world.node('node-1')
  await untilOpen(node)
})
afterAll(() => market.stop())

const post = (...events: string[]) => postBatch(market.plane, { events, source: 'test' })
const hashOf = async (rid: string): Promise<string> => {
  const rows = await invoke(market.plane, operator, listPoisoned, { show: 'all' })
  return rows.find((row) => row.rid === rid)?.payloadHash ?? ''
}
const waiting = async () => (await invoke(market.plane, operator, listPoisoned, {})).map((row) => row.rid)

/** A captured call of a seller without an account. It was delivered and set aside. */
async function poisonedCall(
  charge = 700,
): Promise<{ rid: string; text: string; account: AccountId; seller: AccountId }> {
  const account = await newAccount(market.plane.db, 'buyer_credit', 100_000)
  await drainAccountChanges(market.plane)
  const seller = ids.make('acc')
  const hold = await node.funds.reserve(reserveRequest(account, { want: 5_000 }))
  const text = eventText({ rid: hold.rid, account, sellerAccount: seller, charge })
  await node.funds.capture(hold, microUsd(charge), text)
  expect(await post(text)).toMatchObject({ poisoned: 1 })
  return { rid: hold.rid, text, account, seller }
}

describe('an event that cannot be posted', () => {
  it('is listed, can be read, and is posted again once its fault is mended', async () => {
    const { rid, text, account, seller } = await poisonedCall()
    expect(await waiting()).toContain(rid)
    const payloadHash = await hashOf(rid)
    const read = await invoke(market.plane, operator, readPoisoned, { payloadHash })
    expect(read).toMatchObject({ rid, reason: 'unknown_seller', event: text, timesSeen: 1, resolution: null })

    const retry = () => invoke(market.plane, operator, retryPoisoned, { payloadHash, reason: 'the seller is there' })
    await expect(retry()).rejects.toMatchObject({ code: 'conflict', detail: { reason: 'unknown_seller' } })
    expect(await waiting()).toContain(rid)
    await transact(market.plane.db, (trx) => openAccount(trx, { id: seller, kind: 'seller_available', owner: 'usr_s' }))
    await retry()
    expect(await waiting()).not.toContain(rid)
    expect(await figures(market.plane.gate, account)).toEqual({ p: 99_300, h: 0, u: 0, free: 99_300 })
    expect(await balanceOf(market.plane.db, seller)).toBe(665)
    await expect(retry()).rejects.toMatchObject({ code: 'conflict' })
    expect(await post(text)).toMatchObject({ repeats: 1 })
  })

  it.each(['refuses the row', 'refuses the row at the commit', 'ends the connection at the commit'] as const)(
    'is posted, decided and announced in one transaction, so not at all when the database %s',
    async (fault) => {
      const { db } = market.plane
      const { rid, account, seller } = await poisonedCall()
      const payloadHash = await hashOf(rid)
      await transact(db, (trx) => openAccount(trx, { id: seller, kind: 'seller_available', owner: 'usr_s' }))
      const retry = () => invoke(market.plane, operator, retryPoisoned, { payloadHash, reason: 'the seller is there' })
      const code = fault === 'ends the connection at the commit' ? 'service_unavailable' : 'internal_error'
      await withAuditFault(db, { fault }, async () => expect((await refusalOf(retry())).code).toBe(code))
      expect(await balanceOf(db, seller)).toBe(0)
      const [row] = (await invoke(market.plane, operator, listPoisoned, {})).filter((event) => event.rid === rid)
      expect(row).toMatchObject({ reason: 'unknown_seller', timesSeen: 1, resolution: null, isSettled: false })
      const told = () =>
        sql<{ n: bigint }>`select count(*) as n from audit_log where operation = 'poison.retry' and subject = ${rid}`
          .execute(db)
          .then(({ rows }) => rows[0]?.n)
      expect(await told()).toBe(0n)
      await Promise.allSettled([retry(), retry()])
      expect(await balanceOf(db, seller)).toBe(665)
      expect(await told()).toBe(1n)
      expect(await waiting()).not.toContain(rid)
      expect(await figures(market.plane.gate, account)).toEqual({ p: 99_300, h: 0, u: 0, free: 99_300 })
    },
  )

  it('that is discarded costs nothing, and the gate releases its hold', async () => {
    const { rid, text, account } = await poisonedCall()
    expect(await figures(market.plane.gate, account)).toMatchObject({ u: 700 })
    const payloadHash = await hashOf(rid)
    const discard = () => invoke(market.plane, operator, discardPoisoned, { payloadHash, reason: 'no such seller' })
    await discard()
    expect(await figures(market.plane.gate, account)).toEqual({ p: 100_000, h: 0, u: 0, free: 100_000 })
    expect(await waiting()).not.toContain(rid)
    await discard()
    const retry = invoke(market.plane, operator, retryPoisoned, { payloadHash, reason: 'after all' })
    await expect(retry).rejects.toMatchObject({ code: 'conflict' })

    // Delivered again, the event stays discarded and takes no money.
    expect(await post(text)).toMatchObject({ poisoned: 1 })
    expect(await waiting()).not.toContain(rid)
    const { findings } = await market.plane.checkMoney()
    expect(findings.filter(({ state }) => state === 'breach')).toEqual([])
    const { rows } = await sql<{ after: object }>`select after from audit_log where operation = 'poison.discard'
      and subject = ${rid} and after is not null`.execute(market.plane.db)
    expect(rows[0]?.after).toEqual({ resolution: 'discarded', reason: 'no such seller' })
  })

  it('keeps its ids even when its shape is wrong', async () => {
    const rid = ids.ulid()
    await post(eventText({ rid, account: 'acc_x' }, { wire: 5 }))
    expect(await waiting()).toContain(rid)
  })

  it('is for operators only', async () => {
    const stranger = invoke(market.plane, NOBODY, listPoisoned, {})
    await expect(stranger).rejects.toMatchObject({ code: 'authentication_required' })
  })
})

describe('an event that contradicts a settlement', () => {
  it('is listed beside the booked event, and waits until a person decides [F40]', async () => {
    const account = await newAccount(market.plane.db, 'buyer_credit', 100_000)
    const seller = await newAccount(market.plane.db, 'seller_available')
    const rid = ids.ulid()
    await post(eventText({ rid, account, sellerAccount: seller, charge: 100 }))
    expect(await post(eventText({ rid, account, sellerAccount: seller, charge: 900 }))).toMatchObject({ conflicts: 1 })
    const of = async (show: 'waiting' | 'all') =>
      (await invoke(market.plane, operator, listContradictions, { show })).filter((row) => row.rid === rid)
    const [row] = await of('waiting')
    expect(row).toMatchObject({ settledChargeMicro: '100', resolutionReason: null })
    const decision = { rid, payloadHash: row?.payloadHash, reason: 'a test node, T-9' }
    await invoke(market.plane, operator, resolveContradiction, decision)
    expect(await of('waiting')).toEqual([])
    expect(await of('all')).toMatchObject([{ resolutionReason: 'a test node, T-9', resolvedBy: 'operator:test' }])
    const again = invoke(market.plane, operator, resolveContradiction, decision)
    await expect(again).rejects.toMatchObject({ code: 'not_found' })
    expect(await balanceOf(market.plane.db, account)).toBe(99_900)
  })
})
