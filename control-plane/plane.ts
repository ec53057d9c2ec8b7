import { hostname } from 'node:os'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import type { Registry } from 'prom-client'
import type { Ctx, OperationLimits, Settings } from '#control-plane/operation/ctx.ts'
import type { Time } from '#shared/clock.ts'
import { SECOND, systemClock } from '#shared/clock.ts'
import type { ClockWatch } from '#shared/clock-skew.ts'
import { createClockWatch, readRedisTime } from '#shared/clock-skew.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { createRefusedWork } from '#shared/refused-work.ts'
import type { Tracer } from '#shared/telemetry/tracer.ts'
import type { UntrustedProxies } from '#shared/untrusted-proxies.ts'
import { createUntrustedProxies } from '#shared/untrusted-proxies.ts'
import { checkMoney } from './check-ledger/check.ts'
import type { ControlConfig } from './config.ts'
import type { DatabaseLimits, PoolFigures } from './db/database.ts'
import { createDatabase } from './db/database.ts'
import { readDatabaseClock } from './db/outboxes.ts'
import { mountFigures } from './observe/figures.ts'
import { createMoneyMetrics } from './observe/money-metrics.ts'
import type { Traces } from './observe/plane-traces.ts'
import { createTraces } from './observe/plane-traces.ts'
import { createTelemetry } from './observe/telemetry.ts'
import { openMail } from './open-mail.ts'
import { openPayments } from './open-payments.ts'
import { openMoves, openTreasury } from './open-treasury.ts'
import { createRpcContractWallets } from './ports/contract-wallets/rpc-contract-wallets.ts'
import { createRedisDesk } from './ports/desk/redis-desk.ts'
import type { Exporters } from './ports/exports/exporter.ts'
import { createRedisDebitGate } from './ports/gate/redis-debit-gate.ts'
import { createRedisGate } from './ports/gate/redis-gate.ts'
import { createRedisGateAudit } from './ports/gate/redis-gate-audit.ts'
import { openRedisGateKeeper } from './ports/gate-keeper/redis-gate-keeper.ts'
import { createRedisJobBook } from './ports/jobs/redis-job-book.ts'
import { createRedisKeyCounters } from './ports/key-counters/redis-key-counters.ts'
import { createMoneyLedger } from './ports/ledger/postgres-money-ledger.ts'
import { createLiveControls } from './ports/limits/live-controls.ts'
import { createRedisLimiter } from './ports/limits/redis-limiter.ts'
import { createRedisLiveOffers } from './ports/live-offers/redis-live-offers.ts'
import { createMarketMemory } from './ports/market-memory/market-memory.ts'
import { createGoogleTokens } from './ports/provider/google-token.ts'
import { createProviderProbe } from './ports/provider/provider-probe.ts'
import { createRedisPublisher } from './ports/publisher/redis-publisher.ts'
import { openQueue } from './ports/queue/open-queue.ts'
import { createRedisUsageQueue } from './ports/queue/redis-usage-queue.ts'
import { createRedisWaker } from './ports/queue/redis-waker.ts'
import { createRedisTradeFeed } from './ports/updates/redis-trade-feed.ts'
import { createRedisAnnounce, createRedisUpdates } from './ports/updates/redis-updates.ts'
import type { Updates } from './ports/updates/updates.ts'
import { createWebhookSender } from './ports/webhook/http-webhook-sender.ts'
import { AUDIT_EXPORT, writeAudit } from './services/audit/audit-export.ts'
import { sweepHolds } from './services/booking/sweep.ts'
import { SELLER_USAGE_EXPORT, writeSellerUsage } from './services/earnings/seller-usage-export.ts'
import { watchVersions } from './services/gate/ledger-restores.ts'
import { createSellerAliases } from './services/market/seller-alias.ts'
import { originsOf, relyingPartyOf } from './services/sign-in/relying-party.ts'
import { createPublication } from './services/snapshot/publication.ts'
import { BUYER_USAGE_EXPORT, writeBuyerUsage } from './services/usage/buyer-usage-export.ts'
import { STATEMENT_EXPORT, writeStatement } from './services/usage/monthly-statement.ts'
import { startWorkers } from './workers/index.ts'
import { startRebuildGate } from './workers/rebuild-gate.ts'
import type { WorkerPlane } from './workers/worker.ts'

/** Longest wait for one Redis command, and the pause between two attempts to connect. */
const REDIS_COMMAND_TIMEOUT_MS = 2 * SECOND
const REDIS_RETRY_MS = 200
const READY_POLL_MS = 10
/** A database without an answer for this long is not ready. */
const READY_LIMIT_MS = 2 * SECOND

/** Default limits against abuse, the same for seller and buyer accounts. */
const RATE_LIMITS: OperationLimits = {
  read: { perKey: 60, perWallet: null },
  write: { perKey: 30, perWallet: 200 },
  probe: { perKey: 5, perWallet: null },
  challenge: { perKey: 10, perWallet: null },
}
/** Limits of the data plane for a key whose record sets none. */
const KEY_RATE_PER_MINUTE = 600
const KEY_IN_FLIGHT = 200

export type Readiness = { readonly isReady: boolean; readonly parts: Readonly<Record<string, boolean | number>> }

/** A process of the control plane with all its parts. */
export type ControlPlane = WorkerPlane & {
  readonly config: ControlConfig
  /** Metrics of the process, not of one of its servers. */
  readonly registry: Registry
  /** Listens to announced changes. */
  readonly updates: Updates
  /** Spans of requests; undefined when tracing is off. */
  readonly traces: Traces | undefined
  /** The clock watch compares nothing until main.ts starts it. */
  readonly clocks: ClockWatch
  /** Proxies that the server sees but does not trust. Readiness counts them. */
  readonly untrustedProxies: UntrustedProxies
  /** Reports whether each part of the process can serve. */
  readiness(): Promise<Readiness>
  /** Waits at most `timeoutMs` for Redis. True when it answered. The plane also starts without Redis. */
  connected(timeoutMs: number): Promise<boolean>
  /** Reports the process as not ready from now on, so that a load balancer sends no more requests. */
  drain(): void
  /** Starts all background work. The returned function stops it and waits for running work. */
  startWorkers(): () => Promise<void>
  close(): Promise<void>
}

/** Parts that tests and the development network may replace. */
export type ControlOverrides = Partial<
  Omit<
    Ctx,
    'settings' | 'db' | 'ledger' | 'clocks' | 'telemetry' | 'exporters' | 'publication' | 'marketMemory' | 'sellerAlias'
  >
> & {
  readonly settings?: Partial<Settings>
  /** The tracer; left out turns tracing off. */
  readonly tracer?: Tracer | undefined
  /** Changes to the limits of connections to Postgres. */
  readonly databaseLimits?: Partial<DatabaseLimits>
}

/** Builds the control plane. Postgres and Redis need not be up yet. */
export function createControlPlane(config: ControlConfig, overrides: ControlOverrides = {}): ControlPlane {
  const parts = openParts(config, overrides)
  const { db, money, cache, registry, traces, clocks, updates, untrustedProxies } = parts
  const ctx = createCtx(config, overrides, parts)
  let isDraining = false
  const plane: WorkerPlane = {
    ...ctx,
    redisUrl: config.redisUrl,
    openQueue: (name) => openQueue(money, name),
    usageQueue: createRedisUsageQueue(money),
    feed: createRedisTradeFeed(cache),
    gateAudit: createRedisGateAudit({ redis: money, buckets: config.moneyBuckets }),
    moneyTimes: config.money,
    workerId: `${hostname()}-${process.pid}-${ctx.ids.ulid()}`,
  }
  let background: Background | undefined
  const isConnected = () => money.status === 'ready' && cache.status === 'ready'

  return {
    ...plane,
    config,
    registry,
    traces,
    clocks,
    updates,
    untrustedProxies,
    async readiness() {
      const answered = new AbortController()
      const late = ctx.clock.sleep(READY_LIMIT_MS, answered.signal).then(() => false)
      const answering = sql`select 1`.execute(db).then(
        () => true,
        () => false,
      )
      const database = await Promise.race([answering, late]).finally(() => answered.abort())
      const workers = background?.isReady()
      const parts = {
        database,
        redis: isConnected(),
        ...(workers !== undefined && { workers }),
        draining: isDraining,
        untrusted_proxies: untrustedProxies.count(),
      }
      return { isReady: database && workers !== false && !isDraining, parts }
    },
    async connected(timeoutMs) {
      const until = performance.now() + timeoutMs
      while (!isConnected() && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS))
      }
      return isConnected()
    },
    drain: () => {
      isDraining = true
    },
    startWorkers() {
      background = startBackground(plane, config)
      return background.stop
    },
    close: parts.close,
  }
}

/** Opens the connections and parts of a plane, and lists the parts to close. */
function openParts(config: ControlConfig, overrides: ControlOverrides) {
  const clock: Time = overrides.clock ?? systemClock
  const log = overrides.log ?? createLogger('control-plane', config.logLevel)
  const onIdleError = (error: Error) => log.warn({ err: error }, 'a connection to Postgres broke')
  let pool = (): PoolFigures => ({ total: 0, idle: 0, waiting: 0 })
  const { databaseLimits: limits = {} } = overrides
  const watch = (read: () => PoolFigures) => {
    pool = read
  }
  const db = createDatabase(config.databaseUrl.reveal(), { max: config.databasePool, limits, onIdleError, watch })
  const money = connect(config.redisUrl.reveal(), log)
  const cache = connect(config.redisCacheUrl.reveal(), log)
  const outbound = { allowsLoopback: config.allowsLoopbackUpstreams }
  const tokens = createGoogleTokens(outbound, clock)
  const provider = createProviderProbe(outbound, clock, tokens.makeToken)
  const ids = overrides.ids ?? createIds(clock)
  const mail = openMail(config, money, { ids, log })
  const waker = createRedisWaker(money, log)
  const webhooks = createWebhookSender(outbound)
  const updates = createRedisUpdates(cache, log)
  const desk = createRedisDesk({ money, cache, buckets: config.moneyBuckets })
  const { registry, metrics } = createMoneyMetrics()
  const traces = overrides.tracer && createTraces(overrides.tracer, clock)
  const telemetry = createTelemetry({ registry, clock, traces })
  const others = [
    { name: 'redis', read: async () => readRedisTime(await money.time()) },
    { name: 'postgres', read: () => readDatabaseClock(db) },
  ]
  const clocks = createClockWatch({ clock, log, others })
  const untrustedProxies = createUntrustedProxies(log)
  mountFigures(registry, { db, pool: () => pool(), desk, clocks, untrustedProxies, clock })
  return {
    clock,
    log,
    db,
    money,
    cache,
    provider,
    tokens,
    waker,
    webhooks,
    ids,
    mail,
    desk,
    registry,
    metrics,
    traces,
    telemetry,
    clocks,
    updates,
    untrustedProxies,
    async close() {
      clocks.close()
      updates.close()
      await waker.close()
      await mail?.close()
      await desk.close()
      money.disconnect()
      cache.disconnect()
      await Promise.all([db.destroy(), provider.close(), tokens.close(), webhooks.close()])
      await overrides.tracer?.close()
    },
  }
}

function createCtx(config: ControlConfig, overrides: ControlOverrides, parts: ReturnType<typeof openParts>): Ctx {
  const { clock, log, ids, db, money, cache, provider, tokens, waker, webhooks, desk, metrics, telemetry, clocks } =
    parts
  const where = { databaseUrl: config.databaseUrl.reveal(), redisUrl: config.redisUrl.reveal() }
  const announce = overrides.announce ?? createRedisAnnounce(cache)
  const publisher = overrides.publisher ?? createRedisPublisher(cache)
  const settings = { ...settingsOf(config), ...overrides.settings }
  const sellerAlias = createSellerAliases(settings.fingerprintPepper)
  const ledger = createMoneyLedger(db)
  const onBehind = watchVersions(() => ({ ledger, gate, clock, log }))
  const gate = overrides.gate ?? createRedisGate({ redis: money, buckets: config.moneyBuckets, announce, onBehind })
  return {
    db,
    ledger,
    clock,
    log,
    ids,
    gate,
    keyCounters: overrides.keyCounters ?? createRedisKeyCounters({ redis: money, buckets: config.moneyBuckets }),
    jobBook: overrides.jobBook ?? createRedisJobBook(money),
    debits: overrides.debits ?? createRedisDebitGate({ redis: money, buckets: config.moneyBuckets }),
    checkMoney:
      overrides.checkMoney ?? (() => checkMoney({ ...where, journalDir: config.journalDir }, { isQuiesced: false })),
    metrics: overrides.metrics ?? metrics,
    telemetry,
    clocks,
    publisher,
    publication: createPublication({ db, publisher, settings, clock, log, sellerAlias }),
    probe: overrides.probe ?? provider.probe,
    makeToken: overrides.makeToken ?? tokens.makeToken,
    listModels: overrides.listModels ?? provider.listModels,
    askJob: overrides.askJob ?? provider.askJob,
    probeKey: overrides.probeKey ?? provider.probeKey,
    askLent: overrides.askLent ?? provider.askLent,
    askReport: provider.askReport,
    wake: overrides.wake ?? waker.wake,
    announce,
    sendWebhook: overrides.sendWebhook ?? webhooks.send,
    mail: overrides.mail === undefined ? (parts.mail?.parts ?? null) : overrides.mail,
    contractWallets:
      overrides.contractWallets ??
      (config.chainRpcUrl === undefined ? null : createRpcContractWallets(config.chainRpcUrl.reveal())),
    payments: overrides.payments === undefined ? openPayments(config, db, log) : overrides.payments,
    treasury: overrides.treasury === undefined ? openTreasury(config, db, log) : overrides.treasury,
    moves: overrides.moves === undefined ? openMoves(config) : overrides.moves,
    limiter: overrides.limiter ?? createRedisLimiter(cache, clock),
    callers: new WeakMap(),
    refusedWork:
      overrides.refusedWork ?? createRefusedWork({ clock, perMinute: config.addressWorkPerMinute, resetUnitMs: 1 }),
    marketMemory: createMarketMemory(),
    sellerAlias,
    exporters: exportersOf({ db, clock }),
    liveOffers: overrides.liveOffers ?? createRedisLiveOffers({ money, cache }, clock),
    controls: overrides.controls ?? createLiveControls({ db, clock, log }),
    desk: overrides.desk ?? desk,
    settings,
  }
}

/** The writer of each kind of export. A new kind adds its line here. */
function exportersOf(ctx: Pick<Ctx, 'db' | 'clock'>): Exporters {
  return {
    [AUDIT_EXPORT]: (query) => writeAudit(ctx, query),
    [BUYER_USAGE_EXPORT]: (query) => writeBuyerUsage(ctx, query),
    [STATEMENT_EXPORT]: (query) => writeStatement(ctx, query),
    [SELLER_USAGE_EXPORT]: (query) => writeSellerUsage(ctx, query),
  }
}

function settingsOf(config: ControlConfig): Settings {
  const origins = originsOf([config.apiBaseUrl, config.baseUrl])
  return {
    keyPepper: config.keyPepper,
    fingerprintPepper: config.fingerprintPepper,
    linkSecret: config.sessionSecret,
    sessionSecret: config.sessionSecret,
    origins,
    relyingParty: relyingPartyOf(config.baseUrl, origins),
    sampleBuyer: config.sampleBuyer ?? null,
    supportEmail: config.supportEmail ?? null,
    explorerUrl: config.explorerUrl ?? null,
    baseUrl: new URL(config.baseUrl).origin,
    apiBaseUrl: config.apiBaseUrl,
    keyRing: config.keyRing,
    outbound: { allowsLoopback: config.allowsLoopbackUpstreams },
    platformFeeBps: config.platformFeeBps,
    keyRatePerMinute: KEY_RATE_PER_MINUTE,
    keyInFlight: KEY_IN_FLIGHT,
    rateLimits: RATE_LIMITS,
    payouts: config.payouts,
    allowances: config.allowances,
    shown: config.shown,
  }
}

/** Connects to Redis. Commands fail at once while Redis is away, so callers do not wait. */
function connect(url: string, log: Ctx['log']): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: REDIS_COMMAND_TIMEOUT_MS,
    retryStrategy: () => REDIS_RETRY_MS,
    maxLoadingRetryTime: REDIS_RETRY_MS,
  })
  redis.on('error', (error) => log.debug({ err: error }, 'Redis is out of reach'))
  return redis
}

/** The workers of a process and its part in rebuilds of the gate. */
type Background = { isReady(): boolean; stop(): Promise<void> }

function startBackground(plane: WorkerPlane, config: ControlConfig): Background {
  const { keeper, tried, isReady, close } = openRedisGateKeeper({
    url: config.redisUrl.reveal(),
    buckets: config.moneyBuckets,
    clock: plane.clock,
    log: plane.log,
  })
  const workers = startWorkers(plane)
  const afterOpen = async () => {
    // The queue may have lost jobs for captures that the gate harvested, so the sweep posts everything that waits.
    await sweepHolds(plane, 0)
  }
  const stopping = new AbortController()
  const stopRebuild = tried(stopping.signal).then(() =>
    startRebuildGate({ ...plane, keeper, afterOpen, onRebuilt: plane.telemetry.rebuilt }),
  )
  return {
    isReady: () => isReady() && workers.isReady(),
    async stop() {
      stopping.abort()
      await Promise.all([workers.stop(), stopRebuild.then((stop) => stop())])
      close()
    },
  }
}
