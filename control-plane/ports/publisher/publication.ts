/** Brings what the tables say into the documents that the data plane reads. */
export type Publication = {
  /**
   * Publishes what a committed change touched, so that it is routed at once. Never throws: what fails is logged, and
   * `reconcile` finds the same difference again.
   */
  publishSoon(names: readonly string[]): Promise<void>
  /**
   * Publishes the offers of models. Changes of one model that wait for the same turn are published together. Resolves when
   * theirs is out, or at once while more wait than one turn takes. Never throws, as `publishSoon`.
   */
  publishOffers(models: readonly string[]): Promise<void>
  /** Publishes those of the named documents whose body has changed; answers their names. Throws when the store is away. */
  publishChanged(names: readonly string[]): Promise<string[]>
  /**
   * Brings the store to what Postgres says, document by document, and answers the names of those that differed. Throws
   * when the store is away.
   */
  reconcile(): Promise<string[]>
  /** True when the store holds every document in the version that Postgres remembers: cheap enough to ask often. */
  isWhole(): Promise<boolean>
}
