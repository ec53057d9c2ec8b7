import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ChainWallet, OwnChain } from '#test/support/chain.ts'
import { startChain } from '#test/support/chain.ts'
import { ids } from '#test/support/gate.ts'
import type { PaymentWorld, Scheme, Signed } from '#test/support/payments.ts'
import { startPayments } from '#test/support/payments.ts'
import { until } from '#test/support/until.ts'
import { eventText } from '#test/support/usage-events.ts'

const RICH = { usdc: 1_000_000n }
const PRICE = 20_000n
const CHARGE = 7_321n
const SELLER_NET = 6_954n

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

type Lost = { readonly rid: string; readonly account: string; readonly event: string; readonly wallet: ChainWallet }

/** A call whose claim and account the ledger lost, as the journal has it. */
async function lost(
  scheme: Scheme,
  { hasClaim = true, signed }: { hasClaim?: boolean; signed?: Signed } = {},
): Promise<Lost> {
  const wallet = await chain.newWallet(RICH)
  const { payload, requirement } = signed ?? (await world.sign(wallet, scheme, PRICE))
  const [rid, account] = [ids.ulid(), ids.make('acc')]
  const claim = {
    amountMicro: String(PRICE),
    bodyDigest: 'cd'.repeat(32),
    payload,
    requirement,
    serveUntil: Date.now(),
  }
  const event = eventText(
    { rid, account, sellerAccount: world.seller, charge: Number(CHARGE), hold: Number(PRICE) },
    {
      ...{ rail: `x402-${scheme}`, keyId: null, wallet: wallet.address.toLowerCase() },
      payment: { network: requirement.network, scheme, ...(hasClaim ? { claim } : {}) },
    },
  )
  return { rid, account, event, wallet }
}

describe('a claim that the ledger lost', () => {
  it.each(['exact', 'upto'] as const)('is made again from the journal, settled and booked once: %s', async (scheme) => {
    const { rid, account, event, wallet } = await lost(scheme)
    const answers = await Promise.all([1, 2].map(() => world.settle(rid, CHARGE, { event }).catch(() => undefined)))
    expect(answers.map((answer) => answer?.state)).toContain('settled')
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject({ state: 'settled' })
    expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', charge: CHARGE, account, event })
    expect((await world.entries(rid))[world.seller]).toBe(SELLER_NET)
    const taken = scheme === 'upto' ? CHARGE : PRICE
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n - taken)
    expect(await world.credit(wallet)).toBe(taken - CHARGE)
  })

  it('of a wallet that has another account since is told to whoever repeats it', async () => {
    const { rid, account, event, wallet } = await lost('upto')
    const other = await world.claimed(await world.sign(wallet, 'upto', PRICE))
    expect((await world.row(other)).account).not.toBe(account)
    await world.release(other)
    const settled = { state: 'settled', amountMicro: CHARGE }
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject(settled)
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject(settled)
    expect(await world.booked(rid)).toMatchObject({ account: (await world.row(other)).account, charge: CHARGE })
    expect(await world.db.selectFrom('usage_conflict').select('rid').where('rid', '=', rid).execute()).toEqual([])
    // The heir of a dead process tells another charge, under the account of before as well.
    const heirs = eventText(
      { rid, account, sellerAccount: world.seller, charge: 5_000, hold: Number(PRICE) },
      { rail: 'x402-upto', keyId: null, wallet: wallet.address.toLowerCase() },
    )
    expect(await world.settle(rid, 5_000n, { event: heirs })).toMatchObject(settled)
  })

  it('is not made again where another call has claimed the authorization since, and ends', async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', PRICE)
    await world.claimed(signed)
    const { rid, event } = await lost('exact', { signed })
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject({ state: 'failed', reason: 'claim_lost' })
  })

  it('that the journal does not have ends with its event set aside', async () => {
    const { rid, event } = await lost('upto', { hasClaim: false })
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject({ state: 'failed', reason: 'claim_lost' })
    const rows = await world.db.selectFrom('usage_poison').select('reason').where('rid', '=', rid).execute()
    expect(rows).toEqual([{ reason: 'claim_lost' }])
  })

  it('keeps others from their claim until the nodes have told what they had', async () => {
    await world.gate.stopRebuilder()
    await world.gate.ledger.markRestored(Date.now())
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', PRICE)
    expect(await world.claim(signed)).toMatchObject({ state: 'closed', reason: 'ledger_restored' })
    world.gate.startRebuilder()
    await until('a claim is taken', 30_000, async () => (await world.claim(signed)).state === 'claimed')
  })
})
