import { sql } from 'kysely'
import type { Hash } from 'viem'
import { createWalletClient, http, parseAbi } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Chain } from '#control-plane/ports/chain/chain.ts'
import { createRpcChain } from '#control-plane/ports/chain/rpc-chain.ts'
import type { TurnCtx } from '#control-plane/services/payments/finish-payments.ts'
import { finishOpenPayments } from '#control-plane/services/payments/finish-payments.ts'
import { onChain } from '#control-plane/services/payments/payment-on-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import type { Claimed, PaymentWorld, RelayedPayments, Signed } from '#test/support/books/payments.ts'
import { PAID_CALL, startRelayedPayments } from '#test/support/books/payments.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { CHAIN } from '#test/support/chain/chain.ts'
import type { RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { sendAsStranger } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'

const RICH = { usdc: 1_000_000n }
const { price: PRICE, charge: CHARGE } = PAID_CALL
const CANCEL = parseAbi([
  'function cancelAuthorization(address, bytes32, bytes)',
  'function invalidateUnorderedNonces(uint256, uint256)',
])
let chain: OwnChain
let relay: RpcRelay
let world: PaymentWorld
let claimed: RelayedPayments['claimed']
let stop: RelayedPayments['stop']

beforeAll(async () => {
  ;({ chain, relay, world, claimed, stop } = await startRelayedPayments(1))
})
afterEach(() => relay.pass())
afterAll(() => stop())

/** Waits until a payment that was given up is found, and is in the books. */
async function comes({ rid }: Claimed) {
  await until('the payment is found', 30_000, async () => {
    await finishOpenPayments(world.ctx)
    return (await world.row(rid)).state === 'confirmed'
  })
  return world.booked(rid)
}

/** The test's context with another address of the chain. */
function chainWith(other: Chain): TurnCtx {
  return { ...world.ctx, payments: { ...world.ctx.payments, chain: other } }
}

/** Uses the nonce of a payment up, as its payer can, so that the payment can no longer be taken. */
async function useUp({ account }: ChainWallet, { payload }: Signed): Promise<void> {
  const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
  const { authorization, permit2Authorization } = Object(payload.payload)
  if (authorization === undefined) {
    const nonce = BigInt(permit2Authorization.nonce)
    const args = [nonce >> 8n, 1n << (nonce & 0xffn)] as const
    const call = { address: CONTRACTS.LocalPermit2, abi: CANCEL, functionName: 'invalidateUnorderedNonces' } as const
    return mined(await wallet.writeContract({ ...call, args }))
  }
  const message = { authorizer: account.address, nonce: authorization.nonce }
  const signature = await account.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: CHAIN.id, verifyingContract: CONTRACTS.LocalUsdc },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message,
  })
  const hash = await wallet.writeContract({
    address: CONTRACTS.LocalUsdc,
    abi: CANCEL,
    functionName: 'cancelAuthorization',
    args: [account.address, authorization.nonce, signature],
  })
  return mined(hash)
}

/** Waits for the block of a transaction: a chain answers before it makes the block. */
async function mined(hash: Hash): Promise<void> {
  await chain.publicClient.waitForTransactionReceipt({ hash })
}

describe('the search for a payment', () => {
  it.each(['exact', 'upto'] as const)(
    'ends without money when the payer has used the nonce for something else: %s',
    async (scheme) => {
      const payer = await chain.newWallet({ ...RICH, eth: 10n ** 18n })
      await chain.approvePermit2(payer)
      const signed = await world.sign(payer, scheme, PRICE, false)
      const rid = await world.claimed(signed)
      await useUp(payer, signed)
      // A search of a chain this long takes more than one turn.
      await chain.mine(100)
      const blocksARead = (await chain.publicClient.getBlockNumber()) / 6n + 1n
      const slow = chainWith(createRpcChain(relay.url, { blocksARead, reads: 2 }))
      expect(await world.settle(rid, CHARGE, { waitMs: 30_000 }, slow)).toMatchObject({ state: 'failed' })
      expect(await world.booked(rid, slow)).toMatchObject({ state: 'written_off', charge: CHARGE })
      expect((await world.entries(rid))[world.seller]).toBe(6_954n)
      // A second search reads only the newest blocks.
      const before = relay.calls('eth_getLogs')
      expect(await slow.payments.chain?.findTransfer(onChain(await world.row(rid)))).toBeUndefined()
      expect(relay.calls('eth_getLogs') - before).toBeLessThanOrEqual(2)
    },
  )

  it('skips blocks that are older than the call', async () => {
    const payer = await chain.newWallet({ ...RICH, eth: 10n ** 18n })
    const signed = await world.sign(payer, 'exact', PRICE)
    await useUp(payer, signed)
    const { timestamp } = await chain.publicClient.getBlock()
    const { nonce } = Object(signed.payload.payload['authorization'])
    const { asset, payTo } = signed.requirement
    const since = Number(timestamp + 1n) * 1_000
    const payment = { asset, payTo, payer: payer.address, nonce, amount: PRICE, settledBy: null, since }
    const before = relay.calls('eth_getLogs')
    expect(await createRpcChain(relay.url).findTransfer(payment)).toBeUndefined()
    expect(relay.calls('eth_getLogs')).toBe(before)
  })

  it('ends in time for a payment that was stored under older, looser rules', async () => {
    const [sent, unsent] = [await claimed('exact'), await claimed('exact')]
    const amend = (rid: string, change: string) =>
      sql`set session_replication_role = replica;
        update chain_payment set ${sql.raw(change)} where rid = ${sql.lit(rid)};
        set session_replication_role = default`.execute(world.db)
    for (const { rid } of [sent, unsent]) {
      await amend(rid, `payload = jsonb_set(payload, '{payload,signature}', '"0x1"')`)
      expect(await world.settle(rid, CHARGE, { waitMs: 600 })).toMatchObject({ state: 'pending' })
    }
    const hash = await sendAsStranger(chain, sent.signed.payload)
    for (const { rid } of [sent, unsent]) await amend(rid, "valid_until = now() - interval '5 minutes'")
    expect(await world.booked(unsent.rid)).toMatchObject({ state: 'written_off', reason: 'transfer_not_on_chain' })
    expect(await comes(sent)).toMatchObject({ state: 'confirmed', came: PRICE })
    expect(await world.row(sent.rid)).toMatchObject({ transaction: hash })
  })

  it('finds a payment after its write-off while the search for another fails', async () => {
    const [first, second] = [await claimed('exact'), await claimed('exact')]
    for (const { rid, wallet } of [first, second]) {
      await chain.blacklist(wallet.address)
      expect(await world.settle(rid, CHARGE)).toMatchObject({ state: 'failed' })
      await world.booked(rid)
      await chain.blacklist(wallet.address, false)
    }
    await sendAsStranger(chain, first.signed.payload)
    const hash = await sendAsStranger(chain, second.signed.payload)
    const payer = first.wallet.address.slice(2).toLowerCase()
    relay.fault('eth_getLogs', { kind: 'refuse' }, { only: (params) => JSON.stringify(params).includes(payer) })
    expect(await comes(second)).toMatchObject({ state: 'confirmed', came: PRICE })
    expect(await world.row(second.rid)).toMatchObject({ transaction: hash })
    expect(await world.row(first.rid)).toMatchObject({ state: 'written_off' })
    relay.pass()
    expect(await comes(first)).toMatchObject({ state: 'confirmed', came: PRICE })
  })
})
