/** An address of the chain, in the spelling that carries its checksum. */
export type ChainAddress = `0x${string}`

/** Base's chain id and its USDC, which stock clients pay by default. */
export const BASE_CHAIN_ID = 8_453
export const BASE_USDC: ChainAddress = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

/** Uniswap's Permit2, and x402's proxy that settles `upto` payments with it. They are the same on every chain. */
export const PERMIT2: ChainAddress = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
export const UPTO_PROXY: ChainAddress = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'

/** Public explorers by the id of their chain. */
export const EXPLORERS: ReadonlyMap<number, string> = new Map([[BASE_CHAIN_ID, 'https://basescan.org']])

/** The version of x402 whose headers and answers the market speaks. */
export const X402_VERSION = 2
