import { uptoPermit2WitnessTypes } from '@x402/evm'
import { sql } from 'kysely'
import { createWalletClient, http, parseAbi } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { askToTake } from '#control-plane/services/gate/may-leave.ts'
import type { TurnCtx } from '#control-plane/services/payments/finish-payments.ts'
import { finishOpenPayments } from '#control-plane/services/payments/finish-payments.ts'
import { readPaymentTerms } from '#control-plane/services/payments/payment-terms.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import type { Claimed, PaymentWorld, RelayedPayments, Scheme, Signed } from '#test/support/books/payments.ts'
import { PAID_CALL, startRelayedPayments } from '#test/support/books/payments.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { CHAIN } from '#test/support/chain/chain.ts'
import type { RpcFault, RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { sendAsStranger } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'

const RICH = { usdc: 1_000_000n }
const { price: PRICE, charge: CHARGE } = PAID_CALL
const TOKEN = parseAbi(['function transfer(address, uint256) returns (bool)'])
let chain: OwnChain
let relay: RpcRelay
let world: PaymentWorld
let claimed: RelayedPayments['claimed']
let spent: RelayedPayments['spent']
let signs: RelayedPayments['signs']
let stop: RelayedPayments['stop']

beforeAll(async () => {
  ;({ chain, relay, world, claimed, spent, signs, stop } = await startRelayedPayments(4))
})
afterEach(() => relay.pass())
afterAll(() => stop())

const owed = (scheme: Scheme) => (scheme === 'upto' ? CHARGE : PRICE)

/**
 * Waits until the worker has brought a payment to a final block and into the books, and checks that the chain has one
 * transfer of the payment.
 */
async function endsPaid(payment: Claimed, scheme: Scheme, ctx: TurnCtx = world.ctx): Promise<void> {
  await until('the payment is mined', 30_000, async () => {
    await finishOpenPayments(ctx)
    return (await world.row(payment.rid)).state === 'mined'
  })
  await chain.mine(4)
  expect(await world.booked(payment.rid, ctx)).toMatchObject({ state: 'confirmed', due: owed(scheme), charge: CHARGE })
  expect(await spent(payment)).toBe(owed(scheme))
  expect((await world.entries(payment.rid))[world.seller]).toBe(6_954n)
}

const FAULTS: readonly RpcFault[] = [
  { kind: 'down' },
  { kind: 'status', status: 500 },
  { kind: 'nonsense' },
  { kind: 'refuse' },
  { kind: 'refuse', code: -32_603, message: 'an error inside' },
]

describe('an unreachable chain', () => {
  it.each(FAULTS)('closes claims, and calls no payment invalid: $kind', async (fault) => {
    const wallet = await chain.newWallet(RICH)
    for (const scheme of ['exact', 'upto'] as const) {
      const signed = await world.sign(wallet, scheme, PRICE)
      for (const method of ['eth_call', '*']) {
        relay.fault(method, fault)
        expect(await world.claim(signed)).toMatchObject({ state: 'closed', reason: 'chain_unreachable' })
        relay.pass()
      }
      expect(await world.claim(signed)).toMatchObject({ state: 'claimed' })
    }
  })

  it.each(FAULTS)('leaves a charge pending, which is taken once when the chain is back: $kind', async (fault) => {
    for (const scheme of ['exact', 'upto'] as const) {
      const payment = await claimed(scheme)
      relay.fault('*', fault)
      expect(await world.settle(payment.rid, CHARGE, { waitMs: 600 })).toMatchObject({ state: 'pending' })
      await finishOpenPayments(world.ctx)
      expect(await world.row(payment.rid)).toMatchObject({ state: 'due' })
      relay.pass()
      await endsPaid(payment, scheme)
    }
  })

  it('keeps no call waiting longer than its limit when it hangs', async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', PRICE)
    relay.fault('eth_call', { kind: 'hang' })
    const hasty = world.process({}, { verifyMs: 50 })
    expect(await world.claim(signed, {}, hasty)).toMatchObject({ state: 'closed', reason: 'chain_unreachable' })
  })

  it('closes payments when it has another id, and writes nothing off', async () => {
    const payment = await claimed('upto')
    relay.fault('eth_chainId', { kind: 'answer', result: '0x1' })
    relay.fault('eth_call', { kind: 'refuse', code: 3, message: 'execution reverted' })
    const fresh = world.process()
    expect(await readPaymentTerms(fresh)).toMatchObject({ isOpen: false, closedFor: 'chain_unreachable' })
    expect(await world.settle(payment.rid, CHARGE, { waitMs: 600 })).toMatchObject({ state: 'pending' })
    await finishOpenPayments(world.ctx)
    expect(await world.row(payment.rid)).toMatchObject({ state: 'due' })
    relay.pass()
    await endsPaid(payment, 'upto')
  })
})

describe('a transaction under way', () => {
  it.each<RpcFault>([
    { kind: 'done-refused' },
    { kind: 'done-cut' },
    { kind: 'dropped' },
    { kind: 'twice' },
    { kind: 'down' },
    { kind: 'status', status: 500 },
  ])('is taken once when its sending meets a fault: $kind', async (fault) => {
    for (const scheme of ['exact', 'upto'] as const) {
      const payment = await claimed(scheme)
      relay.fault('eth_sendRawTransaction', fault, { times: 1 })
      const { state } = await world.settle(payment.rid, CHARGE, { waitMs: 1_000 })
      expect(state).not.toBe('failed')
      await endsPaid(payment, scheme)
    }
  })

  it('is taken once when the chain accepts it and never answers', async () => {
    const payment = await claimed('upto')
    relay.fault('eth_sendRawTransaction', { kind: 'done-unheard' }, { times: 1 })
    expect((await world.settle(payment.rid, CHARGE, { waitMs: 500 })).state).toBe('pending')
    await endsPaid(payment, 'upto')
  })

  it('whose receipt never comes is pending under its hash, and is taken once when the receipt comes', async () => {
    const payment = await claimed('upto')
    relay.fault('eth_getTransactionReceipt', { kind: 'answer', result: null })
    await signs(payment.rid)
    relay.pass()
    await endsPaid(payment, 'upto')
  })

  it('that the chain forgets in a reorganisation of 3 blocks is sent again', async () => {
    const payments = [await claimed('exact'), await claimed('upto')]
    await chain.mine(3)
    for (const { rid } of payments) expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'settled' })
    await finishOpenPayments(world.ctx)
    for (const { rid } of payments) expect((await world.row(rid)).state).toBe('mined')
    await chain.reorganise(3)
    for (const payment of payments) expect(await spent(payment)).toBe(0n)
    // The chain may need two turns: a forgotten transaction may be sent again before its block is missed.
    await until('both transactions are mined again', 30_000, async () => {
      await finishOpenPayments(world.ctx)
      const rows = await Promise.all(payments.map(({ rid }) => world.row(rid)))
      const took = await Promise.all(payments.map(spent))
      return rows.every(({ state }) => state === 'mined') && took.every((amount) => amount > 0n)
    })
    await chain.mine(4)
    for (const payment of payments) {
      const { due } = await world.booked(payment.rid)
      expect(await spent(payment)).toBe(due)
    }
  })

  it('that reverts is tried once more, and pays once', async () => {
    const payer = await chain.newWallet({ ...RICH, eth: 10n ** 18n })
    const signed = await world.sign(payer, 'exact', PRICE)
    const rid = await world.claimed(signed)
    await chain.mining('off')
    const settled = world.settle(rid, CHARGE, { waitMs: 15_000 })
    await until('the transaction is sent', 5_000, async () => relayed('eth_sendRawTransaction'))
    // The payer is faster, and moves its money elsewhere in the same block.
    const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account: payer.account })
    const away = (await chain.newWallet()).address
    await wallet.writeContract({
      address: CONTRACTS.LocalUsdc,
      abi: TOKEN,
      functionName: 'transfer',
      args: [away, 1_000_000n],
      maxFeePerGas: 10n ** 12n,
      maxPriorityFeePerGas: 10n ** 11n,
      gas: 100_000n,
    })
    await chain.mine()
    expect(await chain.usdcBalance(payer.address)).toBe(0n)
    await callChain(chain.rpcUrl, [
      [
        'anvil_setStorageAt',
        [CONTRACTS.LocalUsdc, await slotOf(payer), `0x${1_000_000n.toString(16).padStart(64, '0')}`],
      ],
    ])
    await chain.mining('automatic')
    expect(await settled).toMatchObject({ state: 'settled' })
    await endsPaid({ rid, wallet: payer, signed }, 'exact')
    const { rows } =
      await sql`select is_reverted from chain_transaction where ref like ${`%${payer.address.toLowerCase()}%`}
      order by nonce`.execute(world.db)
    expect(rows).toEqual([{ is_reverted: true }, { is_reverted: false }])
  })

  it('that waits too long gets a higher fee under the same nonce, and pays once', async () => {
    const payment = await claimed('upto')
    await chain.mining('off')
    await signs(payment.rid)
    const rows = async () =>
      (
        await sql<{ nonce: bigint; is_reverted: boolean | null }>`select nonce, is_reverted from chain_transaction
          where ref like ${`%${payment.wallet.address.toLowerCase()}%`} order by signed_at`.execute(world.db)
      ).rows
    await sql`update chain_transaction set signed_at = now() - interval '40 seconds' where mined_at is null`.execute(
      world.db,
    )
    await until('the fee is raised', 30_000, async () => {
      await world.ctx.payments.sendAgain(() => askToTake(world.ctx))
      return (await rows()).length === 2
    })
    await chain.mining('automatic')
    await endsPaid(payment, 'upto')
    const [old, next] = await rows()
    expect([old?.is_reverted, next?.is_reverted, old?.nonce === next?.nonce]).toEqual([true, false, true])
  })

  it('with a raised fee is shown under its hash in the block', async () => {
    const payment = await claimed('upto')
    const patient = world.process({}, { confirmationMs: 15_000 })
    await chain.mining('off')
    const settled = world.settle(payment.rid, CHARGE, { waitMs: 15_000 }, patient)
    const hashes = async (where = sql`true`) =>
      (
        await sql<{ hash: string }>`select hash from chain_transaction
          where ref like ${`%${payment.wallet.address.toLowerCase()}%`} and ${where}`.execute(world.db)
      ).rows.map(({ hash }) => hash)
    await until('the transaction is sent', 10_000, async () => (await hashes(sql`sent_at is not null`)).length === 1)
    await sql`update chain_transaction set signed_at = now() - interval '40 seconds' where mined_at is null`.execute(
      world.db,
    )
    await until('the fee is raised', 10_000, async () => {
      await world.ctx.payments.sendAgain(() => askToTake(world.ctx))
      return (await hashes()).length === 2
    })
    await chain.mining('automatic')
    const { state, transaction } = await settled
    await endsPaid(payment, 'upto')
    expect([state, transaction]).toEqual(['settled', ...(await hashes(sql`not is_reverted`))])
  })
})

const relayed = (method: string) => {
  const before = relay.calls(method)
  return until('a call passes', 5_000, () => relay.calls(method) > before).then(() => true)
}

async function slotOf({ address }: ChainWallet): Promise<string> {
  const { encodeAbiParameters, keccak256 } = await import('viem')
  return keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [address, 0n]))
}

describe('a transfer', () => {
  it('is final at the block that CHAIN_CONFIRMATIONS names, and not before it', async () => {
    const { rid } = await claimed('exact')
    expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'settled' })
    await chain.mine(2)
    await finishOpenPayments(world.ctx)
    expect((await world.row(rid)).state).toBe('mined')
    await chain.mine(1)
    expect(await world.booked(rid)).toMatchObject({ state: 'confirmed' })
  })
})

describe('an authorization that a stranger has sent', () => {
  it('counts as paid, by any sender', async () => {
    const payment = await claimed('exact')
    const hash = await sendAsStranger(chain, payment.signed.payload)
    expect(await world.settle(payment.rid, CHARGE)).toMatchObject({ state: 'settled', transaction: hash })
    await endsPaid(payment, 'exact')
  })

  it('counts as paid after its write-off: the payer owes nothing, and the platform gets its loss back', async () => {
    const payment = await claimed('exact')
    const { rid, wallet } = payment
    await chain.blacklist(wallet.address)
    expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'failed' })
    expect(await world.booked(rid)).toMatchObject({ state: 'written_off', due: PRICE, charge: CHARGE })
    expect((await world.entries(rid))['acc_platform_shortfall']).toBe(-CHARGE)
    await chain.blacklist(wallet.address, false)
    expect(await world.claim(await world.sign(wallet, 'exact', PRICE))).toMatchObject({ reason: 'payer_owes' })
    const hash = await sendAsStranger(chain, payment.signed.payload)
    await endsPaid(payment, 'exact')
    expect(await world.row(rid)).toMatchObject({ transaction: hash, due: PRICE, charge: CHARGE })
    const entries = await world.entries(rid)
    expect(entries['acc_platform_shortfall']).toBe(0n)
    expect(entries['acc_external_usdc']).toBe(-PRICE)
    expect(await world.credit(wallet)).toBe(PRICE - CHARGE)
    expect(await world.breaches()).toEqual([])
    expect(await world.claim(await world.sign(wallet, 'exact', PRICE))).toMatchObject({ state: 'claimed' })
  })

  it('counts as paid after an outage of more blocks than one request may name', async () => {
    const payments = [await claimed('exact'), await claimed('upto')] as const
    const [exact, upto] = [await world.settle(payments[0].rid, CHARGE), await world.settle(payments[1].rid, CHARGE)]
    for (const [{ rid }, { transaction }] of [[payments[0], exact] as const, [payments[1], upto] as const]) {
      await sql`set session_replication_role = replica; delete from chain_transaction where hash = ${sql.lit(transaction)};
        update chain_payment set state = 'due', tx_hash = null where rid = ${sql.lit(rid)};
        set session_replication_role = default`.execute(world.db)
    }
    for (let blocks = 0; blocks < 2_100; blocks += 100) await chain.mine(100)
    const [first, second] = [await world.booked(payments[0].rid), await world.booked(payments[1].rid)]
    expect(first).toMatchObject({ state: 'confirmed', transaction: exact.transaction, came: PRICE })
    expect(second).toMatchObject({ state: 'confirmed', transaction: upto.transaction, came: CHARGE })
  })

  it('by upto does not count for another payment whose number is among its bytes', async () => {
    const wallet = await chain.newWallet({ ...RICH, eth: 10n ** 18n })
    await chain.approvePermit2(wallet)
    const first = await world.sign(wallet, 'upto', PRICE, false)
    const second = await numbered(wallet, first, BigInt(`${Object(first.payload.payload)['signature']}`.slice(0, 66)))
    const [paid, unpaid] = [await world.claimed(first), await world.claimed(second)]
    expect(await world.settle(paid, CHARGE)).toMatchObject({ state: 'settled' })
    await chain.blacklist(wallet.address)
    expect(await world.settle(unpaid, CHARGE)).toMatchObject({ state: 'failed' })
  })

  it('counts as paid when the market had sent it and has lost the record', async () => {
    for (const scheme of ['exact', 'upto'] as const) {
      const payment = await claimed(scheme)
      const settled = await world.settle(payment.rid, CHARGE)
      await sql`set session_replication_role = replica; delete from chain_transaction where hash = ${sql.lit(settled.transaction)};
        update chain_payment set state = 'due', tx_hash = null where rid = ${sql.lit(payment.rid)};
        set session_replication_role = default`.execute(world.db)
      await until('the payment is found', 15_000, async () => {
        await finishOpenPayments(world.ctx)
        return (await world.row(payment.rid)).state === 'mined'
      })
      expect((await world.row(payment.rid)).transaction).toBe(settled.transaction)
      await endsPaid(payment, scheme)
    }
  })
})

/** The same payment by upto under another number. */
async function numbered({ account }: ChainWallet, signed: Signed, nonce: bigint): Promise<Signed> {
  const { permit2Authorization } = Object(signed.payload.payload)
  const authorization = { ...permit2Authorization, nonce: nonce.toString() }
  const signature = await account.signTypedData({
    domain: { name: 'Permit2', chainId: CHAIN.id, verifyingContract: CONTRACTS.LocalPermit2 },
    types: uptoPermit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: authorization,
  })
  return { ...signed, payload: { ...signed.payload, payload: { permit2Authorization: authorization, signature } } }
}

describe('nonces', () => {
  it('without a transaction are filled', async () => {
    await sql`update chain_sender set next_nonce = next_nonce + 3`.execute(world.db)
    const payment = await claimed('exact')
    expect(await world.settle(payment.rid, CHARGE, { waitMs: 500 })).toMatchObject({ state: 'pending' })
    await endsPaid(payment, 'exact')
  })

  it('match a chain that was reset to an older state', async () => {
    const back = await chain.remember()
    const before = [await claimed('exact'), await claimed('upto')]
    for (const { rid } of before) await world.settle(rid, CHARGE)
    await back()
    await sql`update chain_transaction set mined_at = mined_at - interval '1 minute'`.execute(world.db)
    const after = await claimed('exact')
    await world.settle(after.rid, CHARGE, { waitMs: 500 })
    await endsPaid(after, 'exact')
  })

  it('of an endpoint with false answers are not believed', async () => {
    const payment = await claimed('exact')
    relay.fault('eth_getTransactionCount', { kind: 'answer', result: '0xffffff' })
    expect(await world.settle(payment.rid, CHARGE, { waitMs: 1_500 })).toMatchObject({ state: 'pending' })
    relay.pass()
    await endsPaid(payment, 'exact')
  })
})

describe('a facilitator', () => {
  it('without gas money closes payments, and open charges are taken when it has gas again', async () => {
    const payment = await claimed('upto')
    const { address } = await gasKey()
    const before = await chain.publicClient.getBalance({ address })
    await setGas(address, 0n)
    const poor = world.process()
    expect(await readPaymentTerms(poor)).toMatchObject({ isOpen: false, closedFor: 'no_gas_or_kinds' })
    expect(await world.claim(payment.signed, { rid: payment.rid }, poor)).toMatchObject({ state: 'claimed' })
    const other = await claimed('exact')
    expect(await world.claim(await world.sign(other.wallet, 'exact', PRICE), {}, poor)).toMatchObject({
      state: 'closed',
    })
    expect(await world.settle(payment.rid, CHARGE, { waitMs: 1_000 })).toMatchObject({ state: 'pending' })
    await setGas(address, before)
    await endsPaid(payment, 'upto')
  })

  it("of a third party that names a stranger's transfer is not believed", async () => {
    const payment = await claimed('exact')
    const honest = await claimed('exact')
    const { transaction } = await world.settle(honest.rid, CHARGE)
    const liar: TurnCtx = {
      ...world.ctx,
      payments: {
        ...world.ctx.payments,
        facilitator: {
          ...world.ctx.payments.facilitator,
          settle: async () => ({ state: 'mined', transaction: transaction ?? '' }),
        },
      },
    }
    expect(await world.settle(payment.rid, CHARGE, {}, liar)).toMatchObject({ state: 'settled' })
    await chain.mine(4)
    await finishOpenPayments(liar)
    expect(await world.row(payment.rid)).toMatchObject({ state: 'due', bookedAt: null })
    await endsPaid(payment, 'exact')
  })
})

async function gasKey() {
  const { privateKeyToAccount } = await import('viem/accounts')
  return privateKeyToAccount(world.environment.FACILITATOR_PRIVATE_KEY)
}

async function setGas(address: string, wei: bigint): Promise<void> {
  await callChain(chain.rpcUrl, [['anvil_setBalance', [address, `0x${wei.toString(16)}`]]])
}
