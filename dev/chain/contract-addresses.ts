import type { Address } from 'viem'
import { BASE_USDC, PERMIT2, UPTO_PROXY } from '#shared/chain-terms.ts'

/** The addresses at which clients and facilitators of x402 expect the contracts. They are those of Base. */
export const CONTRACTS = {
  LocalUsdc: BASE_USDC,
  LocalPermit2: PERMIT2,
  LocalUptoProxy: UPTO_PROXY,
  LocalMulticall: '0xcA11bde05977b3631167028862bE2a173976CA11',
} as const satisfies Readonly<Record<string, Address>>
