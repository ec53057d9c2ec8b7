import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

/** The core of the measured process, and the core of all others. */
export const MEASURED_CORE = 0
export const OTHER_CORE = 1
/** The only bucket of a market of this size. */
const BUCKET = 'm00'
const POSTED_MS = 180_000

/** A market with one more provider that always gives the same answer. One offer sells it under a model of its own. */
export type BenchMarket = {
  readonly network: Network
  readonly upstreamUrl: string
  readonly model: string
  readonly buyerKey: string
  /** Stops the worker. Events gather in the queue, and the gate counts them as unposted. */
  pausePosting(): void
  resumePosting(): void
  /** Lets the worker run until every event is posted, because waiting events make later calls slower. */
  postAll(): Promise<void>
  stop(): Promise<void>
}

/** A script of this folder that listens on a free port. */
export type Script = { readonly child: ChildProcess; readonly port: number }

const Ready = z.object({ port: z.number().int() })

/** Starts a script of this folder on one core and waits until it prints its port. */
export async function startScript(core: number, script: string, args: readonly string[]): Promise<Script> {
  const child = spawn('taskset', ['-c', String(core), process.execPath, '--import', 'tsx', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await once(child.stdout, 'data')
  return { child, port: Ready.parse(JSON.parse(String(said))).port }
}

/** Moves a process with all its threads to one core. */
function pin(pid: number, core: number, niceness = 0): void {
  for (const id of withDescendants(pid)) {
    spawnSync('taskset', ['-a', '-p', '-c', String(core), String(id)])
    if (niceness !== 0) yieldTo(id, niceness)
  }
}

/** Takes a process back from its core and its low priority. */
function release(pid: number): void {
  for (const id of withDescendants(pid)) {
    spawnSync('taskset', ['-a', '-p', '-c', `${MEASURED_CORE},${OTHER_CORE}`, String(id)])
    yieldTo(id, 0)
  }
}

/**
 * Sets the priority of a process within its session and, where the kernel groups sessions (sched(7), autogroup), of its
 * session too. A higher one needs root.
 */
function yieldTo(pid: number, niceness: number): void {
  spawnSync('renice', ['-n', String(niceness), '-p', String(pid)])
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // The kernel has no such grouping.
  }
}

/** A process and all its descendants. */
function withDescendants(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // The process ended between the listing and the reading.
    }
  }
  const found = [pid]
  for (const id of found) for (const [child, parent] of parents) if (parent === id) found.push(child)
  return found
}

async function ask(url: string, init: { method?: string; key: string; body?: unknown; idempotencyKey?: string }) {
  const answer = await fetch(url, {
    method: init.method ?? 'POST',
    headers: {
      authorization: `Bearer ${init.key}`,
      'content-type': 'application/json',
      ...(init.idempotencyKey ? { 'idempotency-key': init.idempotencyKey } : {}),
    },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text.slice(0, 300)}`)
  return JSON.parse(text)
}

/** Calls one operator operation over tRPC. */
export async function operate(network: Network, name: string, input: unknown): Promise<unknown> {
  const answer = await ask(`${network.sandbox.trpc_url}/${name}`, { key: network.sandbox.management_key, body: input })
  return z.object({ result: z.object({ data: z.unknown() }) }).parse(answer).result.data
}

/** Creates an offer as the seeded seller. */
export async function createOffer(network: Network, offer: Record<string, unknown>): Promise<{ id: string }> {
  const url = `${network.sandbox.api_base_url}/v1/seller/offers`
  const made = await ask(url, {
    key: network.sandbox.seller_key,
    body: offer,
    idempotencyKey: `bench-${JSON.stringify(offer)}`,
  })
  return z.object({ id: z.string() }).parse(made)
}

/** Reprices an offer as the seeded seller. */
export async function reprice(network: Network, id: string, discount: number): Promise<void> {
  const url = `${network.sandbox.api_base_url}/v1/seller/offers/${id}`
  await ask(url, { method: 'PATCH', key: network.sandbox.seller_key, body: { discount } })
}

/** Starts the market, a provider of its own and its offer. Every process except the data plane shares one core. */
export async function startBenchMarket(
  environment: Record<string, string>,
  [script, ...more]: readonly [script: string, ...more: string[]] = ['test/bench/static-upstream.ts'],
): Promise<BenchMarket> {
  const model = 'gpt-5-nano'
  const network = await startNetwork({ LOG_LEVEL: 'warn', ...environment }, 'own')
  const host = '127.0.0.21'
  const upstream = await startScript(OTHER_CORE, script, ['--host', host, ...more])
  const upstreamUrl = `http://${host}:${upstream.port}`
  await operate(network, 'provider.put', {
    id: 'bench',
    name: 'Bench',
    baseUrl: `${upstreamUrl}/v1`,
    isTrusted: true,
    costReferenceUrl: null,
  })
  await createOffer(network, { model, api_key: 'sk-bench', seller_base_url: `${upstreamUrl}/v1`, discount: 95 })
  for (const [name, pid] of Object.entries(network.sandbox.pids)) {
    // Posting is measured by itself. Here it must not take the core from the load generator and the upstream.
    const niceness = /postgres|worker|control|provider/.test(name) ? 19 : 0
    pin(pid, name === 'data_plane' ? MEASURED_CORE : OTHER_CORE, niceness)
  }
  const { worker } = network.sandbox.pids
  if (worker === undefined) throw new Error('the market has no worker')
  return {
    network,
    upstreamUrl,
    model,
    buyerKey: network.sandbox.buyer_key,
    pausePosting: () => void process.kill(worker, 'SIGSTOP'),
    resumePosting: () => void process.kill(worker, 'SIGCONT'),
    postAll: async () => {
      process.kill(worker, 'SIGCONT')
      const redis = new Redis(network.sandbox.redis_url)
      try {
        await until('every event is posted', POSTED_MS, async () => {
          const epoch = parseMoneyEpoch(await redis.get(moneyKeys.epoch))?.epoch ?? 0
          return (await redis.zcard(moneyKeys.unposted(BUCKET, epoch))) === 0
        })
      } finally {
        redis.disconnect()
      }
    },
    stop: async () => {
      // A slowed process finishes its work before it stops: events by the hundred thousand wait for the worker.
      for (const pid of Object.values(network.sandbox.pids)) release(pid)
      process.kill(worker, 'SIGCONT')
      upstream.child.kill()
      await network.remove()
    },
  }
}
