import type { Redis } from 'ioredis'
import { decodeAnswers, MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import { moneyScripts, readHold } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { jobOfEnd, readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import { isId, parseRequestId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'

type Ports = { readonly redis: Redis; readonly log: Logger }
type Epochs = { readonly epoch: number; readonly older: number }

/**
 * Captures in `epoch` the calls that were captured in the older epoch and never posted, from the events in Redis. Then
 * it deletes the older sets. It may stop midway and start again. Returns the number of calls.
 */
export async function harvestBucket(ports: Ports, bucket: string, epochs: Epochs): Promise<number> {
  const { redis } = ports
  const unposted = moneyKeys.unposted(bucket, epochs.older)
  let count = 0
  for (;;) {
    const page = await redis.zrange(unposted, 0, MAX_BATCH - 1, 'WITHSCORES')
    if (page.length === 0) break
    const entries = pairsOf(page)
    const operations = await readCaptures(ports, bucket, entries)
    await capture(ports, bucket, epochs.epoch, operations)
    await redis.zrem(unposted, ...entries.map((entry) => entry.rid))
    count += operations.length
  }
  await redis.unlink(unposted)
  await dropOpenHolds(ports, bucket, epochs)
  return count
}

type Entry = { readonly rid: string; readonly capturedAt: number }

function pairsOf(page: readonly string[]): Entry[] {
  const entries: Entry[] = []
  for (let index = 0; index < page.length; index += 2) {
    entries.push({ rid: page[index] ?? '', capturedAt: Number(page[index + 1]) })
  }
  return entries
}

async function readCaptures({ redis, log }: Ports, bucket: string, entries: readonly Entry[]) {
  const hashes = await Promise.all(entries.map((entry) => redis.hgetall(moneyKeys.hold(bucket, entry.rid))))
  const operations: SettleOperation[] = []
  for (const [index, { rid, capturedAt }] of entries.entries()) {
    const hold = readHold(hashes[index] ?? {})
    const isCall = parseRequestId(jobOfEnd(rid) ?? rid) !== undefined
    if (!isCall || hold === undefined || hold.used === null || hold.event === null) {
      log.warn({ rid, state: hold?.state }, 'an unposted capture has no event: its journal has to deliver it')
      continue
    }
    const { account, node, used: usedMicro, event } = hold
    const keyId = isId('key', hold.keyId) ? hold.keyId : null
    const budgets = /"budgets":/.test(event) ? readUsageEvent(event)?.budgets : undefined
    const capture = { kind: 'capture' as const, rid, account, keyId, node, usedMicro, event, capturedAt }
    operations.push(budgets === undefined ? capture : { ...capture, budgets })
  }
  return operations
}

async function capture({ redis, log }: Ports, bucket: string, epoch: number, operations: readonly SettleOperation[]) {
  if (operations.length === 0) return
  const { keys, args } = encodeSettle({ bucket, epoch }, operations)
  const reply = await redis.evalsha(moneyScripts(epoch).settle.sha, keys.length, ...keys, ...args)
  for (const [index, answer] of decodeAnswers(reply, operations.length).entries()) {
    if (answer.kind === 'stale') throw new AppError('conflict', { message: 'a newer epoch was raised' })
    if (answer.kind === 'error') {
      log.error(
        { rid: operations[index]?.rid, message: answer.message },
        'a capture of the journal could not be stored',
      )
      throw new AppError('internal_error', { cause: new Error(answer.message) })
    }
  }
}

/** Drops the open holds of the older epoch, because they no longer count. Living nodes register theirs anew. */
async function dropOpenHolds({ redis }: Ports, bucket: string, { epoch, older }: Epochs): Promise<void> {
  const expiring = moneyKeys.expiring(bucket, older)
  for (;;) {
    const rids = await redis.zrange(expiring, 0, MAX_BATCH - 1)
    if (rids.length === 0) return
    await Promise.all(
      rids.map(async (rid) => {
        const key = moneyKeys.hold(bucket, rid)
        const [holdEpoch, state] = await redis.hmget(key, 'ep', 'st')
        // Nothing else expires the record. It stays long enough for its node to report it and for its buyer to look it
        // up.
        if (state === 'open' && Number(holdEpoch) < epoch) await redis.pexpire(key, LEFT_HOLD_TTL_MS)
      }),
    )
    await redis.zrem(expiring, ...rids)
  }
}

const LEFT_HOLD_TTL_MS = 15 * 60_000
