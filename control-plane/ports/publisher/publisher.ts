/** A document for the store. The text is its envelope as JSON. */
export type PublishedDocument = { readonly name: string; readonly version: number; readonly text: string }

/** A key for the key store: its HMAC, which finds it, and its record as JSON. */
export type PublishedKey = { readonly hash: string; readonly record: string }

/**
 * Writes the stores from which the data plane reads the control plane's decisions. Every method throws when the store
 * is away.
 */
export type Publisher = {
  /** The versions of the named documents in the store, or of all, by name. */
  versions(names?: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** True when the store holds no document, for example because it was emptied. */
  isEmpty(): Promise<boolean>
  /** Writes documents, their index entries and the announcement in one step. */
  publish(documents: readonly PublishedDocument[]): Promise<void>
  /** True while the key store is filled. An empty key store must not make keys unknown. */
  hasKeys(): Promise<boolean>
  /** Writes changed keys, raises the version and announces the hashes, in one step. */
  putKeys(keys: readonly PublishedKey[], version: number): Promise<void>
  /** Removes keys by hash, raises the version and announces the hashes, in one step. */
  removeKeys(hashes: readonly string[], version: number): Promise<void>
  /** Replaces the whole key store. It counts as filled only after the last page. */
  replaceKeys(pages: AsyncIterable<readonly PublishedKey[]>, version: number): Promise<void>
}
