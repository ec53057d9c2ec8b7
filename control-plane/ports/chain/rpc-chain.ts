import { createPublicClient, http } from 'viem'
import { getAddress } from 'viem/utils'
import { SECOND } from '#shared/clock.ts'
import { asHex } from '#shared/hex.ts'
import type { Chain } from './chain.ts'
import type { LookLimits } from './payment-search.ts'
import { createPaymentSearch } from './payment-search.ts'
import { readPurse } from './read-purse.ts'
import { readReceipt } from './read-receipt.ts'

const RPC_TIMEOUT_MS = 4_000

/** Reads a chain through its JSON-RPC endpoint. `limits` bound one search for a payment. */
export function createRpcChain(rpcUrl: string, limits?: LookLimits): Chain {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS }) })
  const search = createPaymentSearch(client, limits)
  return {
    async receiptOf(hash, payment) {
      const receipt = await readReceipt(client, asHex(hash))
      if (receipt === undefined) return undefined
      const { blockNumber: block, status, logs } = receipt
      return { block, isReverted: status === 'reverted', moved: await search.movedBy(asHex(hash), logs, payment) }
    },
    findTransfer: (payment) => search.find(payment),
    async head() {
      const { number, timestamp } = await client.getBlock({ blockTag: 'latest' })
      return { block: number, at: Number(timestamp) * SECOND }
    },
    readPurse: (asset, payer, purseQuestion) => readPurse(client, { asset, payer }, purseQuestion),
    async hasCode(address) {
      return (await client.getCode({ address: getAddress(address) })) !== undefined
    },
    async checkChain(chainId) {
      const answered = await client.getChainId()
      if (answered !== chainId) throw new Error(`the chain's id is ${answered}, not ${chainId}`)
    },
  }
}
