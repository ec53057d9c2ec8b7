import type { CaptureOutcome } from '#data-plane/payment.ts'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { ScriptAnswer } from '#shared/contract/money-scripts/batch.ts'
import { decodeAnswers, MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { TurnoverMap } from '#shared/turnover-map.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'
import { groupByBucket } from './bucket-groups.ts'
import type { GateMember, Membership } from './gate-member.ts'
import type { MoneyConnection } from './money-connection.ts'
import { isMissingScript } from './money-connection.ts'

/** Milliseconds for which a call waits until Redis takes its capture. After that only the journal has the capture. */
const CAPTURE_WAIT_MS = 250
/** Milliseconds between two searches for calls that have waited that long. */
const LOOK_MS = 50
/** Most batches that travel at once. More would only wait inside the server. */
const MAX_BATCHES_UNDER_WAY = 16
/** Milliseconds of pause after the server refused a whole batch, because it was full, loading or short of disk. */
const REFUSED_PAUSE_MS = 100
/** An operation leaves memory after this many errors of its own. Its capture stays in the journal. */
const MAX_TRIES = 20
const RETRY_MS = 1 * SECOND

/** A call that waits for its settlement. */
type Waiting = {
  /** Monotonic milliseconds. */
  readonly pushedAt: number
  tell: ((outcome: CaptureOutcome) => void) | undefined
}

type Entry = {
  readonly operation: SettleOperation
  readonly order: number
  readonly waiting: Waiting
  tries: number
}

type Ports = {
  readonly connection: Pick<MoneyConnection, 'run'>
  readonly member: Pick<GateMember, 'registered' | 'doubt'>
  readonly buckets: number
  readonly clock: Time
  readonly log: Logger
  /** The operation is done and needs no memory any more. */
  onDone(operation: SettleOperation): void
}

/**
 * Captures and releases on their way to Redis. Each leaves the queue when Redis has answered it. Refused or lost ones
 * are sent again in the old order. The number of admitted calls bounds its length.
 */
export type SettleQueue = {
  /**
   * Resolves `accepted` or `contradicted` when Redis has answered, `queued` without an answer in time. Never rejects.
   */
  push(operation: SettleOperation): Promise<CaptureOutcome>
  /** Sends waiting operations, if they may be sent. Called once a tick, before the reserves. */
  flush(): void
  /** True until Redis has answered for this call. */
  holds(rid: string): boolean
  size(): number
}

type State = {
  /** All operations without an answer, by request id. */
  readonly unsettled: TurnoverMap<string, Waiting>
  /** The operations that are not on their way, in their order. */
  waiting: Entry[]
  /** True while a timer runs that looks for calls that have waited too long. */
  isWatched: boolean
  nextOrder: number
  underWay: number
  pausedUntil: number
  wake(): void
}

export function createSettleQueue(ports: Ports, wake: () => void): SettleQueue {
  const { member, clock } = ports
  const state: State = {
    unsettled: createTurnoverMap(),
    waiting: [],
    isWatched: false,
    nextOrder: 0,
    underWay: 0,
    pausedUntil: 0,
    wake,
  }
  return {
    push(operation) {
      const waiting: Waiting = { pushedAt: clock.monotonic(), tell: undefined }
      state.unsettled.set(operation.rid, waiting)
      state.waiting.push({ operation, order: state.nextOrder++, waiting, tries: 0 })
      if (member.registered() === undefined) return Promise.resolve('queued')
      wake()
      watch(clock, state)
      return new Promise((resolve) => {
        waiting.tell = resolve
      })
    },
    flush() {
      const membership = member.registered()
      if (membership === undefined) return letGo(state.waiting.map((entry) => entry.waiting))
      if (clock.monotonic() < state.pausedUntil) return
      while (state.waiting.length > 0 && state.underWay < MAX_BATCHES_UNDER_WAY) {
        const batch = state.waiting.splice(0, MAX_BATCH)
        for (const [bucket, entries] of groupByBucket(batch, ports.buckets)) {
          send(ports, state, { membership, entries, bucket })
        }
      }
    },
    holds: (rid) => state.unsettled.has(rid),
    size: state.unsettled.size,
  }
}

type Sending = { readonly membership: Membership; readonly entries: readonly Entry[]; readonly bucket: string }

function send(ports: Ports, state: State, { membership, entries, bucket }: Sending): void {
  state.underWay += 1
  const batch = encodeSettle(
    { bucket, epoch: membership.epoch },
    entries.map((entry) => entry.operation),
  )
  ports.connection
    .run(membership.scripts.settle, batch)
    .then((reply) => {
      const answers = decodeAnswers(reply, entries.length)
      const again = entries.filter((entry, index) => !isTaken(ports, state, { entry, membership }, answers[index]))
      if (again.length > 0) putBack(state, again)
    })
    .catch((error: unknown) => {
      if (isMissingScript(error)) ports.member.doubt('the server does not know the scripts', membership)
      else ports.log.warn({ cause: describeCause(error), count: entries.length }, 'settlements were not answered')
      putBack(state, entries)
      state.pausedUntil = ports.clock.monotonic() + REFUSED_PAUSE_MS
      ports.clock.after(REFUSED_PAUSE_MS + 1, state.wake)
    })
    .finally(() => {
      state.underWay -= 1
      if (state.waiting.length > 0) state.wake()
    })
}

function putBack(state: State, entries: readonly Entry[]): void {
  state.waiting = [...entries, ...state.waiting].sort((left, right) => left.order - right.order)
}

type Sent = { readonly entry: Entry; readonly membership: Membership }

/** Handles one answer. Returns false when the entry must be sent again with the others. */
function isTaken(ports: Ports, state: State, { entry, membership }: Sent, answer: ScriptAnswer | undefined): boolean {
  const { rid, kind } = entry.operation
  if (answer?.kind === 'stale') {
    ports.member.doubt('a record belongs to a newer epoch', membership)
    return false
  }
  if (answer === undefined || answer.kind === 'error') {
    retryAlone(ports, state, entry, answer?.message ?? 'no answer')
    return true
  }
  if (answer.kind === 'conflict') {
    ports.log.error(
      { rid, kind, usedMicro: answer.usedMicro },
      'captured twice with different amounts: the first counts',
    )
  }
  if (state.unsettled.get(rid) === entry.waiting) state.unsettled.delete(rid)
  tell(entry.waiting, answer.kind === 'conflict' ? 'contradicted' : 'accepted')
  ports.onDone(entry.operation)
  return true
}

function retryAlone(ports: Ports, state: State, entry: Entry, message: string): void {
  entry.tries += 1
  const { rid, kind } = entry.operation
  ports.log.error({ rid, kind, message, tries: entry.tries }, 'the gate refused a settlement')
  if (entry.tries >= MAX_TRIES) {
    // A capture stays known here, so the posted cursor does not pass it, and the next start brings it again.
    if (kind === 'release') state.unsettled.delete(rid)
    letGo([entry.waiting])
    return
  }
  ports.clock.after(RETRY_MS, () => {
    putBack(state, [entry])
    state.wake()
  })
}

/** Starts the timer that releases calls that have waited too long. */
function watch(clock: Time, state: State): void {
  if (state.isWatched) return
  state.isWatched = true
  clock.after(LOOK_MS, () => {
    state.isWatched = false
    const longest = clock.monotonic() - CAPTURE_WAIT_MS
    for (const waiting of state.unsettled.values()) {
      if (waiting.pushedAt > longest) {
        // The calls are in the order of their arrival. This one and all after it may still wait.
        watch(clock, state)
        return
      }
      letGo([waiting])
    }
  })
}

/** Tells waiting calls that Redis does not have their capture yet. */
function letGo(calls: readonly Waiting[]): void {
  for (const waiting of calls) tell(waiting, 'queued')
}

function tell(waiting: Waiting, outcome: CaptureOutcome): void {
  waiting.tell?.(outcome)
  waiting.tell = undefined
}
