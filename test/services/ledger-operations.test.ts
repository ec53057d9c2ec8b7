import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase } from '#control-plane/db/database.ts'
import { findDebit, intendDebit } from '#control-plane/db/debits.ts'
import { machineOperator, NOBODY } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { drainAccountChanges, grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { finishDebits } from '#control-plane/services/ledger/ledger-debits.ts'
import { adjustLedger, recordFiatDeposit, refundFiat } from '#control-plane/services/ledger/ledger-operations.ts'
import { reverseTransaction } from '#control-plane/services/ledger/reversal.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import { figures, ids, reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { balanceOf, newAccount } from '#test/support/books/ledger.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket
const operator = machineOperator('test')
const AUDIT = {
  actorKind: 'operator',
  actor: 'operator:test',
  keyId: null,
  operation: 'refund.fiat',
  before: null,
  after: { step: 'posted' },
  organization: null,
}

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market.stop())

async function buyer(micro = 0): Promise<AccountId> {
  const account = await newAccount(market.plane.db, 'buyer_credit', micro)
  await drainAccountChanges(market.plane)
  return account
}
const inGate = (account: AccountId) => figures(market.plane.gate, account)
const deposit = (input: object) => invoke(market.plane, operator, recordFiatDeposit, input)
async function paidIn(dollars: number): Promise<AccountId> {
  const account = await buyer()
  await deposit({ account, amountUsd: dollars, eventId: `in_${account}` })
  return account
}
const refund = (input: object) => invoke(market.plane, operator, refundFiat, { note: 'a test', ...input })
const adjust = (input: object) => invoke(market.plane, operator, adjustLedger, { reason: 'a test', ...input })
const openHolds = async () => (await market.world.redis.zrange('{m00}:z:exp:1', 0, -1)).length

describe('a fiat deposit', () => {
  it('is booked once for an event of the provider, and reaches the gate and the audit', async () => {
    const account = await buyer()
    const input = { account, amountUsd: '12.5', eventId: `evt_${account}` }
    const first = await deposit(input)
    expect(first).toMatchObject({ key: `deposit:fiat:evt_${account}`, isRepeat: false })
    expect(await deposit(input)).toEqual({ ...first, isRepeat: true })
    expect(await inGate(account)).toMatchObject({ p: 12_500_000 })
    const { rows } = await sql<{ count: bigint }>`select count(*) as count from audit_log
      where operation = 'deposit.recordFiat' and subject = ${account}`.execute(market.plane.db)
    expect(rows[0]?.count).toBe(1n)
  })

  it('is booked once when two requests arrive at once', async () => {
    const account = await buyer()
    const input = { account, amountUsd: 3, eventId: `evt2_${account}` }
    const answers = await Promise.all([1, 2, 3, 4].map(() => deposit(input)))
    expect(answers.filter((answer) => !answer.isRepeat)).toHaveLength(1)
    expect(await balanceOf(market.plane.db, account)).toBe(3_000_000)
  })

  it('with the same event and another amount is a conflict', async () => {
    const account = await buyer()
    await deposit({ account, amountUsd: 1, eventId: `evt3_${account}` })
    await expect(deposit({ account, amountUsd: 2, eventId: `evt3_${account}` })).rejects.toMatchObject({
      code: 'conflict',
    })
  })

  it('is for operators, and for accounts of buyers', async () => {
    const account = await newAccount(market.plane.db, 'seller_available')
    const input = { account, amountUsd: 1, eventId: 'evt_no' }
    await expect(deposit(input)).rejects.toMatchObject({ code: 'not_found' })
    const stranger = invoke(market.plane, NOBODY, recordFiatDeposit, input)
    await expect(stranger).rejects.toMatchObject({ code: 'authentication_required' })
  })
})

describe('a refund', () => {
  it('is held, posted, acknowledged to the gate and released, once a ticket', async () => {
    const account = await paidIn(5)
    const input = { account, amountUsd: 2, ticket: `r-${account}` }
    expect(await refund(input)).toMatchObject({ isRepeat: false, key: `refund:fiat:r-${account}` })
    expect(await refund(input)).toMatchObject({ isRepeat: true })
    expect(await inGate(account)).toEqual({ p: 3_000_000, h: 0, u: 0, free: 3_000_000 })
    await expect(refund({ ...input, amountUsd: 1 })).rejects.toMatchObject({ code: 'conflict' })
    expect(await openHolds()).toBe(0)
  })

  it('does not take the hold of a running call, shows the available rest, and may be requested again', async () => {
    const account = await paidIn(5)
    const node = await market.world.node('node-1')
    await untilOpen(node)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 4_000_000 }))
    const input = { account, amountUsd: 2, ticket: `r2-${account}` }
    await expect(refund(input)).rejects.toMatchObject({
      code: 'insufficient_balance',
      detail: { available: '1000000' },
    })
    expect(await balanceOf(market.plane.db, account)).toBe(5_000_000)
    await node.funds.release(hold, 'test', '{}')
    expect(await refund(input)).toMatchObject({ isRepeat: false })
    const { rows } = await sql<{ state: string | null; code: string | null }>`select after ->> 'state' as state,
      after ->> 'code' as code from audit_log where operation = 'refund.fiat' and subject = ${account}
      order by id`.execute(market.plane.db)
    const intended = { state: 'intended', code: null }
    const refused = { state: 'refused', code: 'insufficient_balance' }
    expect(rows).toEqual([intended, refused, intended, { state: null, code: null }])
    expect(await inGate(account)).toEqual({ p: 3_000_000, h: 0, u: 0, free: 3_000_000 })
  })

  it('takes no more than the balance when ten requests arrive at once', async () => {
    const account = await paidIn(5)
    const refunds = Array.from({ length: 10 }, (_, index) => ({
      account,
      amountUsd: 1,
      ticket: `r3-${account}-${index}`,
    }))
    const answers = await Promise.allSettled(refunds.map(refund))
    const booked = answers.filter(({ status }) => status === 'fulfilled').length
    expect(booked).toBeGreaterThan(0)
    expect(await balanceOf(market.plane.db, account)).toBe(5_000_000 - booked * 1_000_000)
    // Concurrent refunds see the holds of each other, so one may be refused too early. A second request succeeds.
    for (const one of refunds) await refund(one).catch(() => undefined)
    expect(await inGate(account)).toEqual({ p: 0, h: 0, u: 0, free: 0 })
  })

  it('whose process died after the request was stored, or after its hold, is finished by the sweeper', async () => {
    for (const step of ['intended', 'held'] as const) {
      const account = await paidIn(5)
      const key = `refund:fiat:${step}-${account}`
      const entries = [
        { account, amount: -2_000_000n },
        { account: 'acc_external_fiat', amount: 2_000_000n },
      ] as const
      const audit = { ...AUDIT, subject: account }
      const given = {
        key,
        account,
        amount: 2_000_000n,
        tx: ids.ulid(),
        kind: 'refund' as const,
        note: null,
        entries,
        audit,
      }
      await intendDebit(market.plane.db, given)
      if (step === 'held') {
        await market.plane.debits.hold({ id: key, account, amountMicro: microUsd(2_000_000), ttlMs: 60_000 })
        expect(await inGate(account)).toMatchObject({ free: 3_000_000 })
      }
      expect(await finishDebits(market.plane, 0)).toBe(1)
      expect(await inGate(account)).toEqual({ p: 3_000_000, h: 0, u: 0, free: 3_000_000 })
      const { rows } = await sql`select actor, after from audit_log
        where operation = 'refund.fiat' and subject = ${account}`.execute(market.plane.db)
      expect(rows).toEqual([{ actor: 'operator:test', after: { step: 'posted' } }])
      expect(await refund({ account, amountUsd: 2, ticket: `${step}-${account}` })).toMatchObject({ isRepeat: true })
    }
    expect(await finishDebits(market.plane, 0)).toBe(0)
  })

  it('whose process died after the posting releases its hold with the next sweep', async () => {
    const account = await paidIn(5)
    const { debits } = market.plane
    const broken = { ...market.plane, debits: { ...debits, free: () => Promise.reject(new Error('gone')) } }
    const input = { account, amountUsd: 2, ticket: `r4-${account}`, note: 'test' }
    await invoke(broken, operator, refundFiat, input)
    expect(await inGate(account)).toMatchObject({ p: 3_000_000, h: 2_000_000 })
    expect(await finishDebits(market.plane, 0)).toBe(1)
    expect(await inGate(account)).toEqual({ p: 3_000_000, h: 0, u: 0, free: 3_000_000 })
  })

  it('whose acknowledgement the gate missed releases its hold only once the gate has the new balance', async () => {
    const account = await paidIn(5)
    const { gate } = market.plane
    let lost = 0
    const deaf = {
      ...market.plane,
      gate: {
        ...gate,
        // The first message after the posting is lost.
        seed: (changes: Parameters<typeof gate.seed>[0]) =>
          lost++ === 0 ? Promise.reject(new AppError('service_unavailable')) : gate.seed(changes),
      },
    }
    await invoke(deaf, operator, refundFiat, { account, amountUsd: 2, ticket: `r10-${account}`, note: 'test' })
    expect(await inGate(account)).toEqual({ p: 3_000_000, h: 0, u: 0, free: 3_000_000 })
    expect(lost).toBeGreaterThan(0)
  })

  it('whose hold expired takes a new one, also after the gate was rebuilt', async () => {
    const account = await paidIn(5)
    const key = `refund:fiat:r5-${account}`
    await market.plane.debits.hold({ id: key, account, amountMicro: microUsd(2_000_000), ttlMs: 60_000 })
    await market.plane.debits.free({ id: key, account })
    await refund({ account, amountUsd: 2, ticket: `r5-${account}` })
    expect(await findDebit(market.plane.db, key)).toMatchObject({ state: 'posted', holdNumber: 2, isFreed: true })

    const { debits } = market.plane
    let tries = 0
    const stale = {
      ...debits,
      hold: async (given: Parameters<typeof debits.hold>[0]) => {
        const held = await debits.hold(given)
        return held.kind === 'held' && tries++ === 0 ? { ...held, epoch: held.epoch - 1 } : held
      },
    }
    const input = { account, amountUsd: 1, ticket: `r6-${account}`, note: 'test' }
    expect(await invoke({ ...market.plane, debits: stale }, operator, refundFiat, input)).toMatchObject({
      isRepeat: false,
    })
    expect(tries).toBe(2)
    expect(await inGate(account)).toEqual({ p: 2_000_000, h: 0, u: 0, free: 2_000_000 })
  })

  it('is not booked while the gate is closed, and is finished later', async () => {
    const account = await paidIn(5)
    const shut = { hold: () => Promise.reject(new AppError('service_unavailable')), free: () => Promise.resolve() }
    const input = { account, amountUsd: 2, ticket: `r7-${account}`, note: 'test' }
    const refused = invoke({ ...market.plane, debits: shut }, operator, refundFiat, input)
    await expect(refused).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(await balanceOf(market.plane.db, account)).toBe(5_000_000)
    expect(await finishDebits(market.plane, 0)).toBe(1)
    expect(await balanceOf(market.plane.db, account)).toBe(3_000_000)
  })

  it('returns at most the money that the buyer paid in: no granted credit, and by two requests at once no amount twice', async () => {
    const account = await paidIn(3)
    await adjust({ account, direction: 'credit', amountUsd: 5, ticket: `gift-${account}` })
    const beyond = refund({ account, amountUsd: 4, ticket: `r8-${account}` })
    await expect(beyond).rejects.toMatchObject({ code: 'conflict', detail: { available: '3000000' } })
    const pending = [1, 2].map((number) => refund({ account, amountUsd: 2, ticket: `r9-${number}-${account}` }))
    const answers = await Promise.allSettled(pending)
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await expect(
      invoke(market.plane, operator, reverseTransaction, { key: `deposit:fiat:in_${account}`, reason: 'charged back' }),
    ).rejects.toMatchObject({ code: 'conflict', detail: { available: '1000000' } })
    expect(await inGate(account)).toEqual({ p: 6_000_000, h: 0, u: 0, free: 6_000_000 })
  })
})

/** The bytes of the statement. The zero byte tells it from the isolation level `committed`, which begins alike. */
const COMMIT = 'commit\0'

describe('a committed change whose answer is lost', () => {
  it('has its audit row, and a repeat finds the booking', async () => {
    const { plane } = market
    const relay = await startRelay(market.world.databaseUrl)
    const { username, password, pathname } = new URL(market.world.databaseUrl)
    const url = Object.assign(new URL(relay.url), { username, password, pathname }).href
    const db = createDatabase(url, { max: 4 })
    const cut = { ...plane, db, ledger: createMoneyLedger(db) }
    const account = await paidIn(5)
    const grant = () =>
      invoke(cut, operator, grantCredit, { account, amountUsd: 1, ticket: `l1-${account}`, note: 'test' })
    const give = () =>
      invoke(cut, operator, refundFiat, { account, amountUsd: 1, ticket: `l2-${account}`, note: 'test' })

    relay.cutReplyTo(COMMIT)
    expect((await refusalOf(grant())).code).toBe('service_unavailable')
    expect(await told('credit.grant', account)).toBe(1)
    expect(await grant()).toMatchObject({ isRepeat: true })
    expect(await told('credit.grant', account)).toBe(1)

    // First the commit of the request is lost, then the commit of the posting.
    relay.cutReplyTo(COMMIT)
    expect((await refusalOf(give())).code).toBe('service_unavailable')
    expect(await told('refund.fiat', account)).toBe(0)
    relay.cutReplyTo(COMMIT)
    await finishDebits(cut, 0)
    expect(relay.cuts()).toBe(3)
    expect(await told('refund.fiat', account)).toBe(1)
    expect(await give()).toMatchObject({ isRepeat: true })
    expect(await told('refund.fiat', account)).toBe(1)
    expect(await inGate(account)).toEqual({ p: 5_000_000, h: 0, u: 0, free: 5_000_000 })
    await db.destroy()
    await relay.close()
  })

  /** The number of audit rows of completed changes. */
  async function told(operation: string, account: AccountId): Promise<number> {
    const { rows } = await sql<{ n: bigint }>`select count(*) as n from audit_log where operation = ${operation}
      and subject = ${account} and after is not null and after -> 'state' is null`.execute(market.plane.db)
    return Number(rows[0]?.n)
  }
})

describe('an adjustment', () => {
  it('goes both ways, against promotion or the shortfall, once a ticket', async () => {
    const account = await buyer(1_000_000)
    const seller = await newAccount(market.plane.db, 'seller_available')
    await adjust({ account, direction: 'credit', amountUsd: 2, ticket: `a1-${account}` })
    await adjust({ account, direction: 'debit', amountUsd: 1, ticket: `a2-${account}` })
    await adjust({ account: seller, direction: 'credit', amountUsd: 4, counter: 'shortfall', ticket: `a3-${account}` })
    expect(await balanceOf(market.plane.db, account)).toBe(2_000_000)
    expect(await balanceOf(market.plane.db, seller)).toBe(4_000_000)
    expect(await balanceOf(market.plane.db, 'acc_platform_shortfall')).toBe(-4_000_000)
    await expect(adjust({ account, direction: 'debit', amountUsd: 1, ticket: `a1-${account}` })).rejects.toMatchObject({
      code: 'conflict',
    })
    const shortfall = { account: 'acc_platform_shortfall', direction: 'credit' }
    await expect(adjust({ ...shortfall, amountUsd: 5, ticket: `a4-${account}` })).rejects.toMatchObject({
      code: 'conflict',
    })
    await adjust({ ...shortfall, amountUsd: 4, ticket: `a5-${account}` })
    expect(await balanceOf(market.plane.db, 'acc_platform_shortfall')).toBe(0)
    const drained = adjust({ account: seller, direction: 'debit', amountUsd: 5, ticket: `a6-${account}` })
    await expect(drained).rejects.toMatchObject({ code: 'insufficient_balance' })
  })
})
