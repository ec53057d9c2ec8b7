import type { Address, Hex } from 'viem'
import { encodeAbiParameters, keccak256, pad, toHex } from 'viem/utils'
import type { RpcCall } from './call-chain.ts'
import { callChain } from './call-chain.ts'
import { CONTRACTS } from './contract-addresses.ts'

/** The money of one wallet. */
export type WalletFunding = {
  readonly address: Address
  /** Micro-USD. */
  readonly usdcMicro: bigint
  /** Wei of ETH, which pays for transactions. */
  readonly wei: bigint
}

/** Storage slots of `LocalUsdc`, from its source. */
const BALANCES_SLOT = 0n
const SUPPLY_SLOT = 1n

/**
 * Gives wallets of a development chain exactly this money, out of nothing. The money is there at once. A reorganisation
 * of the next block takes it back.
 */
export async function fundWallets(url: string, funds: readonly WalletFunding[]): Promise<void> {
  await callChain(url, funds.flatMap(fundingCalls))
}

/** The calls that give the wallets of a new chain their money, which is all money of that chain. */
export function firstFunds(funds: readonly WalletFunding[]): readonly RpcCall[] {
  const supply = funds.reduce((sum, { usdcMicro }) => sum + usdcMicro, 0n)
  return [
    ...funds.flatMap(fundingCalls),
    ['anvil_setStorageAt', [CONTRACTS.LocalUsdc, wordOf(SUPPLY_SLOT), wordOf(supply)]],
  ]
}

function fundingCalls({ address, usdcMicro, wei }: WalletFunding): RpcCall[] {
  const slot = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [address, BALANCES_SLOT]))
  return [
    ['anvil_setStorageAt', [CONTRACTS.LocalUsdc, slot, wordOf(usdcMicro)]],
    ['anvil_setBalance', [address, toHex(wei)]],
  ]
}

function wordOf(value: bigint): Hex {
  return pad(toHex(value), { size: 32 })
}
