/**
 * Whether a contract wallet takes a signature of a message for its own: ERC-1271, and ERC-6492 for one that is not
 * deployed yet. Null where no chain can be asked. Throws when the chain does not answer in time.
 */
export type ContractWallets = ((asked: SignedByContract) => Promise<boolean>) | null

export type SignedByContract = {
  readonly wallet: string
  readonly message: string
  readonly signature: `0x${string}`
}
