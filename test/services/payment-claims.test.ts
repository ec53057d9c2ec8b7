import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callChain } from '#dev/chain/call-chain.ts'
import type { OwnChain } from '#test/support/chain.ts'
import { startChain } from '#test/support/chain.ts'
import { ids } from '#test/support/gate.ts'
import type { PaymentWorld } from '#test/support/payments.ts'
import { startPayments } from '#test/support/payments.ts'

const RICH = { usdc: 10_000_000n }
const PRICE = 20_000n
/** The code of a contract that accepts every signature (ERC-1271), and of one that accepts none. */
const ACCEPTS_ALL = '0x631626ba7e60e01b60005260206000f3'
const ACCEPTS_NONE = '0x60006000fd'
let chain: OwnChain
let world: PaymentWorld

beforeAll(async () => {
  chain = await startChain()
  world = await startPayments(chain)
})
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

describe('contracts that pay', () => {
  /** Claims a payment of a new contract, which takes its word back before it is to pay. */
  async function cheat(ctx: PaymentWorld['ctx'], amount: bigint) {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', amount)
    await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, ACCEPTS_ALL]]])
    const rid = ids.ulid()
    const answer = await world.claim(signed, { rid }, ctx)
    if (answer.state !== 'claimed') return answer
    await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, ACCEPTS_NONE]]])
    expect(await world.settle(rid, amount)).toMatchObject({ state: 'failed' })
    expect(await world.booked(rid)).toMatchObject({ state: 'written_off' })
    return answer
  }

  it('can leave so much unpaid in a day, however many they are, and plain wallets go on', async () => {
    const bounded = world.process({ CONTRACT_EXPOSURE_MICRO: '1000000' })
    for (const amount of [400_000n, 400_000n]) expect(await cheat(bounded, amount)).toMatchObject({ state: 'claimed' })
    // A small debt counts for what its transactions cost.
    expect(await cheat(bounded, 1_000n)).toMatchObject({ state: 'claimed' })
    const closed = { state: 'closed', reason: 'contract_exposure_limit' }
    expect(await cheat(bounded, 190_001n)).toMatchObject(closed)
    const plain = await world.sign(await chain.newWallet(RICH), 'exact', 200_000n)
    const rid = ids.ulid()
    expect(await world.claim(plain, { rid }, bounded)).toMatchObject({ state: 'claimed' })
    await world.release(rid)
    // Unpaid charges count to the bound of all payers, too.
    const narrow = world.process({ PAYMENT_EXPOSURE_MICRO: '1000000' })
    const other = await world.sign(await chain.newWallet(RICH), 'exact', 195_000n)
    expect(await world.claim(other, {}, narrow)).toMatchObject({ state: 'closed', reason: 'exposure_limit' })
  })
})

describe('a claim', () => {
  it.each([
    ['that was open when the balance was read', true],
    ['that was claimed since then', false],
  ])('counts a payment %s and is confirmed by the time of the claim', async (_which, wasOpen) => {
    const wallet = await chain.newWallet({ usdc: 30_000n })
    const [first, second] = await Promise.all([world.sign(wallet, 'exact', PRICE), world.sign(wallet, 'exact', PRICE)])
    const quick = world.process({ CHAIN_CONFIRMATIONS: '1' })
    const { payments } = world.ctx
    const { chain: asked, facilitator } = payments
    if (asked === null) throw new Error('no chain')
    let rid = wasOpen ? await world.claimed(first) : ''
    let hasVerdict = (): void => undefined
    const verdict = new Promise<void>((resolve) => {
      hasVerdict = resolve
    })
    const late = {
      ...world.ctx,
      payments: {
        ...payments,
        facilitator: {
          ...facilitator,
          verify: (payment: Parameters<typeof facilitator.verify>[0]) =>
            facilitator.verify(payment).finally(hasVerdict),
        },
        chain: {
          ...asked,
          readPurse: async (...wish: Parameters<typeof asked.readPurse>) => {
            const purse = await asked.readPurse(...wish)
            await verdict
            // The other payment comes to its end between the look at the balance and the claim.
            if (!wasOpen) rid = await world.claimed(first)
            await world.settle(rid, 7_000n)
            expect(await world.booked(rid, quick)).toMatchObject({ state: 'confirmed' })
            return purse
          },
        },
      },
    }
    expect(await world.claim(second, {}, late)).toEqual({ state: 'refused', reason: 'insufficient_funds' })
    expect(await chain.usdcBalance(wallet.address)).toBe(10_000n)
  })

  const MAGIC = '6492'.repeat(16)
  it.each<[string, string]>([
    ['nothing', '0x'],
    ['half a byte', '0x123'],
    ['one byte', '0x00'],
    ['no hex', `0x${'zz'.repeat(65)}`],
    ['a deployment that is nothing', `0x${MAGIC}`],
    ['a deployment that is cut', `0x1234${MAGIC}`],
    ['a deployment that points elsewhere', `0x${'ff'.repeat(96)}${MAGIC}`],
    ['a deployment by nobody of nothing', `0x${'00'.repeat(96)}${MAGIC}`],
    ['70 bytes', `0x${'ab'.repeat(70)}`],
  ])('is refused, and never left to be tried again, with %s for a signature', async (_what, signature) => {
    for (const [scheme, isContract] of [
      ['exact', false],
      ['exact', true],
      ['upto', false],
      ['upto', true],
    ] as const) {
      const wallet = await chain.newWallet(RICH)
      const { payload, requirement } = await world.sign(wallet, scheme, 20_000n)
      if (isContract) await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, ACCEPTS_NONE]]])
      const answer = await world.claim({
        payload: { ...payload, payload: { ...payload.payload, signature } },
        requirement,
      })
      expect([scheme, isContract, answer.state]).toEqual([scheme, isContract, 'refused'])
    }
  })

  it.each<[string, object]>([
    ['a number beyond the chain', { nonce: '9'.repeat(78) }],
    ['another deadline', { deadline: 'soon' }],
  ])('is refused, and never left to be tried again, for %s in a permit', async (_what, change) => {
    const wallet = await chain.newWallet({ ...RICH, eth: 10n ** 18n })
    await chain.approvePermit2(wallet)
    const { payload, requirement } = await world.sign(wallet, 'upto', 20_000n, false)
    const permit2Authorization = { ...Object(payload.payload['permit2Authorization']), ...change }
    const changed = { ...payload, payload: { ...payload.payload, permit2Authorization } }
    expect(await world.claim({ payload: changed, requirement })).toMatchObject({ state: 'refused' })
  })

  it.each<[string, object]>([
    ['signature', { signature: '0x123' }],
    ['signature of 70 bytes', { signature: `0x${'ab'.repeat(70)}` }],
    ['amount', { amount: 'all' }],
    ['amount beyond the chain', { amount: '9'.repeat(78) }],
    ['deadline', { deadline: '-1' }],
    ['owner', { from: '0x00' }],
  ])('is refused, and never left to be tried again, for the %s of its EIP-2612 permit', async (_what, change) => {
    const { payload, requirement } = await world.sign(await chain.newWallet(RICH), 'upto', 20_000n)
    const { eip2612GasSponsoring } = Object(payload.extensions)
    const info = { ...eip2612GasSponsoring.info, ...change }
    const extensions = { eip2612GasSponsoring: { ...eip2612GasSponsoring, info } }
    expect(await world.claim({ payload: { ...payload, extensions }, requirement })).toMatchObject({ state: 'refused' })
  })
})
