/**
 * Asks whether a contract wallet accepts a signature of a message, by ERC-1271, or by ERC-6492 for a wallet that is not
 * deployed yet. Null when no chain is configured. Throws when the chain does not answer in time.
 */
export type ContractWallets = ((signedByContract: SignedByContract) => Promise<boolean>) | null

export type SignedByContract = {
  readonly wallet: string
  readonly message: string
  readonly signature: `0x${string}`
}
