import { createChainHost } from '#test/sim/chain/chain-host.ts'
import { createLedgerHost } from '#test/sim/ledger/ledger-host.ts'
import type { Model } from '#test/sim/model/model.ts'
import { createModel, isOnDisk } from '#test/sim/model/model.ts'
import { WALLETS } from '#test/sim/model/wallets.ts'
import { createCrash } from '#test/sim/plan/crash.ts'
import { createJobProviders } from '#test/sim/providers/job-providers.ts'
import type { BudgetLimits, Market } from '#test/sim/providers/market.ts'
import { createMarket, openingOf } from '#test/sim/providers/market.ts'
import { createProviders } from '#test/sim/providers/providers.ts'
import { createRelayProviders } from '#test/sim/providers/relay-providers.ts'
import { createJobQueue } from '#test/sim/redis/job-queue.ts'
import { createMemoryRedis } from '#test/sim/redis/memory-redis.ts'
import { createSemantics } from '#test/sim/redis/memory-scripts.ts'
import { createRedisHost } from '#test/sim/redis/redis-host.ts'
import { createRandom } from '#test/sim/time/random.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { createScheduler } from '#test/sim/time/scheduler.ts'
import type { NodeParts } from './data-node.ts'
import type { Flaw } from './flaws.ts'
import { scriptFlaws } from './flaws.ts'
import type { Ground } from './ground.ts'
import type { Machine } from './machine.ts'
import { createMachine } from './machine.ts'
import { createSimDesk } from './payment-desk.ts'
import type { Watch } from './watched.ts'
import type { Worker } from './worker.ts'
import { createWorker } from './worker.ts'

/** A whole deployment in memory: three machines that serve calls, two workers, a Redis and a Postgres. */
export type World = {
  readonly ground: Ground
  readonly market: Market
  readonly model: Model
  readonly machines: readonly Machine[]
  readonly workers: readonly Worker[]
  readonly accounts: readonly string[]
  readonly parts: NodeParts
  /** Calls the listener when the state of the gate may have changed. */
  onMoney(listener: () => void): void
}

/** `hasWallets` adds a chain and wallets. Without it, no part of the world depends on them. */
export type WorldOptions = {
  readonly flaw?: Flaw | undefined
  readonly hasWallets: boolean
  readonly budgets?: BudgetLimits | undefined
}

/** `fail` receives broken promises that cannot be thrown at the place of the breach. */
export function createWorld(
  seed: number,
  fail: (error: unknown) => void,
  { flaw, hasWallets, budgets }: WorldOptions,
): World {
  const random = createRandom(seed).fork('world')
  const scheduler = createScheduler()
  const server = createMemoryRedis(scheduler.wall, createSemantics(scriptFlaws(flaw)))
  const redis = createRedisHost(scheduler, server, random.fork('redis'))
  const postgres = createLedgerHost(scheduler, random.fork('postgres'))
  const queue = createJobQueue(scheduler, redis, random.fork('queue'))
  const chain = hasWallets ? createChainHost(scheduler, random.fork('chain')) : undefined
  const ground: Ground = { scheduler, random, redis, postgres, queue, chain, crash: createCrash(), flaw }
  const market = createMarket(random.fork('market'), budgets)
  const accounts = market.buyers.map((buyer) => buyer.account)
  fill(ground, market)
  if (chain !== undefined) for (const { payer, openingMicro } of WALLETS) chain.chain.fund(payer, openingMicro)
  const model = createModel()
  let touch: () => void = () => undefined
  const watch: Watch = { ground, model, onMoney: () => touch(), fail }
  const jobs = createJobProviders(market, scheduler.wall)
  const relays = createRelayProviders(market, fail)
  let workers: readonly Worker[] = []
  const desk = { scheduler, random: random.fork('desk'), workers: () => workers }
  const deskOf =
    chain && ((owner: SimProcess) => createSimDesk({ ...desk, unknownWallets: chain.unknownWallets }, owner))
  const parts: NodeParts = { watch, market, providers: createProviders(market, { jobs, relays }, fail), deskOf }
  const machines = ['n1', 'n2', 'n3'].map((id) =>
    createMachine(parts, id, (pid, unwrittenSince) => {
      model.dead.add(pid)
      model.befall(
        'journal_lost',
        (request) => request.pid === pid && request.capturedAt > unwrittenSince && !isOnDisk(request),
      )
    }),
  )
  workers = ['w1', 'w2'].map((name) => createWorker(ground, name, { jobs, market }))
  for (const part of [...machines, ...workers]) part.boot()
  const onMoney = (listener: () => void) => {
    touch = listener
  }
  return { ground, market, model, machines, workers, accounts, parts, onMoney }
}

/** Opens the accounts. Their balances are booked as deposits. */
function fill({ postgres }: Ground, market: Market): void {
  const tables = postgres.tables()
  for (const [account, kind] of [
    ['acc_platform_fee', 'platform_fee'],
    ['acc_platform_shortfall', 'platform_shortfall'],
    ['acc_external_fiat', 'external_fiat'],
    ['acc_external_usdc', 'external_usdc'],
    ['acc_promo', 'promo'],
  ] as const) {
    tables.accounts.set(account, { account, kind, balance: 0n, version: 0n })
  }
  for (const { sellerAccount: account } of market.jobOffers) {
    if (!isAccount(account)) continue
    tables.accounts.set(account, { account, kind: 'seller_available', balance: 0n, version: 0n })
  }
  for (const { id, sellerAccount, capDailyMicro } of [...market.offers, ...market.jobOffers, ...market.lentOffers]) {
    if (capDailyMicro !== null && sellerAccount !== null) tables.cappedOffers.set(id, sellerAccount)
  }
  for (const [index, { account, keyId, dailyMicro, budgets = [] }] of market.buyers.entries()) {
    const balance = openingOf(index)
    tables.accounts.set(account, { account, kind: 'buyer_credit', balance, version: 1n })
    tables.entries.push({ tx: `open${index}`, account, amount: balance })
    tables.entries.push({ tx: `open${index}`, account: 'acc_promo', amount: -balance })
    if (dailyMicro !== null) tables.cappedKeys.set(keyId, account)
    for (const { id } of budgets) tables.budgets.set(id, [...(tables.budgets.get(id) ?? []), keyId])
  }
}

function isAccount(text: string): text is `acc_${string}` {
  return text.startsWith('acc_')
}
