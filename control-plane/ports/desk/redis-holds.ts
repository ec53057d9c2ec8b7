import type { Redis } from 'ioredis'
import { decodeAnswers } from '#shared/contract/money-scripts/batch.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import { moneyScripts, parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { bucketNames, moneyKeys } from '#shared/contract/redis-keys.ts'
import { isId } from '#shared/ids.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'
import { microUsd } from '#shared/money.ts'
import type { OpenHold } from './desk.ts'

/** Most holds of one bucket that are searched for an account's holds. */
const MAX_LOOKED_AT = 20_000
const PAGE = 500
const FIELDS = ['st', 'amt', 'acct', 'key', 'node', 't0', 'exp'] as const

/** Open holds of the present epoch, by their deadline. */
export async function listHolds(
  redis: Redis,
  buckets: number,
  { account, limit }: { readonly account: string | undefined; readonly limit: number },
): Promise<OpenHold[]> {
  const epoch = await presentEpoch(redis)
  const openHolds: OpenHold[] = []
  for (const bucket of bucketNames(buckets)) {
    const inBucket: OpenHold[] = []
    for (let from = 0; from < MAX_LOOKED_AT && inBucket.length < limit; from += PAGE) {
      const rids = await redis.zrange(moneyKeys.expiring(bucket, epoch), from, from + PAGE - 1)
      const holds = await Promise.all(rids.map((rid) => readHold(redis, bucket, rid)))
      inBucket.push(...holds.flatMap((hold) => (hold && (account ?? hold.account) === hold.account ? [hold] : [])))
      if (rids.length < PAGE) break
    }
    openHolds.push(...inBucket)
  }
  return openHolds.sort((left, right) => left.expiresAt - right.expiresAt).slice(0, limit)
}

/** Releases an open hold. A capture that still arrives is booked late, as for an expired hold. */
export async function releaseHold(redis: Redis, buckets: number, rid: string): Promise<boolean> {
  const epoch = await presentEpoch(redis)
  const hold = await findHold(redis, buckets, rid)
  if (hold === undefined) return false
  const { account, node } = hold.hold
  const keyId = hold.hold.keyId !== null && isId('key', hold.hold.keyId) ? hold.hold.keyId : null
  const operation = { kind: 'release', rid, account, keyId, node, reason: 'operator', event: null } as const
  const { keys, args } = encodeSettle({ bucket: hold.bucket, epoch }, [operation])
  const reply = await redis.evalsha(moneyScripts(epoch).settle.sha, keys.length, ...keys, ...args)
  return decodeAnswers(reply, 1)[0]?.kind === 'done'
}

/** Finds an open hold and its bucket. */
export async function findHold(
  redis: Redis,
  buckets: number,
  rid: string,
): Promise<{ readonly bucket: string; readonly hold: OpenHold } | undefined> {
  for (const bucket of bucketNames(buckets)) {
    const hold = await readHold(redis, bucket, rid)
    if (hold !== undefined) return { bucket, hold }
  }
  return undefined
}

async function presentEpoch(redis: Redis): Promise<number> {
  const moneyEpoch = parseMoneyEpoch(await redis.get(moneyKeys.epoch))
  if (moneyEpoch === undefined) throw gateClosed()
  return moneyEpoch.epoch
}

async function readHold(redis: Redis, bucket: string, rid: string): Promise<OpenHold | undefined> {
  const [state, amount, account, key, node, openedAt, expiresAt] = await redis.hmget(
    moneyKeys.hold(bucket, rid),
    ...FIELDS,
  )
  if (state !== 'open' || amount == null || account == null) return undefined
  return {
    rid,
    account,
    keyId: key == null || key === '' ? null : key,
    node: node ?? '',
    amountMicro: microUsd(BigInt(amount)),
    openedAt: Number(openedAt),
    expiresAt: Number(expiresAt),
  }
}
