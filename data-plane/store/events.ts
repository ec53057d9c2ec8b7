import type { Cancel, Time } from '#shared/clock.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import type { CapturedCall, UsageBatch } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { describeCause } from '#shared/errors.ts'
import type { Ids } from '#shared/ids.ts'

/** How long events gather before they travel as one job, and how many one job carries. */
const USAGE_BATCH_MS = 15
const HEALTH_BATCH_MS = 500
const MAX_BATCH = 500
/** Events waiting to be added; past it they are left to the sweeper, which finds them in the gate. */
const MAX_WAITING = 20_000
/** How often a batch is offered to a server that does not take it, and the pause before each further time. */
const MAX_TRIES = 5
const RETRY_MS = 1_000
/** Jobs waiting in the queue past which nothing is added, and how often that is looked at. */
const MAX_QUEUED_JOBS = 200_000
const QUEUE_CHECK_MS = 5_000

type Subject = { readonly rid: string; readonly account: string }

type Log = { warn(facts: object, text: string): void }

/** Facts on their way to the control plane. Neither queue is ever the only copy of money. */
export type EventQueues = {
  /** A usage event that the gate does not have, as its bytes. */
  usage(event: string): void
  /** A call whose event the gate has: only its name travels, the text is read where it stands. */
  captured(call: Subject): void
  health(event: HealthEvent): void
  /** Usage events that were not queued, since the start. */
  dropped(): number
  /** Sends what waits and closes. */
  close(): Promise<void>
}

/** A queue of batches, wherever it is kept. */
export type BatchQueue = {
  /** Resolves when the queue has the batch; one that rejects may have it all the same. */
  add(batch: object): Promise<void>
  /** Jobs that nobody has taken in hand. */
  waiting(): Promise<number>
  close(): Promise<void>
}

type Parts = {
  readonly queues: { readonly usage: BatchQueue; readonly health: BatchQueue }
  readonly node: string
  readonly ids: Ids
  readonly clock: Time
  readonly log: Log
}

export function createEventQueues({ queues, node, ids, clock, log }: Parts): EventQueues {
  let isBacklogged = false
  let droppedCount = 0

  const usage = createBatcher<string | CapturedCall>(clock, USAGE_BATCH_MS, async (items) => {
    const events = items.filter((item) => typeof item === 'string')
    const captured = items.filter((item) => typeof item !== 'string')
    const batch: UsageBatch = { v: 1, id: ids.make('btc'), node, captured, events }
    crashPoint('before_queue_add')
    await queues.usage.add(batch)
    crashPoint('after_queue_add')
  })
  const health = createBatcher<HealthEvent>(clock, HEALTH_BATCH_MS, async (events) => {
    await queues.health.add({ v: 1, events })
  })
  usage.onLost((count, cause) => {
    droppedCount += count
    log.warn({ count, cause: describeCause(cause) }, 'usage events were left to the sweeper')
  })

  const stop = clock.every(QUEUE_CHECK_MS, () => {
    queues.usage
      .waiting()
      .then((count) => {
        isBacklogged = count > MAX_QUEUED_JOBS
      })
      .catch(() => undefined)
  })

  const add = (item: string | CapturedCall): void => {
    if (isBacklogged || !usage.add(item)) droppedCount++
  }

  return {
    usage: add,
    captured: ({ rid, account }) => add([rid, account]),
    health: (event) => void health.add(event),
    dropped: () => droppedCount,
    async close() {
      stop()
      await Promise.all([usage.drain(), health.drain()])
      await Promise.allSettled([queues.usage.close(), queues.health.close()])
    },
  }
}

/** Gathers items and sends them together; at most {@link MAX_WAITING} wait. */
function createBatcher<Item>(clock: Time, everyMs: number, send: (items: readonly Item[]) => Promise<void>) {
  const waiting: Item[] = []
  let cancel: Cancel | undefined
  let inFlight = 0
  let isClosing = false
  const sending = new Set<Promise<void>>()
  let lost: (count: number, cause: unknown) => void = () => undefined

  /** What was taken without an answer arrives twice, which whoever books it knows to be one. */
  async function sendPatiently(batch: readonly Item[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await send(batch)
      } catch (cause) {
        if (tries >= MAX_TRIES || isClosing) throw cause
        await clock.sleep(RETRY_MS)
      }
    }
  }

  function flush(): void {
    cancel = undefined
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MAX_BATCH)
      inFlight += batch.length
      const sent = sendPatiently(batch)
        .catch((cause: unknown) => lost(batch.length, cause))
        .finally(() => {
          inFlight -= batch.length
          sending.delete(sent)
        })
      sending.add(sent)
    }
  }

  return {
    /** False when too much waits already. */
    add(item: Item): boolean {
      if (waiting.length + inFlight >= MAX_WAITING) return false
      waiting.push(item)
      cancel ??= clock.after(everyMs, flush)
      return true
    },
    onLost(listener: (count: number, cause: unknown) => void): void {
      lost = listener
    },
    async drain(): Promise<void> {
      isClosing = true
      cancel?.()
      flush()
      await Promise.allSettled([...sending])
    },
  }
}
