import type { Cancel, Time } from '#shared/clock.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import type { CapturedCall, UsageBatch } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { describeCause } from '#shared/errors.ts'
import type { Ids } from '#shared/ids.ts'

/** Events are collected for this many milliseconds before they travel as one job of at most MAX_BATCH events. */
const USAGE_BATCH_MS = 15
const HEALTH_BATCH_MS = 500
const MAX_BATCH = 500
/** Most events that wait to be added. The sweeper finds later ones in the gate. */
const MAX_WAITING = 20_000
/** Attempts to add a batch to a server that refuses it, and the pause between two attempts. */
const MAX_TRIES = 5
const RETRY_MS = 1_000
/** Nothing is added while more jobs than this wait in the queue. */
const MAX_QUEUED_JOBS = 200_000
/** Interval of the reads of the queues' lengths. A queue without an answer for this long does not work. */
const QUEUE_CHECK_MS = 5_000
const QUEUE_ANSWER_MS = 2_000
/** Losses of health events are logged once in this many milliseconds, with their number. */
const LOSS_LOG_MS = 10_000

type Subject = { readonly rid: string; readonly account: string }

type Log = { warn(facts: object, text: string): void }

/** Carries facts to the control plane. Neither queue is ever the only copy of a fact about money. */
export type EventQueues = {
  /** Sends a usage event that the gate does not have, as text. */
  usage(event: string): void
  /** Sends the name of a call whose event is in the gate. The control plane reads the text there. */
  captured(call: Subject): void
  health(event: HealthEvent): void
  /** Events that were not queued since the start. Only usage events are found again, by the sweeper. */
  dropped(): { readonly usage: number; readonly health: number }
  /** False while the server answers and a queue does not. A server that is away is not this process's fault. */
  areQueuesOpen(): boolean
  /** Checks the queues for the first time, and regularly from then on. Never rejects. */
  start(): Promise<void>
  /** Sends waiting events and closes. */
  close(): Promise<void>
}

/** A queue of batches. */
export type BatchQueue = {
  /** Resolves when the queue has the batch. The queue may have the batch even after a rejection. */
  add(batch: object): Promise<void>
  /** Jobs that no worker has taken yet. */
  waiting(): Promise<number>
  close(): Promise<void>
}

/** The queues, and their server. `ping` rejects while the server does not answer. */
export type EventTransport = {
  readonly usage: BatchQueue
  readonly health: BatchQueue
  ping(): Promise<void>
}

type Parts = {
  readonly queues: EventTransport
  readonly node: string
  readonly ids: Ids
  readonly clock: Time
  readonly log: Log
}

export function createEventQueues({ queues, node, ids, clock, log }: Parts): EventQueues {
  let isBacklogged = false
  let areOpen = true
  let stop: Cancel | undefined
  const dropped = { usage: 0, health: 0 }

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
    dropped.usage += count
    log.warn({ count, cause: describeCause(cause) }, 'usage events were left to the sweeper')
  })
  const tellLoss = createLossLog(clock, log, 'health events of offers were lost')
  health.onLost((count, cause) => {
    dropped.health += count
    tellLoss(count, cause)
  })

  /** Returns the reason why a queue is closed; undefined when it is open, or when the server is away. */
  async function findClosed(): Promise<unknown> {
    try {
      await within(clock, QUEUE_ANSWER_MS, queues.ping())
    } catch {
      return undefined
    }
    try {
      const lengths = Promise.all([queues.usage.waiting(), queues.health.waiting()])
      isBacklogged = (await within(clock, QUEUE_ANSWER_MS, lengths))[0] > MAX_QUEUED_JOBS
      return undefined
    } catch (cause) {
      return cause
    }
  }

  async function check(): Promise<void> {
    // A pause of this process looks the same, so a second check decides.
    const cause = (await findClosed()) === undefined ? undefined : await findClosed()
    const isOpen = cause === undefined
    if (areOpen && !isOpen) log.warn({ cause: describeCause(cause) }, 'a queue is closed on a server that answers')
    areOpen = isOpen
  }

  const add = (item: string | CapturedCall): void => {
    if (isBacklogged || !usage.add(item)) dropped.usage++
  }

  return {
    usage: add,
    captured: ({ rid, account }) => add([rid, account]),
    health(event) {
      if (health.add(event)) return
      dropped.health++
      tellLoss(1, new Error('too many events wait'))
    },
    dropped: () => dropped,
    areQueuesOpen: () => areOpen,
    async start() {
      stop = clock.every(QUEUE_CHECK_MS, () => void check())
      await check()
    },
    async close() {
      stop?.()
      await Promise.all([usage.drain(), health.drain()])
      await Promise.allSettled([queues.usage.close(), queues.health.close()])
    },
  }
}

/** Rejects without an answer after this many milliseconds. */
async function within<Answer>(clock: Time, limitMs: number, answer: Promise<Answer>): Promise<Answer> {
  let cancel: Cancel | undefined
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(limitMs, () => reject(new Error(`no answer within ${limitMs} ms`)))
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    cancel?.()
  }
}

/** Logs losses together: the first at once, and later ones after a pause. */
function createLossLog(clock: Time, log: Log, text: string): (count: number, cause: unknown) => void {
  let lostCount = 0
  let silentUntil = Number.NEGATIVE_INFINITY
  return (count, cause) => {
    lostCount += count
    if (clock.monotonic() < silentUntil) return
    silentUntil = clock.monotonic() + LOSS_LOG_MS
    log.warn({ count: lostCount, cause: describeCause(cause) }, text)
    lostCount = 0
  }
}

/** Collects items and sends them together; at most {@link MAX_WAITING} wait. */
function createBatcher<Item>(clock: Time, everyMs: number, send: (items: readonly Item[]) => Promise<void>) {
  const waiting: Item[] = []
  let cancel: Cancel | undefined
  let inFlight = 0
  let isClosing = false
  const sending = new Set<Promise<void>>()
  let lost: (count: number, cause: unknown) => void = () => undefined

  /** A batch may have been added although no answer came. It then arrives twice, and the booking counts it once. */
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
      const delivery = sendPatiently(batch)
        .catch((cause: unknown) => lost(batch.length, cause))
        .finally(() => {
          inFlight -= batch.length
          sending.delete(delivery)
        })
      sending.add(delivery)
    }
  }

  return {
    /** Returns false when too many items are waiting already. */
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
