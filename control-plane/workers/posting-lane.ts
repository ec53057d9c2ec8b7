import type { EventBatch } from '#control-plane/services/booking/ingest.ts'

type Lane = {
  /** Most events in one posting, and most postings at once. */
  readonly maxEvents: number
  readonly maxAtOnce: number
  readonly post: (batch: EventBatch) => Promise<unknown>
}

type Waiting = { readonly batch: EventBatch; readonly done: () => void; readonly failed: (error: unknown) => void }

/**
 * Posts batches of one source together when more arrive than can be posted at once, because a transaction costs about
 * the same for five hundred events as for fifty. A batch without others is posted at once. A failure fails every batch
 * of its posting, and each may be delivered again.
 */
export function createPostingLane({ maxEvents, maxAtOnce, post }: Lane): (batch: EventBatch) => Promise<void> {
  const waiting: Waiting[] = []
  let running = 0

  /** Takes the first batches that are posted together: at least one, whatever its size. */
  function takeTogether(): Waiting[] {
    const source = waiting[0]?.batch.source
    let events = 0
    let count = 0
    for (const { batch } of waiting) {
      if (count > 0 && (batch.source !== source || events + batch.events.length > maxEvents)) break
      events += batch.events.length
      count += 1
    }
    return waiting.splice(0, count)
  }

  function next(): void {
    while (running < maxAtOnce && waiting.length > 0) {
      const together = takeTogether()
      running += 1
      const source = together[0]?.batch.source ?? ''
      post({ events: together.flatMap(({ batch }) => batch.events), source })
        .then(
          () => {
            for (const { done } of together) done()
          },
          (error: unknown) => {
            for (const { failed } of together) failed(error)
          },
        )
        .finally(() => {
          running -= 1
          next()
        })
    }
  }

  return (batch) =>
    new Promise((done, failed) => {
      waiting.push({ batch, done, failed })
      next()
    })
}
