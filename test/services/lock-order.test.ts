import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { bookLateCharge } from '#control-plane/services/payments/book-payment.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import type { PaymentWorld } from '#test/support/books/payments.ts'
import { startPayments } from '#test/support/books/payments.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { until } from '#test/support/run/until.ts'

const PRICE = 20_000n
const WAIT_MS = 10_000
let chain: OwnChain
let world: PaymentWorld

beforeAll(async () => {
  chain = await startChain()
  world = await startPayments(chain, { CHAIN_CONFIRMATIONS: '1' })
})
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

const post = (...events: string[]) => postBatch(world.ctx, { events, source: 'test' })

/** A running job that a wallet has paid for, with its two events. */
async function running() {
  const wallet = await chain.newWallet({ usdc: 1_000_000n })
  const rid = await world.claimed(await world.sign(wallet, 'exact', PRICE))
  const { account, rid: name } = await world.row(rid)
  const job = { rid, account, sellerAccount: world.seller, quote: Number(PRICE) }
  const payer = { rail: 'x402-exact', keyId: null, wallet: wallet.address.toLowerCase() }
  const byWallet = (text: string) => JSON.stringify({ ...JSON.parse(text), ...payer })
  await world.settle(rid, PRICE, { event: byWallet(submitText(job)) })
  await world.booked(rid)
  return { rid: name, account, end: byWallet(endText(job, 7_321)) }
}

/** Locks a job like the booking of its end does, and locks the accounts for that once `meanwhile` is over. */
const asItsEnd = ({ rid, account }: { rid: string; account: string }, meanwhile: (trx: Trx) => Promise<unknown>) =>
  transact(world.db, async (trx) => {
    const money = moneyTransaction(trx)
    await money.jobs.lockJob(rid)
    await meanwhile(trx)
    await money.lockAccounts([account, world.seller, PLATFORM_ACCOUNTS.shortfall])
  })

it('a repeated submit does not wait for the end of its job, which waits for its accounts', async () => {
  const account = await newAccount(world.db, 'buyer_credit')
  const job = { rid: ids.ulid(), account, sellerAccount: world.seller, quote: Number(PRICE) }
  const submit = submitText(job)
  expect(await post(submit)).toMatchObject({ posted: 1 })
  await asItsEnd(job, async () => expect(await post(submit)).toMatchObject({ repeats: 1, poisoned: 0 }))
  expect(await post(endText(job, 0))).toMatchObject({ posted: 1 })
})

it('a payment of a job locks the job before accounts, like the end of the job', async () => {
  const job = await running()
  let booking: Promise<void> | undefined
  await asItsEnd(job, async () => {
    booking = bookLateCharge(world.ctx, job)
    await until('the booking waits', WAIT_MS, async () => {
      const { rows } = await sql`select from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock'`.execute(world.db)
      return rows.length === 1
    })
  })
  await booking
  expect(await post(job.end)).toMatchObject({ posted: 1 })
})
