/** The public feed of the latest trades. */
export type TradeFeed = {
  /**
   * Adds trades as JSON of the contract, oldest first. A loss is acceptable, so it never throws and no caller waits for
   * it.
   */
  push(items: readonly string[]): void
}
