import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgivePayment, listDebtors } from '#control-plane/db/payment-desk.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { finishOpenPayments } from '#control-plane/services/payments/finish-payments.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import type { PaymentWorld } from '#test/support/books/payments.ts'
import { startPayments } from '#test/support/books/payments.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { sendAsStranger } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'

const { externalUsdc, shortfall, fee } = PLATFORM_ACCOUNTS
const RICH = { usdc: 10_000_000n }
const PRICE = 20_000n
let chain: OwnChain
let world: PaymentWorld
let treasury: `0x${string}`

beforeAll(async () => {
  chain = await startChain()
  world = await startPayments(chain)
  treasury = world.environment.TREASURY_ADDRESS
})
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

const balanceOf = async (account: string) =>
  BigInt(
    (
      await sql<{
        sum: string
      }>`select coalesce(sum(amount), 0)::text as sum from ledger_entry where account = ${account}`.execute(world.db)
    ).rows[0]?.sum ?? 0,
  )

/** The long job for which a payment of {@link PRICE} pays. `byWallet` makes its events those of the wallet. */
const jobOf = async (rid: string) => {
  const { rail, account, payer } = await world.row(rid)
  const byWallet = (text: string) => JSON.stringify({ ...JSON.parse(text), rail, keyId: null, wallet: payer })
  return { account, byWallet, job: { rid, account, sellerAccount: world.seller, quote: Number(PRICE) } }
}

const received = async (work: () => Promise<unknown>) => {
  const before = await chain.usdcBalance(treasury)
  await work()
  return (await chain.usdcBalance(treasury)) - before
}

describe('a payment by wallet', () => {
  it.each([
    ['exact', 'without ETH', false],
    ['upto', 'without ETH and without an allowance, by a permit', true],
    ['upto', 'with an allowance', false],
  ] as const)('%s %s is claimed, taken, and booked with its call', async (scheme, _how, permit) => {
    const wallet = await chain.newWallet({ ...RICH, ...(scheme === 'upto' && !permit ? { eth: 10n ** 18n } : {}) })
    if (scheme === 'upto' && !permit) await chain.approvePermit2(wallet)
    const signed = await world.sign(wallet, scheme, 20_000n, permit)
    const rid = await world.claimed(signed)
    expect(await chain.usdcBalance(wallet.address)).toBe(10_000_000n)
    const taken = scheme === 'exact' ? 20_000n : 7_321n
    const settled = await world.settle(rid, 7_321n)
    expect(settled).toMatchObject({ state: 'settled', amountMicro: taken, reason: null })
    expect(await chain.usdcBalance(wallet.address)).toBe(10_000_000n - taken)
    const payment = await world.booked(rid)
    expect(payment).toMatchObject({ state: 'confirmed', due: taken, charge: 7_321n, transaction: settled.transaction })
    expect(payment.block).toBeGreaterThan(0n)
    expect(await world.entries(rid)).toEqual({
      [externalUsdc]: -taken,
      [payment.account]: taken - 7_321n,
      [world.seller]: 6_954n,
      [fee]: 367n,
    })
    expect(await world.credit(wallet)).toBe(taken - 7_321n)
  })

  it('takes at least 1,000 micro by upto, and the payer gets the rest as credit', async () => {
    const wallet = await chain.newWallet(RICH)
    const rid = await world.claimed(await world.sign(wallet, 'upto', 20_000n))
    expect(await received(() => world.settle(rid, 12n))).toBe(1_000n)
    await world.booked(rid)
    expect(await world.credit(wallet)).toBe(988n)
  })

  it.each(['exact', 'upto'] as const)('by %s takes nothing for a free call, which is booked', async (scheme) => {
    const wallet = await chain.newWallet(RICH)
    const rid = await world.claimed(await world.sign(wallet, scheme, 20_000n))
    expect(await received(() => world.settle(rid, 0n))).toBe(0n)
    expect(await world.booked(rid)).toMatchObject({ state: 'released', charge: 0n, due: null })
    expect(await sql`select rid from settlement where rid = ${rid}`.execute(world.db)).toMatchObject({
      rows: [{ rid }],
    })
  })

  it('moves once, for any number of settlements by any number of processes', async () => {
    const wallet = await chain.newWallet(RICH)
    const others = [world.process(), world.process()]
    for (const scheme of ['exact', 'upto'] as const) {
      const rid = await world.claimed(await world.sign(wallet, scheme, 20_000n))
      const event = await world.eventOf(rid, 5_000n)
      const amount = await received(async () => {
        const asked = [world.ctx, ...others, world.ctx].map((by) => world.settle(rid, 5_000n, { event }, by))
        const answers = await Promise.all(asked)
        expect(new Set(answers.map(({ state }) => state))).toEqual(new Set(['settled']))
        await Promise.all([finishOpenPayments(world.ctx), ...others.map(finishOpenPayments)])
      })
      expect(amount).toBe(scheme === 'exact' ? 20_000n : 5_000n)
      const payment = await world.booked(rid)
      expect((await world.settle(rid, 5_000n, { event })).transaction).toBe(payment.transaction)
      expect(Object.values(await world.entries(rid)).reduce((sum, entry) => sum + entry, 0n)).toBe(0n)
    }
  })

  it('of a long job waits in escrow, and the end of the job turns the rest into credit, once', async () => {
    const wallet = await chain.newWallet(RICH)
    const rid = await world.claimed(await world.sign(wallet, 'exact', 20_000n))
    const { account, job, byWallet } = await jobOf(rid)
    await world.settle(rid, 20_000n, { event: byWallet(submitText(job)) })
    await world.booked(rid)
    expect(await world.entries(rid)).toMatchObject({ [externalUsdc]: -20_000n, [account]: 0n })
    expect(await world.credit(wallet)).toBe(0n)
    const event = byWallet(endText(job, 7_321))
    const end = () => postBatch(world.ctx, { events: [event], source: 'test' })
    expect([await end(), await end()]).toMatchObject([
      { posted: 1, poisoned: 0 },
      { posted: 0, repeats: 1 },
    ])
    expect(await world.credit(wallet)).toBe(20_000n - 7_321n)
  })

  it('keeps its first charge, and accepts no event of another call', async () => {
    const wallet = await chain.newWallet(RICH)
    const [one, two] = [await world.sign(wallet, 'upto', 20_000n), await world.sign(wallet, 'exact', 20_000n)]
    const [rid, other] = [await world.claimed(one), await world.claimed(two)]
    const foreign = await world.eventOf(other, 3_000n)
    await expect(world.settle(rid, 3_000n, { event: foreign })).rejects.toMatchObject({ code: 'invalid_request' })
    const lower = await world.eventOf(rid, 2_000n)
    await expect(world.settle(rid, 3_000n, { event: lower })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(world.settle(rid, 20_001n)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(world.settle(rid, 3_000n, { event: '{}' })).rejects.toMatchObject({ code: 'invalid_request' })
    const first = await world.eventOf(rid, 3_000n)
    await world.settle(rid, 3_000n, { event: first })
    // The heir of a dead process may report another charge. It receives the state of the first, so that it can drop its
    // own.
    expect(await world.settle(rid, 4_000n)).toMatchObject({ state: 'settled', amountMicro: 3_000n })
    expect(await world.db.selectFrom('usage_conflict').select('rid').where('rid', '=', rid).execute()).toHaveLength(1)
    expect(await world.booked(rid)).toMatchObject({ charge: 3_000n, due: 3_000n })
    await world.release(other)
  })

  it('refuses an event that cannot be booked', async () => {
    const wallet = await chain.newWallet(RICH)
    const rid = await world.claimed(await world.sign(wallet, 'upto', 20_000n))
    const event = JSON.stringify({ ...JSON.parse(await world.eventOf(rid, 3_000n)), feeMicro: '7' })
    await expect(world.settle(rid, 3_000n, { event })).rejects.toMatchObject({ code: 'invalid_request' })
    await world.release(rid)
  })
})

describe('a claim', () => {
  it.each(['exact', 'upto'] as const)(
    'by %s is one of 50 at once, in two processes, and refused to all later ones',
    async (scheme) => {
      const wallet = await chain.newWallet(RICH)
      const signed = await world.sign(wallet, scheme, 20_000n)
      const other = world.process()
      const tries = Array.from({ length: 50 }, (_, index) =>
        world.claim(signed, {}, index % 2 === 0 ? world.ctx : other),
      )
      const answers = await Promise.all(tries)
      const [first, ...more] = answers.filter(({ state }) => state === 'claimed')
      expect([first?.state, more]).toEqual(['claimed', []])
      const used = answers.filter(({ state }) => state === 'used')
      expect(used).toHaveLength(49)
      const rid = used[0]?.state === 'used' ? used[0].rid : ''
      await world.settle(rid, 4_000n)
      expect(await world.claim(signed)).toMatchObject({ state: 'used', rid, standing: 'settled' })
      const { transaction } = await world.booked(rid)
      expect(await world.claim(signed)).toMatchObject({ state: 'used', rid, standing: 'settled', transaction })
    },
  )

  it('is the same for the same call, and a call has one payment', async () => {
    const wallet = await chain.newWallet(RICH)
    const rid = ids.ulid()
    const signed = await world.sign(wallet, 'exact', 20_000n)
    await world.claimed(signed, { rid })
    expect(await world.claim(signed, { rid })).toMatchObject({ state: 'claimed' })
    expect(await world.claim(signed, { rid, bodyDigest: 'cd'.repeat(32) })).toMatchObject({ state: 'used', rid })
    const other = await world.sign(wallet, 'exact', 20_000n)
    await expect(world.claim(other, { rid })).rejects.toMatchObject({ code: 'conflict' })
    await world.release(rid)
  })

  it('of a nonce in another spelling is the same', async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', 20_000n)
    const rid = await world.claimed(signed)
    const authorization = Object(signed.payload.payload['authorization'])
    const shouted = { ...authorization, nonce: `0x${authorization.nonce.slice(2).toUpperCase()}` }
    const payload = { ...signed.payload, payload: { ...signed.payload.payload, authorization: shouted } }
    expect(await world.claim({ ...signed, payload })).toMatchObject({ state: 'used', rid })
    await world.release(rid)
  })

  it('of a nonce in other digits is the same', async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'upto', 20_000n)
    const rid = await world.claimed(signed)
    const permit = Object(signed.payload.payload['permit2Authorization'])
    const permit2Authorization = { ...permit, nonce: permit.nonce.padStart(78, '0') }
    const payload = { ...signed.payload, payload: { ...signed.payload.payload, permit2Authorization } }
    expect(await world.claim({ ...signed, payload })).toMatchObject({ state: 'used', rid })
    await world.release(rid)
  })

  it('of two authorizations over one balance is one', async () => {
    const wallet = await chain.newWallet({ usdc: 30_000n })
    const signed = await Promise.all([world.sign(wallet, 'exact', 20_000n), world.sign(wallet, 'exact', 20_000n)])
    const answers = await Promise.all(signed.map((each) => world.claim(each)))
    expect(answers).toContainEqual(expect.objectContaining({ state: 'claimed' }))
    expect(answers).toContainEqual({ state: 'refused', reason: 'insufficient_funds' })
  })

  it.each(['exact', 'upto'] as const)(
    'counts a payment by %s against the balance until it is in a block, whatever the books have',
    async (scheme) => {
      const wallet = await chain.newWallet({ usdc: 30_000n })
      const rid = await world.claimed(await world.sign(wallet, scheme, PRICE))
      const taken = scheme === 'exact' ? PRICE : 7_000n
      const claimOf = async (amount: bigint) => world.claim(await world.sign(wallet, scheme, amount))
      expect(await claimOf(10_001n)).toEqual({ state: 'refused', reason: 'insufficient_funds' })
      await world.settle(rid, 7_000n)
      // The balance lacks the amount now. The whole rest can be spent before the first payment is confirmed.
      await world.release(await world.claimed(await world.sign(wallet, scheme, 30_000n - taken)))
      await chain.reorganise(1)
      expect([await chain.usdcBalance(wallet.address), (await world.row(rid)).state]).toEqual([30_000n, 'mined'])
      expect(await claimOf(PRICE)).toEqual({ state: 'refused', reason: 'insufficient_funds' })
      await world.booked(rid)
      expect(await chain.usdcBalance(wallet.address)).toBe(30_000n - taken)
    },
  )

  it('is refused above the open amount of a payer, or of all payers together', async () => {
    const wallet = await chain.newWallet(RICH)
    const tight = world.process({ PAYER_EXPOSURE_MICRO: '1000000' })
    const first = await world.sign(wallet, 'exact', 900_000n)
    const rid = ids.ulid()
    expect(await world.claim(first, { rid }, tight)).toMatchObject({ state: 'claimed' })
    const second = await world.sign(wallet, 'exact', 200_000n)
    expect(await world.claim(second, {}, tight)).toMatchObject({ state: 'closed', reason: 'payer_exposure_limit' })
    const stranger = await world.sign(await chain.newWallet(RICH), 'exact', 200_000n)
    const narrow = world.process({ PAYMENT_EXPOSURE_MICRO: '1000000' })
    expect(await world.claim(stranger, {}, narrow)).toMatchObject({ state: 'closed', reason: 'exposure_limit' })
    // An ended payment frees its amount.
    await world.release(rid)
    expect(await world.claim(second, { rid: ids.ulid() }, tight)).toMatchObject({ state: 'claimed' })
  })

  it.each<[string, (signed: Awaited<ReturnType<PaymentWorld['sign']>>) => unknown, string]>([
    ['no payload', ({ requirement }) => ({ payload: {}, requirement }), 'invalid_payload'],
    [
      'another recipient',
      (signed) => ({ ...signed, requirement: { ...signed.requirement, payTo: `0x${'aa'.repeat(20)}` } }),
      'invalid_payment_requirements',
    ],
    [
      'another token',
      (signed) => ({ ...signed, requirement: { ...signed.requirement, asset: `0x${'aa'.repeat(20)}` } }),
      'invalid_payment_requirements',
    ],
    [
      'another network',
      (signed) => ({ ...signed, requirement: { ...signed.requirement, network: 'eip155:1' } }),
      'invalid_payment_requirements',
    ],
  ])('is refused for %s', async (_name, change, reason) => {
    const signed = await world.sign(await chain.newWallet(RICH), 'exact', 20_000n)
    expect(await world.claim({ ...signed, ...Object(change(signed)) })).toEqual({ state: 'refused', reason })
  })

  it('lapses when its money can no longer be taken', async () => {
    const wallet = await chain.newWallet(RICH)
    const rid = await world.claimed(await world.sign(wallet, 'upto', 20_000n))
    const later = { ...world.ctx, clock: { ...world.ctx.clock, now: () => Date.now() + 1_000_000 } }
    await age(rid)
    expect((await finishOpenPayments(world.ctx)).expired).toBe(0)
    expect((await finishOpenPayments(later)).expired).toBe(1)
    expect((await world.row(rid)).state).toBe('released')
    // The call was served nevertheless, which another node reports only now.
    await world.settle(rid, 3_000n)
    expect(await world.booked(rid)).toMatchObject({ charge: 3_000n })
  })
})

/** Makes the last change of a payment an hour old. */
async function age(rid: string): Promise<void> {
  await sql`update chain_payment set changed_at = now() - interval '1 hour' where rid = ${rid}`.execute(world.db)
}

describe('money that is taken ahead', () => {
  it('becomes credit when the call was never served', async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', 20_000n)
    const rid = await world.claimed(signed, { serveUntil: Date.now() - 660_000 })
    expect(await world.settle(rid, null)).toMatchObject({ state: 'settled', amountMicro: 20_000n })
    expect(await world.booked(rid)).toMatchObject({ charge: null, event: null })
    expect(await world.credit(wallet)).toBe(20_000n)
    // The node that served it lost its connection, and reports the charge only now.
    await world.settle(rid, 8_000n)
    expect(await world.row(rid)).toMatchObject({ charge: 8_000n })
    expect(await world.credit(wallet)).toBe(12_000n)
    expect((await world.entries(rid))[world.seller]).toBe(7_600n)
  })

  it('waits for the charge while the call may still run', async () => {
    const wallet = await chain.newWallet(RICH)
    const rid = await world.claimed(await world.sign(wallet, 'exact', 20_000n))
    await world.settle(rid, null)
    await finishOpenPayments(world.ctx)
    await finishOpenPayments(world.ctx)
    expect(await world.row(rid)).toMatchObject({ state: 'confirmed', bookedAt: null })
    await world.settle(rid, 8_000n)
    await world.booked(rid)
    expect(await world.credit(wallet)).toBe(12_000n)
  })
})

describe('a payer who does not pay', () => {
  it('is written off at the cost of the platform, the seller is paid, and the payer is refused', async () => {
    const wallet = await chain.newWallet({ usdc: 50_000n })
    const rid = await world.claimed(await world.sign(wallet, 'upto', 20_000n))
    await chain.blacklist(wallet.address)
    expect(await world.settle(rid, 7_321n)).toMatchObject({ state: 'failed' })
    const payment = await world.booked(rid)
    expect(payment).toMatchObject({ state: 'written_off', charge: 7_321n })
    expect(await world.entries(rid)).toEqual({
      [shortfall]: -7_321n,
      [payment.account]: 0n,
      [world.seller]: 6_954n,
      [fee]: 367n,
    })
    await chain.blacklist(wallet.address, false)
    expect(await world.claim(await world.sign(wallet, 'exact', 1_000n))).toEqual({
      state: 'refused',
      reason: 'payer_owes',
    })
    const payer = wallet.address.toLowerCase()
    const debtors = async () => (await listDebtors(world.db, 100)).filter((debtor) => debtor.payer === payer)
    expect(await debtors()).toMatchObject([{ owed: 7_321n, payments: 1 }])
    const forgive = () => world.db.transaction().execute((trx) => forgivePayment(trx, rid))
    expect([await forgive(), await forgive()]).toEqual([payer, undefined])
    expect(await debtors()).toEqual([])
    expect(await world.claim(await world.sign(wallet, 'exact', 1_000n))).toMatchObject({ state: 'claimed' })
  })

  it.each([
    ['before', 7_321n, 12_679n],
    ['after', 20_000n, 0n],
    ['after', 7_321n, 12_679n],
    ['after', 0n, 0n],
  ])(
    'whose money arrives late gets no part of a job before (%s the end of the job, cost %i, earlier credit %i)',
    async (when, cost, had) => {
      const wallet = await chain.newWallet(RICH)
      if (had > 0n) {
        const earlier = await world.claimed(await world.sign(wallet, 'exact', PRICE))
        await world.settle(earlier, PRICE - had)
        await world.booked(earlier)
      }
      const signed = await world.sign(wallet, 'exact', PRICE)
      const rid = await world.claimed(signed)
      const { job, byWallet } = await jobOf(rid)
      const before = await balanceOf(shortfall)
      const end = async () => {
        const event = byWallet(endText(job, Number(cost)))
        expect(await postBatch(world.ctx, { events: [event], source: 'test' })).toMatchObject({ posted: 1 })
      }
      await chain.blacklist(wallet.address)
      expect(await world.settle(rid, PRICE, { event: byWallet(submitText(job)) })).toMatchObject({ state: 'failed' })
      expect(await world.booked(rid)).toMatchObject({ state: 'written_off', charge: PRICE })
      expect([await balanceOf(shortfall), await world.credit(wallet)]).toEqual([before - PRICE, had])
      if (when === 'after') {
        await end()
        // The platform pays the cost of the job. Its own money does not become the credit of a payer who paid nothing.
        expect([await balanceOf(shortfall), await world.credit(wallet)]).toEqual([before - cost, had])
        expect(await world.breaches()).toEqual([])
      }
      await chain.blacklist(wallet.address, false)
      await sendAsStranger(chain, signed.payload)
      await until('the payment is found', 30_000, async () => {
        await finishOpenPayments(world.ctx)
        return (await world.row(rid)).state === 'confirmed'
      })
      expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', came: PRICE })
      if (when === 'before') await end()
      expect([await balanceOf(shortfall), await world.credit(wallet)]).toEqual([before, had + PRICE - cost])
      expect(await world.breaches()).toEqual([])
    },
  )
})
