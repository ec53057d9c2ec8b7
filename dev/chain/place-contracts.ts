import type { Hex } from 'viem'
import type { ContractName } from './artifacts.ts'
import { CONTRACT_NAMES, readArtifacts } from './artifacts.ts'
import type { RpcCall } from './call-chain.ts'
import { callChain } from './call-chain.ts'
import { CONTRACTS } from './contract-addresses.ts'
import type { WalletFunding } from './fund-wallets.ts'

/**
 * Gives a chain its contracts. A chain without them is new, and gets the funds, too. Returns whether it was new. The
 * contracts are placed last, so that an interrupted start is repeated in full.
 */
export async function placeContracts(url: string, funds: readonly WalletFunding[]): Promise<boolean> {
  const { runtime } = readArtifacts()
  const codes = await callChain(
    url,
    CONTRACT_NAMES.map((name) => ['eth_getCode', [CONTRACTS[name], 'latest']]),
  )
  const missing = CONTRACT_NAMES.filter((_, index) => codes[index] === '0x')
  const isNew = missing.length > 0
  // Only a new chain needs the large library for the funds.
  const money = isNew ? (await import('./fund-wallets.ts')).firstFunds(funds) : []
  await callChain(url, [
    ...money,
    // Contracts of an older version of this repository are replaced, and their storage stays.
    ...CONTRACT_NAMES.map((name): RpcCall => ['anvil_setCode', [CONTRACTS[name], codeOf(runtime, name)]]),
    ['evm_mine', []],
  ])
  return isNew
}

function codeOf(runtime: Readonly<Record<ContractName, Hex>>, name: ContractName): Hex {
  return runtime[name]
}
