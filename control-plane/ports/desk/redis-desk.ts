import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { openQueue } from '#control-plane/ports/queue/open-queue.ts'
import { NODE_REPORT_KEPT_MS, NodeReportSchema } from '#shared/contract/node-report.ts'
import { cacheKeys, moneyKeys, QUEUES } from '#shared/contract/redis-keys.ts'
import { accountOfDocument } from '#shared/contract/snapshot.ts'
import { AppError, redact } from '#shared/errors.ts'
import { parseJson } from '#shared/parse-json.ts'
import { byText } from '#shared/text-order.ts'
import type { Desk, FailedJob, KnownNode } from './desk.ts'
import { findHold, listHolds, releaseHold } from './redis-holds.ts'

type Options = {
  /** This connection should fail fast and not queue commands while Redis is away. */
  readonly money: Redis
  readonly cache: Redis
  readonly buckets: number
}

const MAX_REASON_CHARS = 300

/** The desk over Redis. A queue is opened on first use. */
export function createRedisDesk({ money, cache, buckets }: Options): Desk & { close(): Promise<void> } {
  const queues = new Map<string, Queue>()

  function queueOf(name: string): Queue {
    const knownQueue = queues.get(name)
    if (knownQueue !== undefined) return knownQueue
    const queue = openQueue(money, name, { skipMetasUpdate: true })
    queue.on('error', () => undefined)
    queues.set(name, queue)
    return queue
  }

  return {
    listHolds: (choice) => orAway(() => listHolds(money, buckets, choice)),
    isHeld: (rid) => orAway(async () => (await findHold(money, buckets, rid)) !== undefined),
    releaseHold: (rid) => orAway(() => releaseHold(money, buckets, rid)),
    listNodes: () => orAway(() => listNodes(money, cache)),
    countJobs: () =>
      orAway(() =>
        Promise.all(
          Object.values(QUEUES).map(async (queue) => {
            const counts = await queueOf(queue).getJobCounts('waiting', 'active', 'delayed', 'failed')
            const of = (state: string) => counts[state] ?? 0
            const [waiting, active, delayed, failed] = [of('waiting'), of('active'), of('delayed'), of('failed')]
            return { queue, waiting, active, delayed, failed }
          }),
        ),
      ),
    listFailed: (queue, limit) =>
      orAway(async () => (await queueOf(queue).getFailed(0, limit - 1)).flatMap((job) => describeJob(job))),
    hasFailed: (queue, id) => orAway(async () => (await (await queueOf(queue).getJob(id))?.isFailed()) ?? false),
    retryJobs: (queue, which) => orAway(() => retryJobs(queueOf(queue), which)),
    documentSizes: (names) => orAway(() => documentSizes(cache, names)),
    async close() {
      for (const queue of queues.values()) await queue.close()
    },
  }
}

async function orAway<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof AppError ? cause : new AppError('service_unavailable', { cause, retryAfterSeconds: 1 })
  }
}

type BullJob = Awaited<ReturnType<Queue['getFailed']>>[number]

function describeJob(job: BullJob): FailedJob[] {
  if (job.id === undefined) return []
  return [
    {
      id: job.id,
      name: job.name,
      reason: redact(job.failedReason ?? '').slice(0, MAX_REASON_CHARS),
      attempts: job.attemptsMade,
      addedAt: job.timestamp,
      failedAt: job.finishedOn ?? null,
    },
  ]
}

async function retryJobs(queue: Queue, which: { id: string } | { limit: number }): Promise<number> {
  const found = 'id' in which ? [await queue.getJob(which.id)] : await queue.getFailed(0, which.limit - 1)
  let retried = 0
  for (const job of found) {
    if (!(await job?.isFailed())) continue
    await job?.retry('failed')
    retried += 1
  }
  return retried
}

async function listNodes(money: Redis, cache: Redis): Promise<KnownNode[]> {
  const [seenAt, members, reports] = await Promise.all([
    money.hgetall(moneyKeys.nodes),
    money.hkeys(moneyKeys.members),
    cache.hgetall(cacheKeys.nodeReports),
  ])
  const names = [...new Set([...Object.keys(seenAt), ...members, ...Object.keys(reports)])].sort(byText)
  const now = Date.now()
  return names.flatMap((node) => {
    const report = readReport(reports[node], now)
    // Only its report named such a process. The report has expired, so nothing is left to show.
    if (report === null && seenAt[node] === undefined && !members.includes(node)) return []
    const at = Number(seenAt[node] ?? -1)
    return [{ node, lastSeenAt: at < 0 ? null : at, isMember: members.includes(node), report }]
  })
}

function readReport(text: string | undefined, now: number): KnownNode['report'] {
  const report = NodeReportSchema.safeParse(parseJson(text ?? '')).data
  return report === undefined || now - report.reportedAt > NODE_REPORT_KEPT_MS ? null : report
}

async function documentSizes(cache: Redis, names: readonly string[]): Promise<Map<string, number>> {
  const pipeline = cache.pipeline()
  for (const name of names) {
    const account = accountOfDocument(name)
    pipeline.strlen(account === undefined ? `snap:doc:${name}` : cacheKeys.account(account))
  }
  const sizes = new Map<string, number>()
  for (const [at, [error, length]] of ((await pipeline.exec()) ?? []).entries()) {
    const name = names[at]
    if (error !== null) throw error
    if (name !== undefined && typeof length === 'number' && length > 0) sizes.set(name, length)
  }
  return sizes
}
