import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sumAccount } from '#control-plane/db/ledger.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { ids } from '#test/support/books/gate.ts'
import type { PayoutWorld, TestSeller } from '#test/support/books/payouts.ts'
import { setTreasury, startPayouts } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'

const RICH = 10_000_000_000n
const FIVE = 5_000_000n
let chain: OwnChain
let world: PayoutWorld

beforeAll(async () => {
  chain = await startChain()
  world = await startPayouts(chain)
})
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

const received = ({ purse }: TestSeller) => chain.usdcBalance(purse.address)

/** Books that the operator paid an amount out in other money, so that the treasury holds more than the books need. */
async function payInFiat(amount: bigint): Promise<void> {
  const id = ids.ulid()
  const entries = [
    { account: PLATFORM_ACCOUNTS.externalUsdc, amount },
    { account: PLATFORM_ACCOUNTS.externalFiat, amount: -amount },
  ]
  const head = { id, key: `deposit:test:${id}`, kind: 'deposit' } as const
  await world.gate.ledger.transact((trx) => postTransaction(trx, { ...head, entries }))
}

describe('a payout without cover', () => {
  it('waits for a refill, and pays as much as the treasury has meanwhile', async () => {
    const [large, small] = [await world.seller(9_000_000), await world.seller(1_100_000)]
    await setTreasury(world, 2_000_000n)
    await drainBalances(world.ctx, { isForced: true })
    for (let turn = 0; turn < 4; turn++) await moveTransfers(world.ctx)
    expect([await received(large), await received(small)]).toEqual([0n, 1_100_000n])
    expect(await world.payouts(large)).toMatchObject([{ state: 'scheduled', reason: 'treasury_low' }])
    await setTreasury(world, RICH)
    await world.settle()
    expect(await received(large)).toBe(9_000_000n)
  })

  it('waits while unbooked payouts take the whole booked balance of the treasury', async () => {
    const inTokens = -(await sumAccount(world.db, PLATFORM_ACCOUNTS.externalUsdc))
    await payInFiat(inTokens - FIVE)
    const [first, second] = [await world.seller(4_000_000), await world.seller(4_000_000)]
    await world.request(first)
    await chain.mining('off')
    await moveTransfers(world.ctx)
    await world.request(second)
    await moveTransfers(world.ctx)
    await chain.mining('automatic')
    // The first payout is in a block, and not final enough to be booked.
    const deep = world.process({ CHAIN_CONFIRMATIONS: '50' })
    await moveTransfers(deep)
    expect(await world.payouts(first)).toMatchObject([{ state: 'mined' }])
    expect(await world.payouts(second)).toMatchObject([{ state: 'scheduled', reason: 'treasury_low' }])
    await payInFiat(FIVE - inTokens)
    await world.settle()
    expect([await received(first), await received(second)]).toEqual([4_000_000n, 4_000_000n])
  })
})
