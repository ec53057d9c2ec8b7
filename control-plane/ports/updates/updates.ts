import type { Heard } from '#shared/subscriptions.ts'

/** What is announced when it changes. */
export type UpdateChannel = AnnouncedChannel | 'snapshot' | 'keys' | 'health' | 'feed'
/** What the control plane announces apart from the change itself. */
export type AnnouncedChannel = 'funds' | 'operations' | 'sessions'

/** Tells whoever watches that something has changed. Never throws: what is lost is found at the next look. */
export type Announce = (channel: AnnouncedChannel, names: readonly string[]) => void

/** Hears that something has changed, from whichever process changed it. What was missed is never told later: it has to be read. */
export type Updates = {
  /**
   * Calls back with the names in each announcement of a channel, over one connection of the process however many listen;
   * `catchUp` is called whenever something may have been missed, as `Subscriptions` say. Answers what ends it.
   */
  listen(channel: UpdateChannel, heard: Heard, catchUp?: () => void): () => void
}
