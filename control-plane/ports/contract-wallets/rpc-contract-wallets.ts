import { createPublicClient, custom, HttpRequestError, http, UnknownRpcError } from 'viem'
import { getAddress } from 'viem/utils'
import type { ContractWallets } from './contract-wallets.ts'

/** Longest wait for all requests to the chain about one signature. */
const RPC_TIMEOUT_MS = 2_500

/** Checks signatures of contract wallets through a chain's JSON-RPC endpoint. */
export function createRpcContractWallets(rpcUrl: string, timeoutMs = RPC_TIMEOUT_MS): ContractWallets {
  return async ({ wallet, message, signature }) => {
    // A single signal ends all requests of this check, however many there are.
    const signal = AbortSignal.timeout(timeoutMs)
    const endpoint = http(rpcUrl, { retryCount: 0, timeout: timeoutMs, fetchOptions: { signal } })({})
    let failure: unknown
    const transport = custom(
      {
        request: async (call) => {
          try {
            return await endpoint.request(call)
          } catch (error) {
            // The client reports a chain that does not answer like a rejected signature, so the failure is kept and
            // thrown below.
            if (error instanceof HttpRequestError || error instanceof UnknownRpcError) failure = error
            throw error
          }
        },
      },
      { retryCount: 0 },
    )
    const isValid = await createPublicClient({ transport }).verifyMessage({
      address: getAddress(wallet),
      message,
      signature,
    })
    if (failure !== undefined) throw failure
    return isValid
  }
}
