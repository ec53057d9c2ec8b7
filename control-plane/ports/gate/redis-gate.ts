import type { Redis } from 'ioredis'
import type { Announce } from '#control-plane/ports/updates/updates.ts'
import { HOUR } from '#shared/clock.ts'
import { encodeAck } from '#shared/contract/money-scripts/ack.ts'
import type { ScriptBatch } from '#shared/contract/money-scripts/batch.ts'
import { decodeAnswers, MAX_BATCH, placeOf } from '#shared/contract/money-scripts/batch.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import { decodeMarkUse, encodeCapSettle, encodeMarkUse, encodeSeedUse } from '#shared/contract/money-scripts/uses.ts'
import type { MoneyScripts } from '#shared/contract/money-scripts.ts'
import { ACCOUNT_FIELDS, moneyScripts, parseMoneyEpoch, readAccount } from '#shared/contract/money-scripts.ts'
import { bucketNames, moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { CapturedCall } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'
import { ZERO } from '#shared/money.ts'
import type { CounterSubject, Gate, GateBalance, PostedBefore, PostedChange } from './gate.ts'
import { runBatches, runEach } from './run-batches.ts'

/** The time for which the gate keeps a wallet's bound, in milliseconds. Every reading of the chain writes it again. */
const BOUND_MS = 2 * HOUR

type Options = {
  /** This connection should fail fast and not queue commands while Redis is away. */
  readonly redis: Redis
  readonly buckets: number
  /** Time for which a posted call can be looked up in Redis. Older calls are read from Postgres. */
  readonly tombstoneMs?: number
  /** Receives the accounts whose balance changed. Absent without watchers. */
  readonly announce?: Announce
  /** Receives accounts whose balance in the gate is newer than the acknowledged one. Absent without watchers. */
  readonly onBehind?: (accounts: readonly AccountId[]) => void
}

type Epoch = { readonly epoch: number; readonly scripts: MoneyScripts }

/** The control plane's gate over Redis. */
export function createRedisGate({ redis, buckets, tombstoneMs, announce, onBehind }: Options): Gate {
  let knownEpoch: Epoch | undefined

  /** Runs work in the epoch known to this process. After a newer epoch, it runs the work again in that one. */
  async function inEpoch<Result>(run: (epoch: Epoch) => Promise<Result>): Promise<Result> {
    try {
      knownEpoch ??= await readEpoch(redis)
      return await run(knownEpoch)
    } catch (error) {
      const before = knownEpoch?.epoch
      knownEpoch = undefined
      const now = await readEpoch(redis)
      if (before === undefined || now.epoch === before) throw closed(error)
      knownEpoch = now
      return await run(now).catch((again: unknown) => {
        knownEpoch = undefined
        throw closed(again)
      })
    }
  }

  const ack = async (changes: readonly PostedChange[]): Promise<PostedBefore> => {
    const { late, behind } = await inEpoch(({ epoch, scripts }) =>
      runBatches(
        redis,
        { epoch, buckets },
        { script: scripts.ack, encode: (place, operations) => encodeAck(place, operations, tombstoneMs) },
        changes.map((change) => ({ ...change, rid: change.rid ?? null, postedAt: change.postedAt ?? null })),
      ),
    )
    if (behind.length > 0) onBehind?.([...new Set(behind.map(({ account }) => account))])
    announce?.('funds', [...new Set(changes.map(({ account }) => account))])
    return new Set(late.flatMap(({ rid }) => rid ?? []))
  }

  /** Reads the epoch first. Work that only reads would not fail in an old epoch; it would return outdated records. */
  const inFreshEpoch = async <Result>(run: (epoch: Epoch) => Promise<Result>): Promise<Result> => {
    const now = await readEpoch(redis)
    return run(now).catch((error: unknown) => {
      throw closed(error)
    })
  }

  return {
    isOpen: () =>
      redis.get(moneyKeys.epoch).then(
        (text) => parseMoneyEpoch(text)?.phase === 'open',
        () => false,
      ),
    async ledgerBeat() {
      const beat = await redis.get(moneyKeys.beat).catch((error: unknown) => {
        throw closed(error)
      })
      return beat === null ? undefined : Number(beat)
    },
    ack,
    seed: ack,
    uncount: (uses) =>
      inEpoch(async ({ scripts }) => {
        const settles = uses.map(({ offer, attempt }) => encodeCapSettle(offer, attempt, ZERO))
        await runEach(redis, scripts.capSettle, settles)
      }),
    spendable: (account) => inFreshEpoch(({ epoch }) => spendable(redis, account, { epoch, buckets })),
    tellBound: async (account, bound) => {
      const key = moneyKeys.walletBound(moneyBucket(account, buckets), account)
      const writing = bound === null ? redis.del(key) : redis.set(key, bound, 'PX', BOUND_MS)
      await writing.catch((error: unknown) => {
        throw closed(error)
      })
    },
    unposted: (age, limit) => inFreshEpoch(({ epoch }) => unposted(redis, { epoch, buckets }, age, limit)),
    captured: (calls) => captured(redis, buckets, calls),
    expireHolds: (limit) => inFreshEpoch((epoch) => expireHolds(redis, buckets, epoch, limit)),
    markUse: (counted, postedBefore) =>
      inFreshEpoch(async ({ scripts }) =>
        decodeMarkUse(await runUse(redis, scripts, encodeMarkUse(counterOf(counted, buckets), postedBefore))),
      ),
    seedUse: (counted, use) =>
      inFreshEpoch(async ({ scripts }) => {
        await runUse(redis, scripts, encodeSeedUse({ ...use, counter: counterOf(counted, buckets) }))
      }),
  }
}

function counterOf(counted: CounterSubject, buckets: number): string {
  if ('budgetId' in counted) return moneyKeys.budget(counted.budgetId)
  return moneyKeys.keyUse(moneyBucket(counted.account, buckets), counted.keyId)
}

function runUse(redis: Redis, { seedUse }: MoneyScripts, { keys, args }: ScriptBatch): Promise<unknown> {
  return redis.evalsha(seedUse.sha, keys.length, ...keys, ...args)
}

async function readEpoch(redis: Redis): Promise<Epoch> {
  const text = await redis.get(moneyKeys.epoch).catch((error: unknown) => {
    throw closed(error)
  })
  const moneyEpoch = parseMoneyEpoch(text)
  if (moneyEpoch === undefined) throw closed()
  return { epoch: moneyEpoch.epoch, scripts: moneyScripts(moneyEpoch.epoch) }
}

function closed(cause?: unknown): AppError {
  return cause instanceof AppError ? cause : gateClosed(cause)
}

type Where = { readonly epoch: number; readonly buckets: number }

async function spendable(redis: Redis, account: AccountId, where: Where): Promise<GateBalance | undefined> {
  const { bucket } = placeOf(account, where.buckets, where.epoch)
  const gateAccount = readAccount(await redis.hmget(moneyKeys.account(bucket, account), ...ACCOUNT_FIELDS))
  if (gateAccount === undefined || !gateAccount.isSeeded || gateAccount.epoch !== where.epoch) return undefined
  const { postedMicro, heldMicro, unpostedMicro, version } = gateAccount
  return { postedMicro, heldMicro, unpostedMicro, version: version ?? 0n }
}

async function unposted(redis: Redis, where: Where, olderThanMs: number, limit: number): Promise<string[]> {
  const latest = (await serverTime(redis)) - olderThanMs
  const events: string[] = []
  for (const bucket of bucketNames(where.buckets)) {
    const key = moneyKeys.unposted(bucket, where.epoch)
    const rids = await redis.zrangebyscore(key, '-inf', latest, 'LIMIT', 0, limit - events.length)
    const storedEvents = await Promise.all(rids.map((rid) => redis.hget(moneyKeys.hold(bucket, rid), 'ev')))
    for (const event of storedEvents) if (event !== null) events.push(event)
    if (events.length >= limit) break
  }
  return events
}

/** Reads every epoch, because an unposted capture of an older epoch must be posted, too. */
async function captured(redis: Redis, buckets: number, calls: readonly CapturedCall[]): Promise<string[]> {
  const holds = calls.map(([rid, account]) =>
    redis.hmget(moneyKeys.hold(moneyBucket(account, buckets), rid), 'st', 'ev'),
  )
  const fields = await Promise.all(holds).catch((error: unknown) => {
    throw closed(error)
  })
  return fields.flatMap(([state, event]) => (state === 'captured' && event != null ? [event] : []))
}

async function expireHolds(redis: Redis, buckets: number, { epoch, scripts }: Epoch, limit: number): Promise<number> {
  const now = await serverTime(redis)
  let expired = 0
  for (const bucket of bucketNames(buckets)) {
    const key = moneyKeys.expiring(bucket, epoch)
    while (expired < limit) {
      const rids = await redis.zrangebyscore(key, '-inf', now, 'LIMIT', 0, Math.min(MAX_BATCH, limit - expired))
      if (rids.length === 0) break
      const operations = await readHolders(redis, bucket, rids)
      const { keys, args } = encodeSettle({ bucket, epoch }, operations)
      const reply = await redis.evalsha(scripts.settle.sha, keys.length, ...keys, ...args)
      const doneCount = decodeAnswers(reply, operations.length).filter((answer) => answer.kind === 'done').length
      // An entry without a readable hold is removed, or every sweep would find it again.
      if (operations.length < rids.length) {
        const keptRids = new Set(operations.map((operation) => operation.rid))
        await redis.zrem(key, ...rids.filter((rid) => !keptRids.has(rid)))
      }
      expired += doneCount
      if (doneCount === 0) break
    }
  }
  return expired
}

async function readHolders(redis: Redis, bucket: string, rids: readonly string[]): Promise<SettleOperation[]> {
  const rows = await Promise.all(rids.map((rid) => redis.hmget(moneyKeys.hold(bucket, rid), 'acct', 'key', 'node')))
  const operations: SettleOperation[] = []
  for (const [index, rid] of rids.entries()) {
    const [account, key, node] = rows[index] ?? []
    if (account == null) continue
    const keyId = key != null && isId('key', key) ? key : null
    operations.push({ kind: 'expire', rid, account, keyId, node: node ?? '' })
  }
  return operations
}

async function serverTime(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time()
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
}
