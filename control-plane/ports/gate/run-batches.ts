import type { Redis } from 'ioredis'
import type { BatchPlace, ScriptBatch } from '#shared/contract/money-scripts/batch.ts'
import { decodeAnswers, MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { MoneyScript } from '#shared/contract/money-scripts.ts'
import { moneyBucket } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'

/** Batches of one call that are sent at once. */
const BATCHES_AT_ONCE = 8

type Run<Operation> = {
  readonly script: MoneyScript
  readonly encode: (place: BatchPlace, operations: readonly Operation[]) => ScriptBatch
}

/**
 * Runs operations of any accounts in batches by bucket. Returns those that were late or behind. Throws
 * `service_unavailable` when the server does not know the script or a record belongs to a newer epoch, and
 * `internal_error` when an operation was refused.
 */
export async function runBatches<Operation extends { readonly account: string }>(
  redis: Redis,
  place: { readonly epoch: number; readonly buckets: number },
  run: Run<Operation>,
  operations: readonly Operation[],
): Promise<Notable<Operation>> {
  const notable: Notable<Operation> = { late: [], behind: [] }
  const batches = batchesOf(operations, place.buckets)
  for (let start = 0; start < batches.length; start += BATCHES_AT_ONCE) {
    await Promise.all(
      batches.slice(start, start + BATCHES_AT_ONCE).map(async ({ bucket, group }) => {
        const { keys, args } = run.encode({ bucket, epoch: place.epoch }, group)
        const reply = await redis.evalsha(run.script.sha, keys.length, ...keys, ...args).catch((error: unknown) => {
          throw gateClosed(error)
        })
        check(reply, group, notable)
      }),
    )
  }
  return notable
}

/** Operations that were late, and those whose balance was older than the gate's; see the acknowledgement's script. */
type Notable<Operation> = { readonly late: Operation[]; readonly behind: Operation[] }

function check<Operation>(reply: unknown, group: readonly Operation[], { late, behind }: Notable<Operation>): void {
  for (const [index, answer] of decodeAnswers(reply, group.length).entries()) {
    if (answer.kind === 'done' && answer.isLate) late.push(...group.slice(index, index + 1))
    if (answer.kind === 'done' && answer.isBehind) behind.push(...group.slice(index, index + 1))
    if (answer.kind === 'stale') throw gateClosed()
    if (answer.kind === 'error') throw new AppError('internal_error', { cause: new Error(answer.message) })
  }
}

function batchesOf<Operation extends { readonly account: string }>(operations: readonly Operation[], buckets: number) {
  const groups = new Map<string, Operation[]>()
  for (const operation of operations) {
    const bucket = moneyBucket(operation.account, buckets)
    const group = groups.get(bucket)
    if (group) group.push(operation)
    else groups.set(bucket, [operation])
  }
  const batches: { bucket: string; group: Operation[] }[] = []
  for (const [bucket, group] of groups) {
    for (let start = 0; start < group.length; start += MAX_BATCH) {
      batches.push({ bucket, group: group.slice(start, start + MAX_BATCH) })
    }
  }
  return batches
}

/** Runs a script once for each batch, at most {@link MAX_BATCH} at a time. Throws the server's refusal. */
export async function runEach(redis: Redis, { sha }: MoneyScript, batches: readonly ScriptBatch[]): Promise<void> {
  for (let start = 0; start < batches.length; start += MAX_BATCH) {
    await Promise.all(
      batches
        .slice(start, start + MAX_BATCH)
        .map(({ keys, args }) => redis.evalsha(sha, keys.length, ...keys, ...args)),
    )
  }
}
