import { z } from 'zod'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { tryAgain } from '#dev/seed/try-again.ts'
import { AppError } from '#shared/errors.ts'
import type { Wallets } from './wallets.ts'

/** The operator's own money in the treasury of the development market, in micro-USD. Sellers are paid from it. */
const CAPITAL_MICRO = 10_000_000_000n
const BOOKING_LIMIT_MS = 10_000
/** A thousand ETH, in wei. */
const GAS_MONEY = '0x3635c9adc5dea00000'

export type TreasuryFunding = {
  readonly rpcUrl: string
  readonly trpcUrl: string
  readonly managementKey: string
  /** The treasury, and a wallet with money for gas that sends the minted tokens. */
  readonly wallets: { readonly [Name in 'treasury' | 'buyer']: Pick<Wallets[Name], 'address'> }
}

/** The selectors of `balanceOf(address)` and `mint(address,uint256)`. */
const BALANCE_OF = '0x70a08231'
const MINT = '0x40c10f19'
const word = (value: string | bigint) =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2)).padStart(64, '0')

/**
 * Mints the capital of a treasury without any on the development chain and books it, like an operator who has sent
 * tokens. Buyers' credit here is a promotion, so without the capital the treasury could not pay sellers.
 */
export async function fundTreasury({ rpcUrl, trpcUrl, managementKey, wallets }: TreasuryFunding): Promise<void> {
  const { address } = wallets.treasury
  const [balance] = await callChain(rpcUrl, [
    ['eth_call', [{ to: CONTRACTS.LocalUsdc, data: BALANCE_OF + word(address) }, 'latest']],
  ])
  if (BigInt(z.string().parse(balance)) > 0n) return
  const from = wallets.buyer.address
  const data = MINT + word(address) + word(CAPITAL_MICRO)
  // The calls of a batch do not wait for each other.
  await callChain(rpcUrl, [
    ['anvil_setBalance', [address, GAS_MONEY]],
    ['anvil_impersonateAccount', [from]],
  ])
  const [transaction] = await callChain(rpcUrl, [['eth_sendTransaction', [{ from, to: CONTRACTS.LocalUsdc, data }]]])
  await callChain(rpcUrl, [['anvil_stopImpersonatingAccount', [from]]])
  // The node answers a transaction before its block.
  await callChain(rpcUrl, [['evm_mine', []]])
  await tryAgain(() => book(trpcUrl, managementKey, z.string().parse(transaction)))
}

/** Books a transfer as capital. A repeat has no further effect. */
async function book(trpcUrl: string, managementKey: string, transaction: string): Promise<void> {
  const reply = await fetch(`${trpcUrl}/treasury.fund`, {
    method: 'POST',
    headers: { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ transaction, reason: 'capital of the development market' }),
    signal: AbortSignal.timeout(BOOKING_LIMIT_MS),
  }).catch((cause: unknown) => {
    throw new AppError('service_unavailable', { message: 'the treasury was not funded', cause })
  })
  if (reply.ok) return
  const code = reply.status === 503 ? 'service_unavailable' : 'internal_error'
  throw new AppError(code, { message: `the treasury was not funded: ${await reply.text()}` })
}
