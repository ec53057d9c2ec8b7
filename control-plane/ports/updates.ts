/** What is announced when it changes. */
export type UpdateChannel = 'snapshot' | 'keys' | 'health' | 'feed'

/** Hears that something has changed, from whichever process changed it. What was missed is never told later. */
export type Updates = {
  /**
   * Calls back with the names in each announcement of a channel, over one connection of the process however many listen.
   * Answers what ends it.
   */
  listen(channel: UpdateChannel, listener: (names: readonly string[]) => void): () => void
}
