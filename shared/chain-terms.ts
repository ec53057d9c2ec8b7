/** An address of the chain, in the spelling that carries its checksum. */
export type ChainAddress = `0x${string}`

/** Base's chain id and its USDC, which stock clients pay without being told to. */
export const BASE_CHAIN_ID = 8_453
export const BASE_USDC: ChainAddress = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
