import type { Heard } from '#shared/subscriptions.ts'

/** The channels of announced changes. */
export type UpdateChannel = AnnouncedChannel | 'snapshot' | 'keys' | 'health' | 'feed'
/** Channels that the control plane announces separately from the change itself. */
export type AnnouncedChannel = 'funds' | 'jobs' | 'operations' | 'sessions'

/**
 * Announces that something has changed. Never throws. Watchers find the change of a lost announcement at their next
 * read.
 */
export type Announce = (channel: AnnouncedChannel, names: readonly string[]) => void

/** Receives announcements of every process. A missed announcement is never sent again, so the listener has to read. */
export type Updates = {
  /**
   * Calls the listener with the names in each announcement of a channel. All listeners of a process share one
   * connection. `catchUp` is called whenever an announcement may have been missed, as `Subscriptions` explains. Returns
   * a function that ends the listening.
   */
  listen(channel: UpdateChannel, onUpdate: Heard, catchUp?: () => void): () => void
}
