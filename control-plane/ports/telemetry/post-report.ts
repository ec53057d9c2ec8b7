/** How many events of a batch went where. */
export type PostReport = {
  posted: number
  /** Posted before, with the same bytes. */
  repeats: number
  conflicts: number
  poisoned: number
}
