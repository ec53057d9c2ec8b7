import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { UsageBatchSchema } from '#shared/contract/usage-event.ts'
import { createClient } from '#test/faults/harness/client.ts'
import { countServed, lasting, STREAM, WHOLE } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { checkLedger, readRequests } from '#test/faults/harness/verify.ts'
import type { World } from '#test/faults/harness/world.ts'
import { SLOW } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'
import { countUnposted, measureDrain, requireNoFailedJobs, requireServed } from './posting.ts'

/** An outage of an hour, in a sixth of the time. */
const UNKEPT_MS = 600_000
const SWEPT_WITHIN_MS = 120_000
const REVOKED_WITHIN_MS = 5_000

/** The queue is deleted while captures wait. The sweeper must post them. */
async function forgetQueue(stage: Stage): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 8 })
  await load.untilServed(100)
  for (let time = 0; time < 5; time++) {
    const keys = await world.money().keys('bull:usage:*')
    if (keys.length > 0) await world.money().del(...keys)
    await load.untilServed(40)
  }
  await load.stop()
  const left = await countUnposted(world)
  stage.figure('left for the sweeper', left)
  if (stage.isQuick) return
  const began = performance.now()
  await until('the sweeper has posted all captures', SWEPT_WITHIN_MS, async () => (await countUnposted(world)) === 0)
  stage.figure('swept by itself after (ms)', performance.now() - began)
}

/** The ledger refuses writes. Events that cannot be posted must wait, and none may be set aside as poison. */
async function refuseWrites(stage: Stage, forMs: number): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 8, pauseMs: 5 })
  await load.untilServed(50)
  const setReadOnly = async (value: 'on' | 'off') => {
    await world.sql.query(`alter system set default_transaction_read_only = ${value}`)
    await world.sql.query('select pg_reload_conf()')
  }
  await setReadOnly('on')
  const at = performance.now()
  await pause(forMs)
  const during = load.seen.filter((call) => call.sentAt > at)
  stage.require(during.length > 0, 'no client called while the ledger was read-only')
  requireServed(stage, during)
  // This session is read-only as well. The switch back must write.
  await world.sql.query('set default_transaction_read_only = off')
  await setReadOnly('off')
  await load.stop()
  await measureDrain(stage)
  await requireNoFailedJobs(stage)
}

/** Four workers post five thousand events of three accounts at once. */
async function crowdAccounts(stage: Stage, events: number): Promise<void> {
  const { world } = stage
  await Promise.all(world.workers.map((worker) => worker.kill()))
  const before = await countDeadlocks(world)
  const load = stage.load({ clients: 24, calls: events, buyers: world.buyers.slice(0, 3) })
  await load.done
  await Promise.all(world.workers.map((worker) => worker.start()))
  await measureDrain(stage)
  stage.figure('deadlocks', (await countDeadlocks(world)) - before)
  await requireNoFailedJobs(stage)
}

async function countDeadlocks({ sql }: World): Promise<number> {
  const { rows } = await sql.query<{ sum: string }>('select sum(deadlocks) from pg_stat_database')
  return Number(rows[0]?.sum)
}

/** The control plane and the workers are down for a while. Calls must go on, and balances and caps must still bind. */
async function loseControlPlane(stage: Stage, forMs: number): Promise<void> {
  const { world } = stage
  const poor = await world.market.buyer(0.05)
  const capped = 'capped'
  await world.market.model(capped)
  await world.market.offer({ model: capped, providerModel: 'gpt-5-mini', seller: 'a', discount: 40, capDailyUsd: 0.02 })
  const client = createClient(world.origin, 'capped')
  const [buyer] = world.buyers
  if (buyer === undefined) return
  stage.saw(await client.call(0, buyer, { ...WHOLE, model: capped }), await client.call(0, poor, WHOLE))
  await Promise.all([world.control, ...world.workers].map((program) => program.kill()))
  const load = stage.load({ clients: 8, pauseMs: 50, calls: Number.POSITIVE_INFINITY })
  const end = performance.now() + forMs
  const shapes = [WHOLE, { ...WHOLE, model: capped }]
  const refused = new Map<string, number>()
  while (performance.now() < end) {
    const seen = await Promise.all([client.call(0, poor, WHOLE), client.call(1, buyer, shapes[1] ?? WHOLE)])
    stage.saw(...seen)
    for (const { errorCode = 'none' } of seen) refused.set(errorCode, (refused.get(errorCode) ?? 0) + 1)
    await pause(100)
  }
  client.close()
  const seen = await load.stop()
  requireServed(stage, seen)
  stage.require((refused.get('insufficient_balance') ?? 0) > 0, `a small balance did not bind: ${[...refused.keys()]}`)
  stage.require((refused.get('no_healthy_sellers') ?? 0) > 0, `a small cap did not bind: ${[...refused.keys()]}`)
  await Promise.all([world.control, ...world.workers].map((program) => program.start()))
  await measureDrain(stage)
  await requireNoFailedJobs(stage)
}

/** A data plane starts while the control plane is down and the cache is empty. It must serve from its copy on disk. */
async function startAlone(stage: Stage): Promise<void> {
  const { world } = stage
  await Promise.all([world.control, ...world.workers].map((program) => program.kill()))
  await world.cache.kill()
  await world.cache.start()
  const [node] = world.dataPlanes
  await node.end()
  stage.figure('start (ms)', await node.start())
  const models = await (await fetch(`${world.origin(0)}/v1/models`)).text()
  stage.require(models.includes(SLOW), 'the models are not served from the file')
  const client = createClient(world.origin, 'alone')
  const seen = await Promise.all(world.buyers.map((buyer) => client.call(1, buyer, WHOLE)))
  client.close()
  stage.saw(...seen)
  stage.figure('served by the node that stayed', countServed(seen))
  const strange = seen.filter(({ isComplete, status }) => !isComplete && status !== 503)
  stage.require(strange.length === 0, `a known key saw ${strange[0]?.status} ${strange[0]?.errorCode}`)
}

/** Delivers every job three times and in the wrong order, one job late, and one with another amount. */
async function deliverAgain(stage: Stage): Promise<void> {
  const { world } = stage
  await Promise.all(world.workers.map((worker) => worker.kill()))
  const load = stage.load({ clients: 4, calls: 60, shapes: [WHOLE, STREAM] })
  await load.done
  await pause(500)
  const queue = new Queue(QUEUES.usage, { connection: { url: world.redis().url() } })
  const jobs = await queue.getWaiting()
  const batches = jobs.map((job) => UsageBatchSchema.parse(job.data))
  for (const batch of [...batches].reverse()) {
    await queue.add('batch', batch)
    await queue.add('batch', { ...batch, captured: [...batch.captured].reverse() })
  }
  const [first] = batches
  const [event] = await createRedisGate({ redis: world.money(), buckets: 1 }).captured(first?.captured ?? [])
  if (first === undefined || event === undefined) throw new Error('no job waits')
  await queue.add('batch', first, { delay: 3_000 })
  const charge = Number(/"chargeMicro":"(\d+)"/.exec(event)?.[1])
  const other = event
    .replace(/"chargeMicro":"\d+"/, `"chargeMicro":"${charge - 1}"`)
    .replace(/"sellerNetMicro":"\d+"/, `"sellerNetMicro":"${Math.floor(((charge - 1) * 9_500) / 10_000)}"`)
    .replace(/"feeMicro":"\d+"/, `"feeMicro":"${charge - 1 - Math.floor(((charge - 1) * 9_500) / 10_000)}"`)
  await queue.add('batch', { ...first, captured: [], events: [other] }, { delay: 3_500 })
  await queue.close()
  await Promise.all(world.workers.map((worker) => worker.start()))
  const count = async () => Number((await world.sql.query('select count(*) from usage_conflict')).rows[0]?.count)
  await until('the contradiction is recorded', 30_000, async () => (await count()) === 1)
  stage.figure('jobs', batches.length * 3 + 2)
  stage.require((await checkLedger(world)).length === 0, 'the ledger is not in order')
  await requireNoFailedJobs(stage)
}

/**
 * Price, offer, provider key and buyer key change in the middle of streams. Each stream must keep those from its start.
 */
async function changeMidStream(stage: Stage): Promise<void> {
  const { world } = stage
  const { market } = world
  const model = `moving-${Math.random().toString(36).slice(2, 8)}`
  await market.model(model)
  const offer = { model, providerModel: 'sandbox/drip' } as const
  const first = await market.offer({ ...offer, seller: 'a', discount: 40 })
  const second = await market.offer({ ...offer, seller: 'b', discount: 40 })
  const client = createClient(world.origin, 'before the change')
  const laterClient = createClient(world.origin, 'after the change')
  const shape = { ...lasting(3), model }
  const leaving = await market.buyer(5)
  await until('the offer is on sale', 5_000, async () => {
    const seen = await client.call(0, leaving, { ...shape, maxTokens: 1 })
    stage.saw(seen)
    return seen.isComplete
  })
  const running = world.buyers.map((buyer) => client.call(0, buyer, shape))
  const revoked = client.call(0, leaving, shape)
  await pause(1_500)
  const changes = [market.price(model, '0.00004', '0.0002'), market.withdraw('a', first), market.revoke(leaving)]
  const [newKey] = await Promise.all([market.rotate('b', second), ...changes])
  await pause(500)
  const later = await Promise.all(world.buyers.map((buyer) => laterClient.call(0, buyer, shape)))
  const seen = await Promise.all([...running, revoked])
  stage.saw(...seen, ...later)
  stage.require(countServed(seen) === seen.length, `${seen.length - countServed(seen)} running streams broke`)
  stage.require(countServed(later) === later.length, `${later.length - countServed(later)} later streams broke`)
  const costs = new Set(seen.map(({ costMicro }) => String(costMicro)))
  stage.require(costs.size === 1, `running streams cost ${[...costs]}`)
  stage.require(
    later.every(({ costMicro = 0n }) => costMicro > (seen[0]?.costMicro ?? 0n) * 5n),
    'later streams were charged the old price',
  )
  const asked = await readRequests(world, 1)
  const withNewKey = asked.filter(({ authorization }) => authorization === `Bearer ${newKey}`)
  const [early, late] = ['before', 'after'].map((when) => withNewKey.filter(({ text }) => text.includes(when)).length)
  stage.require(early === 0, `${early} streams that ran already used the new key`)
  stage.require(late === later.length, `${late} of ${later.length} later streams used the new key`)
  await until('the revoked key is refused', REVOKED_WITHIN_MS, async () => {
    const call = await client.call(0, leaving, WHOLE)
    stage.saw(call)
    return call.status === 401
  })
  client.close()
  laterClient.close()
}

export const CONTROL_ROWS: readonly Row[] = [
  { number: 'F19', title: 'the queue is deleted again and again', isQuick: true, run: forgetQueue },
  {
    number: 'F24',
    title: 'the ledger takes no writes',
    run: (stage) => refuseWrites(stage, stage.isQuick ? 3_000 : 20_000),
  },
  {
    number: 'F25',
    title: 'four workers, three accounts, five thousand events',
    world: { workers: 4 },
    run: (stage) => crowdAccounts(stage, 5_000),
  },
  {
    number: 'F27',
    title: 'control plane and workers away under load',
    isLong: true,
    run: (stage) => loseControlPlane(stage, UNKEPT_MS),
  },
  { number: 'F28', title: 'a data plane starts without control plane and cache', run: startAlone },
  { number: 'F40', title: 'every job three times, one late, one contradicting', world: {}, run: deliverAgain },
  {
    number: 'F42',
    title: 'prices, offers and keys of both sides change in the middle of streams',
    run: changeMidStream,
  },
]
