import type { Hex } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listDraws } from '#control-plane/db/allowance-draws.ts'
import { transact } from '#control-plane/db/database.ts'
import { listPayoutHolds } from '#control-plane/db/payout-holds.ts'
import { listMoves } from '#control-plane/db/treasury-moves.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { owedOf } from '#control-plane/services/allowances/weigh-line.ts'
import { acceptChain } from '#control-plane/services/deposits/accept-chain.ts'
import { requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { readMoves } from '#control-plane/services/deposits/read-moves.ts'
import { reconcile } from '#control-plane/services/deposits/reconcile.ts'
import { readTreasuryChain } from '#control-plane/services/deposits/replaced-chain.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { fundWallets } from '#dev/chain/fund-wallets.ts'
import { allowing } from '#test/support/books/allowances.ts'
import type { Depositor } from '#test/support/books/deposits.ts'
import { depositing, OPERATOR } from '#test/support/books/deposits.ts'
import type { PayoutWorld, TestSeller } from '#test/support/books/payouts.ts'
import { startPayouts } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import type { RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'
import { until } from '#test/support/run/until.ts'

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
})
afterEach(() => relay.pass())
afterAll(async () => {
  expect(await buyers.mismatches()).toEqual([])
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await relay.close()
  await Promise.all([chain.stop(), last?.stop()])
})

const turn = (ctx = world.ctx) => buyers.turn(ctx)
const turns = (count: number, ctx = world.ctx) => buyers.turns(count, ctx)
const credits = (buyer: Depositor) => buyers.credit(buyer)
/** The audit's note of the last change. */
let told: unknown
const change: RunCtx['change'] = (run, tell) =>
  transact(world.db, async (trx) => {
    const done = await run(trx)
    told = await tell(done, trx)
    return done
  })
const runCtx = () => ({ ...world.ctx, change }) as RunCtx

describe('a chain that was restarted under these books', () => {
  it.each([
    ['shorter', 0],
    ['longer', 1_000],
  ])('and is now %s moves no money, is named, and leaves the way back to the known chain', async (_length, blocks) => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 300_000n)
    await turn()
    const way = await buyers.open(buyer, 1_000_000n)
    await buyers.hand(buyer, way.deposit?.id ?? '', await buyers.signatureOf(way, buyer.purse))
    const seller = await world.seller(2_000_000)
    await world.request(seller)
    // The payout is signed, and no transaction has it yet.
    relay.fault('eth_getTransactionCount', { kind: 'down' })
    await moveTransfers(world.ctx)
    relay.pass()
    expect(await world.payouts(seller)).toMatchObject([{ state: 'signed', transaction: null }])
    const other = await startChain()
    await fundWallets(other.rpcUrl, [{ address: world.treasury, usdcMicro: FIVE, wei: 10n ** 18n }])
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
    expect(await buyers.mismatches()).toEqual([expect.stringMatching(/^the chain is not the one that was read/)])
    expect(await world.breaches()).toEqual([
      expect.stringMatching(/^I9: the chain of 0x\w+ is not the one that was read/),
    ])
    relay.retarget(chain.rpcUrl)
    await other.stop()
    await turns(3)
    expect([await credits(buyer), await credits(stranger)]).toEqual([1_300_000, 0])
    expect([await buyers.mismatches(), await world.breaches()]).toEqual([[], []])
    await buyers.clearHolds()
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
    // The same wallet, with the same nonce and amount as on the lost chain.
    await fundWallets(other.rpcUrl, [{ address: buyer.purse.address, usdcMicro: FIVE, wei: 10n ** 18n }])
    await depositing({ ...world, chain: other, treasury: address }).transfer(buyer.purse, 200_000n)
    await turns(2, next)
    expect(await credits(buyer)).toBe(400_000)
    const check = await reconcile({ ...next, moves: requireMoves(next) })
    expect([check.failure, check.mismatches]).toEqual([null, []])
    expect([await buyers.mismatches(), await world.breaches()]).toEqual([[], []])
    await other.stop()
  })
})

describe('another chain that an operator accepts', () => {
  const preview = () => readTreasuryChain.run(runCtx(), OPERATOR, {})
  const accept = (genesis: string, fromBlock?: number) =>
    acceptChain.run(runCtx(), OPERATOR, { genesis, reason: 'the test chain was begun anew', fromBlock })
  /** Money for a wallet on a chain. */
  const fund = (of: OwnChain, address: Hex, usdcMicro = 2n * FIVE) =>
    fundWallets(of.rpcUrl, [{ address, usdcMicro, wei: 10n ** 18n }])
  /** Runs every worker that moves money, some times. */
  const everything = async () => {
    for (let time = 0; time < 3; time++) {
      await moveTransfers(world.ctx)
      await allowing(world).turn()
    }
  }

  it('ends open movements on the previous chain, each with a name, and sends none of them', async () => {
    const lines = allowing(world)
    const buyer = await buyers.depositor(FIVE)
    const raw = await buyers.rawTransfer(buyer.purse, 700_000n)
    await chain.send(raw)
    await turn()
    const saver = await buyers.depositor(FIVE, 0n)
    const saved = await buyers.open(saver, 1_100_000n)
    const authorization = await buyers.signatureOf(saved, saver.purse)
    await buyers.submit(saver.purse, saved, authorization, buyer.purse)
    await turn()
    const payer = await lines.payer(FIVE, FIVE)
    await lines.spend(payer, 600_000)
    const paid = await world.seller(2_000_000)
    await world.request(paid)
    await world.settle()
    await turn()
    const deep = world.process({ CHAIN_CONFIRMATIONS: '50' })
    const stateOf = async (seller: TestSeller) => (await world.payouts(seller))[0]?.state
    const mined = await world.seller(5_000_000)
    await world.request(mined)
    // A busy machine may need more turns until the receipt is there.
    await until('the transfer is mined', 30_000, async () => {
      await moveTransfers(deep)
      return (await stateOf(mined)) === 'mined'
    })
    // From here on, no transaction reaches the chain.
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
    // A signature for the previous chain also moves money on this one, until it has expired.
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
    expect(told).toMatchObject({
      subject: world.treasury.toLowerCase(),
      before: { underWay: expect.arrayContaining([expect.objectContaining({ what: 'payout', count: 3 })]) },
      after: { reason: 'the test chain was begun anew', genesis: found.genesis, returned: 3 },
    })
    await expect(accept(found.genesis)).rejects.toMatchObject({ code: 'conflict' })

    expect(await Promise.all([paid, signed, own, mined].map(stateOf))).toEqual([
      'paid',
      'returned',
      'returned',
      'returned',
    ])
    expect((await world.payouts(signed))[0]).toMatchObject({ reason: 'chain_replaced', transaction: null })
    expect(await world.books(mined)).toMatchObject({ available: 5_000_000, inFlight: 0, paid: 0 })
    expect(await listDraws(world.db, payer.user.buyerAccount, 1)).toMatchObject([
      { state: 'failed', reason: 'chain_replaced' },
    ])
    expect(owedOf(await lines.line(payer))).toBe(600_000n)
    expect((await buyers.deposits(buyer)).find(({ id }) => id === way.deposit?.id)).toMatchObject({
      state: 'refused',
      reason: 'chain_replaced',
    })
    const lost = await listMoves(world.db, buyers.purse(), { kind: 'unknown', direction: 'in' }, 500)
    expect(lost.filter(({ party }) => party === buyer.purse.address.toLowerCase())).toMatchObject([
      { amount: 50_000n, reason: 'chain_replaced' },
    ])
    expect(await credits(buyer)).toBe(700_000)
    // A person clears the hold. Until then no payout leaves, and no old one ever does.
    expect(await listPayoutHolds(world.db, true, 5)).toMatchObject([{ reason: 'chain:replaced' }])
    await everything()
    expect(relay.calls('eth_sendRawTransaction')).toBe(sent)
    expect([await buyers.mismatches(), await world.breaches()]).toEqual([[], []])
    // The same signed bytes move tokens on both chains, and are credited on both.
    await fund(last, buyer.purse.address)
    await last.send(raw)
    await turns(2)
    expect(await credits(buyer)).toBe(1_400_000)
    // The same holds for an authorization: it stays the deposit that it was, and is a transfer here.
    const before = await buyers.deposits(saver)
    await fund(last, saver.purse.address)
    const there = depositing({ ...world, chain: last })
    await there.submit(saver.purse, saved, authorization, buyer.purse)
    await turns(2)
    expect(await credits(saver)).toBe(2_200_000)
    expect(await buyers.deposits(saver)).toEqual([
      expect.objectContaining({ method: 'transfer', state: 'credited', amount: 1_100_000n }),
      ...before,
    ])
  })

  it("is read from there, pays sellers, and takes the wallets' debts", async () => {
    const [chainNow, lines] = [last, allowing(world)]
    if (chainNow === undefined) throw new Error('there is no chain')
    await buyers.clearHolds()
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
    expect([await buyers.mismatches(), await world.breaches(), await findPayoutStop(world.ctx)]).toEqual([
      [],
      [],
      undefined,
    ])
    // The previous chain counts as another chain from here on.
    relay.retarget(chain.rpcUrl)
    await turn()
    expect((await preview()).isReplaced).toBe(true)
    relay.retarget(chainNow.rpcUrl)
    await turn()
    await buyers.clearHolds()
  })
})
