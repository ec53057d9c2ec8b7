import { createPublicClient, http, parseAbi, TransactionReceiptNotFoundError } from 'viem'
import { getAddress } from 'viem/utils'
import type { Chain } from './chain.ts'

const RPC_TIMEOUT_MS = 4_000
const TOKEN = parseAbi(['function balanceOf(address) view returns (uint256)'])

/** Reads a chain through its JSON-RPC endpoint. */
export function createRpcChain(rpcUrl: string): Chain {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS }) })
  return {
    async receiptOf(hash) {
      try {
        const receipt = await client.getTransactionReceipt({ hash: `0x${hash.slice(2)}` })
        return { block: receipt.blockNumber, isReverted: receipt.status === 'reverted' }
      } catch (error) {
        if (error instanceof TransactionReceiptNotFoundError) return undefined
        throw error
      }
    },
    head: () => client.getBlockNumber({ cacheTime: 0 }),
    balanceOf: (asset, owner) =>
      client.readContract({
        address: getAddress(asset),
        abi: TOKEN,
        functionName: 'balanceOf',
        args: [getAddress(owner)],
      }),
    async checkChain(chainId) {
      const answered = await client.getChainId()
      if (answered !== chainId) throw new Error(`the chain's id is ${answered}, not ${chainId}`)
    },
  }
}
