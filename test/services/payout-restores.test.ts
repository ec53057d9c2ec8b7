import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { liftHold } from '#control-plane/db/money-epoch.ts'
import { listShortfall, noteShortfall } from '#control-plane/db/shortfall.ts'
import { withAllowances } from '#control-plane/services/allowances/allowance-ctx.ts'
import { sendDraws } from '#control-plane/services/allowances/send-draws.ts'
import { tendLines } from '#control-plane/services/allowances/tend-lines.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { stepTransfer } from '#control-plane/services/payouts/end-transfer.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { REASONS } from '#control-plane/services/payouts/transfer-states.ts'
import { findWait, liftWhenWhole } from '#control-plane/services/treasury/lift-hold.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { allowing } from '#test/support/books/allowances.ts'
import { depositing } from '#test/support/books/deposits.ts'
import { balanceOf, grant, newAccount } from '#test/support/books/ledger.ts'
import type { PayoutWorld, TestSeller } from '#test/support/books/payouts.ts'
import { startPayouts } from '#test/support/books/payouts.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { storePaidCall } from '#test/support/doors/stored-paid-call.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 30_000
const PAID = 5_000_000
const GRANT = 300_000

let chain: OwnChain
let world: PayoutWorld
// The clock of a chain cannot be set back, so each test has a chain of its own.
beforeEach(async () => {
  chain = await startChain()
  world = await startPayouts(chain, { ALLOWANCE_LINE_MICRO: '10000000' })
  await takeDeposits(world.ctx)
})
afterEach(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

const received = ({ purse }: TestSeller) => chain.usdcBalance(purse.address)
const record = () => world.gate.ledger.readEpoch()
/** Waits until the gate has newer beats than a backup that was made before the call. */
async function untilBeat(): Promise<void> {
  const { beat } = await record()
  await until('two beats', WAIT_MS, async () => Number(await world.gate.redis.get(moneyKeys.beat)) >= beat + 2)
}
/** Moves the chain's clock past the end of every signature. */
const outlast = () =>
  callChain(chain.rpcUrl, [
    ['evm_increaseTime', [700]],
    ['evm_mine', []],
  ])
/** Runs a turn of every worker that lets money leave. */
async function turn(): Promise<void> {
  await drainBalances(world.ctx, { isForced: true })
  await moveTransfers(world.ctx)
  await takeDeposits(world.ctx)
  await liftWhenWhole(world.ctx)
}
async function untilLifted(): Promise<void> {
  await until('payouts are possible', WAIT_MS, async () => {
    await turn()
    return (await record()).heldAt === undefined
  })
}
const pay = async () => {
  await drainBalances(world.ctx, { isForced: true })
  await world.settle()
}

/** Plans and approves the due draws, and sends none. */
async function approveDraws({ ctx }: ReturnType<typeof allowing>): Promise<void> {
  const found = withAllowances(ctx)
  if (found === undefined) throw new Error('no allowances')
  await tendLines(found)
  const unsent = () => Promise.reject(new Error('no transaction is signed'))
  const treasury = { ...found.treasury, sender: { ...found.treasury.sender, send: unsent } }
  expect(await sendDraws({ ...found, treasury })).toBe(0)
}

describe('payouts, draws and deposits of a restored ledger', () => {
  it.each([
    ['all of it', 0n, 2_000_000n, 2_000_000],
    ['a part of it', 1_000_000n, 2_000_000n, 2_500_000],
  ])('repay the platform its cost for a lost deposit: %s', async (_what, kept, lost, spent) => {
    const buyers = depositing(world)
    const buyer = await buyers.depositor(20_000_000n)
    const seller = await world.seller(0)
    const credit = () => balanceOf(world.db, buyer.user.buyerAccount)
    const stoodIn = () => balanceOf(world.db, PLATFORM_ACCOUNTS.shortfall)
    const untilCredit = (amount: number) =>
      until('the chain is read', WAIT_MS, async () => {
        await chain.mine()
        await buyers.turn()
        return (await credit()) === amount
      })
    const callOf = (account: string, charge: number) =>
      eventText({ account, sellerAccount: seller.account, charge, hold: charge, feeBps: 0 })
    if (kept > 0n) await buyers.transfer(buyer.purse, kept)
    await untilCredit(Number(kept))
    // A second buyer loses a grant, which no chain shows.
    const granted = await newAccount(world.db, 'buyer_credit')
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await grant(world.db, granted, GRANT)
    for (let half = 0; half < 2; half++) await buyers.transfer(buyer.purse, lost / 2n)
    await untilCredit(Number(kept + lost))
    const calls = [callOf(buyer.user.buyerAccount, spent), callOf(granted, GRANT)]
    await postBatch(world.ctx, { events: calls, source: 'test' })
    const rest = Number(kept + lost) - spent
    expect(await credit()).toBe(rest)
    await untilBeat()
    await restore()
    await until('the journals are read', WAIT_MS, async () => {
      await moveTransfers(world.ctx)
      return (await record()).joinedAt !== undefined
    })
    // The journals are faster than the reader of the chain.
    await postBatch(world.ctx, { events: calls, source: 'test' })
    expect(await stoodIn()).toBe(Number(kept) - spent - GRANT)
    await untilCredit(rest)
    expect(await stoodIn()).toBe(-GRANT)
    // A later deposit is the buyer's alone.
    await buyers.transfer(buyer.purse, 700_000n)
    await untilCredit(rest + 700_000)
    for (const { tx, amount } of await listShortfall(world.db, 10))
      if (amount < 0n) await noteShortfall(world.db, { tx, reason: 'a grant was lost', by: 'test' })
    await outlast()
    await untilLifted()
  })

  it.each([
    ['had not planned', () => Promise.resolve()],
    ['had approved, and not sent', approveDraws],
  ] as const)('include no second draw of an amount that the lost ledger %s', async (_what, prepare) => {
    const lines = allowing(world)
    const buyer = await lines.payer(20_000_000n, 20_000_000n)
    await lines.spend(buyer, 3_000_000)
    await prepare(lines)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await lines.untilTurned(
      'the amount is drawn',
      async () => (await chain.usdcBalance(buyer.purse.address)) === 17_000_000n,
    )
    await untilBeat()
    await restore()
    for (let number = 0; number < 3; number++) await lines.turn()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    await lines.turn()
    // A transfer that was signed before may still leave, so the worker waits for the chain.
    expect(await findWait(world.ctx, await record())).toBe('chain')
    await outlast()
    await until('payouts are possible', WAIT_MS, async () => {
      await lines.turn()
      await liftWhenWhole(world.ctx)
      return (await record()).heldAt === undefined
    })
    for (let number = 0; number < 3; number++) await lines.turn()
    expect(await chain.usdcBalance(buyer.purse.address)).toBe(17_000_000n)
  })

  it('pay no seller twice: the lost payouts are booked before payouts are possible', async () => {
    const [paid, other] = [await world.seller(PAID), await world.seller(0)]
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await pay()
    await untilBeat()
    await restore()
    expect(await world.books(paid)).toEqual({ available: PAID, inFlight: 0, paid: 0 })
    for (let number = 0; number < 3; number++) await turn()
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    expect(await world.request(other)).toMatchObject({ status: 'held', reason: 'ledger_check' })
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    await turn()
    expect(await received(paid)).toBe(BigInt(PAID))
    await outlast()
    await untilLifted()
    expect(await received(paid)).toBe(BigInt(PAID))
    expect(await world.books(paid)).toEqual({ available: 0, inFlight: 0, paid: PAID })
    const [found] = await world.payouts(paid)
    expect(found).toMatchObject({ state: 'paid', number: 1n, foundAt: expect.any(Date) })
    await world.earn(paid, 2_000_000)
    await pay()
    expect(await received(paid)).toBe(BigInt(PAID) + 2_000_000n)
    expect((await world.payouts(paid)).map(({ number }) => number)).toEqual([2n, 1n])
  })

  it('include an end for payouts that were only planned, and the lost sweeps', async () => {
    const cold = (await chain.newWallet()).address
    const swept = world.process({ TREASURY_COLD_ADDRESS: cold, TREASURY_CEILING_MICRO: '9000000000' })
    const seller = await world.seller(PAID)
    await drainBalances(world.ctx, { isForced: true })
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await world.settle(swept)
    const gone = await chain.usdcBalance(cold)
    expect(gone).toBeGreaterThan(0n)
    await untilBeat()
    await restore()
    await outlast()
    await until('payouts are possible', WAIT_MS, async () => {
      await moveTransfers(swept)
      await takeDeposits(swept)
      await liftWhenWhole(swept)
      return (await record()).heldAt === undefined
    })
    expect(await received(seller)).toBe(BigInt(PAID))
    expect(await world.payouts(seller)).toMatchObject([{ state: 'paid', amount: BigInt(PAID) }])
    expect(await chain.usdcBalance(cold)).toBe(gone)
  })

  it('without a noticed restore sign a payout under a used name, and find the first one', async () => {
    const seller = await world.seller(PAID)
    const restore = await world.gate.backUpLedger()
    await pay()
    await world.gate.stopRebuilder()
    await world.gate.redis.del(moneyKeys.beat)
    await restore()
    await world.earn(seller, 1_000_000)
    const other = await world.seller(PAID)
    await drainBalances(world.ctx, { isForced: true })
    // The signer reads the chain, and does not wait for the reader of final blocks.
    await moveTransfers(world.ctx)
    expect((await record()).heldAt).toBeTypeOf('number')
    expect(await world.payouts(other)).toMatchObject([{ state: 'scheduled', signature: null }])
    world.gate.startRebuilder()
    await outlast()
    await untilLifted()
    await pay()
    expect(await received(seller)).toBe(BigInt(PAID) + 1_000_000n)
    expect(await received(other)).toBe(BigInt(PAID))
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: PAID + 1_000_000 })
  })

  it('match a lost payout with one that is only planned, and need no cover', async () => {
    const seller = await world.seller(PAID)
    await drainBalances(world.ctx, { isForced: true })
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    const [waiting] = await world.payouts(seller)
    if (waiting === undefined) throw new Error('no payout waits')
    await stepTransfer(world.ctx, waiting.id, 'cancel', { reason: REASONS.operator })
    await pay()
    expect(await received(seller)).toBe(BigInt(PAID))
    await untilBeat()
    await restore()
    await outlast()
    await untilLifted()
    await pay()
    expect(await received(seller)).toBe(BigInt(PAID))
    expect((await world.payouts(seller)).map(({ number, state }) => ({ number, state }))).toEqual([
      { number: 2n, state: 'paid' },
      { number: 1n, state: 'returned' },
    ])
    expect(await balanceOf(world.db, PLATFORM_ACCOUNTS.shortfall)).toBe(0)
  })

  it('include the cover of a payout with lost earnings, only after every lost signature has expired', async () => {
    const seller = await world.seller(0)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await world.earn(seller, PAID)
    await pay()
    await untilBeat()
    await restore()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    const age = (minutes: number) =>
      sql`update money_epoch set held_at = held_at - ${minutes} * interval '1 minute', raised_at = raised_at
        - ${minutes} * interval '1 minute', restored_at = restored_at - ${minutes} * interval '1 minute',
        joined_at = joined_at - ${minutes} * interval '1 minute'`.execute(world.db)
    await age(11)
    const patient = world.process({ PAYOUT_VALID_SECONDS: '3600' })
    await takeDeposits(patient)
    expect(await world.payouts(seller)).toEqual([])
    // Signatures of ten minutes have expired, and a transfer in the blocks is not booked yet.
    expect(await findWait(world.ctx, await record())).toBe('transfers')
    await age(50)
    // An earlier payment may still bring the seller's earnings.
    const rid = await storePaidCall({ plane: world.ctx })
    await sql`update chain_payment set claimed_at = now() - interval '2 hours' where rid = ${rid}`.execute(world.db)
    await takeDeposits(patient)
    expect(await world.payouts(seller)).toEqual([])
    await sql`update chain_payment set state = 'released' where rid = ${rid}`.execute(world.db)
    await takeDeposits(patient)
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: PAID })
    await outlast()
    await untilLifted()
  })

  it('wait for a restore that the first planner notices', async () => {
    const seller = await world.seller(PAID)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await untilBeat()
    await world.gate.stopRebuilder()
    await restore()
    expect(await drainBalances(world.ctx, { isForced: true })).toBeUndefined()
    expect((await record()).heldAt).toBeTypeOf('number')
    expect(await world.request(seller)).toMatchObject({ status: 'held', reason: 'ledger_check' })
    expect(await world.payouts(seller)).toEqual([])
    world.gate.startRebuilder()
    await outlast()
    await untilLifted()
  })

  it('wait for the journals first, however far the chain is read', async () => {
    await world.gate.stopRebuilder()
    await world.gate.ledger.markRestored(Date.now())
    await outlast()
    await takeDeposits(world.ctx)
    expect(await liftWhenWhole(world.ctx)).toBe('journals')
    const { heldAt = 0 } = await record()
    expect(await transact(world.db, (trx) => liftHold(trx, heldAt))).toBe(false)
    world.gate.startRebuilder()
    await untilLifted()
  })

  it('are held by the statement that records the restore', async () => {
    await world.gate.ledger.markRestored(Date.now())
    expect(await world.gate.ledger.readStanding(undefined)).toBe('joining')
    await outlast()
    await untilLifted()
  })

  it('continue though a new block follows each one that is read, and though a stranger’s transfer is unchecked', async () => {
    await world.gate.ledger.markRestored(Date.now())
    await outlast()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    const stranger = await chain.newWallet({ usdc: 1n, eth: 10n ** 18n })
    const raw = await depositing(world).rawTransfer(stranger, 1n)
    await chain.send(raw)
    await chain.mine()
    await until('the transfer is read', WAIT_MS, async () => {
      await takeDeposits(world.ctx)
      const { numAffectedRows } =
        await sql`update treasury_move set kind = 'new', reason = null where kind = 'unknown'`.execute(world.db)
      return numAffectedRows === 1n
    })
    await chain.mine()
    expect(await findWait(world.ctx, await record())).toBeUndefined()
    await untilLifted()
  })
})
