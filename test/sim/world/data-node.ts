import type { RequestHead } from '#data-plane/call.ts'
import type { JournalFiles } from '#data-plane/journal/files.ts'
import type { OpenJournal } from '#data-plane/journal/journal.ts'
import { openJournal } from '#data-plane/journal/journal.ts'
import type { Processes } from '#data-plane/journal/processes.ts'
import type { PaymentDesk } from '#data-plane/payment.ts'
import { createAnswerRoom } from '#data-plane/pipeline/answer-room.ts'
import type { CallCaps, CallMoney, CallPlane, CallRoute, CallRouting } from '#data-plane/pipeline/call-plane.ts'
import { CHAT_LIMITS } from '#data-plane/pipeline/call-plane.ts'
import type { PendingSettlements } from '#data-plane/pipeline/claims/pending-settlements.ts'
import { createPendingSettlements } from '#data-plane/pipeline/claims/pending-settlements.ts'
import type { JobPlane, SubmitRoute } from '#data-plane/pipeline/jobs/job-plane.ts'
import { createRetryBudget } from '#data-plane/pipeline/retry-budget.ts'
import { createTicker } from '#data-plane/pipeline/ticker.ts'
import { creditRail } from '#data-plane/rails/credit.ts'
import { createChallengeIds } from '#data-plane/rails/mpp/challenge.ts'
import { mppRail } from '#data-plane/rails/mpp/mpp-rail.ts'
import { ownProviderRail } from '#data-plane/rails/own-providers.ts'
import type { AnyRail, Rail } from '#data-plane/rails/rail.ts'
import { defineRail, payBy } from '#data-plane/rails/rail.ts'
import { createWalletSignatures } from '#data-plane/rails/wallet-signature.ts'
import { createQuoteSeal } from '#data-plane/rails/x402/quote-seal.ts'
import type { Scheme } from '#data-plane/rails/x402/requirement.ts'
import { x402Rail } from '#data-plane/rails/x402/x402-rail.ts'
import { createEventQueues } from '#data-plane/store/events.ts'
import type { FundsStore } from '#data-plane/store/funds.ts'
import { openFunds } from '#data-plane/store/funds.ts'
import { createHealth } from '#data-plane/store/health.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import type { OfferCapsStore } from '#data-plane/store/offer-caps.ts'
import { createOwnCalls } from '#data-plane/store/own-calls.ts'
import { createPaidAnswers } from '#data-plane/store/paid-answers.ts'
import { createRateLimits } from '#data-plane/store/rate-limits.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import { createWarmOffers } from '#data-plane/store/warm-offers.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { resource } from '#data-plane/wires/forward/index.ts'
import { createTurnSeal } from '#data-plane/wires/turn-seal.ts'
import { video } from '#data-plane/wires/video/index.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import { AppError } from '#shared/errors.ts'
import type { Ids } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { createRefusedWork } from '#shared/refused-work.ts'
import { Secret } from '#shared/secret.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'
import { recoverWallet } from '#test/sim/model/wallets.ts'
import type { Market } from '#test/sim/providers/market.ts'
import type { Providers } from '#test/sim/providers/providers.ts'
import { createLink } from '#test/sim/redis/redis-link.ts'
import type { Random } from '#test/sim/time/random.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { BUCKETS, log } from './ground.ts'
import { connectMoney } from './money-link.ts'
import type { Watch } from './watched.ts'
import { watchCaps, watchFunds, watchJournal } from './watched.ts'
import { watchRail } from './watched-payments.ts'

/**
 * A data-plane process made of the product's own parts. Only sockets, clock, disk and the transport of Redis are
 * simulated.
 */
export type DataNode = {
  readonly process: SimProcess
  readonly watch: Watch
  readonly ids: Ids
  readonly journal: OpenJournal
  readonly funds: FundsStore
  readonly plane: CallPlane
  readonly jobs: JobPlane
  readonly routes: { readonly chat: CallRoute; readonly resource: CallRoute; readonly video: SubmitRoute }
  /** Milliseconds of the world at which the disk last failed to take records while a call waited for it. */
  syncFailedAt(): number
  /** Number of calls that the process serves now. An ending process accepts no new calls. */
  readonly calls: { running: number; isEnding: boolean }
  /** Ends gracefully. */
  close(): Promise<void>
}

export type NodeParts = {
  readonly watch: Watch
  readonly market: Market
  readonly providers: Providers
  /** The desk for payments by wallet as seen by a process. Undefined in a world without wallets. */
  readonly deskOf: ((owner: SimProcess) => PaymentDesk) | undefined
}

type Seam = {
  /** The machine on which the process runs. */
  readonly id: string
  readonly process: SimProcess
  readonly random: Random
  readonly files: JournalFiles
  readonly processes: Processes
}

const SEGMENT_BYTES = 24 * 1024
const JOURNAL = '/journal'
const COMMAND_TIMEOUT_MS = 2_000
const MINUTE_MS = 60_000
/** Clocks of machines may be off by ten minutes each way. Even so, a binding ends well before its deadline. */
const JOB_LIMITS = { askMs: 30_000, bindingMs: 15 * MINUTE_MS, deadlineMs: 45 * MINUTE_MS }
const POSTING_MS = 2_000

export async function openNode(parts: NodeParts, seam: Seam): Promise<DataNode> {
  const { watch } = parts
  const { ground } = watch
  const { id, process, random, files, processes } = seam
  const clock = process.time
  const ids = createIds(clock, (pool) => {
    for (let index = 0; index < pool.length; index++) pool[index] = random.between(0, 255)
  })
  const journal = await openJournal({
    dir: JOURNAL,
    node: id,
    boot: ids.ulid(),
    clock,
    log,
    files,
    processes,
    segmentBytes: SEGMENT_BYTES,
    preparedBytes: 0,
  })
  const funds = openFunds({
    connect: (listeners) => connectMoney(ground, process, listeners),
    buckets: BUCKETS,
    clock,
    log,
    journal: journal.replay(CREDIT_RAIL),
    bringMore: async (restore) => wallets.pending?.bringClaims(restore),
  })
  const caps = funds.offerCaps
  const queues = ground.queue.transportOf(process)
  const events = createEventQueues({ queues, node: id, ids, clock, log })
  void events.start()
  const watched = watchJournal(journal, watch)
  const { plane, redis } = openPlane(parts, { id, process, ids, events, caps, journal: watched.journal })
  const credit = creditRail({ funds: watchFunds(funds, watch), buyerKeys: keysOf(parts.market) })
  const wallets = openWalletRails(parts, { process, journal, events })
  const rails = [credit, ...wallets.rails]
  return {
    process,
    watch,
    ids,
    journal,
    funds,
    plane,
    jobs: {
      calls: plane,
      jobs: createJobs({ redis, isSure: () => funds.isOpen() }),
      rails: new Map([[CREDIT_RAIL, credit]]),
      limits: JOB_LIMITS,
      apiBaseUrl: 'http://api.test',
      tokenOf: (job) => `token of ${job}`,
      // Money does not depend on files, and a job shows none before it is booked.
      files: {
        show: () => [],
        find: async () => undefined,
        remove: async () => undefined,
        figures: () => ({ running: 0, waiting: 0, copied: 0, failed: new Map() }),
        close: async () => undefined,
      },
    },
    routes: {
      chat: { wire: chat, rails, withoutCredential: 'challenge', failover: 'until-content' },
      resource: { wire: resource, rails: [credit], withoutCredential: 'reject', failover: 'until-connected' },
      video: { wire: video, rails, failover: 'until-connected' },
    },
    syncFailedAt: watched.failedAt,
    calls: { running: 0, isEnding: false },
    async close() {
      plane.process.ticker.close()
      await wallets.pending?.close()
      await events.close()
      await funds.leave(POSTING_MS)
      await journal.close()
    },
  }
}

type Wallets = { readonly rails: readonly AnyRail[]; readonly pending: PendingSettlements | undefined }

/** Starts payments by wallet, and the settlement of the payments that dead processes left. */
function openWalletRails(
  { watch, deskOf }: NodeParts,
  { process, journal, events }: Pick<Seam, 'process'> & Pick<DataNode, 'journal'> & Pick<CallMoney, 'events'>,
): Wallets {
  if (deskOf === undefined) return { rails: [], pending: undefined }
  const clock = process.time
  const desk = deskOf(process)
  const pending = createPendingSettlements({ journal, events, desk, clock, log })
  const urlOf = ({ path }: RequestHead) => `https://api.example${path}`
  const pepper = new Secret('pepper')
  const signatures = createWalletSignatures({ desk, clock, recover: recoverWallet })
  const ports = { desk, signatures, clock, urlOf }
  const railOf = <Proof>(rail: Rail<Proof>) => defineRail(watchRail(pending.watched(rail), watch))
  const x402Of = (scheme: Scheme) => railOf(x402Rail(scheme, { ...ports, seal: createQuoteSeal(pepper) }))
  const mpp = railOf(mppRail({ ...ports, realmOf: () => 'api.example', ids: createChallengeIds(pepper) }))
  const rails = [x402Of('upto'), x402Of('exact'), mpp]
  pending.start()
  return { rails, pending }
}

type Stores = Pick<Seam, 'id' | 'process'> &
  Pick<CallMoney, 'events' | 'journal'> & { readonly ids: Ids; readonly caps: OfferCapsStore }

/** Lent keys have no rules and no jobs in the simulation. */
const NO_RULES: Pick<CallCaps, 'shares'> &
  Pick<CallRouting, 'refusals'> &
  Pick<CallMoney, 'credit'> &
  Pick<CallPlane, 'jobs'> = {
  shares: { take: () => Promise.resolve(true), settle: () => Promise.resolve() },
  refusals: { note: () => undefined },
  jobs: {
    forwarded: {
      put: () => Promise.reject(new AppError('service_unavailable')),
      find: () => Promise.resolve(undefined),
      end: (_rid, end) => Promise.resolve(end),
      markBooked: () => Promise.resolve(),
    },
    bindingMs: 0,
    deadlineMs: 0,
  },
  credit: {
    settle: () => Promise.reject(new AppError('service_unavailable')),
    release: () => Promise.resolve(),
  },
}

/** Builds a call plane in memory, like the composition root of the product. */
function openPlane({ watch, market, providers }: NodeParts, stores: Stores) {
  const { id, process, ids, events, caps, journal } = stores
  const { scheduler, redis: host } = watch.ground
  const clock = process.time
  const { client: redis } = createLink({ scheduler, host, owner: process, timeoutMs: COMMAND_TIMEOUT_MS })
  const ownCalls = createOwnCalls(redis)
  const subscriptions = { listen: () => () => undefined, close: () => undefined }
  const health = createHealth({ redis, subscriptions, clock, ids, node: id, emit: events.health })
  void health.start()
  const plane: CallPlane = {
    site: {
      nodeId: id,
      baseUrl: 'https://site.example',
      apiBaseUrl: 'https://api.example',
      hosts: { base: 'site.example', api: 'api.example' },
    },
    clock,
    log,
    limits: CHAT_LIMITS,
    market: market.published,
    routing: {
      health,
      warm: createWarmOffers(),
      refusals: NO_RULES.refusals,
      retries: createRetryBudget(clock.monotonic),
      turnSeal: createTurnSeal(new Secret('pepper')),
    },
    caps: { spent: createSpentCaps(), offers: watchCaps(caps, watch, process), shares: NO_RULES.shares },
    money: {
      journal,
      events,
      credit: NO_RULES.credit,
      ownProviders: payBy(ownProviderRail(ownCalls), true),
      ownCalls,
      paidAnswers: createPaidAnswers(redis, new Secret('pepper'), log),
    },
    jobs: NO_RULES.jobs,
    // No answer of the simulation is a file.
    artifacts: {
      keep: () => Promise.reject(new AppError('service_unavailable')),
      open: () => Promise.resolve(undefined),
      remove: () => Promise.resolve(),
      isSigned: () => false,
      admitDownload: () => () => undefined,
    },
    // Processes do not share counts, because money does not depend on them.
    rates: createRateLimits({ redis, clock }),
    refusedWork: createRefusedWork({ clock, perMinute: Number.POSITIVE_INFINITY, resetUnitMs: 1 }),
    upstream: providers.upstreamOf(process),
    answers: createAnswerRoom(Number.MAX_SAFE_INTEGER),
    process: {
      ticker: createTicker(clock),
      drains: { count: 0 },
      running: createTurnoverMap(),
      ending: { isDue: false },
    },
    watch: { observe: () => undefined, logsCall: () => false },
  }
  return { plane, redis }
}

/** A buyer's key equals its id in this world, so it needs no look-up. */
function keysOf({ buyers }: Market): Parameters<typeof creditRail>[0]['buyerKeys'] {
  const payers = new Map(
    buyers.map(({ account, keyId, dailyMicro, budgets }) => [
      String(keyId),
      {
        account,
        keyId,
        wallet: null,
        ratePerMinute: null,
        caps: { dailyMicro, monthlyMicro: null, ...(budgets && { budgets }) },
        floorPercents: [],
        providersBlocked: [],
        allowsUntrusted: undefined,
        modelsAllowed: null,
      },
    ]),
  )
  return {
    async identify(key) {
      const payer = payers.get(key)
      if (payer === undefined) throw new AppError('invalid_api_key')
      return payer
    },
  }
}
