import { authorizationTypes, uptoPermit2WitnessTypes } from '@x402/evm'
import { sql } from 'kysely'
import type { Hex } from 'viem'
import { createWalletClient, encodeFunctionData, http, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MULTICALL, MULTICALL_ABI, manyCalls } from '#control-plane/ports/chain/multicall.ts'
import { requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { assignMove } from '#control-plane/services/deposits/operator-moves.ts'
import { reconcile } from '#control-plane/services/deposits/reconcile.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { UPTO_PROXY } from '#shared/chain-terms.ts'
import type { Depositor, DepositWorld } from '#test/support/books/deposits.ts'
import { OPERATOR, startDeposits } from '#test/support/books/deposits.ts'
import type { Signed } from '#test/support/books/payments.ts'
import type { PayoutWorld } from '#test/support/books/payouts.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { CHAIN } from '#test/support/chain/chain.ts'
import { sendAsStranger } from '#test/support/chain/wallet-client.ts'

const FIVE = 5_000_000n
let chain: OwnChain
let world: PayoutWorld
let buyers: DepositWorld['buyers']
let stop: DepositWorld['stop']

beforeAll(async () => {
  ;({ chain, world, buyers, stop } = await startDeposits())
})
afterAll(() => stop())

/** Signs for x402's proxy with a stranger's facilitator, which then takes the money. Returns the transaction. */
async function useProxy(purse: ChainWallet, amount: bigint, by: ChainWallet, nonce = BigInt(Date.now())): Promise<Hex> {
  await chain.approvePermit2(purse)
  const permitted = { token: CONTRACTS.LocalUsdc, amount }
  const witness = { to: world.treasury, facilitator: by.address, validAfter: 0n }
  const message = { permitted, spender: UPTO_PROXY, nonce, deadline: 4_000_000_000n, witness }
  const signature = await purse.account.signTypedData({
    domain: { name: 'Permit2', chainId: CHAIN.id, verifyingContract: CONTRACTS.LocalPermit2 },
    types: uptoPermit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message,
  })
  const permit = { permitted, nonce, deadline: message.deadline }
  const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account: by.account })
  const args = [permit, amount, purse.address, witness, signature] as const
  const hash = await wallet.writeContract({ address: UPTO_PROXY, abi: PROXY, functionName: 'settle', args })
  await chain.publicClient.waitForTransactionReceipt({ hash })
  return hash
}

const PROXY = parseAbi([
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
])
const ANY_TOKEN = parseAbi([
  'function approve(address, uint256) returns (bool)',
  'function transferFrom(address, address, uint256) returns (bool)',
  'function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes)',
  'function mint(address, uint256)',
])

describe('transactions of strangers', () => {
  const GAS = { usdc: FIVE, eth: 10n ** 18n }
  /** The reconciliation's findings about the transfer after a day, and whether the transfer stops payouts. */
  const settles = async () => {
    await buyers.turns(2)
    await sql`update treasury_move set seen_at = seen_at - interval '1 day'`.execute(world.db)
    const { mismatches } = await reconcile({ ...world.ctx, moves: requireMoves(world.ctx) })
    expect({ mismatches, stop: await findPayoutStop(world.ctx) }).toEqual({ mismatches: [], stop: undefined })
    expect(await world.breaches()).toEqual([])
  }
  const assign = (transaction: string, { user }: Depositor) =>
    assignMove.run(buyers.runCtx(), OPERATOR, {
      wallet: undefined,
      account: user.buyerAccount,
      transaction: transaction.toLowerCase(),
      place: 0,
      reason: 'it is theirs',
    })

  it('through x402’s proxy are the credit of their sender, and those of an unknown sender wait for an operator', async () => {
    const buyer = await buyers.depositor(FIVE)
    await useProxy(buyer.purse, 1n, buyer.purse)
    const stranger = await chain.newWallet(GAS)
    const hash = await useProxy(stranger, 1n, stranger)
    await settles()
    expect(await buyers.credit(buyer)).toBe(1)
    expect(await buyers.moveOf(hash)).toMatchObject({ kind: 'unknown', reason: 'unknown_sender', amount: 1n })
    await assign(hash, buyer)
    expect(await buyers.credit(buyer)).toBe(2)
    await settles()
  })

  it('with the nonce of a payment, for another facilitator, are a deposit beside the payment', async () => {
    const calls = await buyers.paying()
    const buyer = await buyers.depositor(FIVE)
    const signed = await calls.sign(buyer.purse, 'upto', 20_000n)
    const rid = await calls.claimed(signed)
    const { nonce } = Object(signed.payload.payload).permit2Authorization
    const hash = await useProxy(buyer.purse, 3n, buyer.purse, BigInt(nonce))
    await settles()
    expect(await buyers.moveOf(hash)).toMatchObject({ kind: 'deposit' })
    expect(await buyers.credit(buyer)).toBe(3)
    await calls.release(rid)
  })

  it('that carry a payment as well are separated from the payment, to the micro-USD', async () => {
    const calls = await buyers.paying()
    const buyer = await buyers.depositor(FIVE)
    const { address, account } = buyer.purse
    const signed = [await calls.sign(buyer.purse, 'exact', 20_000n), await calls.sign(buyer.purse, 'exact', 30_000n)]
    const rids = [await calls.claimed(signed[0] as Signed), await calls.claimed(signed[1] as Signed)]
    const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
    const token = { address: CONTRACTS.LocalUsdc, abi: ANY_TOKEN } as const
    const approval = await wallet.writeContract({ ...token, functionName: 'approve', args: [MULTICALL, FIVE] })
    await chain.publicClient.waitForTransactionReceipt({ hash: approval })
    const move = (amount: bigint) =>
      encodeFunctionData({ ...token, functionName: 'transferFrom', args: [address, world.treasury, amount] })
    const uses = signed.map(({ payload }) => {
      const { authorization, signature } = Object(payload.payload)
      const { from, to, value, validAfter, validBefore, nonce } = authorization
      const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature] as const
      return encodeFunctionData({ ...token, functionName: 'transferWithAuthorization', args })
    })
    const all = [move(1n), ...uses.slice(0, 1), move(19_999n), ...uses.slice(1), move(0n)]
    const call = { address: MULTICALL, abi: MULTICALL_ABI, functionName: 'aggregate3' } as const
    const hash = await wallet.writeContract({ ...call, args: manyCalls(CONTRACTS.LocalUsdc, all), gas: 2_000_000n })
    await chain.publicClient.waitForTransactionReceipt({ hash })
    for (const rid of rids)
      expect(await calls.settle(rid, 7_321n)).toMatchObject({ state: 'settled', transaction: hash })
    for (const rid of rids) await calls.booked(rid)
    await settles()
    expect(await calls.row(rids[0] ?? '')).toMatchObject({ came: 20_000n, state: 'confirmed' })
    expect(await calls.row(rids[1] ?? '')).toMatchObject({ came: 30_000n, state: 'confirmed' })
    expect(await buyers.credit(buyer)).toBe(20_000 + 50_000 - 2 * 7_321)
  })

  it('by another authorization with the nonce of a payment are the payer’s credit, also above the price', async () => {
    const calls = await buyers.paying()
    const buyer = await buyers.depositor(FIVE)
    const signed = await calls.sign(buyer.purse, 'exact', 20_000n)
    const rid = await calls.claimed(signed)
    const message = { ...Object(signed.payload.payload).authorization, value: '60000' }
    const signature = await buyer.purse.account.signTypedData({
      domain: { name: 'USD Coin', version: '2', chainId: CHAIN.id, verifyingContract: CONTRACTS.LocalUsdc },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message,
    })
    const typed = { domain: { verifyingContract: CONTRACTS.LocalUsdc }, message }
    await buyers.submit(buyer.purse, { typedData: JSON.stringify(typed) }, signature)
    expect(await calls.settle(rid, 7_321n)).toMatchObject({ state: 'settled' })
    await calls.booked(rid)
    await settles()
    expect(await buyers.credit(buyer)).toBe(60_000 - 7_321)
  })

  it('without an amount, to themselves, in ETH, or with thousands of logs of other tokens stop nothing', async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 0n)
    const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account: buyer.purse.account })
    const hash = await wallet.sendTransaction({ to: world.treasury, value: 1n })
    await chain.publicClient.waitForTransactionReceipt({ hash })
    await buyers.transfer(buyer.purse, 7n)
    await settles()
    expect(await buyers.credit(buyer)).toBe(7)
  })
})

describe('an exact payment for a call without a charge', () => {
  const CHARGELESS = 20_000n

  it.each(['after', 'before'] as const)('that arrives %s the release is the payer’s credit', async (when) => {
    const calls = await buyers.paying()
    const buyer = await buyers.depositor(FIVE)
    const signed = await calls.sign(buyer.purse, 'exact', CHARGELESS)
    const rid = await calls.claimed(signed)
    if (when === 'after') await calls.release(rid)
    const hash = await sendAsStranger(chain, signed.payload)
    await buyers.turns(2)
    if (when === 'before') await calls.release(rid)
    expect(await calls.row(rid)).toMatchObject({ state: 'mined', transaction: hash })
    await sql`update chain_payment set serve_until = now() - interval '1 hour' where rid = ${rid}`.execute(world.db)
    expect(await calls.booked(rid)).toMatchObject({ state: 'confirmed', came: CHARGELESS, charge: null })
    expect(await buyers.credit(buyer)).toBe(Number(CHARGELESS))
  })

  it('is the payer’s credit, and the free call is booked', async () => {
    const calls = await buyers.paying()
    const buyer = await buyers.depositor(FIVE)
    const signed = await calls.sign(buyer.purse, 'exact', CHARGELESS)
    const rid = await calls.claimed(signed)
    await calls.settle(rid, 0n)
    expect(await calls.booked(rid)).toMatchObject({ state: 'released', charge: 0n })
    await sendAsStranger(chain, signed.payload)
    await buyers.turns(2)
    expect(await calls.booked(rid)).toMatchObject({ state: 'confirmed', came: CHARGELESS, charge: 0n })
    expect(await buyers.credit(buyer)).toBe(Number(CHARGELESS))
  })
})
