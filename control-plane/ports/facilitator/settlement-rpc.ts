import type { Hex } from 'viem'
import { createPublicClient, http, TransactionReceiptNotFoundError } from 'viem'
import { SECOND } from '#shared/clock.ts'

const RPC_TIMEOUT_MS = 4 * SECOND

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** The chain as one settlement key uses it. Each method throws when the chain is out of reach. */
export type SettlementRpc = {
  chainId(): Promise<number>
  estimateFees(): Promise<Fees>
  /** The number of the key's transactions in blocks, with `pending` including those that wait. */
  countOf(tag: 'latest' | 'pending'): Promise<bigint>
  /** Throws for a transaction that the chain rejects. */
  send(raw: Hex): Promise<void>
  /** Undefined for a transaction that is in no block. */
  receiptOf(hash: Hex): Promise<{ readonly isReverted: boolean } | undefined>
  /** The key's gas money in wei. */
  gasMoney(): Promise<bigint>
}

/** Calls the chain's JSON-RPC endpoint for a key. */
export function createSettlementRpc(rpcUrl: string, address: Hex): SettlementRpc {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS }) })
  return {
    chainId: () => client.getChainId(),
    estimateFees: () => client.estimateFeesPerGas({ chain: null, type: 'eip1559' }),
    countOf: async (blockTag) => BigInt(await client.getTransactionCount({ address, blockTag })),
    send: async (serializedTransaction) => void (await client.sendRawTransaction({ serializedTransaction })),
    async receiptOf(hash) {
      try {
        const { status } = await client.getTransactionReceipt({ hash })
        return { isReverted: status === 'reverted' }
      } catch (error) {
        if (error instanceof TransactionReceiptNotFoundError) return undefined
        throw error
      }
    },
    gasMoney: () => client.getBalance({ address }),
  }
}
