import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listDebtors } from '#control-plane/db/payment-desk.ts'
import { finishOpenPayments } from '#control-plane/services/payments/finish-payments.ts'
import { readPaymentTerms } from '#control-plane/services/payments/payment-terms.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { SECOND } from '#shared/clock.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { PaymentWorld, Scheme } from '#test/support/books/payments.ts'
import { startPayments } from '#test/support/books/payments.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import type { Lie, StockFacilitator } from '#test/support/chain/stock-facilitator.ts'
import { stockFacilitator } from '#test/support/chain/stock-facilitator.ts'
import { until } from '#test/support/run/until.ts'

const RICH = 1_000_000n
const PRICE = 20_000n
const CHARGE = 7_321n
const SCHEMES = ['exact', 'upto'] as const
let chain: OwnChain
let facilitator: StockFacilitator
let world: PaymentWorld

beforeAll(async () => {
  chain = await startChain()
  facilitator = await stockFacilitator(chain)
  // The market has an endpoint of the chain, so it checks the facilitator’s statements there.
  world = await startPayments(chain, { FACILITATOR_URL: facilitator.url, CHAIN_CONFIRMATIONS: '2' })
})
afterEach(() => facilitator.honest())
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await facilitator.close()
  await chain.stop()
})

const dueOf = (scheme: Scheme) => (scheme === 'upto' ? CHARGE : PRICE)
const spent = async ({ address }: ChainWallet) => RICH - (await chain.usdcBalance(address))

async function claimed(scheme: Scheme, wallet?: ChainWallet) {
  const payer = wallet ?? (await chain.newWallet({ usdc: RICH }))
  return { payer, rid: await world.claimed(await world.sign(payer, scheme, PRICE)) }
}

/** Runs a turn of the worker after as many blocks as a transfer needs. */
async function turn(): Promise<void> {
  await chain.mine(2)
  await finishOpenPayments(world.ctx)
}

/** Runs turns of the worker until the payment's transfer is final and booked. */
async function settled(rid: string) {
  await until('the payment is mined', 10_000, async () => {
    await finishOpenPayments(world.ctx)
    return (await world.row(rid)).state !== 'due'
  })
  await chain.mine(2)
  return world.booked(rid)
}

/** Checks for one transfer of the amount that the payment owes, and the same amount in the books. */
async function endsPaid({ payer, rid }: { payer: ChainWallet; rid: string }, scheme: Scheme): Promise<void> {
  expect(await settled(rid)).toMatchObject({ state: 'confirmed', due: dueOf(scheme), charge: CHARGE })
  expect(await spent(payer)).toBe(dueOf(scheme))
  expect((await world.entries(rid))[world.seller]).toBe(6_954n)
}

describe('a facilitator of a third party', () => {
  it.each(SCHEMES)('verifies and settles by %s, and the books agree', async (scheme) => {
    expect(await readPaymentTerms(world.ctx)).toMatchObject({ isOpen: true })
    const payment = await claimed(scheme)
    expect(await world.settle(payment.rid, CHARGE)).toMatchObject({ state: 'settled', amountMicro: dueOf(scheme) })
    await endsPaid(payment, scheme)
    expect(await world.credit(payment.payer)).toBe(dueOf(scheme) - CHARGE)
  })

  it('refuses a payment with its own reason, also with a 4xx status', async () => {
    const poor = await chain.newWallet({ usdc: 1n })
    expect(await world.claim(await world.sign(poor, 'exact', PRICE))).toMatchObject({ state: 'refused' })
    const body = JSON.stringify({ isValid: false, invalidReason: 'not_today' })
    facilitator.lie('/verify', { status: 400, body })
    const payer = await chain.newWallet({ usdc: RICH })
    expect(await world.claim(await world.sign(payer, 'exact', PRICE))).toEqual({
      state: 'refused',
      reason: 'not_today',
    })
  })
})

const NONSENSE: readonly (readonly [string, Lie])[] = [
  ['a page', { type: 'text/html', body: '<html><body>welcome</body></html>' }],
  ['5 MB', { body: JSON.stringify({ success: true, text: 'x'.repeat(5_000_000) }) }],
  ['half a reply', { body: '{"success":tr' }],
  ['status 500', { status: 500, body: '{"success":false,"errorReason":"db"}' }],
  ['a redirect', { status: 302, location: 'http://127.0.0.1:1/', body: '' }],
  ['an empty object', { body: '{}' }],
  ['a success of nothing', { body: '{"success":true,"transaction":"","network":"eip155:8453","payer":"0x0"}' }],
  ['a success of no hash', { body: '{"success":true,"transaction":"0xdone","network":"eip155:8453"}' }],
]

describe('the terms', () => {
  it('are asked for anew when nobody has asked for longer than an answer counts', async () => {
    const fresh = world.process()
    expect(await readPaymentTerms(fresh)).toMatchObject({ isOpen: true })
    const later = { ...fresh, clock: { ...fresh.clock, monotonic: () => fresh.clock.monotonic() + 600_000 } }
    expect(await readPaymentTerms(later)).toMatchObject({ isOpen: true })
  })
})

describe('a facilitator with nonsensical answers', () => {
  it.each(NONSENSE)(
    'leaves a charge pending after %s, and the charge is taken once when the facilitator is honest',
    async (_what, lie) => {
      const payment = await claimed('upto')
      facilitator.lie('/settle', lie)
      expect(await world.settle(payment.rid, CHARGE, { waitMs: 300 })).toMatchObject({ state: 'pending' })
      await finishOpenPayments(world.ctx)
      expect(await world.row(payment.rid)).toMatchObject({ state: 'due', transaction: null })
      facilitator.honest()
      await endsPaid(payment, 'upto')
    },
  )

  it.each(NONSENSE)('creates no claim by the verdict %s', async (_what, lie) => {
    const payer = await chain.newWallet({ usdc: RICH })
    const signed = await world.sign(payer, 'exact', PRICE)
    facilitator.lie('/verify', lie)
    expect(await world.claim(signed)).toMatchObject({ state: 'closed', reason: 'chain_unreachable' })
    facilitator.honest()
    expect(await world.claim(signed)).toMatchObject({ state: 'claimed' })
  })

  it('keeps no call waiting longer than its limit when it is silent', async () => {
    const payer = await chain.newWallet({ usdc: RICH })
    const signed = await world.sign(payer, 'exact', PRICE)
    facilitator.lie('/verify', 'silence')
    const hasty = world.process({}, { verifyMs: 50 })
    expect(await world.claim(signed, {}, hasty)).toMatchObject({ state: 'closed', reason: 'chain_unreachable' })
  })

  it('closes payments when it supports nothing, or another chain', async () => {
    for (const kinds of [[], [{ x402Version: 2, scheme: 'exact', network: 'eip155:1' }]]) {
      facilitator.lie('/supported', { body: JSON.stringify({ kinds, extensions: [], signers: {} }) })
      expect(await readPaymentTerms(world.process())).toMatchObject({ isOpen: false, closedFor: 'no_gas_or_kinds' })
    }
  })
})

const DENIAL = { status: 400, body: '{"success":false,"errorReason":"nonce_used","transaction":""}' }

const claims = (transaction: string): Lie => ({
  body: JSON.stringify({ success: true, transaction, network: 'eip155:8453', payer: `0x${'00'.repeat(20)}` }),
})

/** A permission to sign from a ledger that was never restored. */
const ANY_LEAVE = { way: 'in', beat: undefined, restoredAt: null } as const

/** Lets the facilitator take an amount without the market's knowledge. Returns its transaction. */
async function takes(rid: string, amount: bigint): Promise<string> {
  const { payload, requirement } = Object(await world.ctx.ledger.payments.find(rid))
  const requirements = { ...requirement, amount: String(amount) }
  const taken = await world.ctx.payments.facilitator.settle({ payload, requirements }, ANY_LEAVE)
  if (taken.state !== 'mined') throw new Error(`not taken: ${JSON.stringify(taken)}`)
  return taken.transaction
}

describe('a facilitator that takes less than the charge', () => {
  const LESS = 3_000n

  it.each([
    ['admits it', claims],
    ['denies it', (): Lie => DENIAL],
  ])(
    'and %s: the received amount is booked, and the rest is the shortfall and the payer’s debt',
    async (_what, lie) => {
      const { rid, payer } = await claimed('upto')
      facilitator.lie('/settle', lie(await takes(rid, LESS)))
      expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'settled' })
      const short = { state: 'written_off', due: CHARGE, came: LESS, reason: 'transfer_too_small' }
      expect(await settled(rid)).toMatchObject(short)
      expect(await spent(payer)).toBe(LESS)
      expect(await world.entries(rid)).toMatchObject({
        [PLATFORM_ACCOUNTS.externalUsdc]: -LESS,
        [PLATFORM_ACCOUNTS.shortfall]: LESS - CHARGE,
        [world.seller]: 6_954n,
      })
      expect(await world.credit(payer)).toBe(0n)
      expect(await world.breaches()).toEqual([])
      // The failure is final: a repeat and further turns change nothing.
      facilitator.honest()
      expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'failed', amountMicro: LESS })
      await turn()
      expect(await world.row(rid)).toMatchObject(short)
      expect(await listDebtors(world.db, 500)).toContainEqual(
        expect.objectContaining({ payer: payer.address.toLowerCase(), owed: CHARGE - LESS }),
      )
      expect(await world.claim(await world.sign(payer, 'upto', PRICE))).toMatchObject({ reason: 'payer_owes' })
    },
  )

  it('but as much as the call costs: the payer owes nothing, and has the rest as credit', async () => {
    const { rid, payer } = await claimed('upto')
    // The least payment is due, which is above the charge.
    facilitator.lie('/settle', claims(await takes(rid, 500n)))
    await world.settle(rid, 300n)
    expect(await settled(rid)).toMatchObject({ state: 'confirmed', due: 1_000n, charge: 300n, came: 500n })
    expect(await world.credit(payer)).toBe(200n)
    facilitator.honest()
    expect(await world.claim(await world.sign(payer, 'upto', PRICE))).toMatchObject({ state: 'claimed' })
  })

  it('after the whole charge was given up: the platform gets the received amount back', async () => {
    const { rid, payer } = await claimed('upto')
    facilitator.lie('/settle', DENIAL)
    expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'failed' })
    expect(await world.booked(rid)).toMatchObject({ state: 'written_off', came: null })
    expect((await world.entries(rid))[PLATFORM_ACCOUNTS.shortfall]).toBe(-CHARGE)
    facilitator.honest()
    const transaction = await takes(rid, LESS)
    await until('the transfer is found', 10_000, async () => {
      await turn()
      const { came, bookedAt } = await world.row(rid)
      return came !== null && bookedAt !== null
    })
    expect(await world.row(rid)).toMatchObject({ state: 'written_off', came: LESS, transaction })
    expect(await world.entries(rid)).toMatchObject({
      [PLATFORM_ACCOUNTS.externalUsdc]: -LESS,
      [PLATFORM_ACCOUNTS.shortfall]: LESS - CHARGE,
    })
    expect(await world.credit(payer)).toBe(0n)
    expect(await world.breaches()).toEqual([])
  })
})

describe('a facilitator that lies', () => {
  it.each(SCHEMES)('reports a taken payment by %s as failed: the chain decides', async (scheme) => {
    const payment = await claimed(scheme)
    facilitator.lie('/settle', (honest) => ({ ...honest, success: false, errorReason: 'failed', transaction: '' }))
    expect(await world.settle(payment.rid, CHARGE)).toMatchObject({ state: 'settled' })
    await endsPaid(payment, scheme)
  })

  it.each(SCHEMES)('names another transfer of the same payer for a payment by %s', async (scheme) => {
    const first = await claimed(scheme)
    const { transaction } = await world.settle(first.rid, CHARGE)
    await endsPaid(first, scheme)
    const second = await claimed(scheme, first.payer)
    facilitator.lie('/settle', {
      body: JSON.stringify({ success: true, transaction, network: 'eip155:8453', payer: first.payer.address }),
    })
    await world.settle(second.rid, CHARGE)
    await turn()
    // The transfer pays once, for the first call.
    expect(await world.row(second.rid)).toMatchObject({ state: 'due', bookedAt: null })
    facilitator.honest()
    expect(await settled(second.rid)).toMatchObject({ state: 'confirmed', due: dueOf(scheme) })
    expect(await spent(first.payer)).toBe(2n * dueOf(scheme))
  })

  it('takes the whole signed amount where less was due: the rest is the payer’s credit', async () => {
    const payment = await claimed('upto')
    const { rid } = payment
    await takes(rid, PRICE)
    facilitator.lie('/settle', DENIAL)
    expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'settled' })
    expect(await settled(rid)).toMatchObject({ state: 'confirmed', due: CHARGE, came: PRICE })
    expect(await spent(payment.payer)).toBe(PRICE)
    expect(await world.credit(payment.payer)).toBe(PRICE - CHARGE)
    expect((await world.entries(rid))[PLATFORM_ACCOUNTS.externalUsdc]).toBe(-PRICE)
  })

  it('names a missing or future transfer for ever: expired payments are written off', async () => {
    const never = { success: true, transaction: `0x${'ab'.repeat(32)}`, network: 'eip155:8453' }
    const later = { success: false, errorReason: 'settlement_pending', transaction: '', network: 'eip155:8453' }
    const payments = [
      { told: never, ...(await claimed('exact')) },
      { told: later, ...(await claimed('upto')) },
    ]
    for (const { told, rid } of payments) {
      facilitator.lie('/settle', { body: JSON.stringify(told) })
      await world.settle(rid, CHARGE, { waitMs: 300 })
      for (let turns = 0; turns < 3; turns++) await turn()
      expect((await world.row(rid)).state).not.toBe('written_off')
    }
    const ends = await Promise.all(payments.map(async ({ rid }) => (await world.row(rid)).validUntil.getTime()))
    // The chain's clock moves past both ends, and stays there.
    const after = Math.floor(Math.max(...ends) / SECOND) + 120
    await callChain(chain.rpcUrl, [['evm_setNextBlockTimestamp', [after]]])
    await chain.mine()
    const late = { ...world.ctx, clock: { ...world.ctx.clock, now: () => after * SECOND } }
    for (const { told, rid, payer } of payments) {
      facilitator.lie('/settle', { body: JSON.stringify(told) })
      const writtenOff = {
        state: 'written_off',
        reason: 'transfer_not_on_chain',
        due: dueOf(told === never ? 'exact' : 'upto'),
      }
      expect(await world.booked(rid, late)).toMatchObject(writtenOff)
      expect((await world.entries(rid))[PLATFORM_ACCOUNTS.shortfall]).toBe(-CHARGE)
      expect(await spent(payer)).toBe(0n)
    }
  })
})
