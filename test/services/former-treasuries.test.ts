import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { newMoveMemory } from '#control-plane/ports/treasury/move-parts.ts'
import { awaitFormerTreasury } from '#control-plane/services/deposits/await-treasury.ts'
import { requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { readMoves } from '#control-plane/services/deposits/read-moves.ts'
import { retireFormerTreasury } from '#control-plane/services/deposits/retire-treasury.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { readPayoutsState } from '#control-plane/services/payouts/operator-payouts.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { findReason, liftWhenWhole } from '#control-plane/services/treasury/lift-hold.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { depositing } from '#test/support/books/deposits.ts'
import type { PayoutWorld, TestSeller, TreasuryWorldCtx } from '#test/support/books/payouts.ts'
import { startPayouts } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 30_000
const PAID = 5_000_000

let chain: OwnChain
let world: PayoutWorld
// A chain's clock cannot go back, so each test has a chain of its own.
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

const OPERATOR = { kind: 'operator', keyId: null, source: 'test' } as const
const received = ({ purse }: TestSeller) => chain.usdcBalance(purse.address)
const record = () => world.gate.ledger.readEpoch()
/** Waits until the gate has newer beats than a backup that was made before the call. */
async function untilBeat(): Promise<void> {
  const { beat } = await record()
  await until('two beats', WAIT_MS, async () => Number(await world.gate.redis.get(moneyKeys.beat)) >= beat + 2)
}
/** Lets the chain's clock pass the end of every signature. */
const outlast = () =>
  callChain(chain.rpcUrl, [
    ['evm_increaseTime', [700]],
    ['evm_mine', []],
  ])
const pay = async () => {
  await drainBalances(world.ctx, { isForced: true })
  await world.settle()
}

describe('a treasury that changed around a restore', () => {
  /** A second treasury in the settings: a key of its own, and money. */
  const otherTreasury = async () => {
    const { address, privateKey } = await chain.newWallet({ eth: 10n ** 20n })
    const funder = await chain.newWallet({ usdc: 100_000_000n, eth: 10n ** 18n })
    await depositing(world).transfer(funder, 100_000_000n, CONTRACTS.LocalUsdc, address)
    return world.process({ TREASURY_ADDRESS: address, TREASURY_PRIVATE_KEY: privateKey })
  }
  const turnBy = async (by: TreasuryWorldCtx) => {
    await drainBalances(by, { isForced: true })
    await moveTransfers(by)
    await takeDeposits(by)
    return liftWhenWhole(by)
  }
  const untilLiftedBy = (by: TreasuryWorldCtx) =>
    until('money may leave', WAIT_MS, async () => {
      await turnBy(by)
      return (await record()).heldAt === undefined
    })

  it('pays no payout again from another treasury, and reads the transfers of the former one', async () => {
    const seller = await world.seller(PAID)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    await pay()
    await untilBeat()
    const by = await otherTreasury()
    await restore()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    await world.earn(seller, 1_000_000)
    await outlast()
    // The reader reads the blocks of this treasury, and none of the former treasury.
    await until("the treasury's own blocks are read", WAIT_MS, async () => {
      await readMoves({ ...by, moves: requireMoves(by) })
      const reason = await findReason(by, await record())
      expect(reason).toBeDefined()
      return reason?.wait === 'chain' && reason.treasury === world.treasury.toLowerCase()
    })
    expect(await findPayoutStop(by)).toBe('ledger_check')
    await untilLiftedBy(by)
    expect(await world.books(seller)).toMatchObject({ available: 1_000_000, paid: PAID })
    await drainBalances(by, { isForced: true })
    await world.settle(by)
    expect(await received(seller)).toBe(BigInt(PAID) + 1_000_000n)
    const rows = await world.payouts(seller)
    expect(rows.map(({ treasury, state }) => ({ treasury, state }))).toEqual([
      { treasury: by.treasury?.address, state: 'paid' },
      { treasury: world.treasury.toLowerCase(), state: 'paid' },
    ])
  })

  it('waits until the last signature of the former treasury has expired', async () => {
    const seller = await world.seller(PAID)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    const signed = await world.request(seller, { selfSubmit: true })
    await untilBeat()
    const by = await otherTreasury()
    await restore()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    for (let number = 0; number < 3; number++) expect(await turnBy(by)).toBe('chain')
    const { heldAt = 0 } = await record()
    const { departureHold } = await readPayoutsState.run(by as RunCtx, OPERATOR, {})
    expect(departureHold).toEqual({
      since: heldAt,
      waitsFor: 'chain',
      until: heldAt + 600_000,
      open: [],
      treasury: by.treasury?.address,
      block: expect.any(Number),
    })
    // The chain is read once for any number of operators.
    let looks = 0
    const moves = requireMoves(by)
    const head = () => {
      looks += 1
      return moves.chain.head()
    }
    const memory = newMoveMemory()
    const reader = { ...by, moves: { ...moves, memory, chain: { ...moves.chain, head } } } as RunCtx
    const read = async () => (await readPayoutsState.run(reader, OPERATOR, {})).departureHold
    for (const hold of [...(await Promise.all([read(), read()])), await read()]) expect(hold).toEqual(departureHold)
    expect(looks).toBe(1)
    expect(await world.submit(signed, seller.purse)).toBe('success')
    await outlast()
    await untilLiftedBy(by)
    await drainBalances(by, { isForced: true })
    await world.settle(by)
    expect(await received(seller)).toBe(BigInt(PAID))
  })

  it('reads a treasury that an operator names, which came and went in the lost time', async () => {
    const seller = await world.seller(PAID)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    const between = await otherTreasury()
    await takeDeposits(between)
    await drainBalances(between, { isForced: true })
    await world.settle(between)
    expect(await received(seller)).toBe(BigInt(PAID))
    const by = await otherTreasury()
    const change: RunCtx['change'] = (run) => transact(world.db, run)
    const name = (treasury: string | undefined) =>
      awaitFormerTreasury.run({ ...by, change } as RunCtx, OPERATOR, { treasury: treasury ?? '', reason: 'in use' })
    await expect(name(between.treasury?.address)).rejects.toMatchObject({ code: 'conflict' })
    await untilBeat()
    await restore()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    await expect(name(by.treasury?.address)).rejects.toMatchObject({ code: 'conflict' })
    const named = await name(between.treasury?.address)
    expect(named).toEqual({ treasury: between.treasury?.address, firstBlock: expect.stringMatching(/^\d+$/) })
    expect(await name(between.treasury?.address)).toEqual(named)
    await outlast()
    await untilLiftedBy(by)
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: PAID })
    await drainBalances(by, { isForced: true })
    await world.settle(by)
    expect(await received(seller)).toBe(BigInt(PAID))
  })

  it('reads a treasury whose first blocks it lost', async () => {
    const seller = await world.seller(PAID)
    await untilBeat()
    const restore = await world.gate.backUpLedger()
    const by = await otherTreasury()
    await takeDeposits(by)
    await drainBalances(by, { isForced: true })
    await world.settle(by)
    expect(await received(seller)).toBe(BigInt(PAID))
    await untilBeat()
    await restore()
    await outlast()
    await untilLiftedBy(by)
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: PAID })
  })

  it('credits nothing that a former treasury receives, and an operator answers for a treasury on another chain', async () => {
    const by = await otherTreasury()
    await takeDeposits(by)
    const buyer = await depositing(world).depositor(5_000_000n)
    await world.gate.ledger.markRestored(Date.now())
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    await depositing(world).transfer(buyer.purse, 3_000_000n)
    await sql`insert into treasury_cursor (chain_id, asset, treasury, first_block, opening, next_block, balance, proven_block)
      select 84532, asset, treasury, 0, 0, 0, 0, -1 from treasury_cursor where treasury = ${world.treasury.toLowerCase()}`.execute(
      world.db,
    )
    await outlast()
    await until('only the other chain is missing', WAIT_MS, async () => (await turnBy(by)) === 'treasury')
    expect(await turnBy(by)).toBe('treasury')
    expect(await depositing(world).credit(buyer)).toBe(0)
    const change: RunCtx['change'] = (run) => transact(world.db, run)
    const retire = (treasury: string | undefined) =>
      retireFormerTreasury.run({ ...by, change } as RunCtx, OPERATOR, {
        treasury: treasury ?? '',
        reason: 'all is booked',
      })
    await expect(retire(by.treasury?.address)).rejects.toMatchObject({ code: 'conflict' })
    await expect(retire(`0x${'9'.repeat(40)}`)).rejects.toMatchObject({ code: 'not_found' })
    expect(await retire(world.treasury.toLowerCase())).toMatchObject({ purses: 2 })
    await untilLiftedBy(by)
    await expect(retire(world.treasury.toLowerCase())).rejects.toMatchObject({ code: 'conflict' })
    await sql`delete from treasury_cursor where chain_id = 84532`.execute(world.db)
  })
})
