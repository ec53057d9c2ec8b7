import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PaymentWorld } from '#test/support/books/payments.ts'
import { startPayments } from '#test/support/books/payments.ts'
import type { TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { sendAsStranger } from '#test/support/chain/wallet-client.ts'

const RICH = { usdc: 10_000_000n }
const PRICE = 20_000n
let chain: TestChain
let world: PaymentWorld

beforeAll(async () => {
  chain = await chainOf()
  world = await startPayments(chain)
})
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
})

describe('a payment by upto', () => {
  it.each([
    ['by a permit', false],
    ['by an allowance', true],
  ])('%s is taken while its payer can pay the charge, even if not the whole signed amount', async (_how, approves) => {
    const wallet = await chain.newWallet({ usdc: 30_000n, ...(approves && { eth: 10n ** 18n }) })
    if (approves) await chain.approvePermit2(wallet)
    const rid = await world.claimed(await world.sign(wallet, 'upto', PRICE, !approves))
    await sendAsStranger(chain, (await world.sign(wallet, 'exact', 22_000n)).payload)
    expect(await world.settle(rid, 8_000n)).toMatchObject({ state: 'settled', amountMicro: 8_000n })
    expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', came: 8_000n })
    expect(await chain.usdcBalance(wallet.address)).toBe(0n)
  })

  it('is written off when its payer cannot pay the charge', async () => {
    const wallet = await chain.newWallet({ usdc: 30_000n })
    const rid = await world.claimed(await world.sign(wallet, 'upto', PRICE))
    await sendAsStranger(chain, (await world.sign(wallet, 'exact', 22_001n)).payload)
    const reason = 'permit2_insufficient_balance'
    expect(await world.settle(rid, 8_000n)).toMatchObject({ state: 'failed', reason })
    expect(await world.booked(rid)).toMatchObject({ state: 'written_off', charge: 8_000n })
  })
})

describe('a claim by upto', () => {
  it('by a permit must be the only open one, because the token accepts one permit of a nonce', async () => {
    const wallet = await chain.newWallet(RICH)
    const refused = { state: 'refused', reason: 'permit2_allowance_required' }
    const [first, second] = [await world.sign(wallet, 'upto', PRICE), await world.sign(wallet, 'upto', PRICE)]
    // A client that reads the chain would not sign this: the payment relies on an allowance that does not exist.
    const third = await world.sign(wallet, 'upto', PRICE, false)
    const rid = await world.claimed(first)
    expect([await world.claim(second), await world.claim(third)]).toEqual([refused, refused])
    // Other authorizations are unaffected.
    await world.release(await world.claimed(await world.sign(wallet, 'exact', PRICE)))
    expect(await world.settle(rid, 7_321n)).toMatchObject({ state: 'settled' })
    // The second permit is void now, and the allowance that the first one left is less than the second amount. The
    // facilitator may have read the allowance just before that.
    const { payments } = world.ctx
    const verify = async () => ({ isValid: true, payer: wallet.address }) as const
    const late = { ...world.ctx, payments: { ...payments, facilitator: { ...payments.facilitator, verify } } }
    expect([await world.claim(second), await world.claim(second, {}, late)]).toEqual([refused, refused])
    const next = await world.claimed(await world.sign(wallet, 'upto', PRICE))
    expect(await world.settle(next, 9_000n)).toMatchObject({ state: 'settled' })
    expect(await world.booked(next)).toMatchObject({ state: 'confirmed', came: 9_000n })
  })

  it('by an allowance waits for one by a permit, which replaces the allowance', async () => {
    const wallet = await chain.newWallet({ ...RICH, eth: 10n ** 18n })
    const byPermit = await world.sign(wallet, 'upto', PRICE)
    await chain.approvePermit2(wallet)
    const rid = await world.claimed(byPermit)
    const signed = await world.sign(wallet, 'upto', PRICE, false)
    expect(await world.claim(signed)).toEqual({ state: 'refused', reason: 'permit2_allowance_required' })
    await world.release(rid)
    expect(await world.settle(await world.claimed(signed), 7_000n)).toMatchObject({ state: 'settled' })
  })

  it('by an allowance counts all open payments against it, and refuses a permit beside them', async () => {
    const wallet = await chain.newWallet({ ...RICH, eth: 10n ** 18n })
    await chain.approvePermit2(wallet, 50_000n)
    const refused = { state: 'refused', reason: 'permit2_allowance_required' }
    const sign = (amount: bigint) => world.sign(wallet, 'upto', amount, false)
    const open = [await world.claimed(await sign(PRICE)), await world.claimed(await sign(PRICE))]
    expect(await world.claim(await sign(10_001n))).toEqual(refused)
    // The stock client adds a permit where the allowance is less than the price, and the permit would replace the
    // allowance.
    expect(await world.claim(await world.sign(wallet, 'upto', 60_000n))).toEqual(refused)
    open.push(await world.claimed(await sign(10_000n)))
    for (const rid of open) expect(await world.settle(rid, 10_000n)).toMatchObject({ state: 'settled' })
    for (const rid of open) expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', came: 10_000n })
    const both = await Promise.all([sign(PRICE), sign(PRICE)])
    const answers = await Promise.all(both.map((signed) => world.claim(signed)))
    expect(answers).toContainEqual(refused)
    expect(answers).toContainEqual(expect.objectContaining({ state: 'claimed' }))
  })
})
