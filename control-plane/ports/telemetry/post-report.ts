/** Numbers of events of a batch by their result. */
export type PostReport = {
  posted: number
  /** Events that were posted before with the same bytes. */
  repeats: number
  conflicts: number
  poisoned: number
}
