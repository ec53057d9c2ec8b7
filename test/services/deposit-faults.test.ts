import { sql } from 'kysely'
import type { Hex } from 'viem'
import { createWalletClient, http } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listDraws } from '#control-plane/db/allowance-draws.ts'
import { transact } from '#control-plane/db/database.ts'
import { listDeposits } from '#control-plane/db/deposits.ts'
import { listPayoutHolds } from '#control-plane/db/money-watch.ts'
import { listMoves } from '#control-plane/db/treasury-moves.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { owedOf } from '#control-plane/services/allowances/weigh-line.ts'
import { acceptChain } from '#control-plane/services/deposits/accept-chain.ts'
import { fundTreasury } from '#control-plane/services/deposits/fund-treasury.ts'
import { purseOf, requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { readMoves } from '#control-plane/services/deposits/read-moves.ts'
import { reconcile, reconcileNow } from '#control-plane/services/deposits/reconcile.ts'
import { readTreasuryChain } from '#control-plane/services/deposits/replaced-chain.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { withdrawCapital } from '#control-plane/services/deposits/withdraw-capital.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { CONTRACTS } from '#dev/chain/addresses.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { fundWallets } from '#dev/chain/fund-wallets.ts'
import { allowing } from '#test/support/allowances.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain.ts'
import { CHAIN, startChain } from '#test/support/chain.ts'
import type { Depositor } from '#test/support/deposits.ts'
import { depositing } from '#test/support/deposits.ts'
import type { PayoutWorld, TestSeller } from '#test/support/payouts.ts'
import { startPayouts } from '#test/support/payouts.ts'
import type { RpcFault, RpcRelay } from '#test/support/rpc-relay.ts'
import { rpcRelay } from '#test/support/rpc-relay.ts'

const FIVE = 5_000_000n
let chain: OwnChain
let relay: RpcRelay
let world: PayoutWorld
let buyers: ReturnType<typeof depositing>
/** The chain that was accepted in place of the first. */
let last: OwnChain | undefined

beforeAll(async () => {
  chain = await startChain()
  relay = await rpcRelay(chain.rpcUrl)
  world = await startPayouts(chain, { rpcUrl: relay.url })
  buyers = depositing(world)
  await chain.mine()
  await takeDeposits(world.ctx)
}, 60_000)
afterEach(() => relay.pass())
afterAll(async () => {
  expect(await mismatches()).toEqual([])
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await relay.close()
  await Promise.all([chain.stop(), last?.stop()])
}, 60_000)

const turn = (ctx = world.ctx) => takeDeposits(ctx)
const turns = async (count: number, ctx = world.ctx) => {
  for (let at = 0; at < count; at++) await turn(ctx)
}
const purse = () => purseOf(requireMoves(world.ctx))
const deposits = ({ user }: Depositor) => listDeposits(world.db, user.buyerAccount, { before: undefined, limit: 20 })
const credits = (buyer: Depositor) => buyers.credit(buyer)
/** What does not fit between the chain and the books. */
async function mismatches(): Promise<unknown> {
  const { failure, mismatches: wrong } = await reconcile({ ...world.ctx, moves: requireMoves(world.ctx) })
  expect(failure).toBeNull()
  return wrong
}
const operator = { kind: 'operator', keyId: null, source: 'test' } as const
const change: RunCtx['change'] = (run) => transact(world.db, run)
const runCtx = () => ({ ...world.ctx, change }) as RunCtx
const clearHolds = () =>
  sql`update payout_hold set cleared_at = now(), cleared_by = 'test', clear_reason = 'test' where cleared_at is null`.execute(
    world.db,
  )

/** A transfer as bytes, which can be sent again after its block is gone. */
async function rawTransfer({ account }: ChainWallet, amount: bigint): Promise<Hex> {
  const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
  const to = world.treasury.slice(2).padStart(64, '0')
  const data: Hex = `0xa9059cbb${to}${amount.toString(16).padStart(64, '0')}`
  const request = await wallet.prepareTransactionRequest({ to: CONTRACTS.LocalUsdc, data })
  return wallet.signTransaction(request)
}

describe('what leaves the treasury', () => {
  it('and nobody here sent stops all payouts', async () => {
    const thief = await chain.newWallet()
    await callChain(chain.rpcUrl, [['anvil_impersonateAccount', [world.treasury]]])
    const data = `0xa9059cbb${thief.address.slice(2).padStart(64, '0')}${1_000n.toString(16).padStart(64, '0')}`
    await callChain(chain.rpcUrl, [['eth_sendTransaction', [{ from: world.treasury, to: CONTRACTS.LocalUsdc, data }]]])
    await callChain(chain.rpcUrl, [['anvil_stopImpersonatingAccount', [world.treasury]]])
    await turn()
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    const [gone] = await listMoves(world.db, purse(), { kind: 'unknown', direction: 'out' }, 10)
    const transaction = gone?.transaction ?? ''
    expect(await mismatches()).toEqual([`out ${transaction} 0 of 1000 was sent by nobody here`])
    // The operator took it, of what it had brought.
    const withdraw = () => withdrawCapital.run(runCtx(), operator, { transaction, place: 0, reason: 'taken out' })
    await expect(withdraw()).rejects.toMatchObject({ code: 'conflict' })
    const donor = await chain.newWallet({ usdc: FIVE, eth: 10n ** 18n })
    const brought = await buyers.transfer(donor, 1_000n)
    await fundTreasury.run(runCtx(), operator, { transaction: brought, reason: 'capital' })
    await withdraw()
    await expect(withdraw()).rejects.toMatchObject({ code: 'conflict' })
    expect(await mismatches()).toEqual([])
    await clearHolds()
    const seller = await world.seller(2_000_000)
    await world.request(seller)
    await world.settle()
    await turn()
    const out = await listMoves(world.db, purse(), { kind: 'payout', direction: 'out' }, 10)
    expect(out).toMatchObject([{ amount: 2_000_000n, party: seller.purse.address.toLowerCase() }])
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })
})

describe('a reconciliation', () => {
  it('names what the books have and the chain has not, and what only the chain has, and stops payouts', async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 250_000n)
    await turn()
    expect(await mismatches()).toEqual([])
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
    const [deposit] = await deposits(buyer)
    const { chainId, asset, treasury } = purse()
    const fake = `0x${'fe'.repeat(32)}`
    await sql`insert into treasury_move (chain_id, asset, treasury, direction, tx_hash, place, block, log_index, party, amount,
      kind, ref) values (${chainId}, ${asset}, ${treasury}, 'in', ${fake}, 0, 1, 0, ${asset}, 9, 'deposit', 'dep_fake')`.execute(
      world.db,
    )
    await sql`insert into deposit (id, account, method, sender, amount, state, chain_id, asset, treasury, tx_hash, block,
        credited_at) select 'dep_ghost', account, method, sender, 8, state, chain_id, asset, treasury, tx_hash, block, now()
      from deposit where id = ${deposit?.id}`.execute(world.db)
    expect(await mismatches()).toEqual([
      expect.stringMatching(/^at block \d+ the treasury has \d+, and its transfers leave \d+$/),
      `in ${fake} 0 of 9 is a deposit, and the books took 0`,
      'dep_ghost of 8 is credited, and did not come',
      expect.stringMatching(/^the books have \d+ deposits, and \d+ transfers are one$/),
    ])
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    expect((await world.breaches()).map((breach) => breach.split(':')[0])).toEqual(['I9', 'I16'])
    // Reads and deposits go on.
    await buyers.transfer(buyer.purse, 50_000n)
    await turn()
    expect(await credits(buyer)).toBe(300_000)
    await sql`alter table treasury_move disable trigger treasury_move_kept`.execute(world.db)
    await sql`alter table deposit disable trigger deposit_kept`.execute(world.db)
    await sql`delete from treasury_move where tx_hash = ${fake}`.execute(world.db)
    await sql`delete from deposit where id = 'dep_ghost'`.execute(world.db)
    await sql`alter table treasury_move enable trigger treasury_move_kept`.execute(world.db)
    await sql`alter table deposit enable trigger deposit_kept`.execute(world.db)
    await clearHolds()
  })

  it('proves nothing while the chain is out of reach, or is another one', async () => {
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
  ])('by %s loses no deposit and credits none twice: %o', async (method, fault) => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 900_000n)
    relay.fault(method, fault)
    await turns(2)
    relay.pass()
    await turns(3)
    expect(await credits(buyer)).toBe(900_000)
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })

  it('and goes on to leave out what explains the balance stops payouts, and reads go on', async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 900_000n)
    relay.fault('eth_getLogs', { kind: 'answer', result: [] })
    await turns(7)
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    relay.pass()
    await buyers.transfer(buyer.purse, 100_000n)
    await turns(2)
    expect(await credits(buyer)).toBe(100_000)
    await reconcileNow.run(runCtx(), operator, { isReread: true })
    await turns(2)
    expect(await credits(buyer)).toBe(1_000_000)
    await clearHolds()
  })
})

describe('a chain that is reorganised', () => {
  it.each([1, 12])('by %i blocks before a deposit is final never credits what is gone', async (blocks) => {
    const deep = world.process({ CHAIN_CONFIRMATIONS: String(blocks + 1) })
    const buyer = await buyers.depositor(FIVE)
    // The wallet's money stays when the blocks are gone.
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

  it('deeper than that credits nothing twice, and stops payouts while money is gone', async () => {
    const buyer = await buyers.depositor(FIVE)
    await chain.mine(3)
    const raw = await rawTransfer(buyer.purse, 600_000n)
    await callChain(chain.rpcUrl, [['eth_sendRawTransaction', [raw]]])
    await turn()
    expect(await credits(buyer)).toBe(600_000)
    await chain.reorganise(2)
    await chain.mine(2)
    await turns(8)
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    // The same transaction in a later block, at another place of it.
    await callChain(chain.rpcUrl, [['eth_sendRawTransaction', [raw]]])
    await turns(8)
    expect(await credits(buyer)).toBe(600_000)
    expect(await deposits(buyer)).toHaveLength(1)
    await clearHolds()
    await turn()
    expect(await findPayoutStop(world.ctx)).toBeUndefined()
  })

  it('below what was proven is read again, so that nothing that came there is lost', async () => {
    const buyer = await buyers.depositor(FIVE)
    await chain.mine(2)
    const goBack = await chain.remember()
    await chain.mine(5)
    await turn()
    await goBack()
    // It is in a block whose number was read, and other blocks follow.
    await buyers.transfer(buyer.purse, 400_000n)
    await chain.mine(6)
    await turns(2)
    expect(await credits(buyer)).toBe(400_000)
    expect([await mismatches(), await findPayoutStop(world.ctx)]).toEqual([[], undefined])
  })
})

describe('a chain that was begun anew under these books', () => {
  it.each([
    ['shorter', 0],
    ['longer', 1_000],
  ])('and is %s moves no money, is named, and the known one goes on by itself', async (_length, blocks) => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 300_000n)
    await turn()
    const way = await buyers.open(buyer, 1_000_000n)
    await buyers.hand(buyer, way.deposit?.id ?? '', await buyers.signatureOf(way, buyer.purse))
    const seller = await world.seller(2_000_000)
    await world.request(seller)
    const other = await startChain()
    const { newWallet } = other
    const anew = depositing({ ...world, chain: other })
    const known = await newWallet({ usdc: FIVE, eth: 10n ** 18n })
    const stranger = { purse: known, user: await buyers.signIn(known) }
    await anew.transfer(known, 800_000n)
    await other.mine(blocks + 1)
    relay.retarget(other.rpcUrl)
    const sent = relay.calls('eth_sendRawTransaction')
    for (let time = 0; time < 3; time++) {
      await turn()
      await moveTransfers(world.ctx)
    }
    expect(relay.calls('eth_sendRawTransaction')).toBe(sent)
    expect([await credits(buyer), await credits(stranger)]).toEqual([300_000, 0])
    expect(await findPayoutStop(world.ctx)).toBe('ledger_check')
    expect(await listPayoutHolds(world.db, true, 1)).toMatchObject([{ reason: 'chain:replaced' }])
    expect(await mismatches()).toEqual([expect.stringMatching(/^the chain is not the one that was read/)])
    expect(await world.breaches()).toEqual([
      expect.stringMatching(/^I9: the chain of 0x\w+ is not the one that was read/),
    ])
    relay.retarget(chain.rpcUrl)
    await other.stop()
    await turns(3)
    expect([await credits(buyer), await credits(stranger)]).toEqual([1_300_000, 0])
    expect([await mismatches(), await world.breaches()]).toEqual([[], []])
    await clearHolds()
    await world.settle()
    await turn()
    expect(await world.books(seller)).toMatchObject({ available: 0, paid: 2_000_000 })
  })

  it('is followed by another treasury, whose books begin there', async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 200_000n)
    await turn()
    const other = await startChain()
    const { address, privateKey } = await other.newWallet({ eth: 10n ** 18n })
    const next = world.process({
      CHAIN_RPC_URL: other.rpcUrl,
      TREASURY_ADDRESS: address,
      TREASURY_PRIVATE_KEY: privateKey,
    })
    await turn(next)
    // The same wallet, with the same nonce and amount as on the chain that is gone.
    await fundWallets(other.rpcUrl, [{ address: buyer.purse.address, usdcMicro: FIVE, wei: 10n ** 18n }])
    await depositing({ ...world, chain: other, treasury: address }).transfer(buyer.purse, 200_000n)
    await turns(2, next)
    expect(await credits(buyer)).toBe(400_000)
    const check = await reconcile({ ...next, moves: requireMoves(next) })
    expect([check.failure, check.mismatches]).toEqual([null, []])
    expect([await mismatches(), await world.breaches()]).toEqual([[], []])
    await other.stop()
  })
})

describe('another chain that an operator accepts', () => {
  const preview = () => readTreasuryChain.run(runCtx(), operator, {})
  const accept = (genesis: string, fromBlock?: number) =>
    acceptChain.run(runCtx(), operator, { genesis, reason: 'the test chain was begun anew', fromBlock })
  /** Money for a wallet on a chain. */
  const fund = (of: OwnChain, address: Hex, usdcMicro = 2n * FIVE) =>
    fundWallets(of.rpcUrl, [{ address, usdcMicro, wei: 10n ** 18n }])
  /** Everything that moves money, some times. */
  const everything = async () => {
    for (let time = 0; time < 3; time++) {
      await moveTransfers(world.ctx)
      await allowing(world).turn()
    }
  }

  it('ends what was under way on the one before, each with a name, and sends nothing of it', async () => {
    const lines = allowing(world)
    const buyer = await buyers.depositor(FIVE)
    const raw = await rawTransfer(buyer.purse, 700_000n)
    await callChain(chain.rpcUrl, [['eth_sendRawTransaction', [raw]]])
    await turn()
    const payer = await lines.payer(FIVE, FIVE)
    await lines.spend(payer, 600_000)
    const paid = await world.seller(2_000_000)
    await world.request(paid)
    await world.settle()
    await turn()
    const deep = world.process({ CHAIN_CONFIRMATIONS: '50' })
    const mined = await world.seller(5_000_000)
    await world.request(mined)
    await moveTransfers(deep)
    // Nothing reaches the chain from here on.
    relay.fault('eth_sendRawTransaction', { kind: 'dropped' })
    const signed = await world.seller(3_000_000)
    await world.request(signed)
    await moveTransfers(deep)
    const own = await world.seller(4_000_000)
    await world.request(own, { selfSubmit: true })
    await lines.turn()
    await lines.turn()
    const way = await buyers.open(buyer, 1_000_000n)
    await buyers.hand(buyer, way.deposit?.id ?? '', await buyers.signatureOf(way, buyer.purse))
    await turn()
    await buyers.transfer(buyer.purse, 50_000n)
    await readMoves({ ...world.ctx, moves: requireMoves(world.ctx) })
    const stateOf = async (seller: TestSeller) => (await world.payouts(seller))[0]?.state
    expect(await Promise.all([paid, signed, own, mined].map(stateOf))).toEqual(['paid', 'signed', 'signed', 'mined'])
    const known = await preview()
    expect(known.isReplaced).toBe(false)
    await expect(accept(known.genesis)).rejects.toMatchObject({ code: 'conflict' })
    relay.pass()

    last = await startChain()
    await fund(last, world.treasury, 20n * FIVE)
    relay.retarget(last.rpcUrl)
    const sent = relay.calls('eth_sendRawTransaction')
    const found = await preview()
    await expect(accept(found.genesis)).rejects.toMatchObject({ code: 'conflict' })
    await turn()
    await expect(accept(known.genesis)).rejects.toMatchObject({ code: 'conflict' })
    // A signature for the chain before moves money on this one as well, until it has run out.
    expect(found.signedUntil).toBeGreaterThan(found.headAt)
    await expect(accept(found.genesis)).rejects.toMatchObject({
      detail: { signedUntil: expect.any(Number) },
      code: 'conflict',
    })
    const seconds = Math.ceil(((found.signedUntil ?? 0) - found.headAt) / 1_000) + 2
    await callChain(last.rpcUrl, [['evm_increaseTime', [seconds]]])
    await last.mine()
    const shown = await preview()
    expect(shown).toMatchObject({ isReplaced: true, era: 0, signedUntil: null, balanceMicro: (20n * FIVE).toString() })
    expect(
      Object.fromEntries(shown.underWay.map(({ what, count, amountMicro }) => [what, [count, amountMicro]])),
    ).toEqual({
      payout: [3, '12000000'],
      draw: [1, '600000'],
      deposit: [1, '1000000'],
      transfer: expect.anything(),
    })
    expect(await accept(found.genesis)).toMatchObject({ era: 1, returned: 3, followed: 0 })
    await expect(accept(found.genesis)).rejects.toMatchObject({ code: 'conflict' })

    expect(await Promise.all([paid, signed, own, mined].map(stateOf))).toEqual([
      'paid',
      ...['returned', 'returned', 'returned'],
    ])
    expect((await world.payouts(signed))[0]).toMatchObject({ reason: 'chain_replaced', transaction: null })
    expect(await world.books(mined)).toMatchObject({ available: 5_000_000, inFlight: 0, paid: 0 })
    expect(await listDraws(world.db, payer.user.buyerAccount, 1)).toMatchObject([
      { state: 'failed', reason: 'chain_replaced' },
    ])
    expect(owedOf(await lines.line(payer))).toBe(600_000n)
    expect((await deposits(buyer)).find(({ id }) => id === way.deposit?.id)).toMatchObject({
      ...{ state: 'refused', reason: 'chain_replaced' },
    })
    const lost = await listMoves(world.db, purse(), { kind: 'unknown', direction: 'in' }, 500)
    expect(lost.filter(({ party }) => party === buyer.purse.address.toLowerCase())).toMatchObject([
      { amount: 50_000n, reason: 'chain_replaced' },
    ])
    expect(await credits(buyer)).toBe(700_000)
    // A person clears the hold. Until then nothing leaves, and nothing old does ever.
    expect(await listPayoutHolds(world.db, true, 5)).toMatchObject([{ reason: 'chain:replaced' }])
    await everything()
    expect(relay.calls('eth_sendRawTransaction')).toBe(sent)
    expect([await mismatches(), await world.breaches()]).toEqual([[], []])
    // The same signed bytes bring tokens on both chains, and are credited on both.
    await fund(last, buyer.purse.address)
    await callChain(last.rpcUrl, [['eth_sendRawTransaction', [raw]]])
    await turns(2)
    expect(await credits(buyer)).toBe(1_400_000)
  })

  it('is read from there, pays sellers, and takes what wallets owe', async () => {
    const [chainNow, lines] = [last, allowing(world)]
    if (chainNow === undefined) throw new Error('no chain')
    await clearHolds()
    const buyer = await buyers.depositor(FIVE)
    await fund(chainNow, buyer.purse.address)
    const there = depositing({ ...world, chain: chainNow })
    await there.transfer(buyer.purse, 100_000n)
    await turn()
    expect(await credits(buyer)).toBe(100_000)
    const seller = await world.seller(3_000_000)
    await world.request(seller)
    await world.settle()
    await turn()
    expect(await chainNow.usdcBalance(seller.purse.address)).toBe(3_000_000n)
    const payer = await lines.buyers.depositor(FIVE, 0n)
    await fund(chainNow, payer.purse.address)
    await lines.sign(payer, await lines.open(payer, 2_000_000n))
    await lines.untilTurned('credit is advanced', async () => (await lines.line(payer)).advanced > 0n)
    await lines.spend(payer, 600_000)
    await lines.untilTurned('the wallet has paid', async () => {
      const [draw] = await listDraws(world.db, payer.user.buyerAccount, 1)
      return draw?.state === 'settled'
    })
    expect(await chainNow.usdcBalance(payer.purse.address)).toBe(2n * FIVE - 600_000n)
    expect([await mismatches(), await world.breaches(), await findPayoutStop(world.ctx)]).toEqual([[], [], undefined])
    // The one before is another chain from here on.
    relay.retarget(chain.rpcUrl)
    await turn()
    expect((await preview()).isReplaced).toBe(true)
    relay.retarget(chainNow.rpcUrl)
    await turn()
    await clearHolds()
  })
})
