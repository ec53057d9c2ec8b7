import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { finishDebits } from '#control-plane/services/ledger/ledger-debits.ts'
import { withAuditFault } from '#test/support/books/audit-faults.ts'
import { ids } from '#test/support/books/gate.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

let market: TestMarket
let buyer: Person
let operatorKey: string

beforeAll(async () => {
  market = await startMarket()
  buyer = await market.person()
  operatorKey = await market.managementKey('operator')
})
afterAll(() => market.stop())

describe('operators at the tRPC door', () => {
  it('record a deposit, refund and adjust it, and read the bookings', async () => {
    const door = market.trpc(operatorKey)
    const { wallet } = buyer
    const deposit = await door.deposit.recordFiat.mutate({ wallet, amountUsd: '10', eventId: 'evt_1' })
    expect(deposit).toMatchObject({ key: 'deposit:fiat:evt_1', isRepeat: false })
    await door.refund.fiat.mutate({ wallet, amountUsd: 4, ticket: 'T-1', note: 'test' })
    const adjusted = { wallet, direction: 'debit', amountUsd: 1, ticket: 'T-2', reason: 'a mistake' } as const
    await door.ledger.adjust.mutate(adjusted)
    await door.ledger.reverse.mutate({ key: 'adjust:T-2', reason: 'it was none' })
    expect(await door.ledger.read.query({ key: 'refund:fiat:T-1' })).toMatchObject({ kind: 'refund' })
    expect(await market.trpc(buyer.buyerKey).credit.balance.query()).toMatchObject({ creditBalanceUsdc: '6000000' })
    expect(await trpcCodeOf(door.refund.fiat.mutate({ wallet, amountUsd: 7, ticket: 'T-3', note: 'test' }))).toBe(
      'insufficient_balance',
    )
  })

  it('read and run the checks, and see an empty list of waiting cases', async () => {
    const door = market.trpc(operatorKey)
    expect((await door.invariants.run.mutate()).breaches).toEqual([])
    expect((await door.invariants.read.query()).runs).toHaveLength(1)
    expect(await door.poison.list.query({})).toEqual([])
    expect(await door.conflict.list.query({})).toEqual([])
    expect(await door.shortfall.read.query()).toEqual({ owedMicro: '0', lines: [] })
  })

  it('see payments by wallet, stuck ones, and debtors, and forgive a debt once', async () => {
    const door = market.trpc(operatorKey)
    const { wallet } = buyer
    const payer = wallet.toLowerCase()
    const [owed, hanging] = [ids.ulid(), ids.ulid()]
    await sql`insert into chain_payment (rid, rail, network, asset, payer, nonce, account, amount, due, charge, event, state,
        payload, requirement, body_digest, valid_until, serve_until, tx_hash, reason, changed_at)
      select rid, 'x402-upto', 'eip155:8453', '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', ${payer}, rid, buyer_account,
        20000, 5000, 5000, '{}', state, '{}', '{}', ${'ab'.repeat(32)}, now(), now(), null, reason, at
      from app_user, (values (${owed}, 'written_off', 'insufficient_funds', now()),
        (${hanging}, 'due', 'settlement_pending', now() - interval '2 minutes')) as given (rid, state, reason, at)
      where wallet = ${payer}`.execute(market.world.db)
    const due = { state: 'due', count: 1, amountMicro: '5000' }
    expect(await door.payments.state.query()).toMatchObject({
      isSetUp: false,
      isOpen: false,
      closedFor: 'not_set_up',
      hanging: 1,
      exposureMicro: '5000',
      states: [due, { ...due, state: 'written_off' }],
    })
    const rids = async (filter: object) => (await door.payments.list.query(filter)).map(({ rid }) => rid)
    expect(await rids({ isHanging: true })).toEqual([hanging])
    expect(await rids({ state: 'written_off', payer: wallet.toUpperCase().replace('X', 'x') })).toEqual([owed])
    expect(await rids({ payer: `0x${'1'.repeat(40)}` })).toEqual([])
    expect(await door.payments.debtors.query({})).toMatchObject([{ payer, owedMicro: '5000', payments: 1 }])
    const debt = { rid: owed, reason: 'the issuer blocked it by mistake' }
    expect(await door.payments.forgive.mutate(debt)).toEqual({ rid: owed, payer })
    expect(await door.payments.debtors.query({})).toEqual([])
    expect(await trpcCodeOf(door.payments.forgive.mutate(debt))).toBe('not_found')
    expect(await trpcCodeOf(door.payments.forgive.mutate({ rid: hanging, reason: 'x' }))).toBe('not_found')
    const { items } = await door.auditLog.search.query({ subject: owed })
    expect(items).toMatchObject([{ operation: 'payments.forgive', after: { state: 'forgiven', reason: debt.reason } }])
  })

  it('accept another chain only by its name and with a reason, and only where a chain is read', async () => {
    const { treasury } = market.trpc(await market.managementKey('operator'))
    const genesis = `0x${'0'.repeat(64)}`
    expect(await trpcCodeOf(treasury.acceptChain.mutate({ genesis: '0x1', reason: 'x' }))).toBe('invalid_request')
    expect(await trpcCodeOf(treasury.acceptChain.mutate({ genesis, reason: ' ' }))).toBe('invalid_request')
    expect(await trpcCodeOf(treasury.acceptChain.mutate({ genesis, reason: 'x' }))).toBe('conflict')
    expect(await trpcCodeOf(treasury.chain.query({}))).toBe('conflict')
  })

  it('are the only callers who may', async () => {
    const org = await market.managementKey('org')
    const calls = (key: string | undefined) => {
      const door = market.trpc(key)
      const hash = { payloadHash: '0'.repeat(64), reason: 'x' }
      return [
        door.deposit.recordFiat.mutate({ wallet: buyer.wallet, amountUsd: 1, eventId: 'evt_2' }),
        door.refund.fiat.mutate({ wallet: buyer.wallet, amountUsd: 1, ticket: 'T-9', note: 'test' }),
        door.ledger.reverse.mutate({ key: 'deposit:fiat:evt_1', reason: 'x' }),
        door.poison.list.query({}),
        door.poison.discard.mutate(hash),
        door.conflict.list.query({}),
        door.shortfall.read.query(),
        door.invariants.read.query(),
        door.payoutHold.clear.mutate({ id: '0'.repeat(26), reason: 'x' }),
        door.treasury.chain.query({}),
        door.treasury.acceptChain.mutate({ genesis: `0x${'0'.repeat(64)}`, reason: 'x' }),
        door.payments.state.query(),
        door.payments.list.query({}),
        door.payments.debtors.query({}),
        door.payments.forgive.mutate({ rid: '0'.repeat(26), reason: 'x' }),
      ].map(trpcCodeOf)
    }
    expect(new Set(await Promise.all(calls(undefined)))).toEqual(new Set(['authentication_required']))
    expect(new Set(await Promise.all(calls(buyer.buyerKey)))).toEqual(new Set(['wrong_key_type']))
    expect(new Set(await Promise.all(calls(org)))).toEqual(new Set(['forbidden']))
  })
})

type Keys = { readonly booked: readonly string[]; readonly told: readonly string[] }
/** Keys of the ledger, and those of the audit rows of bookings, at the same time. */
async function bookedAndTold(): Promise<Keys> {
  const { rows } = await sql<Keys>`select
    array(select key from ledger_key order by key) as booked,
    array(select coalesce(after ->> 'key', 'grant:' || (after ->> 'ticket')) collate "C" as key from audit_log
      where after -> 'state' is null and (after ? 'lines' or after ? 'granted') order by key) as told`.execute(
    market.plane.db,
  )
  return rows[0] ?? { booked: [], told: [] }
}

let tickets = 0
/** Changes of money by a name and a key of the ledger. A call with the same ticket is a repeat. */
const MOVES = {
  'a grant': (ticket: string) =>
    market.trpc(operatorKey).credit.grant.mutate({ wallet: buyer.wallet, amountUsd: 1, ticket, note: 'test' }),
  'a deposit': (ticket: string) =>
    market.trpc(operatorKey).deposit.recordFiat.mutate({ wallet: buyer.wallet, amountUsd: 1, eventId: ticket }),
  'an adjustment': (ticket: string) => adjust('credit', ticket),
  'a write-off': (ticket: string) => adjust('debit', ticket),
  'a refund': (ticket: string) =>
    market.trpc(operatorKey).refund.fiat.mutate({ wallet: buyer.wallet, amountUsd: 1, ticket, note: 'test' }),
  'a reversal': (ticket: string) =>
    market.trpc(operatorKey).ledger.reverse.mutate({ key: `adjust:for-${ticket}`, reason: 'a mistake' }),
}
const adjust = (direction: 'credit' | 'debit', ticket: string) =>
  market.trpc(operatorKey).ledger.adjust.mutate({
    wallet: buyer.wallet,
    direction,
    amountUsd: 1,
    counter: 'shortfall',
    reason: 'a test',
    ticket,
  })

describe('a change of money and its audit row', () => {
  const faults = ['refuses the row', 'refuses the row at the commit', 'ends the connection at the commit'] as const

  it.each(faults)('happen both or not at all when the database %s', async (fault) => {
    const { db } = market.plane
    for (const [name, move] of Object.entries(MOVES)) {
      const ticket = `fault-${++tickets}`
      await adjust('credit', `for-${ticket}`)
      await MOVES['a deposit'](`for-${ticket}`)
      const before = await bookedAndTold()
      expect(before.told).toEqual(before.booked)
      const code = await withAuditFault(db, { fault }, () => trpcCodeOf(move(ticket)))
      expect([name, code]).toEqual([name, fault.startsWith('ends') ? 'service_unavailable' : 'internal_error'])
      expect([name, await bookedAndTold()]).toEqual([name, before])
      expect(await finishDebits(market.plane, 0)).toBe(0)
      expect(await move(ticket)).toMatchObject({ isRepeat: false })
      const after = await bookedAndTold()
      expect(after.told).toEqual(after.booked)
      expect(after.booked).toHaveLength(before.booked.length + 1)
    }
  })

  it.each(faults)('follow together when the database %s at the posting of a requested debit', async (fault) => {
    const { db } = market.plane
    for (const name of ['a refund', 'a write-off', 'a reversal'] as const) {
      const ticket = `later-${++tickets}`
      await adjust('credit', `for-${ticket}`)
      await MOVES['a deposit'](`for-${ticket}`)
      const before = await bookedAndTold()
      await withAuditFault(db, { fault, hits: 'made' }, async () => {
        expect(await trpcCodeOf(MOVES[name](ticket))).not.toBeUndefined()
        expect([name, await bookedAndTold()]).toEqual([name, before])
        await finishDebits(market.plane, 0)
        expect([name, await bookedAndTold()]).toEqual([name, before])
      })
      expect(await finishDebits(market.plane, 0)).toBe(1)
      const after = await bookedAndTold()
      expect(after.told).toEqual(after.booked)
      expect(after.booked).toHaveLength(before.booked.length + 1)
      expect(await MOVES[name](ticket)).toMatchObject({ isRepeat: true })
    }
  })

  it('are seen both or not at all while the commit is late', async () => {
    for (const move of Object.values(MOVES)) {
      const ticket = `late-${++tickets}`
      await adjust('credit', `for-${ticket}`)
      await MOVES['a deposit'](`for-${ticket}`)
      let isOver = false
      await withAuditFault(market.plane.db, { fault: 'answers the commit late', hits: 'made' }, async () => {
        const moved = move(ticket).finally(() => {
          isOver = true
        })
        while (!isOver) {
          const { booked, told } = await bookedAndTold()
          expect(told).toEqual(booked)
        }
        expect(await moved).toMatchObject({ isRepeat: false })
      })
    }
  })

  it.each(faults)('are missing both after an order to post the journals again when the database %s', async (fault) => {
    const order = () =>
      market.trpc(operatorKey).journal.repost.mutate({ since: new Date().toISOString(), reason: 'a test' })
    await withAuditFault(market.plane.db, { fault }, async () => expect(await trpcCodeOf(order())).toBeDefined())
    const { rows } = await sql`select restored_at from money_epoch`.execute(market.plane.db)
    expect(rows).toEqual([{ restored_at: null }])
  })

  it('leave the ledger, the gate and the journals sound', async () => {
    const { findings } = await market.plane.checkMoney()
    expect(findings.filter(({ state }) => state === 'breach')).toEqual([])
    const { rows } = await sql`select key from ledger_debit where state = 'intended' or not is_freed`.execute(
      market.plane.db,
    )
    expect(rows).toEqual([])
  })
})

describe('a change outside the tables', () => {
  const ask = {
    REST: async (id: string) =>
      codeOf(await market.rest('POST', `/v1/seller/offers/${id}/reset-health`, { key: buyer.sellerKey, body: {} })),
    GraphQL: async (id: string) =>
      codeOf(await market.graphql(buyer.sellerKey, `mutation { resetOfferHealth(id: "${id}") { healthy } }`)),
    tRPC: (id: string) => trpcCodeOf(market.trpc(buyer.sellerKey).offer.resetHealth.mutate({ id })),
  }

  it.each(Object.entries(ask))('is not made without its committed audit row: %s', async (_door, reset) => {
    const { plane } = market
    const { id } = await listOffer(market, buyer.seller)
    const record = { consecutiveFailures: 3, ejections: 1, backedOffUntil: null, errorClass: 'timeout' } as const
    await plane.liveOffers.setHealth(new Map([[id, record]]))
    const rows = async () => {
      const found = await sql<{ after: unknown }>`select after from audit_log
        where operation = 'offer.reset-health' and subject = ${id}`.execute(plane.db)
      return found.rows.map(({ after }) => after)
    }
    const code = await withAuditFault(plane.db, { fault: 'ends the connection at the commit' }, () => reset(id))
    expect(code).toBe('service_unavailable')
    expect(await rows()).toEqual([])
    expect((await plane.liveOffers.health([id])).get(id)).toEqual(record)
    expect(await reset(id)).toBeUndefined()
    expect(await rows()).toEqual([{ healthy: true }])
    expect((await plane.liveOffers.health([id])).size).toBe(0)
  })
})
