/** Publishes the documents that the data plane reads, from the tables. */
export type Publication = {
  /**
   * Publishes the documents that a committed change touched, so that routing follows at once. Never throws. A failure
   * is logged, and `reconcile` later finds the same difference.
   */
  publishSoon(names: readonly string[]): Promise<void>
  /**
   * Publishes the offers of models. Changes of one model that wait for the same turn are published together. Resolves
   * when the change is published, or at once when more wait than one turn takes. Never throws, as `publishSoon`.
   */
  publishOffers(models: readonly string[]): Promise<void>
  /** Publishes the named documents whose body has changed, and returns their names. Throws when the store is away. */
  publishChanged(names: readonly string[]): Promise<string[]>
  /**
   * Makes the store equal to Postgres, document by document. Returns the names of the documents that differed. Throws
   * when the store is away.
   */
  reconcile(): Promise<string[]>
  /**
   * True when the store holds every document in the version that Postgres records. The check is cheap enough to run
   * often.
   */
  isWhole(): Promise<boolean>
}
