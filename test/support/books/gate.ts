import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { z } from 'zod'
import type { Database } from '#control-plane/db/database.ts'
import type { Gate } from '#control-plane/ports/gate/gate.ts'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import type { GateKeeper } from '#control-plane/ports/gate-keeper/gate-keeper.ts'
import { openRedisGateKeeper } from '#control-plane/ports/gate-keeper/redis-gate-keeper.ts'
import type { MoneyLedger } from '#control-plane/ports/ledger/money-ledger.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { watchVersions } from '#control-plane/services/gate/ledger-restores.ts'
import { startRebuildGate } from '#control-plane/workers/rebuild-gate.ts'
import { openJournal } from '#data-plane/journal/journal.ts'
import type { CreditHold, ReserveRequest } from '#data-plane/payment.ts'
import type { FundsStore } from '#data-plane/store/funds.ts'
import { openFunds } from '#data-plane/store/funds.ts'
import { connectMoney } from '#data-plane/store/money-connection.ts'
import { claimPort } from '#dev/services/ports.ts'
import { startRedis } from '#dev/services/redis.ts'
import type { Time } from '#shared/clock.ts'
import { systemClock } from '#shared/clock.ts'
import type { KeyBudget } from '#shared/contract/key-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId, KeyId, RequestId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { keptBps, microUsd, splitCharge, subtractToZero } from '#shared/money.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import { until } from '#test/support/run/until.ts'
import type { CreditJournal } from './credit-journal.ts'
import { asCreditJournal } from './credit-journal.ts'

export const ids = createIds(systemClock)
export const log = createLogger('test', 'silent')

/** The money parts of a data-plane process: its funds and its journal. */
export type Node = {
  readonly id: string
  readonly funds: FundsStore
  readonly journal: CreditJournal
  /** Ends the node without settling its calls, as a kill would. */
  drop(): Promise<void>
}

/** A Redis of its own, a database, the rebuilder, and any number of nodes. */
export type GateWorld = {
  readonly db: Database
  readonly ledger: MoneyLedger
  readonly gate: Gate
  readonly keeper: GateKeeper
  readonly redis: Redis
  readonly redisUrl: string
  readonly databaseUrl: string
  /** See {@link TestDatabase}. */
  readonly backUpLedger: TestDatabase['backUp']
  readonly folder: string
  /** Opens a buyer account with a balance in the ledger, in micro-USD. */
  account(balanceMicro: number): Promise<AccountId>
  /** Starts a node. `options` may set another journal folder, another address of Redis or another clock. */
  node(id: string, options?: { journalDir?: string; redisUrl?: string; clock?: Time }): Promise<Node>
  restartRedis(): Promise<void>
  /** Stops the server's process, or lets it go on. */
  freezeRedis(isFrozen: boolean): void
  stopRebuilder(): Promise<void>
  startRebuilder(): void
  /** The rebuilds that ended, in their order. */
  readonly rebuilds: readonly GateRebuild[]
  stop(): Promise<void>
}

/** A rebuild of the gate, and the members that had not reported their calls when its limit was over. */
const OpenedLine = z.object({ msg: z.literal('the gate is open'), epoch: z.number(), missing: z.array(z.string()) })
export type GateRebuild = z.infer<typeof OpenedLine>

const OPEN_LIMIT_MS = 60_000

type WorldOptions = {
  readonly buckets?: number
  /**
   * Searches for the reason when the gate is ahead of the ledger. Off for tests that set balances in the gate
   * themselves.
   */
  readonly watchesVersions?: boolean
  /** The server of the database. By default that of the test run. */
  readonly server?: string
}

export async function startGateWorld({
  buckets = 1,
  watchesVersions = false,
  server: databases,
}: WorldOptions = {}): Promise<GateWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-'))
  const dataDir = join(folder, 'redis')
  const claim = await claimPort()
  const port = async () => claim.port
  let server = await startRedis({ dataDir, port })
  const database = await createTestDatabase(databases)
  const ledger = createMoneyLedger(database.db)
  const redis = new Redis(server.url, { retryStrategy: () => 50, maxRetriesPerRequest: null })
  redis.on('error', () => undefined)
  const gateRedis = new Redis(server.url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 50,
  })
  gateRedis.on('error', () => undefined)
  const onBehind = watchVersions(() => ({ ledger, gate, clock: systemClock, log }))
  const gate: Gate = createRedisGate({ redis: gateRedis, buckets, ...(watchesVersions ? { onBehind } : {}) })
  const { keeper, close } = openRedisGateKeeper({ url: server.url, buckets, clock: systemClock, log })
  const nodes: Node[] = []
  let stopRebuilder: (() => Promise<void>) | undefined
  const rebuilds: GateRebuild[] = []
  const rebuildLog = createLogger('test', 'info', {
    write(line) {
      const rebuild = OpenedLine.safeParse(JSON.parse(line))
      if (rebuild.success) rebuilds.push(rebuild.data)
    },
  })

  function startRebuilder(): void {
    stopRebuilder = startRebuildGate({ ledger, keeper, gate, clock: systemClock, log: rebuildLog })
  }

  startRebuilder()
  // Tests that use the gate itself would otherwise meet a gate that its first rebuild has not opened.
  await until(
    'the gate is open',
    OPEN_LIMIT_MS,
    async () => (await redis.get(moneyKeys.epoch))?.includes(':open') === true,
  )
  return {
    db: database.db,
    ledger,
    gate,
    keeper,
    redis,
    redisUrl: server.url,
    databaseUrl: database.url,
    backUpLedger: database.backUp,
    folder,
    async account(balanceMicro) {
      const id = ids.make('acc')
      await database.db
        .insertInto('account')
        .values({ id, kind: 'buyer_credit', owner: ids.make('usr'), balance: BigInt(balanceMicro), version: 1n })
        .execute()
      return id
    },
    async node(id, options = {}) {
      const { journalDir = join(folder, `journal-${id}`), redisUrl = server.url, clock = systemClock } = options
      const node = await openNode({ id, redisUrl, journalDir, buckets, clock })
      nodes.push(node)
      return node
    },
    async restartRedis() {
      await server.stop()
      server = await startRedis({ dataDir, port })
    },
    freezeRedis(isFrozen) {
      process.kill(server.pid, isFrozen ? 'SIGSTOP' : 'SIGCONT')
    },
    rebuilds,
    startRebuilder,
    async stopRebuilder() {
      await stopRebuilder?.()
      stopRebuilder = undefined
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.drop()))
      close()
      await stopRebuilder?.()
      redis.disconnect()
      gateRedis.disconnect()
      await database.drop()
      await server.stop()
      claim.release()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type NodeOptions = { id: string; redisUrl: string; journalDir: string; buckets: number; clock: Time }

async function openNode({ id, redisUrl, journalDir, buckets, clock }: NodeOptions): Promise<Node> {
  const boot = ids.ulid()
  const opened = await openJournal({ dir: journalDir, node: id, boot, clock, log })
  const journal = asCreditJournal(opened)
  const funds = openFunds({
    connect: (listeners) => connectMoney({ url: redisUrl, clock, log }, listeners),
    buckets,
    clock,
    log,
    journal,
  })
  let isOver = false
  return {
    id,
    funds,
    journal,
    async drop() {
      if (isOver) return
      isOver = true
      funds.gate.member.stop()
      funds.gate.connection.close()
      await journal.close()
    },
  }
}

export async function untilOpen(node: Node, deadlineMs = 5_000): Promise<void> {
  await until(`${node.id} admits paid calls`, deadlineMs, () => node.funds.isOpen())
}

/** Gives the lock of a node's journal to a dead process: its own pid with another start time. */
export async function markDead(root: string, node: Node): Promise<void> {
  const boot = (await readdir(root)).find((name) => node.journal.member.endsWith(name)) ?? ''
  const path = `${root}/${boot}/lock.json`
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), startTicks: '1' }))
}

type ReserveOptions = {
  want?: number
  min?: number
  ttlMs?: number
  keyId?: KeyId
  daily?: number
  monthly?: number
  budgets?: readonly KeyBudget[]
  rid?: RequestId
}

export function reserveRequest(account: AccountId, options: ReserveOptions = {}): ReserveRequest {
  const want = options.want ?? 100
  return {
    rid: options.rid ?? ids.requestId(),
    account,
    keyId: options.keyId ?? null,
    wantMicro: microUsd(want),
    minMicro: microUsd(options.min ?? want),
    ttlMs: options.ttlMs ?? 60_000,
    caps: {
      dailyMicro: options.daily === undefined ? null : microUsd(options.daily),
      monthlyMicro: options.monthly === undefined ? null : microUsd(options.monthly),
      ...(options.budgets && { budgets: options.budgets }),
    },
  }
}

/** The usage event of a successful call, as text. */
export function eventText(hold: CreditHold, chargeMicro: number, node: string): string {
  const charge = microUsd(chargeMicro)
  const feeBps = keptBps(500)
  const { sellerNet, fee } = splitCharge(charge, feeBps)
  const now = Date.now()
  const event: Record<
    Exclude<
      keyof UsageEvent,
      'kind' | 'job' | 'wallet' | 'payment' | 'sold' | 'priceConditions' | 'ownCostPico' | 'budgets'
    >,
    unknown
  > = {
    v: 1,
    rid: hold.rid,
    startedAt: now - 100,
    endedAt: now,
    node,
    account: hold.account,
    keyId: hold.keyId,
    rail: 'credit',
    wire: 'chat',
    endpoint: 'chat',
    model: 'gpt-5-mini',
    requestedModel: 'gpt-5-mini',
    offer: 'ofr_1',
    sellerAccount: 'acc_seller',
    provider: 'sandbox-a',
    servedBy: 'marketplace',
    isStreamed: false,
    outcome: 'succeeded',
    errorCode: null,
    finishReason: 'stop',
    usage: { input: 10, output: 5 },
    usageSource: 'reported',
    anomalies: [],
    priceVersion: 'test',
    keptBps: 7_000,
    feeBps: 500,
    holdMicro: hold.grantedMicro.toString(),
    chargeMicro: charge.toString(),
    listMicro: charge.toString(),
    sellerNetMicro: sellerNet.toString(),
    feeMicro: fee.toString(),
    ttftMs: 10,
    streamMs: null,
    overheadMs: 1,
    attempts: [],
    explanation: null,
  }
  return JSON.stringify(hold.budgets === undefined ? event : { ...event, budgets: hold.budgets })
}

/** The account's three figures and its spendable amount, as numbers of micro-USD. */
export async function figures(gate: Gate, account: AccountId) {
  const found = await gate.spendable(account)
  if (found === undefined) return undefined
  const { postedMicro, heldMicro, unpostedMicro } = found
  return {
    p: Number(postedMicro),
    h: Number(heldMicro),
    u: Number(unpostedMicro),
    free: Number(subtractToZero(subtractToZero(postedMicro, heldMicro), unpostedMicro)),
  }
}
