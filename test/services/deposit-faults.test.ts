import { sql } from 'kysely'
import { keccak256 } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { changeCursor, findCursor, listMoves } from '#control-plane/db/treasury-moves.ts'
import { fundTreasury } from '#control-plane/services/deposits/fund-treasury.ts'
import { requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { reconcile } from '#control-plane/services/deposits/reconcile.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { withdrawCapital } from '#control-plane/services/deposits/withdraw-capital.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { HOUR, MINUTE, SECOND, systemClock } from '#shared/clock.ts'
import type { Depositor } from '#test/support/books/deposits.ts'
import { depositing, OPERATOR } from '#test/support/books/deposits.ts'
import type { PayoutWorld } from '#test/support/books/payouts.ts'
import { startPayouts } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import type { RpcFault, RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'

const FIVE = 5_000_000n
const GWEI = 1_000_000_000n
let chain: OwnChain
let relay: RpcRelay
let world: PayoutWorld
let buyers: ReturnType<typeof depositing>

beforeAll(async () => {
  chain = await startChain()
  relay = await rpcRelay(chain.rpcUrl)
  world = await startPayouts(chain, { rpcUrl: relay.url })
  buyers = depositing(world)
  await chain.mine()
  await takeDeposits(world.ctx)
})
afterEach(() => relay.pass())
afterAll(async () => {
  expect(await buyers.mismatches()).toEqual([])
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await relay.close()
  await chain.stop()
})

const turn = (ctx = world.ctx) => buyers.turn(ctx)
const turns = (count: number, ctx = world.ctx) => buyers.turns(count, ctx)
const BEGUN = Date.now()
/** Workers whose clock is this many milliseconds after the start of these tests. */
const later = (ms: number) => ({ ...world.ctx, clock: { ...systemClock, now: () => BEGUN + ms } })
const credits = (buyer: Depositor) => buyers.credit(buyer)

describe('a transfer out of the treasury', () => {
  it('that no program of the market sent stops all payouts', async () => {
    const thief = await chain.newWallet()
    await callChain(chain.rpcUrl, [['anvil_impersonateAccount', [world.treasury]]])
    const data = `0xa9059cbb${thief.address.slice(2).padStart(64, '0')}${1_000n.toString(16).padStart(64, '0')}`
    await callChain(chain.rpcUrl, [['eth_sendTransaction', [{ from: world.treasury, to: CONTRACTS.LocalUsdc, data }]]])
    await chain.mine()
    await callChain(chain.rpcUrl, [['anvil_stopImpersonatingAccount', [world.treasury]]])
    await turn()
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    const [gone] = await listMoves(world.db, buyers.purse(), { kind: 'unknown', direction: 'out' }, 10)
    const transaction = gone?.transaction ?? ''
    expect(await buyers.mismatches()).toEqual([`out ${transaction} 0 of 1000 was not sent by this market`])
    // The operator withdrew it, out of capital that the operator had brought in.
    const withdraw = () =>
      withdrawCapital.run(buyers.runCtx(), OPERATOR, { transaction, place: 0, reason: 'taken out' })
    await expect(withdraw()).rejects.toMatchObject({ code: 'conflict' })
    const donor = await chain.newWallet({ usdc: FIVE, eth: 10n ** 18n })
    const brought = await buyers.transfer(donor, 1_000n)
    await fundTreasury.run(buyers.runCtx(), OPERATOR, { transaction: brought, reason: 'capital' })
    await withdraw()
    await expect(withdraw()).rejects.toMatchObject({ code: 'conflict' })
    expect(await buyers.mismatches()).toEqual([])
    await buyers.clearHolds()
    const seller = await world.seller(2_000_000)
    await world.request(seller)
    await world.settle()
    await turn()
    const out = await listMoves(world.db, buyers.purse(), { kind: 'payout', direction: 'out' }, 10)
    expect(out).toMatchObject([{ amount: 2_000_000n, party: seller.purse.address.toLowerCase() }])
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })
})

describe('a reconciliation', () => {
  it('names transfers that only the books have, and transfers that only the chain has, and stops payouts', async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 250_000n)
    await turn()
    expect(await buyers.mismatches()).toEqual([])
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
    const [deposit] = await buyers.deposits(buyer)
    const { chainId, asset, treasury } = buyers.purse()
    const fake = `0x${'fe'.repeat(32)}`
    await sql`insert into treasury_move (chain_id, asset, treasury, direction, tx_hash, place, block, log_index, party, amount,
      kind, ref) values (${chainId}, ${asset}, ${treasury}, 'in', ${fake}, 0, 1, 0, ${asset}, 9, 'deposit', 'dep_fake')`.execute(
      world.db,
    )
    await sql`insert into deposit (id, account, method, sender, amount, state, chain_id, asset, treasury, tx_hash, block,
        credited_at) select 'dep_ghost', account, method, sender, 8, state, chain_id, asset, treasury, tx_hash, block, now()
      from deposit where id = ${deposit?.id}`.execute(world.db)
    expect(await buyers.mismatches()).toEqual([
      expect.stringMatching(/^at block \d+ the treasury has \d+, and its transfers leave \d+$/),
      `in ${fake} 0 of 9 is a deposit, and the books took 0`,
      'dep_ghost of 8 is credited, and did not come',
      expect.stringMatching(/^the books have \d+ deposits, and \d+ transfers are deposits$/),
    ])
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    expect((await world.breaches()).map((breach) => breach.split(':')[0])).toEqual(['I9', 'I16'])
    // Reading and deposits continue.
    await buyers.transfer(buyer.purse, 50_000n)
    await turn()
    expect(await credits(buyer)).toBe(300_000)
    await sql`alter table treasury_move disable trigger treasury_move_kept`.execute(world.db)
    await sql`alter table deposit disable trigger deposit_kept`.execute(world.db)
    await sql`delete from treasury_move where tx_hash = ${fake}`.execute(world.db)
    await sql`delete from deposit where id = 'dep_ghost'`.execute(world.db)
    await sql`alter table treasury_move enable trigger treasury_move_kept`.execute(world.db)
    await sql`alter table deposit enable trigger deposit_kept`.execute(world.db)
    await buyers.clearHolds()
  })

  it('proves nothing while the chain is unreachable, or is another chain', async () => {
    for (const fault of [{ kind: 'down' }, { kind: 'answer', result: '0x1' }] as const) {
      relay.fault('eth_chainId', fault)
      const check = await reconcile({ ...world.ctx, moves: requireMoves(world.ctx) })
      expect(check).toMatchObject({ failure: 'the chain is out of reach', mismatches: [] })
    }
    relay.pass()
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })
})

describe('an endpoint that fails', () => {
  it.each<readonly [string, RpcFault]>([
    ['eth_getLogs', { kind: 'answer', result: [] }],
    ['eth_getLogs', { kind: 'refuse' }],
    ['eth_chainId', { kind: 'answer', result: '0x1' }],
    ['eth_call', { kind: 'nonsense' }],
    ['eth_getTransactionByHash', { kind: 'down' }],
    ['*', { kind: 'down' }],
    ['*', { kind: 'twice' }],
    ['*', { kind: 'late', ms: 40 }],
    ['eth_chainId', { kind: 'hang' }],
  ])('by %s loses no deposit and credits none twice: %o', async (method, fault) => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 900_000n)
    relay.fault(method, fault)
    await turns(2)
    relay.pass()
    // Blocks that did not explain the balance are read again a second later.
    await turns(3, { ...world.ctx, clock: { ...systemClock, now: () => Date.now() + SECOND } })
    expect(await credits(buyer)).toBe(900_000)
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })

  it('and hides the blocks that explain the balance is read again with growing pauses, without end', async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 900_000n)
    relay.fault('eth_getLogs', { kind: 'answer', result: [] })
    const misses = async () => (await findCursor(world.db, buyers.purse()))?.misses
    await turns(2, later(0))
    expect(await misses()).toBe(1)
    let at = 0
    for (const [index, seconds] of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600].entries()) {
      at += seconds * SECOND
      await turns(2, later(at - 1))
      expect(await misses(), `before ${at} ms`).toBe(index + 1)
      await turns(2, later(at))
      expect(await misses(), `after ${at} ms`).toBe(index + 2)
      // Payouts continue while the endpoint may only be late.
      expect(await findPayoutStop(world.ctx)).toBe(at < 2 * MINUTE ? undefined : 'ledger_check')
    }
    // New blocks are read meanwhile.
    relay.pass()
    await buyers.transfer(buyer.purse, 100_000n)
    await turns(2, later(at + MINUTE))
    expect(await credits(buyer)).toBe(100_000)
    // The stop ends with its reason.
    await turns(3, later(at + 10 * MINUTE))
    expect(await credits(buyer)).toBe(1_000_000)
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })

  it("and refuses requests about other tokens delays no deposit of the market's token", async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 700_000n)
    relay.fault('eth_getLogs', { kind: 'refuse' }, { only: (params) => Object(params)[0]?.address === undefined })
    await turns(2)
    expect(await credits(buyer)).toBe(700_000)
  })
})

describe('a chain without a new block', () => {
  it('is asked for its newest block alone, and read again once the cursor goes back', async () => {
    await turns(2)
    const asked = relay.calls()
    await turns(3)
    expect(relay.calls() - asked).toBe(3)
    const { nextBlock, provenBlock } = (await findCursor(world.db, buyers.purse())) ?? {
      nextBlock: 0n,
      provenBlock: 0n,
    }
    await transact(world.db, (trx) =>
      changeCursor(trx, buyers.purse(), { nextBlock: provenBlock, provenBlock: provenBlock - 1n }),
    )
    await turn()
    expect((await findCursor(world.db, buyers.purse()))?.nextBlock).toBe(nextBlock)
  })
})

describe('a chain that is reorganised', () => {
  it.each([1, 12])('by %i blocks before a deposit is final never credits a deposit that is gone', async (blocks) => {
    const deep = world.process({ CHAIN_CONFIRMATIONS: String(blocks + 1) })
    const buyer = await buyers.depositor(FIVE)
    // The wallet's money remains when the blocks are gone.
    await chain.mine(blocks)
    await buyers.transfer(buyer.purse, 500_000n)
    await chain.mine(blocks - 1)
    await turns(2, deep)
    expect(await credits(buyer)).toBe(0)
    await chain.reorganise(blocks)
    await chain.mine(blocks + 1)
    await turns(2, deep)
    expect(await credits(buyer)).toBe(0)
    await buyers.transfer(buyer.purse, 500_000n)
    await chain.mine(blocks)
    await turns(2, deep)
    expect(await credits(buyer)).toBe(500_000)
  })

  it('below final blocks credits nothing twice, and stops payouts while money is missing', async () => {
    const buyer = await buyers.depositor(FIVE)
    await chain.mine(3)
    const raw = await buyers.rawTransfer(buyer.purse, 600_000n)
    await chain.send(raw)
    await turn()
    expect(await credits(buyer)).toBe(600_000)
    await chain.reorganise(2)
    await chain.mine(2)
    await turns(2, later(HOUR))
    await turns(2, later(HOUR + 3 * MINUTE))
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    // The same transaction in a later block, after another that pays more for its gas.
    const other = await buyers.depositor(FIVE)
    const before = await buyers.rawTransfer(other.purse, 10_000n, 1_000n * GWEI)
    await chain.mining('off')
    for (const sent of [before, raw]) await callChain(chain.rpcUrl, [['eth_sendRawTransaction', [sent]]])
    await chain.mining('automatic')
    const { logs } = await chain.publicClient.getTransactionReceipt({ hash: keccak256(raw) })
    expect(logs.map(({ logIndex }) => logIndex)).toEqual([1])
    await turns(3, later(2 * HOUR))
    expect(await credits(buyer)).toBe(600_000)
    expect(await buyers.deposits(buyer)).toHaveLength(1)
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })

  it('below a proven block is read again, so that no deposit there is lost', async () => {
    const buyer = await buyers.depositor(FIVE)
    await chain.mine(2)
    const goBack = await chain.remember()
    await chain.mine(5)
    await turn()
    await goBack()
    // The transfer is in a block with a number that was read, followed by other blocks.
    await buyers.transfer(buyer.purse, 400_000n)
    await chain.mine(6)
    await turns(2)
    expect(await credits(buyer)).toBe(400_000)
    expect([await buyers.mismatches(), await findPayoutStop(world.ctx)]).toEqual([[], undefined])
  })
})
