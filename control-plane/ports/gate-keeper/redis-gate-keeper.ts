import { once } from 'node:events'
import type { ChainableCommander } from 'ioredis'
import { Redis } from 'ioredis'
import { runBatches, runEach } from '#control-plane/ports/gate/run-batches.ts'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { encodeAck } from '#shared/contract/money-scripts/ack.ts'
import type { CapUse } from '#shared/contract/money-scripts/uses.ts'
import { broughtTake, encodeCapTake, encodeSeedUse } from '#shared/contract/money-scripts/uses.ts'
import type { MoneyEpoch } from '#shared/contract/money-scripts.ts'
import { formatMoneyEpoch, moneyScripts, parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { bucketNames, CHANNELS, moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { watchSilence } from '#shared/watch-silence.ts'
import type { GateKeeper, GateView } from './gate-keeper.ts'
import { harvestBucket } from './redis-harvest.ts'
import { unpostedUses } from './unposted-uses.ts'

type Options = {
  readonly url: string
  readonly buckets: number
  readonly clock: Time
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 2_000
const RECONNECT_MOST_MS = 500
/** A server that is loading its log announces far too long a time, so it is asked again at this interval. */
const LOADING_LOOK_MS = 50
/**
 * A connection without an answer for this long is given up. Waits for seed requests are shorter, and so is any step.
 */
const SILENCE_MS = 10 * SECOND

type OpenKeeper = {
  readonly keeper: GateKeeper
  /** Waits until both connections are open, a first attempt has failed, or the signal fires. */
  tried(signal: AbortSignal): Promise<void>
  /** True while both connections are open. */
  isReady(): boolean
  close(): void
}

/**
 * The rebuilder's steps on a single Redis. It opens two connections: one watches the epoch, and one blocks while it
 * waits for seed requests. Neither queues commands while Redis is away.
 */
export function openRedisGateKeeper({ url, buckets, clock, log }: Options): OpenKeeper {
  const connect = () => {
    const client = new Redis(url, {
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
      disableClientInfo: true,
      maxLoadingRetryTime: LOADING_LOOK_MS,
      retryStrategy: (times) => Math.min(times * 50, RECONNECT_MOST_MS),
    })
    client.on('error', (error: Error) => log.debug({ err: error }, 'the connection of the gate keeper'))
    return client
  }
  const redis = connect()
  const blocking = connect()
  const stopWatches = [redis, blocking].map((client) => watchSilence(clock, client, SILENCE_MS))
  return {
    keeper: createRedisGateKeeper({ redis, blocking, buckets, log }),
    async tried(signal) {
      const waiting = [redis, blocking].filter((client) => client.status !== 'ready')
      // `once` rejects with the connection's first error. That ends the wait as well.
      await Promise.allSettled(waiting.map((client) => once(client, 'ready', { signal })))
    },
    isReady: () => redis.status === 'ready' && blocking.status === 'ready',
    close() {
      for (const stop of stopWatches) stop()
      redis.disconnect()
      blocking.disconnect()
    },
  }
}

type Connections = {
  readonly redis: Redis
  readonly blocking: Redis
  readonly buckets: number
  readonly log: Logger
}

/** The same steps over existing connections. */
export function createRedisGateKeeper({ redis, blocking, buckets, log }: Connections): GateKeeper {
  const guarded = createGuard(redis)
  const digestsOf = createDigests()
  return {
    view: () => view(redis, digestsOf),
    raise: (next, before) =>
      guarded(before, (step) => {
        step.script('FLUSH', 'SYNC')
        announce(step, { ...next, phase: 'join' })
        // The server may lack its last writes, and records of jobs with them.
        step.del(moneyKeys.doubt, moneyKeys.jobsRestored)
      }),
    async noteBeat(beat) {
      await redis.set(moneyKeys.beat, beat)
    },
    load: (epoch) =>
      guarded({ epoch, phase: 'join' }, (step) => {
        const { reserve: _, ...scripts } = moneyScripts(epoch)
        for (const script of Object.values(scripts)) step.script('LOAD', script.text)
        for (const bucket of bucketNames(buckets)) step.set(moneyKeys.filled(bucket), epoch)
      }),
    async seed(epoch, balances) {
      const { ack } = moneyScripts(epoch)
      const operations = balances.map((balance) => ({ ...balance, rid: null, postedAt: null }))
      await runBatches(redis, { epoch, buckets }, { script: ack, encode: encodeAck }, operations)
    },
    async seedUses(epoch, seeds) {
      await runEach(redis, moneyScripts(epoch).seedUse, seeds.map(encodeSeedUse))
    },
    async harvest(epoch, older) {
      let count = 0
      for (const bucket of bucketNames(buckets)) count += await harvestBucket({ redis, log }, bucket, { epoch, older })
      return count
    },
    async unpostedUses(epoch) {
      const uses: CapUse[] = []
      for (const bucket of bucketNames(buckets)) uses.push(...(await unpostedUses(redis, bucket, epoch)))
      return uses
    },
    async takeCaps(epoch, uses) {
      await runEach(redis, moneyScripts(epoch).capTake, uses.map(broughtTake).map(encodeCapTake))
    },
    startRegistering: (epoch) =>
      guarded({ epoch, phase: 'join' }, (step, before) => announce(step, { ...before, epoch, phase: 'register' })),
    startCounting: (epoch) =>
      guarded({ epoch, phase: 'register' }, (step, before) => announce(step, { ...before, epoch, phase: 'count' })),
    ready: async (epoch) => new Set(await redis.hkeys(moneyKeys.ready(epoch))),
    async admit(nodes) {
      if (nodes.length > 0) await redis.hset(moneyKeys.members, new Map(nodes.map((node) => [node, '1'])))
    },
    async dismiss(nodes) {
      if (nodes.length === 0) return
      await redis
        .multi()
        .hdel(moneyKeys.members, ...nodes)
        .hdel(moneyKeys.nodes, ...nodes)
        .exec()
    },
    open: (epoch) =>
      guarded({ epoch, phase: 'count' }, (step, before) => {
        step.script('LOAD', moneyScripts(epoch).reserve.text)
        announce(step, { ...before, epoch, phase: 'open' })
        step.del(moneyKeys.ready(epoch - 1))
      }),
    keyCounter: (keyId, account) => moneyKeys.keyUse(moneyBucket(account, buckets), keyId),
    budgetCounter: (budget) => moneyKeys.budget(budget),
    offerCounter: (offer) => moneyKeys.offerCap(offer),
    async takeSeedRequests(limit, waitMs) {
      const first = await blocking.blpop(moneyKeys.seedRequests, waitMs / 1000)
      if (first === null) return []
      const more = limit > 1 ? await blocking.lpop(moneyKeys.seedRequests, limit - 1) : null
      return [first[1], ...(more ?? [])]
    },
  }
}

async function view(redis: Redis, digestsOf: DigestsOf): Promise<GateView> {
  const [text, doubted, beat, nodes, info, time] = await Promise.all([
    redis.get(moneyKeys.epoch),
    redis.get(moneyKeys.doubt),
    redis.get(moneyKeys.beat),
    redis.hgetall(moneyKeys.nodes),
    redis.info('server'),
    redis.time(),
  ])
  const epoch = parseMoneyEpoch(text)
  return {
    epoch,
    runId: /run_id:(\w+)/.exec(info)?.[1] ?? '',
    now: Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000),
    hasScripts: epoch !== undefined && (await hasScripts(redis, digestsOf(epoch.epoch))),
    doubted: doubted === null ? undefined : Number(doubted),
    ledgerBeat: beat === null ? undefined : Number(beat),
    nodes: new Map(Object.entries(nodes).map(([node, at]) => [node, Number(at)])),
  }
}

async function hasScripts(redis: Redis, shas: readonly string[]): Promise<boolean> {
  const flags = await redis.script('EXISTS', ...shas)
  return Array.isArray(flags) && flags.length === shas.length && flags.every((flag) => flag === 1)
}

type DigestsOf = (epoch: number) => readonly string[]

/** Caches the script digests of one epoch, because the view is read several times a second. */
function createDigests(): DigestsOf {
  let knownScripts: { readonly epoch: number; readonly shas: readonly string[] } | undefined
  return (epoch) => {
    if (knownScripts?.epoch !== epoch) {
      knownScripts = { epoch, shas: Object.values(moneyScripts(epoch)).map((script) => script.sha) }
    }
    return knownScripts.shas
  }
}

function announce(step: ChainableCommander, epoch: MoneyEpoch): void {
  const text = formatMoneyEpoch(epoch)
  step.set(moneyKeys.epoch, text)
  step.publish(CHANNELS.money, JSON.stringify([text]))
}

/** Adds the commands of a step; `seen` is the epoch before it. */
type Build = (step: ChainableCommander, now: MoneyEpoch | undefined) => void

/** Runs a step only in the expected epoch, so a superseded rebuilder changes nothing. */
function createGuard(redis: Redis) {
  return async (expected: MoneyEpoch | undefined, build: Build): Promise<void> => {
    await redis.watch(moneyKeys.epoch)
    const text = await redis.get(moneyKeys.epoch)
    const seen = parseMoneyEpoch(text)
    if (seen?.epoch !== expected?.epoch || seen?.phase !== expected?.phase) {
      await redis.unwatch()
      throw new AppError('conflict', { message: `the gate is at ${text ?? 'no epoch'}` })
    }
    const step = redis.multi()
    build(step, seen)
    const results = await step.exec()
    if (results === null) throw new AppError('conflict', { message: 'the gate was changed meanwhile' })
    for (const [error] of results) if (error) throw error
  }
}
