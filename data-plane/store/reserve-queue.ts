import type { Timers } from '#shared/clock.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { ReserveAnswer, ReserveOperation } from '#shared/contract/money-scripts/reserve.ts'
import { decodeReserve, encodeReserve } from '#shared/contract/money-scripts/reserve.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'
import type { Logger } from '#shared/logger.ts'
import { groupByBucket } from './bucket-groups.ts'
import type { GateMember, Membership } from './gate-member.ts'
import type { MoneyConnection } from './money-connection.ts'
import { isMissingScript } from './money-connection.ts'

/**
 * Milliseconds for which a call waits for its reserve: a busy server answers late, and a late answer is better than a
 * refusal.
 */
export const RESERVE_WAIT_MS = 2_000
/** Most reserves that wait for an answer. Beyond it new calls are shed. */
const MAX_UNANSWERED = 4_096

type Entry = {
  readonly operation: ReserveOperation
  readonly resolve: (answer: ReserveAnswer) => void
  readonly reject: (error: AppError) => void
  isOver: boolean
}

type Ports = {
  readonly connection: Pick<MoneyConnection, 'run'>
  readonly member: Pick<GateMember, 'open' | 'doubt'>
  readonly buckets: number
  readonly clock: Timers
  readonly log: Logger
  /** Receives a reserve that may or may not have happened. It must be released. */
  onLost(operation: ReserveOperation): void
}

/** Collects the reserves of one tick into one script for each bucket. */
export type ReserveQueue = {
  /** Rejects with `service_unavailable` when Redis is closed, refuses the batch or does not answer in time. */
  push(operation: ReserveOperation): Promise<ReserveAnswer>
  flush(): void
}

export function createReserveQueue(ports: Ports, wake: () => void): ReserveQueue {
  const { member, log } = ports
  let waiting: Entry[] = []
  let unanswered = 0

  function refuse(entry: Entry, cause: unknown, isLost: boolean): void {
    if (entry.isOver) return
    entry.isOver = true
    unanswered -= 1
    if (isLost) ports.onLost(entry.operation)
    entry.reject(gateClosed(cause))
  }

  function take(entry: Entry, answer: ReserveAnswer | undefined): void {
    if (entry.isOver || answer === undefined) return
    entry.isOver = true
    unanswered -= 1
    entry.resolve(answer)
  }

  function send(membership: Membership, entries: readonly Entry[], bucket: string): void {
    const operations = entries.map((entry) => entry.operation)
    // After a pause, a process finds this timer due before it reads its sockets. An answer that has arrived comes
    // first.
    const endDeadline = ports.clock.after(RESERVE_WAIT_MS, () =>
      ports.clock.soon(() => {
        for (const entry of entries) refuse(entry, new Error('no answer in time'), true)
      }),
    )
    ports.connection
      .run(membership.scripts.reserve, encodeReserve({ bucket, epoch: membership.epoch }, operations))
      .then((reply) => {
        const answers = decodeReserve(reply, entries.length)
        if (answers.some((answer) => answer.kind === 'stale'))
          member.doubt('the server was emptied or rebuilt', membership)
        for (const [index, entry] of entries.entries()) take(entry, answers[index])
      })
      .catch((error: unknown) => {
        const isUnknown = isMissingScript(error)
        if (isUnknown) member.doubt('the server does not know the scripts', membership)
        else log.warn({ cause: describeCause(error), count: entries.length }, 'a batch of reserves was not answered')
        for (const entry of entries) refuse(entry, error, !isUnknown)
      })
      .finally(endDeadline)
  }

  return {
    push(operation) {
      if (member.open() === undefined) return Promise.reject(gateClosed())
      if (unanswered >= MAX_UNANSWERED) return Promise.reject(new AppError('overloaded', { retryAfterSeconds: 1 }))
      unanswered += 1
      return new Promise((resolve, reject) => {
        waiting.push({ operation, resolve, reject, isOver: false })
        wake()
      })
    },
    flush() {
      if (waiting.length === 0) return
      const membership = member.open()
      const entries = waiting
      waiting = []
      if (membership === undefined) {
        for (const entry of entries) refuse(entry, undefined, false)
        return
      }
      for (const [bucket, group] of groupByBucket(entries, ports.buckets)) {
        for (let start = 0; start < group.length; start += MAX_BATCH) {
          send(membership, group.slice(start, start + MAX_BATCH), bucket)
        }
      }
    },
  }
}
