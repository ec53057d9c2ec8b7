/** The queue that carries usage events to the posting workers. */
export type UsageQueue = {
  /** Number of batches that wait or are being worked on. Throws while Redis is away. */
  depth(): Promise<number>
}
