/** The use of each side, for readers who have no account. */
export const SIDE_USES = {
  buyer:
    'Call every model at the best price on sale, with the clients you have. Set a cap for each key, and see every call with its cost. A call without an answer costs nothing.',
  seller:
    'List a provider key at a discount, model by model. Set daily caps, and pause an offer at any time. Your key stays encrypted, and earnings go to your wallet in USDC.',
  operator:
    'Read the ledger and the check of its invariants, manage offers, list prices and incidents, and help customers. Every change is audited.',
} as const
