import { sql } from 'kysely'
import type { Hex, TypedDataDefinition } from 'viem'
import { createWalletClient, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect } from 'vitest'
import { z } from 'zod'
import { transact } from '#control-plane/db/database.ts'
import { listDeposits } from '#control-plane/db/deposits.ts'
import { listMoves } from '#control-plane/db/treasury-moves.ts'
import type { User } from '#control-plane/db/users.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { useOf } from '#control-plane/ports/treasury/authorization.ts'
import { purseOf, requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import type { DepositWay } from '#control-plane/services/deposits/open-deposit.ts'
import { openDeposit, signDeposit } from '#control-plane/services/deposits/open-deposit.ts'
import { reconcile } from '#control-plane/services/deposits/reconcile.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { ensureUser } from '#control-plane/services/users/users.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { systemClock } from '#shared/clock.ts'
import { microUsd } from '#shared/money.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { CHAIN, startChain } from '#test/support/chain/chain.ts'
import { ids } from './gate.ts'
import { balanceOf, newAccount } from './ledger.ts'
import { paidCalls } from './payments.ts'
import type { PayoutWorld } from './payouts.ts'
import { startPayouts } from './payouts.ts'

const TOKEN = parseAbi(['function transfer(address, uint256) returns (bool)'])
const GAS_MONEY = 10n ** 18n
const FACILITATOR_KEY: Hex = `0x${'41'.repeat(32)}`

export const OPERATOR = { kind: 'operator', keyId: null, source: 'test' } as const

/** A treasury with a facilitator on a chain of its own, and its buyers. */
export type DepositWorld = {
  readonly chain: OwnChain
  readonly world: PayoutWorld
  readonly buyers: ReturnType<typeof depositing>
  /** Checks that the chain and the books agree, and closes everything. */
  stop(): Promise<void>
}

/** Starts a treasury whose transfers are read from the next block on. */
export async function startDeposits(changes: Readonly<Record<string, string>> = {}): Promise<DepositWorld> {
  const chain = await startChain()
  const world = await startPayouts(chain, { FACILITATOR_PRIVATE_KEY: FACILITATOR_KEY, ...changes })
  const buyers = depositing(world)
  const facilitator = privateKeyToAccount(FACILITATOR_KEY).address
  await callChain(chain.rpcUrl, [['anvil_setBalance', [facilitator, `0x${(1_000n * GAS_MONEY).toString(16)}`]]])
  await chain.mine()
  await buyers.turn()
  return {
    chain,
    world,
    buyers,
    async stop() {
      expect(await buyers.mismatches()).toEqual([])
      expect(await world.breaches()).toEqual([])
      await world.stop()
      await chain.stop()
    },
  }
}

/** A buyer with a wallet on the chain. */
export type Depositor = { readonly user: User; readonly purse: ChainWallet }

/** The actions of buyers who fund their accounts. */
export function depositing(world: PayoutWorld) {
  const { chain, db, ctx } = world
  const actorOf = ({ user, purse }: Depositor) => ({
    kind: 'buyer' as const,
    keyId: null,
    user: user.id,
    account: user.buyerAccount,
    wallet: purse.address.toLowerCase(),
  })
  const change: RunCtx['change'] = (run) => transact(db, run)
  const runCtx = (by = ctx) => ({ ...by, change }) as RunCtx
  const signIn = (purse: ChainWallet): Promise<User> =>
    transact(db, (trx) => ensureUser({ ids, clock: systemClock }, trx, purse.address.toLowerCase()))
  const reading = () => ({ ...ctx, moves: requireMoves(ctx) })
  const purseOfMoves = () => purseOf(reading().moves)
  const turn = (by = ctx) => takeDeposits(by)
  return {
    signIn,
    reading,
    turn,
    purse: purseOfMoves,
    /** The context of an operator's call. */
    runCtx: () => runCtx(),
    async turns(count: number, by = ctx) {
      for (let at = 0; at < count; at++) await turn(by)
    },
    /** The booked movement of a transaction to or from the treasury. */
    async moveOf(hash: string) {
      const moves = await listMoves(db, purseOfMoves(), { kind: undefined, direction: undefined }, 500)
      return moves.find(({ transaction }) => transaction === hash.toLowerCase())
    },
    /** Calls that wallets pay for. */
    async paying() {
      const { payments } = ctx
      if (payments === null) throw new Error('payments are not set up')
      const paid = { ...ctx, payments }
      return { ctx: paid, ...paidCalls(paid, chain, await newAccount(db, 'seller_available')) }
    },
    /** Sends a signed deposit to the chain from a stranger's address. */
    async submit(payer: ChainWallet, { typedData }: Pick<DepositWay, 'typedData'>, signature: Hex, by = payer) {
      const { domain, message } = JSON.parse(typedData ?? '')
      const token = { asset: domain.verifyingContract, assetName: 'USD Coin', assetVersion: '2' }
      const terms = { recipient: message.to, amount: BigInt(message.value), validBefore: BigInt(message.validBefore) }
      const use = useOf(
        { kind: 'transfer', chainId: CHAIN.id, ...token, payer: payer.address, ...terms, nonce: message.nonce },
        signature,
      )
      const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account: by.account })
      const hash = await wallet.writeContract({ address: CONTRACTS.LocalUsdc, ...use })
      await chain.publicClient.waitForTransactionReceipt({ hash })
    },
    /** A buyer's deposits, newest first. */
    deposits: ({ user }: Depositor) => listDeposits(db, user.buyerAccount, { before: undefined, limit: 20 }),
    /** Differences between the chain and the books. */
    async mismatches(): Promise<unknown> {
      const { failure, mismatches } = await reconcile(reading())
      expect(failure).toBeNull()
      return mismatches
    },
    /**
     * A transfer to the treasury as bytes, which can be sent again after its block is gone. The transfer with the
     * higher fee comes first in a block.
     */
    async rawTransfer({ account }: ChainWallet, amount: bigint, feeWei?: bigint): Promise<Hex> {
      const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
      const to = world.treasury.slice(2).padStart(64, '0')
      const data: Hex = `0xa9059cbb${to}${amount.toString(16).padStart(64, '0')}`
      const fees = feeWei === undefined ? {} : { maxFeePerGas: feeWei, maxPriorityFeePerGas: feeWei }
      const request = await wallet.prepareTransactionRequest({ to: CONTRACTS.LocalUsdc, data, ...fees })
      return wallet.signTransaction(request)
    },
    clearHolds: () =>
      sql`update payout_hold set cleared_at = now(), cleared_by = 'test', clear_reason = 'test'
        where cleared_at is null`.execute(db),
    /** A buyer whose wallet has money, and ETH only when the wallet sends transactions itself. */
    async depositor(usdc: bigint, eth = GAS_MONEY): Promise<Depositor> {
      const purse = await chain.newWallet({ usdc, eth })
      return { purse, user: await signIn(purse) }
    },
    /** Sends tokens from a wallet to the treasury, or to another address. Returns the hash once it is in a block. */
    async transfer({ account }: ChainWallet, amount: bigint, token: Hex = CONTRACTS.LocalUsdc, to = world.treasury) {
      const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
      const hash = await wallet.writeContract({
        address: token,
        abi: TOKEN,
        functionName: 'transfer',
        args: [to, amount],
      })
      await chain.publicClient.waitForTransactionReceipt({ hash })
      return hash
    },
    open: (buyer: Depositor, amount: bigint | undefined, sender = buyer.purse.address.toLowerCase()) =>
      openDeposit.run(runCtx(), actorOf(buyer), {
        amountUsd: amount === undefined ? undefined : microUsd(amount),
        sender,
      }),
    signatureOf: ({ typedData }: DepositWay, { account }: ChainWallet) => account.signTypedData(typedOf(typedData)),
    hand: (buyer: Depositor, id: string, signature: string, by = ctx) =>
      signDeposit.run(runCtx(by), actorOf(buyer), { id, signature }),
    credit: ({ user }: Depositor) => balanceOf(db, user.buyerAccount),
  }
}

/** The JSON that a buyer receives, parsed for a wallet. */
export function typedOf(typedData: string | null): TypedDataDefinition {
  const { message, ...rest } = z
    .looseObject({
      message: z.looseObject({}),
      domain: z.looseObject({}),
      types: z.looseObject({}),
      primaryType: z.string(),
    })
    .parse(JSON.parse(typedData ?? 'null'))
  return { ...rest, message } as TypedDataDefinition
}
