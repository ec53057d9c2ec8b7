import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
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

type Parts = {
  readonly redis: Redis
  readonly node: string
  readonly ids: Ids
  readonly log: Log
}

export function createEventQueues({ redis, node, ids, log }: Parts): EventQueues {
  const options = {
    connection: redis,
    defaultJobOptions: {
      removeOnComplete: true,
      removeOnFail: 1_000,
      attempts: 10,
      backoff: { type: 'exponential', delay: 500 },
    },
  }
  const usageQueue = new Queue(QUEUES.usage, options)
  const healthQueue = new Queue(QUEUES.health, {
    ...options,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: 100 },
  })
  for (const queue of [usageQueue, healthQueue]) {
    queue.on('error', (cause) => log.warn({ cause: describeCause(cause) }, 'a queue failed'))
  }
  let isBacklogged = false
  let droppedCount = 0

  const usage = createBatcher<string | CapturedCall>(USAGE_BATCH_MS, async (items) => {
    const events = items.filter((item) => typeof item === 'string')
    const captured = items.filter((item) => typeof item !== 'string')
    const batch: UsageBatch = { v: 1, id: ids.make('btc'), node, captured, events }
    crashPoint('before_queue_add')
    await usageQueue.add('batch', batch)
    crashPoint('after_queue_add')
  })
  const health = createBatcher<HealthEvent>(HEALTH_BATCH_MS, async (events) => {
    await healthQueue.add('batch', { v: 1, events })
  })
  usage.onLost((count, cause) => {
    droppedCount += count
    log.warn({ count, cause: describeCause(cause) }, 'usage events were left to the sweeper')
  })

  const timer = setInterval(() => {
    usageQueue
      .getWaitingCount()
      .then((count) => {
        isBacklogged = count > MAX_QUEUED_JOBS
      })
      .catch(() => undefined)
  }, QUEUE_CHECK_MS)

  const add = (item: string | CapturedCall): void => {
    if (isBacklogged || !usage.add(item)) droppedCount++
  }

  return {
    usage: add,
    captured: ({ rid, account }) => add([rid, account]),
    health: (event) => void health.add(event),
    dropped: () => droppedCount,
    async close() {
      clearInterval(timer)
      await Promise.all([usage.drain(), health.drain()])
      await Promise.allSettled([usageQueue.close(), healthQueue.close()])
    },
  }
}

/** Gathers items and sends them together; at most {@link MAX_WAITING} wait. */
function createBatcher<Item>(everyMs: number, send: (items: readonly Item[]) => Promise<void>) {
  const waiting: Item[] = []
  let timer: NodeJS.Timeout | undefined
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
        await pause(RETRY_MS)
      }
    }
  }

  function flush(): void {
    timer = undefined
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
      timer ??= setTimeout(flush, everyMs)
      return true
    },
    onLost(listener: (count: number, cause: unknown) => void): void {
      lost = listener
    },
    async drain(): Promise<void> {
      isClosing = true
      clearTimeout(timer)
      flush()
      await Promise.allSettled([...sending])
    },
  }
}
