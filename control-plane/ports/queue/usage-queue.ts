/** The queue that brings usage events to their posting. */
export type UsageQueue = {
  /** Batches that wait or are in somebody's hands. Throws while Redis is away. */
  depth(): Promise<number>
}
