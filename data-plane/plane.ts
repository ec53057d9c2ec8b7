import { createHmac } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { createTurnSeal } from '#data-plane/wires/turn-seal.ts'
import type { Time } from '#shared/clock.ts'
import { SECOND, systemClock } from '#shared/clock.ts'
import type { ClockWatch } from '#shared/clock-skew.ts'
import type { NodeLoad } from '#shared/contract/node-report.ts'
import type { Ids } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import { createLogger } from '#shared/logger.ts'
import { createRefusedWork } from '#shared/refused-work.ts'
import type { Secret } from '#shared/secret.ts'
import { openTracer } from '#shared/telemetry/open-tracer.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'
import { createUntrustedProxies } from '#shared/untrusted-proxies.ts'
import type { DataConfig } from './config.ts'
import { createAdmission } from './http/admission.ts'
import { watchSlowBodies } from './http/connection-limits.ts'
import { fetchCreditStanding } from './http/credit-standing.ts'
import { drainCalls } from './http/drain.ts'
import { createFiguresAsked } from './http/figures-asked.ts'
import { fetchKeyUse } from './http/key-use.ts'
import { fetchRecord } from './http/pass-on.ts'
import type { Row } from './http/row.ts'
import { createServer } from './http/server.ts'
import type { Surface } from './http/surface.ts'
import type { CallTraces } from './observe/call-traces.ts'
import { createCallTraces } from './observe/call-traces.ts'
import type { FigureSources } from './observe/figures.ts'
import type { Metrics } from './observe/metrics.ts'
import { createMetrics } from './observe/metrics.ts'
import { watchFunds } from './observe/watched-funds.ts'
import { openRails } from './open-rails.ts'
import type { Basics, Stores } from './open-stores.ts'
import { offersIn, openStores } from './open-stores.ts'
import { createAnswerRoom } from './pipeline/answer-room.ts'
import type { CallLimits, CallMoney, CallPlane, CallProcess, CallWatch } from './pipeline/call-plane.ts'
import { CHAT_LIMITS } from './pipeline/call-plane.ts'
import type { PendingSettlements } from './pipeline/claims/pending-settlements.ts'
import { JOB_LIMITS } from './pipeline/jobs/job-plane.ts'
import { keepDueFiles } from './pipeline/jobs/keep-due-files.ts'
import type { JobFiles } from './pipeline/jobs/keep-job-files.ts'
import { createJobFiles } from './pipeline/jobs/keep-job-files.ts'
import { createRetryBudget } from './pipeline/retry-budget.ts'
import { createTicker } from './pipeline/ticker.ts'
import type { AnyRail } from './rails/rail.ts'
import { defineRail, payBy } from './rails/rail.ts'
import type { CreditStanding } from './reads/credits.ts'
import type { KeyUse } from './reads/key.ts'
import type { Lookups } from './reads/look-up.ts'
import type { ReadSources } from './reads/read.ts'
import { createReadMemory } from './reads/read-memory.ts'
import type { Rails } from './routes.ts'
import { CONTROL_PREFIXES, surfaceRows } from './routes.ts'
import { createKeyStanding } from './store/key-standing.ts'
import { createSpentCaps } from './store/spent-caps.ts'
import type { OpenCredential } from './upstream/credentials.ts'
import { createCredentialOpener } from './upstream/credentials.ts'
import { createFileFetcher } from './upstream/fetch-file.ts'
import type { KeyPatterns } from './upstream/key-pattern.ts'
import { createKeyPatterns } from './upstream/key-pattern.ts'
import { createUpstream } from './upstream/send.ts'

/** Parts that a test may replace. */
export type DataOverrides = {
  readonly clock?: Time
  readonly ids?: Ids
  readonly log?: Logger
  readonly limits?: Partial<CallLimits>
  /** Ends the process, because it can no longer keep its promises. */
  readonly onGiveUp?: () => void
  /** Rails and rows in addition to the product's. Such a row may take credit, too. */
  readonly more?: (parts: Pick<PendingSettlements, 'watched'> & Pick<Rails, 'credit'>) => MoreRails
}

/** Ways to pay in addition to the product's own. */
export type MoreRails = { readonly rails: readonly AnyRail[]; readonly rows: readonly Row[] }

export type DataPlane = {
  readonly app: FastifyInstance
  /** Listens. Resolves with the origin. */
  listen(): Promise<string>
  isReady(): boolean
  /** Compares this process's clock with the gate's. */
  readonly clocks: ClockWatch
  /** Lets running calls end within the configured time and closes everything. No charge is lost. */
  close(): Promise<void>
  /** Ends the wait of a `close` under way. Running calls are cut in their protocol's way and settled. */
  hurry(): void
}

/** Builds the data plane from its configuration. Its parts meet only here. */
export async function createDataPlane(config: DataConfig, overrides: DataOverrides = {}): Promise<DataPlane> {
  const clock = overrides.clock ?? systemClock
  const basics: Basics = {
    config,
    clock,
    ids: overrides.ids ?? createIds(clock),
    log: overrides.log ?? createLogger('data-plane', config.logLevel),
  }
  const tracer = await openTracer(config.telemetry, { version: config.version, instance: config.nodeId })
  const metrics: Metrics = createMetrics((provider) => stores.snapshot.market().findProvider(provider)?.id === provider)
  const stores = await openStores(basics, metrics, overrides.onGiveUp ?? (() => undefined))
  const watchers = { metrics, traces: tracer && createCallTraces(tracer, clock) }
  const more = overrides.more ?? (() => ({ rails: [], rows: [] }))
  const { surface, calls, ready } = createSurface(basics, stores, { ...watchers, more }, overrides.limits)
  const app = await createServer(surface)
  await Promise.all([
    stores.snapshot.start(),
    stores.health.start(),
    stores.buyerKeys.start(),
    stores.paymentDesk.start(),
    stores.events.start(),
  ])
  stores.rates.start()
  stores.pending.start()
  stores.clocks.start()
  const stopKeeping = keepDueFiles({ ...surface.jobs, clock, log: basics.log })
  return {
    app,
    clocks: stores.clocks,
    async listen() {
      const address = await app.listen({ host: config.host, port: config.port })
      basics.log.info({ address }, 'the data plane listens')
      return address
    },
    isReady: surface.isReady,
    async close() {
      ready.isDraining = true
      await drainCalls(basics, app, surface)
      calls.process.ticker.close()
      surface.admission.close()
      surface.slowBodies.close()
      stopKeeping()
      await surface.jobs.files.close()
      await stores.close()
      await calls.upstream.close()
      await tracer?.close()
    },
    hurry() {
      calls.process.ending.isDue = true
    },
  }
}

/** The observers of calls, and the additional rails and rows. */
type Watchers = { readonly metrics: Metrics; readonly traces: CallTraces | undefined } & Required<
  Pick<DataOverrides, 'more'>
>

function createSurface(basics: Basics, stores: Stores, watchers: Watchers, limits: Partial<CallLimits> = {}) {
  const { config, clock, ids } = basics
  const { metrics, traces } = watchers
  const open = { count: 0 }
  const drains = { count: 0 }
  const ready: { isDraining: boolean } = { isDraining: false }
  const { maxOpenCalls, maxEventLoopDelayMs: maxDelayMs, controlPlaneUrl: url } = config
  const admission = createAdmission({ timers: clock, open, maxOpenCalls, maxDelayMs })
  stores.watchLoad(() => loadOf({ open, admission }, config))
  const funds = watchFunds(stores.funds, { clock, metrics, traces, news: stores.fundNews })
  const rails = openRails(basics, stores, funds)
  const { credit } = rails
  const keys = openKeys(basics)
  const calls = createCallPlane(basics, stores, {
    limits,
    drains,
    observe: observerOf(watchers),
    tracing: traces?.tracing,
    credit,
    keys,
  })
  const files = openJobFiles(basics, stores, calls, keys)
  const { figures: answers } = calls.answers
  const { figures: refusedWork } = calls.refusedWork
  const untrustedProxies = createUntrustedProxies(basics.log)
  const counts = { open, drains, ready, admission, answers, refusedWork, copies: files.figures, untrustedProxies }
  metrics.mount(figureSources(stores, counts))
  const more = watchers.more({ watched: stores.pending.watched, credit })
  // All ways of one rail settle in the same manner, so the map may have any of them.
  const everyRail = [...Object.values(rails).flat(), defineRail(stores.ownProviders), ...more.rails]
  const railsByName = new Map(everyRail.map((rail) => [rail.name, rail]))
  const surface: Surface = {
    rows: [...surfaceRows(rails), ...more.rows],
    calls,
    jobs: {
      calls,
      files,
      jobs: stores.jobs,
      rails: railsByName,
      limits: JOB_LIMITS,
      apiBaseUrl: config.apiBaseUrl,
      tokenOf: tokensUnder(config.keyPepper),
    },
    reads: readSourcesOf(basics, stores),
    lookups: lookupsOf(basics, stores, calls),
    clock,
    ids,
    hosts: config.hosts,
    control: { prefixes: CONTROL_PREFIXES, url },
    maxOpenCalls,
    maxHeldBodyBytes: config.maxHeldBodyBytes,
    maxConnectionsPerAddress: config.maxConnectionsPerAddress,
    trustedProxies: config.trustedProxies,
    untrustedProxies,
    admission,
    slowBodies: watchSlowBodies(clock),
    open,
    isReady: () => !ready.isDraining && stores.snapshot.isLoaded() && stores.events.areQueuesOpen(),
    takesPaidCalls: () => !ready.isDraining && funds.isOpen(),
    metrics,
  }
  return { surface, calls, ready }
}

/** The load of this process beside the limits at which it refuses calls. */
function loadOf({ open, admission }: Pick<FigureSources, 'open' | 'admission'>, config: DataConfig): NodeLoad {
  return {
    openCalls: open.count,
    maxOpenCalls: config.maxOpenCalls,
    delayMs: Math.round(admission.delayMs()),
    maxDelayMs: config.maxEventLoopDelayMs,
  }
}

/** Reports each finished call to the metrics, and to the traces if enabled. */
function observerOf({ metrics, traces }: Watchers): CallWatch['observe'] {
  if (traces === undefined) return metrics.observe
  return (facts, attempts) => {
    metrics.observe(facts, attempts)
    traces.ended(facts)
  }
}

/** The sources of the market's free reads. */
function readSourcesOf({ config, clock }: Basics, stores: Stores): ReadSources {
  return {
    market: stores.snapshot.market,
    health: stores.health,
    caps: stores.funds.offerCaps,
    feed: stores.tradeFeed,
    clock,
    memory: createReadMemory(),
    payments: stores.paymentDesk,
    addresses: config,
    version: config.version,
  }
}

/** Opens the files of long jobs. They are fetched under the same guard as everything of a provider. */
function openJobFiles(
  { config, clock, log }: Basics,
  stores: Stores,
  { upstream, market }: Pick<CallPlane, 'upstream' | 'market'>,
  keys: OpenKeys,
): JobFiles {
  const { jobs, artifacts } = stores
  const policy = { allowsLoopback: config.allowsLoopbackUpstreams }
  const fetcher = createFileFetcher({ policy, ...keys, clock })
  return createJobFiles({
    artifacts,
    jobs,
    fetcher,
    upstream,
    market,
    policy,
    clock,
    log,
    limits: config.artifacts,
  })
}

/** The open provider keys of this process, and their patterns. */
type OpenKeys = { readonly openCredential: OpenCredential; readonly patterns: KeyPatterns }

function openKeys({ config, clock }: Pick<Basics, 'config' | 'clock'>): OpenKeys {
  return { openCredential: createCredentialOpener(config.keyRing, clock).open, patterns: createKeyPatterns() }
}

type Counted = Pick<CallProcess, 'drains'> &
  Pick<CallWatch, 'observe' | 'tracing'> &
  Pick<CallMoney, 'credit'> & {
    readonly limits: Partial<CallLimits>
    readonly keys: OpenKeys
  }

/** Makes all parts that a call uses. */
function createCallPlane({ config, clock, log }: Basics, stores: Stores, counted: Counted): CallPlane {
  const { snapshot, health, offerCaps, events, rates, journal } = stores
  const { market } = snapshot
  return {
    site: { nodeId: config.nodeId, baseUrl: config.baseUrl, apiBaseUrl: config.apiBaseUrl, hosts: config.hosts },
    clock,
    log,
    limits: { ...CHAT_LIMITS, ...counted.limits },
    market,
    routing: {
      health,
      warm: stores.warm,
      refusals: stores.refusals,
      retries: createRetryBudget(clock.monotonic),
      turnSeal: createTurnSeal(config.keyPepper),
    },
    caps: { spent: createSpentCaps(), offers: offerCaps, shares: stores.buyerShares },
    money: {
      journal,
      events,
      credit: counted.credit,
      ownProviders: payBy(stores.ownProviders, true),
      ownCalls: stores.ownCalls,
      paidAnswers: stores.paidAnswers,
    },
    jobs: {
      forwarded: stores.forwardedJobs,
      bindingMs: JOB_LIMITS.bindingMs,
      deadlineMs: JOB_LIMITS.deadlineMs,
    },
    rates,
    refusedWork: createRefusedWork({ clock, perMinute: config.addressWorkPerMinute, resetUnitMs: SECOND }),
    upstream: createUpstream({
      policy: { allowsLoopback: config.allowsLoopbackUpstreams },
      ...counted.keys,
      clock,
      allowedHosts: () => market().hosts,
    }),
    answers: createAnswerRoom(config.maxHeldAnswerBytes),
    artifacts: stores.artifacts,
    process: {
      ticker: createTicker(clock),
      drains: counted.drains,
      running: createTurnoverMap(),
      ending: { isDue: false },
    },
    watch: { observe: counted.observe, tracing: counted.tracing, logsCall: takeShare(config.logCallShare) },
  }
}

type Counts = Pick<FigureSources, 'open' | 'drains' | 'admission' | 'answers' | 'refusedWork' | 'copies'> &
  Pick<FigureSources, 'untrustedProxies'> & {
    readonly ready: { readonly isDraining: boolean }
  }

/** The sources of figures that are read on demand. */
function figureSources(stores: Stores, { ready, ...counts }: Counts): FigureSources {
  const { snapshot, health, funds, buyerKeys, rates, events, journal, clocks } = stores
  return {
    ...counts,
    funds,
    journal,
    isDraining: () => ready.isDraining,
    offers: () => offersIn(snapshot.market()),
    rates: rates.figures,
    keys: buyerKeys.figures,
    snapshot: snapshot.figures,
    health: health.figures,
    epoch: () => (funds.gate.member.open() ?? funds.gate.member.registered())?.epoch,
    artifacts: stores.artifacts.figures,
    droppedEvents: events.dropped,
    clockSkews: clocks.skews,
  }
}

/** Cache of figures from the control plane: its lifetime, and the most keys and accounts in it. */
const FIGURES_ASKED = { keepMs: 5 * SECOND, most: 10_000 }

/** The sources of answers to the holder of a key. */
function lookupsOf({ config, clock }: Pick<Basics, 'config' | 'clock'>, stores: Stores, calls: CallPlane): Lookups {
  const { buyerKeys, funds, rates, snapshot } = stores
  const { connection, member } = funds.gate
  const url = config.controlPlaneUrl
  const useOf = createFiguresAsked<KeyUse | undefined>({ clock, ...FIGURES_ASKED })
  const creditOf = createFiguresAsked<CreditStanding>({ clock, ...FIGURES_ASKED })
  return {
    requests: { funds, buyerKeys, running: calls.process.running, ownCalls: calls.money.ownCalls },
    keys: {
      buyerKeys,
      useOf: async (authorization, keyId, now) =>
        url === undefined ? undefined : useOf(keyId, () => fetchKeyUse({ upstream: url, authorization, keyId }, now)),
      standingOf: createKeyStanding({
        connection,
        epoch: () => member.open()?.epoch,
        buckets: config.moneyBuckets,
        clock,
      }),
      rates,
      market: snapshot.market,
      clock,
    },
    credits: {
      buyerKeys,
      creditOf:
        url === undefined
          ? undefined
          : (authorization, account) => creditOf(account, () => fetchCreditStanding(url, authorization)),
    },
    fetchRecord: url === undefined ? undefined : (authorization, id) => fetchRecord(url, authorization, id),
  }
}

/** Makes a function that returns true for this share of its calls, evenly spread. */
function takeShare(share: number): () => boolean {
  let due = 0
  return () => {
    due += share
    if (due < 1) return false
    due -= 1
    return true
  }
}

/** Makes tokens of job ids with our secret, so that no token has to be stored. */
function tokensUnder(secret: Secret): (id: string) => string {
  return (id) => createHmac('sha256', secret.reveal()).update(`job token ${id}`).digest('base64url')
}
