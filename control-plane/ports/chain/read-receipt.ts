import type { Hex, PublicClient } from 'viem'
import { TransactionReceiptNotFoundError } from 'viem'

/** The receipt of a transaction. Undefined for a transaction that no block holds. */
export async function readReceipt(client: PublicClient, hash: Hex) {
  try {
    return await client.getTransactionReceipt({ hash })
  } catch (error) {
    if (error instanceof TransactionReceiptNotFoundError) return undefined
    throw error
  }
}
