import type { Address } from 'viem'
import { BASE_USDC } from '#shared/chain-terms.ts'

/** The addresses at which clients and facilitators of x402 look for the contracts. They are those of Base. */
export const CONTRACTS = {
  LocalUsdc: BASE_USDC,
  LocalPermit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  LocalUptoProxy: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
  LocalMulticall: '0xcA11bde05977b3631167028862bE2a173976CA11',
} as const satisfies Readonly<Record<string, Address>>
