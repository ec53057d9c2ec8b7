/** The queue that carries usage events to the posting workers. */
export type UsageQueue = {
  /** Number of batches that wait or are in work. Throws while Redis is away. */
  depth(): Promise<number>
}
