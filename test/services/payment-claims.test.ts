import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openAccount } from '#control-plane/db/accounts.ts'
import type { ChainPayment, NewChainPayment } from '#control-plane/db/chain-payments.ts'
import { insertChainPayment, readContractExposure } from '#control-plane/db/chain-payments.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { HOUR } from '#shared/clock.ts'
import { RequestId26 } from '#shared/contract/request-id.ts'
import type { LedgerTables } from '#test/sim/ledger/ledger-tables.ts'
import { createTables } from '#test/sim/ledger/ledger-tables.ts'
import { memoryPayments } from '#test/sim/ledger/memory-payments.ts'
import { ids } from '#test/support/books/gate.ts'
import type { PaymentWorld, Signed } from '#test/support/books/payments.ts'
import { startPayments } from '#test/support/books/payments.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'

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

describe('contracts as payers', () => {
  const CLOSED = { state: 'closed', reason: 'contract_exposure_limit' }
  const CLAIMED = { state: 'claimed' }
  /** The share of one payer beyond its history: a tenth of the limit. All payers together have half. */
  const SHARE = 100_000n
  const LIMIT = { CONTRACT_EXPOSURE_MICRO: String(10n * SHARE) }
  let bounded: PaymentWorld['ctx']

  beforeAll(() => {
    bounded = world.process(LIMIT)
  })
  afterEach(async () => {
    for (const { rid } of await world.ctx.ledger.payments.listOpen(['claimed'], 0, 100)) await world.release(rid)
    await sql`update chain_payment set cleared_at = now() where state = 'written_off'`.execute(world.db)
  })

  /** Signs payments by a new contract, which accepts each of them. */
  async function contract(...amounts: readonly bigint[]) {
    const wallet = await chain.newWallet(RICH)
    const payments: Signed[] = []
    for (const amount of amounts) payments.push(await world.sign(wallet, 'exact', amount))
    await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, ACCEPTS_ALL]]])
    return { wallet, payments }
  }

  /** Claims the payments of a new contract one after the other. */
  async function claimAll(...amounts: readonly bigint[]) {
    const { payments } = await contract(...amounts)
    const answers: unknown[] = []
    for (const signed of payments) answers.push(await world.claim(signed, {}, bounded))
    return answers
  }

  /** A new contract that has paid an amount. Returns other payments that it has signed. */
  async function known(paid: bigint, ...amounts: readonly bigint[]) {
    const [first, ...rest] = (await contract(paid, ...amounts)).payments
    if (first === undefined) throw new Error('there is no payment')
    const rid = await world.claimed(first)
    expect(await world.settle(rid, paid)).toMatchObject({ state: 'settled' })
    expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', came: paid })
    return rest
  }

  /** Claims a payment of a new contract, which rejects its own signature before it is to pay. */
  async function cheat(amount: bigint) {
    const { wallet, payments } = await contract(amount)
    const rid = ids.ulid()
    for (const signed of payments) expect(await world.claim(signed, { rid }, bounded)).toMatchObject(CLAIMED)
    await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, ACCEPTS_NONE]]])
    expect(await world.settle(rid, amount)).toMatchObject({ state: 'failed' })
    expect(await world.booked(rid)).toMatchObject({ state: 'written_off' })
  }

  it('have a tenth of the limit each beyond their paid history', async () => {
    expect(await claimAll(SHARE + 1n)).toMatchObject([CLOSED])
    expect(await claimAll(SHARE - 10_000n, 10_001n, 10_000n)).toMatchObject([CLAIMED, CLOSED, CLAIMED])
    // An open payment counts for the cost of its transactions.
    const small = Array.from({ length: 11 }, () => 1_000n)
    expect(await claimAll(...small)).toMatchObject([...small.slice(1).map(() => CLAIMED), CLOSED])
  })

  it('have half of the limit together beyond their paid history, and the rest is for contracts with a history', async () => {
    const [whole, more] = await known(300_000n, 300_000n, 10_000n)
    const [late] = await known(300_000n, 300_000n)
    if (whole === undefined || more === undefined || late === undefined) throw new Error('there is no payment')
    for (let stranger = 0; stranger < 5; stranger += 1) expect(await claimAll(SHARE)).toMatchObject([CLAIMED])
    expect(await claimAll(10_000n)).toMatchObject([CLOSED])
    // Concurrent claims may have passed the half by a little.
    const passed = { ...bounded, payments: { ...bounded.payments, contractExposureMicro: 9n * SHARE } }
    expect(await world.claim(whole, {}, passed)).toMatchObject(CLAIMED)
    expect(await world.claim(more, {}, bounded)).toMatchObject(CLOSED)
    // 800,000 are open, so a history of 300,000 has 200,000 left.
    expect(await world.claim(late, {}, bounded)).toMatchObject(CLOSED)
  })

  it('can leave a bounded amount unpaid in a day, however many they are, and plain wallets go on', async () => {
    for (let made = 0; made < 4; made += 1) await cheat(SHARE)
    // A small debt counts for the cost of its transactions.
    await cheat(1_000n)
    expect(await claimAll(90_001n)).toMatchObject([CLOSED])
    expect(await claimAll(90_000n)).toMatchObject([CLAIMED])
    const plain = await world.sign(await chain.newWallet(RICH), 'exact', 200_000n)
    expect(await world.claim(plain, {}, bounded)).toMatchObject(CLAIMED)
    // Unpaid charges also count towards the bound of all payers.
    const narrow = world.process({ PAYMENT_EXPOSURE_MICRO: '1000000' })
    const other = await world.sign(await chain.newWallet(RICH), 'exact', 300_001n)
    expect(await world.claim(other, {}, narrow)).toMatchObject({ state: 'closed', reason: 'exposure_limit' })
  })

  it('have a history of the newest 1,000 payments', async () => {
    await inRollback(async (trx) => {
      const old = { payer: 1, state: 'confirmed', amount: 1_000n, due: 1_000n, came: 900n } as const
      await store(trx, createTables(), [{ ...old, isContract: true, hours: 1 }])
      await sql`insert into chain_payment (rid, nonce, came, rail, network, asset, payer, account, amount, due, state, tx_hash,
          payload, requirement, body_digest, valid_until, serve_until)
        select lpad(number::text, 26, '0'), number::text, 2, rail, network, asset, payer, account, amount, due, state, tx_hash,
          payload, requirement, body_digest, valid_until, serve_until
        from chain_payment, generate_series(1, 1000) number where payer = ${payerOf(1)}`.execute(trx)
      const rest = 20_000n - 2_000n
      expect(await readContractExposure(trx, payerOf(1), 20_000n)).toEqual({ all: 20_000n, own: rest, unsettled: rest })
    })
  })

  it('have the same exposure in the simulation as in the database', async () => {
    const property = fc.asyncProperty(fc.array(STORED, { maxLength: 12 }), fc.bigInt(1_000n, 60_000n), (rows, amount) =>
      inRollback(async (trx) => {
        const tables = createTables()
        const simulated = memoryPayments((run) => Promise.resolve(run(tables)), Date.now, new Set())
        await store(trx, tables, rows)
        for (const payer of [1, 2, 3, 4].map(payerOf)) {
          const exposure = await readContractExposure(trx, payer, amount)
          expect(await simulated.readContractExposure(payer, amount)).toEqual(exposure)
        }
      }),
    )
    await fc.assert(property, { numRuns: 40 })
  })
})

/** A payment in the books. Each payer has a number, and each payment changed this many hours ago. */
type Stored = Pick<ChainPayment, 'state' | 'amount' | 'due' | 'came'> & {
  readonly payer: number
  readonly isContract: boolean
  readonly hours: number
}
const STORED: fc.Arbitrary<Stored> = fc
  .record({
    payer: fc.constantFrom(1, 2, 3),
    state: fc.constantFrom('claimed', 'due', 'mined', 'confirmed', 'released', 'written_off'),
    amount: fc.bigInt(20_000n, 60_000n),
    due: fc.bigInt(500n, 20_000n),
    came: fc.bigInt(1n, 20_000n),
    isShort: fc.boolean(),
    isContract: fc.boolean(),
    hours: fc.constantFrom(1, 23, 25),
  })
  .map(({ due, came, isShort, ...row }) => ({
    ...row,
    due: row.state === 'claimed' ? null : due,
    came: row.state === 'confirmed' || (row.state === 'written_off' && isShort) ? came : null,
  }))

const payerOf = (number: number) => `0x${String(number).padStart(40, '0')}`

/** Runs `body` in a transaction that is rolled back. */
async function inRollback(body: (trx: Trx) => Promise<void>): Promise<void> {
  const trx = await world.db.startTransaction().execute()
  await body(trx).finally(() => trx.rollback().execute())
}

/** Stores payments in the database and in the simulation's tables. */
async function store(trx: Trx, tables: LedgerTables, rows: readonly Stored[]): Promise<void> {
  const account = ids.make('acc')
  await openAccount(trx, { id: account, kind: 'buyer_credit', owner: 'usr_test' })
  const now = Date.now()
  for (const { payer, amount, isContract, hours, ...change } of rows) {
    const rid = RequestId26.parse(ids.ulid())
    const changedAt = new Date(now - hours * HOUR)
    const claim: NewChainPayment = {
      rail: 'x402-exact',
      rid,
      account,
      amount,
      network: 'eip155:8453',
      asset: `0x${'83'.repeat(20)}`,
      payer: payerOf(payer),
      nonce: `0x${rid.toLowerCase().padEnd(64, '0')}`,
      isContract,
      payload: {},
      requirement: {},
      bodyDigest: 'ab'.repeat(32),
      validUntil: changedAt,
      serveUntil: changedAt,
    }
    await insertChainPayment(trx, claim)
    await sql`update chain_payment set state = ${change.state}, due = ${change.due}, came = ${change.came}, tx_hash = '0x',
      changed_at = ${changedAt} where rid = ${rid}`.execute(trx)
    await memoryPayments((run) => Promise.resolve(run(tables)), Date.now, new Set()).insert(claim)
    const row = tables.payments.get(rid)
    if (row !== undefined) tables.payments.set(rid, { ...row, ...change, changedAt })
  }
}

describe('a claim', () => {
  it.each([
    ['that was open when the balance was read', true],
    ['that was claimed afterwards', false],
  ])('counts a payment %s and is confirmed by the time of the claim', async (_which, wasOpen) => {
    const wallet = await chain.newWallet({ usdc: 30_000n })
    const [first, second] = await Promise.all([world.sign(wallet, 'exact', PRICE), world.sign(wallet, 'exact', PRICE)])
    const quick = world.process({ CHAIN_CONFIRMATIONS: '1' })
    const { payments } = world.ctx
    const { chain: asked, facilitator } = payments
    if (asked === null) throw new Error('there is no chain')
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
          readPurse: async (...input: Parameters<typeof asked.readPurse>) => {
            const purse = await asked.readPurse(...input)
            await verdict
            // The other payment ends between the reading of the balance and the claim.
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
    ['a string that is not hex', `0x${'zz'.repeat(65)}`],
    ['an empty deployment', `0x${MAGIC}`],
    ['a truncated deployment', `0x1234${MAGIC}`],
    ['a deployment that points elsewhere', `0x${'ff'.repeat(96)}${MAGIC}`],
    ['a deployment of nothing by the zero address', `0x${'00'.repeat(96)}${MAGIC}`],
    ['70 bytes', `0x${'ab'.repeat(70)}`],
  ])('is refused for good with %s for a signature', async (_what, signature) => {
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
    ["a number beyond the chain's range", { nonce: '9'.repeat(78) }],
    ['another deadline', { deadline: 'soon' }],
  ])('is refused for good for %s in a permit', async (_what, change) => {
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
    ["amount beyond the chain's range", { amount: '9'.repeat(78) }],
    ['deadline', { deadline: '-1' }],
    ['owner', { from: '0x00' }],
  ])('is refused for good for the %s of its EIP-2612 permit', async (_what, change) => {
    const { payload, requirement } = await world.sign(await chain.newWallet(RICH), 'upto', 20_000n)
    const { eip2612GasSponsoring } = Object(payload.extensions)
    const info = { ...eip2612GasSponsoring.info, ...change }
    const extensions = { eip2612GasSponsoring: { ...eip2612GasSponsoring, info } }
    expect(await world.claim({ payload: { ...payload, extensions }, requirement })).toMatchObject({ state: 'refused' })
  })
})
