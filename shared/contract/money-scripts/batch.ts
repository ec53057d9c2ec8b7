import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'

/**
 * The largest number of operations in one run of a script. The server does nothing else during a run. The sum of that
 * many largest amounts (14 digits) is still exact in a number of Lua (2^53).
 */
export const MAX_BATCH = 64

/** The arguments of EVALSHA after the digest. */
export type ScriptBatch = { readonly keys: readonly string[]; readonly args: readonly string[] }

/** The place of a batch: one bucket of one epoch. */
export type BatchPlace = { readonly bucket: string; readonly epoch: number }

/** The place of an account's money records. */
export function placeOf(account: string, buckets: number, epoch: number): BatchPlace {
  return { bucket: moneyBucket(account, buckets), epoch }
}

/** The owner of the records that an operation touches. */
export type OperationSubject = { readonly rid: string; readonly account: string; readonly keyId: string | null }

/** The counters of budgets as a script reads them. */
export function budgetKeys(budgets: readonly string[] | undefined): string {
  return budgets === undefined ? '' : budgets.map(moneyKeys.budget).join(' ')
}

/**
 * Keys of a batch in the order of the scripts: the two sets of the bucket, then account, hold and counter of each
 * operation. A reserve has the bucket's note of its epoch in the second place. An operation without an API key has the
 * hold's key in the counter's place, because it is in the same slot.
 */
export function placeKeys(place: BatchPlace): {
  keys: string[]
  args: string[]
  addKeys(subject: OperationSubject): void
} {
  const { bucket, epoch } = place
  const keys = [moneyKeys.expiring(bucket, epoch), moneyKeys.unposted(bucket, epoch)]
  return {
    keys,
    args: [],
    addKeys({ rid, account, keyId }) {
      const hold = moneyKeys.hold(bucket, rid)
      keys.push(moneyKeys.account(bucket, account), hold, keyId === null ? hold : moneyKeys.keyUse(bucket, keyId))
    },
  }
}

/** The answers of a batch as texts. Throws an Error unless there are as many as operations. */
export function answersOf(reply: unknown, count: number): string[] {
  if (!Array.isArray(reply) || reply.length !== count) throw new Error('the money script answered in another shape')
  return reply.map((answer) => (typeof answer === 'string' ? answer : ''))
}

/** The gate's answers to operations that are not reserves. */
export type ScriptAnswer =
  /**
   * `isLate` marks a capture without a hold in this epoch, and its acknowledgement. `isBehind` marks a balance older
   * than the gate's. The scripts explain both.
   */
  | { readonly kind: 'done'; readonly isLate?: true; readonly isBehind?: true }
  /** The call was captured before with another amount. The first amount counts. */
  | { readonly kind: 'conflict'; readonly usedMicro: string }
  /** The hold has not reached its deadline. */
  | { readonly kind: 'early' }
  /** A record belongs to a newer epoch. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'error'; readonly message: string }

const DONE: ScriptAnswer = { kind: 'done' }
const DONE_LATE: ScriptAnswer = { kind: 'done', isLate: true }

/**
 * Reads the answers of a batch, one for each operation, in their order. Throws an Error when the reply is not that of a
 * money script.
 */
export function decodeAnswers(reply: unknown, count: number): ScriptAnswer[] {
  return answersOf(reply, count).map((text) => {
    if (text === 'K') return DONE
    if (text === 'L') return DONE_LATE
    if (text === 'KB') return { kind: 'done', isBehind: true }
    if (text === 'LB') return { kind: 'done', isLate: true, isBehind: true }
    if (text === 'S') return { kind: 'stale' }
    if (text === 'W') return { kind: 'early' }
    if (text.startsWith('X:')) return { kind: 'conflict', usedMicro: text.slice(2) }
    return { kind: 'error', message: text.slice(2) }
  })
}
