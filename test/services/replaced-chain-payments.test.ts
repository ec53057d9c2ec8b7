import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { changeCursor, insertCursor } from '#control-plane/db/treasury-moves.ts'
import { finishOpenPayments } from '#control-plane/services/payments/finish-payments.ts'
import { readPaymentTerms } from '#control-plane/services/payments/payment-terms.ts'
import { chainIdOf } from '#shared/contract/chain-payments.ts'
import type { PaymentWorld, RelayedPayments, Scheme } from '#test/support/books/payments.ts'
import { PAID_CALL, startRelayedPayments } from '#test/support/books/payments.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import type { RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { until } from '#test/support/run/until.ts'

const { price: PRICE, charge: CHARGE } = PAID_CALL
let chain: OwnChain
let relay: RpcRelay
let world: PaymentWorld
let claimed: RelayedPayments['claimed']
let spent: RelayedPayments['spent']
let stop: RelayedPayments['stop']

beforeAll(async () => {
  ;({ chain, relay, world, claimed, spent, stop } = await startRelayedPayments(4))
})
afterEach(() => relay.pass())
afterAll(() => stop())

const owed = (scheme: Scheme) => (scheme === 'upto' ? CHARGE : PRICE)

/** The treasury's money according to the books of its transfers. */
function purse() {
  const { network, asset, payTo } = world.ctx.payments
  return { chainId: chainIdOf(network), asset: asset.toLowerCase(), treasury: payTo.toLowerCase() }
}

describe('a restarted chain', () => {
  it("gets no transaction of the previous chain, and proves nothing about that chain's payments", async () => {
    const { chainId, asset, treasury } = purse()
    const first = await chain.publicClient.getBlock({ blockNumber: 0n })
    await insertCursor(world.db, { chainId, asset, treasury }, { firstBlock: 1n, opening: 0n })
    const anchor = { block: 0n, hash: first.hash }
    await transact(world.db, (trx) => changeCursor(trx, { chainId, asset, treasury }, { anchor }))
    const [sent, mined, due] = [await claimed('exact'), await claimed('upto'), await claimed('exact')]
    expect(await world.settle(mined.rid, CHARGE)).toMatchObject({ state: 'settled' })
    relay.fault('eth_sendRawTransaction', { kind: 'dropped' })
    const before = relay.calls('eth_sendRawTransaction')
    expect(await world.settle(sent.rid, CHARGE, { waitMs: 300 })).toMatchObject({ state: 'pending' })
    await until('the transaction is on its way', 10_000, () => relay.calls('eth_sendRawTransaction') > before)
    relay.pass()
    const other = await startChain()
    await other.mine(10)
    relay.retarget(other.rpcUrl)
    const count = relay.calls('eth_sendRawTransaction')
    // A transaction older than a check would count as forgotten, and be sent again.
    await sql`update chain_transaction set mined_at = mined_at - interval '1 minute'`.execute(world.db)
    expect(await world.settle(due.rid, CHARGE, { waitMs: 300 })).toMatchObject({ state: 'pending' })
    for (const ctx of [world.ctx, world.process()]) await finishOpenPayments(ctx)
    expect(await readPaymentTerms(world.process())).toMatchObject({ isOpen: false, closedFor: 'chain_unreachable' })
    expect(relay.calls('eth_sendRawTransaction')).toBe(count)
    expect([(await world.row(mined.rid)).state, (await world.row(due.rid)).state]).toEqual(['mined', 'due'])
    relay.retarget(chain.rpcUrl)
    await other.stop()
    await until('all transactions are mined', 20_000, async () => {
      await finishOpenPayments(world.ctx)
      const states = await Promise.all([sent, mined, due].map(async ({ rid }) => (await world.row(rid)).state))
      return states.every((state) => state === 'mined')
    })
    await chain.mine(4)
    for (const [payment, scheme] of [
      [sent, 'exact'],
      [mined, 'upto'],
      [due, 'exact'],
    ] as const) {
      expect(await world.booked(payment.rid)).toMatchObject({ state: 'confirmed', due: owed(scheme) })
      expect(await spent(payment)).toBe(owed(scheme))
    }
  })
})

describe('a payment whose block is gone', () => {
  it.each(['exact', 'upto'] as const)('still counts against the money of its payer: %s', async (scheme) => {
    const { rid, wallet } = await claimed(scheme, { usdc: PRICE })
    await chain.mine()
    expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'settled' })
    await chain.reorganise(1)
    expect([await chain.usdcBalance(wallet.address), (await world.row(rid)).state]).toEqual([PRICE, 'mined'])
    const second = await world.sign(wallet, 'exact', PRICE)
    expect(await world.claim(second)).toEqual({ state: 'refused', reason: 'insufficient_funds' })
    await until('the payment is mined again', 30_000, async () => {
      await finishOpenPayments(world.ctx)
      return (await chain.usdcBalance(wallet.address)) < PRICE
    })
    await chain.mine(4)
    expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', came: owed(scheme) })
  })
})
