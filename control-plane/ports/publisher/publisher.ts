/** A document as it goes into the store: the text is its envelope as JSON. */
export type PublishedDocument = { readonly name: string; readonly version: number; readonly text: string }

/** A key as it goes into the key store: the HMAC it is found by, and the record as JSON. */
export type PublishedKey = { readonly hash: string; readonly record: string }

/** Where the data plane reads what the control plane decides. Every method throws when the store is away. */
export type Publisher = {
  /** The version of every document that stands in the store, or of those named, by name. */
  versions(names?: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** True when the store holds no document at all: it was emptied. */
  isEmpty(): Promise<boolean>
  /** Writes documents, their index entries and the announcement in one step. */
  publish(documents: readonly PublishedDocument[]): Promise<void>
  /** True while the key store is filled: an empty one must not say that keys are unknown. */
  hasKeys(): Promise<boolean>
  /** Writes changed keys, raises the version and announces the hashes in one step. */
  putKeys(keys: readonly PublishedKey[], version: number): Promise<void>
  /** Removes keys by their hashes, raises the version and announces the hashes in one step. */
  removeKeys(hashes: readonly string[], version: number): Promise<void>
  /** Replaces the whole key store; it counts as filled only when the last page is in. */
  replaceKeys(pages: AsyncIterable<readonly PublishedKey[]>, version: number): Promise<void>
}
