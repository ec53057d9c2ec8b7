import type { Redis } from 'ioredis'
import type { Time } from '#shared/clock.ts'
import type { ClockWatch } from '#shared/clock-skew.ts'
import { createClockWatch, readRedisTime } from '#shared/clock-skew.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import type { Ids } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import { createSubscriptions } from '#shared/subscriptions.ts'
import type { DataConfig } from './config.ts'
import { openJournal } from './journal/journal.ts'
import type { Metrics } from './observe/metrics.ts'
import { openDesk } from './open-rails.ts'
import type { PendingSettlements } from './pipeline/claims/pending-settlements.ts'
import { createPendingSettlements } from './pipeline/claims/pending-settlements.ts'
import { ownProviderRail } from './rails/own-providers.ts'
import { openArtifactBucket } from './store/artifact-bucket.ts'
import { openArtifactFolder } from './store/artifact-folder.ts'
import type { Artifacts } from './store/artifacts.ts'
import { createArtifacts } from './store/artifacts.ts'
import { openBullQueues } from './store/bull-queues.ts'
import { createBuyerKeys } from './store/buyer-keys.ts'
import { createBuyerShares } from './store/buyer-shares.ts'
import type { EventQueues } from './store/events.ts'
import { createEventQueues } from './store/events.ts'
import { createForwardedJobs } from './store/forwarded-jobs.ts'
import { createFundNews } from './store/fund-news.ts'
import type { FundsStore } from './store/funds.ts'
import { openFunds } from './store/funds.ts'
import { createHealth } from './store/health.ts'
import { createJobs } from './store/jobs.ts'
import type { Market } from './store/market.ts'
import { connectMoney } from './store/money-connection.ts'
import { startNodeReports } from './store/node-reports.ts'
import { createOwnCalls } from './store/own-calls.ts'
import { createPaidAnswers } from './store/paid-answers.ts'
import { createRateLimits } from './store/rate-limits.ts'
import { connectReads } from './store/read-connection.ts'
import { createRefusalCounts } from './store/refusal-counts.ts'
import { openS3Bucket } from './store/s3-bucket.ts'
import { shareWarmth } from './store/shared-warmth.ts'
import { createSnapshotStore } from './store/snapshot.ts'
import { createTradeFeed } from './store/trade-feed.ts'
import { createWarmOffers } from './store/warm-offers.ts'

/**
 * Milliseconds for which the end of the process waits for the last charges to be posted. The next start finds later
 * charges.
 */
const POSTING_MS = 2_000
/** Milliseconds in which captures may still go to Redis after the journal's disk has failed for good. */
const LAST_ATTEMPT_MS = 5_000

/** The parts that every opening function needs. */
export type Basics = { readonly config: DataConfig; readonly clock: Time; readonly ids: Ids; readonly log: Logger }

export type Stores = Awaited<ReturnType<typeof openStores>>

/** Opens everything with state: money, journal, market, keys, health, limits, queues. */
export async function openStores(basics: Basics, metrics: Pick<Metrics, 'synced'>, onGiveUp: () => void) {
  const { config, clock, ids, log } = basics
  const connections = openConnections(basics)
  const { cache, queueRedis } = connections
  const money = await openMoney(basics, {
    queueRedis,
    onSynced: metrics.synced,
    onGiveUp,
    bringClaims: (restore) => pending.bringClaims(restore),
  })
  const { journal, funds } = money
  const events = createEventQueues({ queues: openBullQueues(queueRedis, log), node: config.nodeId, ids, clock, log })
  const shared = openShared(basics, connections, { member: journal.member, emitHealth: events.health })
  const nodeReports = startNodeReports({
    redis: cache,
    clock,
    log,
    describe: () => ({
      node: journal.member,
      version: config.version,
      settings: config.shown,
      ...describe(funds, shared.snapshot.market()),
    }),
  })
  const clocks = watchClock(queueRedis, { clock, log })
  const paymentDesk = openDesk({ config, clock, log })
  const pending = createPendingSettlements({ journal, events, desk: paymentDesk, clock, log })
  const artifacts = await openArtifacts({ config, clock, log })
  return {
    ...money,
    ...shared,
    ...openLending({ cache, money: queueRedis, clock }),
    offerCaps: funds.offerCaps,
    events,
    clocks,
    paymentDesk,
    pending,
    artifacts,
    watchLoad: nodeReports.watchLoad,
    ownProviders: pending.watched(ownProviderRail(shared.ownCalls)),
    async close() {
      clocks.close()
      nodeReports.close()
      shared.warm.close()
      shared.rates.close()
      shared.health.close()
      shared.buyerKeys.close()
      await pending.close()
      await artifacts.close()
      paymentDesk.close()
      await events.close()
      await funds.leave(POSTING_MS)
      await journal.close()
      await shared.snapshot.close()
      connections.close()
    },
  }
}

type Connections = ReturnType<typeof openConnections>

/**
 * Opens the connections to Redis for all but money: the cache, its announcements, and the server of queues and jobs.
 */
function openConnections({ config, log }: Basics) {
  const cache = connectReads(config.redisCacheUrl.reveal(), log)
  const queueRedis = connectReads(config.redisUrl.reveal(), log)
  const subscriptions = createSubscriptions(connectReads(config.redisCacheUrl.reveal(), log), log)
  return {
    cache,
    queueRedis,
    subscriptions,
    close() {
      subscriptions.close()
      cache.disconnect()
      queueRedis.disconnect()
    },
  }
}

type MoneyParts = {
  readonly queueRedis: Redis
  readonly onSynced: Metrics['synced']
  onGiveUp(): void
  /** Reports the claims of calls to the desk before the gate opens again. */
  bringClaims: PendingSettlements['bringClaims']
}

/** Opens the journal of this boot, the gate for holds and charges, and the records of long jobs. */
async function openMoney(
  { config, clock, ids, log }: Basics,
  { queueRedis, onSynced, onGiveUp, bringClaims }: MoneyParts,
) {
  const journal = await openJournal({
    dir: config.journalDir,
    node: config.nodeId,
    boot: ids.ulid(),
    clock,
    log,
    acceptsDamage: config.acceptsJournalDamage,
    onSynced,
    // Captures that the disk refused go to Redis, if Redis answers.
    onGiveUp: () => void funds.drain(LAST_ATTEMPT_MS).finally(onGiveUp),
  })
  const jobs = createJobs({ redis: queueRedis, isSure: () => funds.isGateOpen() })
  const funds = openFunds({
    connect: (listeners) => connectMoney({ url: config.redisUrl.reveal(), clock, log }, listeners),
    buckets: config.moneyBuckets,
    clock,
    log,
    journal: journal.replay(CREDIT_RAIL),
    bringMore: (restore) => Promise.all([jobs.bringMarks(), bringClaims(restore)]),
  })
  return { journal, jobs, funds }
}

type SharedParts = {
  /** The name of this process among its node's. */
  readonly member: string
  readonly emitHealth: EventQueues['health']
}

/**
 * Opens the state that the processes of the data plane share through the cache: the market, health, keys, limits, warm
 * offers.
 */
function openShared(
  { config, clock, ids, log }: Basics,
  { cache: redis, subscriptions }: Connections,
  parts: SharedParts,
) {
  const { nodeId: node, keyPepper } = config
  return {
    snapshot: createSnapshotStore({ redis, subscriptions, clock, log, file: config.snapshotFile }),
    ownCalls: createOwnCalls(redis),
    health: createHealth({ redis, subscriptions, clock, ids, node, emit: parts.emitHealth }),
    buyerKeys: createBuyerKeys({ redis, subscriptions, clock, pepper: keyPepper }),
    rates: createRateLimits({ redis, clock }),
    warm: shareWarmth(createWarmOffers(), { redis, subscriptions, clock, node: parts.member }),
    tradeFeed: createTradeFeed(redis),
    fundNews: createFundNews(redis),
    paidAnswers: createPaidAnswers(redis, keyPepper, log),
  }
}

/** Opens the stores that lent keys need in addition to those of every offer. */
function openLending({ cache, money, clock }: { readonly cache: Redis; readonly money: Redis; readonly clock: Time }) {
  return {
    buyerShares: createBuyerShares({ redis: money, clock }),
    refusals: createRefusalCounts({ redis: cache, clock }),
    forwardedJobs: createForwardedJobs({ cache, money }),
  }
}

/** Opens the store for media files. Links to them are signed with a secret that has no other use. */
async function openArtifacts({ config, clock, log }: Omit<Basics, 'ids'>): Promise<Artifacts> {
  const { artifactDir: dir, artifactBucket: address, nodeId: node, artifacts: limits, keyPepper, apiBaseUrl } = config
  const store =
    address === undefined
      ? openArtifactFolder({ dir, node, limits, clock, log })
      : openArtifactBucket({ bucket: await openS3Bucket(address, clock), limits, clock, log })
  const secret = keyPepper.derive('links to media files')
  return createArtifacts({ store, secret, apiBaseUrl, linkMs: limits.linkMs, clock })
}

function describe({ gate }: FundsStore, market: Market) {
  return { openEpoch: gate.member.open()?.epoch ?? null, models: market.models.length, offers: offersIn(market) }
}

/** Compares this process's clock with the gate's, which decides when holds end and days begin. */
function watchClock(redis: Redis, { clock, log }: Pick<Basics, 'clock' | 'log'>): ClockWatch {
  const read = async () => readRedisTime(await redis.time())
  return createClockWatch({ clock, log, others: [{ name: 'redis', read }] })
}

/** The count of offers on the market. */
export function offersIn({ offers }: Market): number {
  return [...offers.values()].reduce((sum, offerBook) => sum + offerBook.ranked.length, 0)
}
