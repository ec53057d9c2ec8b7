/** Where the latest trades stand for everybody to see. */
export type TradeFeed = {
  /** Adds trades, oldest first, as JSON of the contract. Its loss is acceptable: it never throws and nobody waits for it. */
  push(items: readonly string[]): void
}
