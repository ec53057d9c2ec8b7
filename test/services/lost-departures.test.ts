import { sql } from 'kysely'
import { createWalletClient, http } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openAccount } from '#control-plane/db/accounts.ts'
import { transact } from '#control-plane/db/database.ts'
import { listMoves } from '#control-plane/db/treasury-moves.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { calldataOf, nonceOfTransfer, typedDataOf } from '#control-plane/ports/treasury/authorization.ts'
import { assignDeparture } from '#control-plane/services/deposits/assign-departure.ts'
import { purseOf, requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { readMoves } from '#control-plane/services/deposits/read-moves.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { takeMove, takeMoves } from '#control-plane/services/deposits/take-moves.ts'
import { NAMES_A_TURN, newNameBudget } from '#control-plane/services/payouts/departure-name.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { authorizationOf } from '#control-plane/services/payouts/sign-transfers.ts'
import { findWait, liftWhenWhole } from '#control-plane/services/treasury/lift-hold.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { OPERATOR } from '#test/support/books/deposits.ts'
import { ids } from '#test/support/books/gate.ts'
import { balanceOf } from '#test/support/books/ledger.ts'
import type { PayoutWorld } from '#test/support/books/payouts.ts'
import { insertOffer, startPayouts } from '#test/support/books/payouts.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { CHAIN, startChain } from '#test/support/chain/chain.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 30_000
const PAID = 5_000_000
/** More sellers than one turn tries. */
const MANY = 2_500

let chain: OwnChain
let world: PayoutWorld
// The clock of a chain cannot be set back, so each test has a chain of its own.
beforeEach(async () => {
  chain = await startChain()
  world = await startPayouts(chain)
  await takeDeposits(world.ctx)
})
afterEach(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

const record = () => world.gate.ledger.readEpoch()
const reading = () => ({ ...world.ctx, moves: requireMoves(world.ctx) })
const purse = () => purseOf(requireMoves(world.ctx))
const departures = () => listMoves(world.db, purse(), { kind: undefined, direction: 'out' }, 50)
const change: RunCtx['change'] = (run) => transact(world.db, run)
const runCtx = () => ({ ...world.ctx, change }) as RunCtx
/** Moves the chain's clock past the end of every signature. */
const outlast = () =>
  callChain(chain.rpcUrl, [
    ['evm_increaseTime', [700]],
    ['evm_mine', []],
  ])
const untilJoined = async () => {
  await world.gate.ledger.markRestored(Date.now())
  await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
}
async function untilBeat(): Promise<void> {
  const { beat } = await record()
  await until('two beats', WAIT_MS, async () => Number(await world.gate.redis.get(moneyKeys.beat)) >= beat + 2)
}
/** Moves the record of the restore this many minutes into the past. */
const age = (minutes: number) =>
  sql`update money_epoch set held_at = held_at - ${minutes} * interval '1 minute', raised_at = raised_at
    - ${minutes} * interval '1 minute', restored_at = restored_at - ${minutes} * interval '1 minute',
    joined_at = joined_at - ${minutes} * interval '1 minute'`.execute(world.db)

/** Sellers of whom only their accounts are known. */
async function addSellers(count: number): Promise<readonly `acc_${string}`[]> {
  const accounts = Array.from({ length: count }, () => ids.make('acc'))
  await transact(world.db, async (trx) => {
    for (const id of accounts) await openAccount(trx, { id, kind: 'seller_available', owner: 'usr_test' })
  })
  return accounts
}

/** Pays with the treasury's key under a nonce, like a ledger that is lost. */
async function leave(nonce: `0x${string}`, amount: bigint, to?: ChainWallet): Promise<string> {
  const { treasury } = world.ctx
  if (treasury === null) throw new Error('no treasury')
  const recipient = (to ?? (await chain.newWallet())).address.toLowerCase()
  const validUntil = new Date((Math.floor(Date.now() / 1_000) + 3_600) * 1_000)
  const authorization = authorizationOf(treasury, { mode: 'batched', recipient, amount, nonce, validUntil })
  const signature = await treasury.signer.signAuthorization(typedDataOf(authorization))
  const sender = await chain.newWallet({ eth: 10n ** 18n })
  const data = calldataOf(authorization, signature)
  const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account: sender.account })
  const hash = await wallet.sendTransaction({ to: CONTRACTS.LocalUsdc, data, gas: 200_000n })
  expect((await chain.publicClient.waitForTransactionReceipt({ hash })).status).toBe('success')
  return hash.toLowerCase()
}

const RANDOM = `0x${'5a'.repeat(32)}` as const

describe('a departure without a row', () => {
  it('is compared with a limited number of sellers per turn, and belongs to none once all were tried', async () => {
    await addSellers(MANY)
    await untilJoined()
    await leave(RANDOM, 1_000n)
    await readMoves(reading())
    const turns: number[] = []
    await until('the search is over', WAIT_MS, async () => {
      const budget = newNameBudget()
      await takeMoves(reading(), budget)
      turns.push(NAMES_A_TURN - budget.left)
      return (await departures())[0]?.kind === 'unknown'
    })
    expect(Math.max(...turns)).toBeLessThanOrEqual(NAMES_A_TURN)
    expect(turns.length).toBeGreaterThan(2)
    const tried = turns.reduce((sum, names) => sum + names, 0)
    expect(tried).toBeGreaterThanOrEqual(5 * MANY)
    // No seller is tried twice.
    expect(tried).toBeLessThan(5 * MANY + 2_000)
    const budget = newNameBudget()
    await takeMoves(reading(), budget)
    expect(budget.left).toBe(NAMES_A_TURN)
  })

  it('is found behind any number of sellers, and stops payouts of a sound ledger until then', async () => {
    const sellers = await addSellers(MANY)
    const seller = sellers.at(-1)
    if (seller === undefined) throw new Error('no seller')
    const wallet = await chain.newWallet()
    const name = { seller, recipient: wallet.address.toLowerCase(), number: 3n }
    const transaction = await leave(nonceOfTransfer(name), 1_000n, wallet)
    await readMoves(reading())
    await takeMoves(reading())
    expect((await departures())[0]).toMatchObject({ transaction, kind: 'new', soughtAmong: 'all' })
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    await untilJoined()
    await age(20)
    await until('the departure is found', WAIT_MS, async () => {
      await takeMoves(reading())
      return (await departures())[0]?.kind === 'payout'
    })
    expect(await balanceOf(world.db, seller)).toBe(0)
  })

  it('is found although a later departure of its seller was found before', async () => {
    const seller = await world.seller(3_000)
    await untilJoined()
    const recipient = seller.purse.address.toLowerCase()
    for (const number of [1n, 2n]) {
      await leave(nonceOfTransfer({ seller: seller.account, recipient, number }), number * 1_000n, seller.purse)
    }
    await readMoves(reading())
    const [second, first] = await departures()
    if (first === undefined || second === undefined) throw new Error('no departures')
    expect([first.amount, second.amount]).toEqual([1_000n, 2_000n])
    await takeMove(reading(), second)
    await takeMove(reading(), first)
    expect((await world.payouts(seller)).map(({ number, state }) => ({ number, state }))).toEqual([
      { number: 1n, state: 'paid' },
      { number: 2n, state: 'paid' },
    ])
    await outlast()
  })

  it('is booked from the earnings of its recipient, and leaves the payouts of others', async () => {
    const elsewhere = (await chain.newWallet()).address
    const seller = await world.seller(PAID)
    // The id precedes that of the other offer.
    const other = `ofr_00${seller.id.slice(6)}`
    await insertOffer(world.db, seller, elsewhere.toLowerCase(), other)
    await world.earn(seller, 2_000_000, other)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await world.request(seller, { recipient: seller.purse.address.toLowerCase() })
    await world.settle()
    expect(await chain.usdcBalance(seller.purse.address)).toBe(BigInt(PAID))
    await untilBeat()
    await restore()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    await outlast()
    await until('payouts are possible', WAIT_MS, async () => {
      await takeDeposits(world.ctx)
      await liftWhenWhole(world.ctx)
      return (await record()).heldAt === undefined
    })
    const payout = (await world.payouts(seller)).find(({ amount }) => amount === BigInt(PAID))
    const { rows } = await sql`select offer, amount from payout_item where payout = ${payout?.id}`.execute(world.db)
    expect(rows).toEqual([{ offer: `ofr_${seller.id.slice(4)}`, amount: BigInt(PAID) }])
    await drainBalances(world.ctx, { isForced: true })
    await world.settle()
    expect(await chain.usdcBalance(elsewhere)).toBe(2_000_000n)
  })
})

describe('a departure of a lost account', () => {
  it("is booked by an operator as a payout of its seller's present account, and the hold ends", async () => {
    const seller = await world.seller(0)
    const lost = ids.make('acc')
    await untilJoined()
    const recipient = seller.purse.address.toLowerCase()
    const transaction = await leave(nonceOfTransfer({ seller: lost, recipient, number: 1n }), 1_000n, seller.purse)
    await outlast()
    await until('the departure has no owner', WAIT_MS, async () => {
      await takeDeposits(world.ctx)
      await liftWhenWhole(world.ctx)
      return (await findWait(world.ctx, await record())) === 'transfers'
    })
    const assign = (input: object) =>
      assignDeparture.run(
        runCtx(),
        OPERATOR,
        assignDeparture.input.parse({ transaction, account: seller.account, reason: 'ticket 21', ...input }),
      )
    const refusals: readonly (readonly [object, string])[] = [
      [{ transaction: `0x${'1'.repeat(64)}` }, 'not_found'],
      [{ account: seller.buyerAccount }, 'not_found'],
      [{ account: undefined, wallet: `0x${'9'.repeat(40)}` }, 'not_found'],
      [{ treasury: `0x${'8'.repeat(40)}` }, 'not_found'],
      // The seller may get its earnings back.
      [{}, 'conflict'],
    ]
    for (const [input, code] of refusals) await expect(assign(input)).rejects.toMatchObject({ code })
    await age(20)
    expect(await assign({ account: undefined, wallet: recipient })).toMatchObject({
      transaction,
      seller: seller.account,
      recipient,
      amountMicro: '1000',
    })
    await expect(assign({})).rejects.toMatchObject({ code: 'conflict' })
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: 1_000 })
    expect(await balanceOf(world.db, PLATFORM_ACCOUNTS.shortfall)).toBe(-1_000)
    expect((await departures())[0]).toMatchObject({ kind: 'payout', ref: (await world.payouts(seller))[0]?.id })
    await until('payouts are possible', WAIT_MS, async () => {
      await takeDeposits(world.ctx)
      await liftWhenWhole(world.ctx)
      return (await record()).heldAt === undefined
    })
  })
})
