import { describe, expect, it } from 'vitest'
import { DEADLINE_SOURCE } from '#control-plane/services/booking/book-job-event.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { endOfJob } from '#control-plane/services/jobs/end-job.ts'
import { endEvent, submitEvent, termsOf } from '#data-plane/pipeline/jobs/job-event.ts'
import type { JobRecord } from '#data-plane/store/jobs.ts'
import type { RequestId } from '#shared/ids.ts'
import type { EndedJob } from '#shared/jobs.ts'
import { chargeJob } from '#shared/jobs.ts'
import { microUsd } from '#shared/money.ts'
import type { LedgerTables } from './ledger/ledger-tables.ts'
import type { Buyer } from './providers/market.ts'
import { FEE_BPS } from './providers/market.ts'
import type { Random } from './time/random.ts'
import { createRandom } from './time/random.ts'
import type { World } from './world/world.ts'
import { createWorld } from './world/world.ts'

const SEEDS = 40
const JOBS = 25
/** The price of a millisecond of video, in pico-USD. */
const UNIT_PICO = '90000000'
const DEADLINE_MS = 60_000
const REST_MS = 3 * 60_000

/** A job with the polls of its buyer and the end at its provider. */
type Played = {
  readonly record: JobRecord
  /** Undefined for a job without polls. Its deadline ends it then. */
  readonly said: EndedJob | undefined
  /** The provider's answer at the deadline. */
  readonly saidLate: EndedJob | undefined
}

describe('long jobs on the simulated ledger', () => {
  it(`end exactly once and leave no escrow, in ${SEEDS} runs of ${JOBS} jobs`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) expect(await playJobs(seed), `seed ${seed}`).toEqual([])
  })
})

/**
 * Plays jobs. Submits and ends arrive in any order, and twice, through dying workers and failing commits. Returns the
 * problems.
 */
async function playJobs(seed: number): Promise<string[]> {
  const wrong: string[] = []
  const world = createWorld(seed, (error) => wrong.push(String(error)), { hasWallets: false })
  const { scheduler, postgres, queue } = world.ground
  const random = createRandom(seed).fork('jobs')
  postgres.onCommit(() => wrong.push(...escrowMistakes(postgres.tables())))
  await scheduler.run(3_000)
  const jobs = Array.from({ length: JOBS }, (_, index) => drawJob(world, random, index))
  for (const job of jobs) {
    scheduler.after(random.between(0, 5_000), () => send(world, submitText(job)))
    if (job.said === undefined) continue
    const text = endText(job, job.said, random.between(1_000, 9_000))
    for (let copies = random.between(1, 2); copies > 0; copies--) {
      scheduler.after(random.between(0, 12_000), () => send(world, text))
    }
  }
  for (let fault = 0; fault < 6; fault++) {
    scheduler.after(random.between(0, 12_000), () => {
      const worker = world.workers[random.between(0, 1)]
      if (random.chance(0.5)) postgres.failNext(random.pick(['abort', 'committed_unknown', 'rolled_back_unknown']))
      else worker?.kill()
      scheduler.after(random.between(10, 2_000), () => worker?.boot())
    })
  }
  for (let turn = 1; turn <= 4; turn++) {
    scheduler.after((DEADLINE_MS / 6) * turn + (turn > 2 ? DEADLINE_MS : 0), () => endOverdue(world, jobs, turn > 2))
  }
  await scheduler.run(REST_MS)
  if (queue.size() > 0) wrong.push(`${queue.size()} batches wait`)
  wrong.push(...jobs.flatMap((job) => outcomeMistakes(postgres.tables(), job)))
  wrong.push(...bookMistakes(postgres.tables()))
  for (const part of [...world.machines, ...world.workers]) part.process()?.kill()
  return wrong
}

const ENDS = ['succeeded', 'succeeded', 'failed', 'cancelled'] as const

function drawJob({ ground, market, machines }: World, random: Random, index: number): Played {
  const offer = market.offers[random.between(0, 2)] ?? market.offers[0]
  const buyer: Buyer = market.buyers[random.between(0, 1)] ?? market.buyers[0]
  const ids = machines[0]?.node()?.ids
  if (ids === undefined) throw new Error('no machine is up')
  const rid: RequestId = ids.requestId()
  const length = random.between(1, 20)
  const say = (): EndedJob => ({
    id: `pj${index}`,
    state: random.pick(ENDS),
    milliseconds: random.chance(0.7) ? random.between(1, 30) : undefined,
    artifacts: [],
  })
  const wall = Math.floor(ground.scheduler.wall())
  const record: JobRecord = {
    v: 1,
    rid,
    account: buyer.account,
    keyId: buyer.keyId,
    wallet: null,
    rail: 'credit',
    payment: null,
    wire: 'video',
    endpoint: '/v1/videos',
    model: 'video-model',
    requestedModel: 'video-model',
    offer: offer.id,
    sellerAccount: offer.sellerAccount,
    servedBy: 'marketplace',
    provider: offer.provider,
    baseUrl: offer.baseUrl,
    apiFormat: offer.apiFormat,
    credential: offer.credential,
    providerJob: `pj${index}`,
    priceVersion: 'v1',
    unitPrices: { milliseconds: UNIT_PICO },
    keptBps: 10_000,
    feeBps: Number(FEE_BPS),
    quoteMicro: microUsd(90 * length),
    bound: { milliseconds: length },
    attempts: [],
    createdAt: wall,
    deadlineAt: wall + DEADLINE_MS,
    asked: { seconds: null, size: null },
    adaptedParams: [],
  }
  return { record, said: random.chance(0.6) ? say() : undefined, saidLate: random.chance(0.6) ? say() : undefined }
}

function submitText({ record }: Played): string {
  return JSON.stringify(submitEvent({ ...record, quoteMicro: record.quoteMicro.toString() }, 'n1', record.createdAt))
}

function endText({ record }: Played, said: EndedJob, afterMs: number): string {
  const charge = chargeJob(termsOf(record), said)
  const errorCode = said.state === 'failed' ? 'upstream_error' : null
  return endEvent(record, { outcome: said.state, errorCode, charge, node: 'n1', now: record.createdAt + afterMs })
}

let batches = 0

function send({ machines, ground }: World, event: string): void {
  const node = machines[0]?.process()
  if (node === undefined) throw new Error('no machine is up')
  batches += 1
  const batch = { v: 1, id: `btc_${batches}`, node: 'n1', captured: [], events: [event] }
  void ground.queue.transportOf(node).usage.add(batch)
}

/**
 * Both workers end the overdue jobs that they find. `isDue` is false for ends that arrive while others are under way.
 */
function endOverdue({ workers, ground }: World, jobs: readonly Played[], isDue: boolean): void {
  const now = Math.floor(ground.scheduler.wall())
  for (const row of ground.postgres.tables().jobs.values()) {
    const played = jobs.find(({ record }) => record.rid === row.rid)
    if (row.endedAt !== null || (!isDue && played?.said === undefined)) continue
    for (const worker of workers) {
      const ctx = worker.ctx()
      const text = endOfJob(row, played?.saidLate ?? 'overdue', now)?.event
      if (ctx === undefined || text === undefined) continue
      void postBatch(ctx, { events: [text], source: DEADLINE_SOURCE }).catch(() => undefined)
    }
  }
}

/** Checks that escrow holds the quotes of the running jobs at every instant. */
function escrowMistakes({ accounts, jobs }: LedgerTables): string[] {
  const held = new Map<string, bigint>()
  for (const { escrowAccount, quote, endedAt } of jobs.values()) {
    held.set(escrowAccount, (held.get(escrowAccount) ?? 0n) + (endedAt === null ? quote : 0n))
  }
  return [...held].flatMap(([account, quotes]) => {
    const balance = accounts.get(account)?.balance
    return balance === quotes ? [] : [`${account} has ${balance} for jobs of ${quotes}`]
  })
}

/** Checks that each job has one end. A job costs at most its quote, and nothing unless it succeeded. */
function outcomeMistakes({ jobs, jobEnds, settlements }: LedgerTables, { record, said, saidLate }: Played): string[] {
  const { rid, quoteMicro } = record
  const charge = settlements.get(rid)?.charge
  if (jobs.get(rid)?.endedAt == null || jobEnds.get(rid)?.bookedAt == null) return [`${rid} has no end`]
  const possible = [said, saidLate].map((word) =>
    word === undefined ? 0n : BigInt(chargeJob(termsOf(record), word).chargeMicro),
  )
  if (charge === undefined || charge > quoteMicro || !possible.includes(charge)) {
    return [`${rid} is charged ${charge} of ${quoteMicro}, not one of ${possible.join(', ')}`]
  }
  return []
}

/** Checks that every transaction sums to zero and every balance is the sum of its entries. */
function bookMistakes({ accounts, entries, poison }: LedgerTables): string[] {
  const wrong = poison.map(({ reason, detail }) => `set aside: ${reason} ${detail}`)
  const sums = new Map<string, bigint>()
  let total = 0n
  for (const { account, amount } of entries) {
    sums.set(account, (sums.get(account) ?? 0n) + amount)
    total += amount
  }
  if (total !== 0n) wrong.push(`the entries come out at ${total}`)
  for (const { account, kind, balance } of accounts.values()) {
    const isSummed = kind === 'platform_fee' || kind === 'external_fiat' || kind === 'promo'
    if (!isSummed && balance !== (sums.get(account) ?? 0n)) wrong.push(`${account} has ${balance}`)
    if (kind === 'job_escrow' && balance !== 0n) wrong.push(`${account} still has ${balance}`)
  }
  return wrong
}
