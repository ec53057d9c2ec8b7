import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { drainAccountChanges, grantCredit, postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { readTransaction, recordFiatDeposit } from '#control-plane/services/ledger/ledger-operations.ts'
import { reverseTransaction } from '#control-plane/services/ledger/reversal.ts'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { TRANSACTION_KIND_NAMES, TRANSACTION_KINDS } from '#shared/ledger/transaction-kinds.ts'
import { figures, ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { balanceOf, newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import type { JobDesk } from '#test/support/jobs/job-desk.ts'
import { openJobDesk } from '#test/support/jobs/job-desk.ts'

let market: TestMarket
let jobs: JobDesk
const operator = machineOperator('test')

beforeAll(async () => {
  market = await startMarket()
  jobs = await openJobDesk(market)
})
afterAll(() => market.stop())

async function buyer(micro = 0): Promise<AccountId> {
  const account = await newAccount(market.plane.db, 'buyer_credit', micro)
  await drainAccountChanges(market.plane)
  return account
}
const inGate = (account: AccountId) => figures(market.plane.gate, account)
const balance = (account: string) => balanceOf(market.plane.db, account)
const deposit = (input: object) => invoke(market.plane, operator, recordFiatDeposit, input)
const reverse = (key: string) => invoke(market.plane, operator, reverseTransaction, { key, reason: 'a mistake' })

describe('a reversal', () => {
  it('books the opposite of a deposit or of a call, once', async () => {
    const account = await buyer()
    await deposit({ account, amountUsd: 3, eventId: `evt9_${account}` })
    const key = `deposit:fiat:evt9_${account}`
    expect(await reverse(key)).toMatchObject({ isRepeat: false, key: `reverse:${key}` })
    expect(await reverse(key)).toMatchObject({ isRepeat: true })
    expect(await inGate(account)).toMatchObject({ p: 0, free: 0 })
    await expect(reverse('deposit:fiat:none')).rejects.toMatchObject({ code: 'not_found' })
    await expect(reverse(`reverse:${key}`)).rejects.toMatchObject({ code: 'conflict' })
    expect(await invoke(market.plane, operator, readTransaction, { key })).toMatchObject({
      kind: 'deposit',
      lines: [{ account, amountMicro: '3000000' }, { amountMicro: '-3000000' }],
    })
  })

  it('of a transaction with a key is the same under its id, and a reversal itself cannot be reversed', async () => {
    const account = await buyer()
    const ticket = `both_${account}`
    await invoke(market.plane, operator, grantCredit, { account, amountUsd: 2, ticket, note: 'test' })
    const { rows } = await sql<{ tx: string }>`select tx from ledger_key where key = ${`grant:${ticket}`}`.execute(
      market.plane.db,
    )
    expect(await reverse(rows[0]?.tx ?? '')).toMatchObject({ isRepeat: false, key: `reverse:grant:${ticket}` })
    expect(await reverse(`grant:${ticket}`)).toMatchObject({ isRepeat: true })
    expect(await reverse(rows[0]?.tx ?? '')).toMatchObject({ isRepeat: true })
    const found = await sql<{ tx: string }>`select tx from ledger_key where key = ${`reverse:grant:${ticket}`}`.execute(
      market.plane.db,
    )
    await expect(reverse(found.rows[0]?.tx ?? '')).rejects.toMatchObject({ code: 'conflict' })
    expect(await balance(account)).toBe(0)
  })

  it('is refused for what an earlier version reversed under another name', async () => {
    const account = await buyer()
    await deposit({ account, amountUsd: 2, eventId: `old_${account}` })
    const newJob = await jobs.job(10_000)
    await jobs.post(submitText(newJob), endText(newJob, 4_000))
    const tx = await market.plane.ledger.findLedgerKey(`deposit:fiat:old_${account}`)
    await sql`insert into ledger_key (key, tx) values (${`reverse:${tx}`}, ${ids.ulid()}),
      (${`reverse:end:${newJob.rid}`}, ${ids.ulid()})`.execute(market.plane.db)
    for (const name of [`deposit:fiat:old_${account}`, tx ?? '', newJob.rid, `end:${newJob.rid}`]) {
      await expect(reverse(name)).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(/another/) })
    }
    expect([await balance(account), await balance(newJob.account)]).toEqual([2_000_000, 996_000])
  })

  it('of credit that the buyer has spent meanwhile is refused', async () => {
    const account = await buyer(1_000_000)
    const seller = await newAccount(market.plane.db, 'seller_available')
    await deposit({ account, amountUsd: 1, eventId: `evt10_${account}` })
    const text = eventText({ account, sellerAccount: seller, charge: 1_500_000, hold: 1_500_000 })
    await postBatch(market.plane, { events: [text], source: 'test' })
    const key = `deposit:fiat:evt10_${account}`
    await expect(reverse(key)).rejects.toMatchObject({ code: 'insufficient_balance' })
    expect(await balance(account)).toBe(500_000)
  })
})

describe('a reversal of a long job', () => {
  it('waits for its end, and leaves the quotes of other jobs in escrow', async () => {
    const newJob = await jobs.job(10_000)
    const other = { ...newJob, rid: ids.requestId(), quote: 7_000 }
    const before = await balance(jobs.seller)
    await jobs.post(submitText(newJob), submitText(other))
    await expect(reverse(newJob.rid)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/runs/),
    })
    await jobs.post(endText(newJob, 4_001))
    expect(await balance(jobs.seller)).toBe(before + 3_800)
    expect(await reverse(newJob.rid)).toMatchObject({ key: `reverse:${newJob.rid}`, isRepeat: false })
    expect(await balance(newJob.account)).toBe(1_000_000 - 7_000)
    expect([await jobs.escrowOf(newJob.account), await balance(jobs.seller)]).toEqual([7_000, before])
    expect(await inGate(newJob.account)).toMatchObject({ p: 993_000 })
    expect(await jobs.breaches()).toEqual([])
    await jobs.post(endText(other, 7_000))
    expect(await jobs.escrowOf(newJob.account)).toBe(0)
    expect(await jobs.breaches()).toEqual([])
  })

  it('is one under its request id, the key of its end and the id of its end', async () => {
    const newJob = await jobs.job(10_000)
    await jobs.post(submitText(newJob), endText(newJob, 4_000))
    const tx = await market.plane.ledger.findLedgerKey(`end:${newJob.rid}`)
    expect(await reverse(`end:${newJob.rid}`)).toMatchObject({ key: `reverse:${newJob.rid}`, isRepeat: false })
    for (const name of [newJob.rid, tx ?? '', `end:${newJob.rid}`])
      expect(await reverse(name)).toMatchObject({ isRepeat: true })
    expect(await balance(newJob.account)).toBe(1_000_000)
    expect(await jobs.breaches()).toEqual([])
  })

  it('that cost nothing is refused', async () => {
    const newJob = await jobs.job(10_000)
    await jobs.post(submitText(newJob), endText(newJob, 0, { outcome: 'failed' }))
    await expect(reverse(newJob.rid)).rejects.toMatchObject({ code: 'conflict', message: 'This call cost nothing.' })
  })
})

describe('a reversal is refused', () => {
  const post = async (kind: (typeof TRANSACTION_KIND_NAMES)[number], account: AccountId) => {
    const id = ids.ulid()
    const entries = [
      { account: PLATFORM_ACCOUNTS.externalUsdc, amount: -5n },
      { account, amount: 5n },
    ]
    const ledger = createMoneyLedger(market.plane.db)
    await ledger.transact((trx) => postTransaction(trx, { id, key: `${kind}:test:${id}`, kind, entries }))
    return id
  }

  it.each(TRANSACTION_KIND_NAMES.filter((kind) => TRANSACTION_KINDS[kind] === 'never'))(
    'for a transaction of the kind %s, which another record follows',
    async (kind) => {
      const account = await buyer()
      const id = await post(kind, account)
      for (const name of [id, `${kind}:test:${id}`]) {
        await expect(reverse(name)).rejects.toMatchObject({ code: 'conflict' })
      }
      expect(await balance(account)).toBe(5)
    },
  )

  it('for a deposit on the chain', async () => {
    const account = await buyer()
    const id = await post('deposit', account)
    await expect(reverse(id)).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(/chain/) })
    expect(await balance(account)).toBe(5)
  })

  it.each(['due', 'written_off', 'confirmed'] as const)(
    'for a call whose payment by wallet is %s and not booked',
    async (state) => {
      const account = await buyer(1_000_000)
      const rid = ids.requestId()
      const payer = `0x${'c'.repeat(40)}`
      await postBatch(market.plane, {
        events: [eventText({ rid, account, sellerAccount: jobs.seller, charge: 100, hold: 100 })],
        source: 'test',
      })
      await sql`insert into chain_payment (rid, rail, network, asset, payer, nonce, account, amount, due, charge, event, came, state,
        tx_hash, reason, payload, requirement, body_digest, valid_until, serve_until)
      values (${rid}, 'x402-upto', 'eip155:8453', ${payer}, ${payer}, ${rid}, ${account}, 5000, 1000, 100, '{}',
        ${state === 'confirmed' ? 100 : null}, ${state}, ${`0x${'d'.repeat(64)}`}, 'a test', '{}', '{}', ${'ab'.repeat(32)}, now(), now())`.execute(
        market.plane.db,
      )
      await expect(reverse(rid)).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(/arrived/) })
      expect(await balance(account)).toBe(999_900)
    },
  )
})
