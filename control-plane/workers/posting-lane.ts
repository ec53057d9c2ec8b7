import type { Batch } from '#control-plane/services/money/ingest.ts'

type Lane = {
  /** Most events of one posting, and most postings at once. */
  readonly maxEvents: number
  readonly maxAtOnce: number
  readonly post: (batch: Batch) => Promise<unknown>
}

type Waiting = { readonly batch: Batch; readonly done: () => void; readonly failed: (error: unknown) => void }

/**
 * Posts batches of one source together when more of them come in than can be posted at once: a transaction costs about
 * the same for five hundred events as for fifty. A batch that meets nobody is posted at once, alone. What fails, fails
 * for all that went together, and each of them may be given again.
 */
export function createPostingLane({ maxEvents, maxAtOnce, post }: Lane): (batch: Batch) => Promise<void> {
  const waiting: Waiting[] = []
  let running = 0

  /** The batches at the head that go together; at least one, however many events it has. */
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
