import type { JournalReplay } from '#data-plane/journal/journal.ts'
import type { CreditHold, Funds, ReserveRequest } from '#data-plane/payment.ts'
import type { Time } from '#shared/clock.ts'
import { nextUtcDay, nextUtcMonth, SECOND, utcDay, utcMonth } from '#shared/clock.ts'
import type { HoldRecord } from '#shared/contract/hold.ts'
import type { ReserveAnswer } from '#shared/contract/money-scripts/reserve.ts'
import type { LedgerRestore } from '#shared/contract/money-scripts.ts'
import { readHold } from '#shared/contract/money-scripts.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'
import type { Logger } from '#shared/logger.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatDollars, formatMicroUsd } from '#shared/money.ts'
import type { FullLimits } from './full-limits.ts'
import { createFullLimits } from './full-limits.ts'
import { advanceCursor, createHeir, signOff } from './funds-recovery.ts'
import type { GateMember } from './gate-member.ts'
import { createGateMember } from './gate-member.ts'
import type { MoneyConnection, MoneyListeners } from './money-connection.ts'
import type { OfferCapsStore } from './offer-caps.ts'
import { createOfferCaps } from './offer-caps.ts'
import type { OpenCalls } from './open-calls.ts'
import { createOpenCalls } from './open-calls.ts'
import type { ReserveQueue } from './reserve-queue.ts'
import { createReserveQueue } from './reserve-queue.ts'
import { createSeedRequests } from './seed-requests.ts'
import type { SettleQueue } from './settle-queue.ts'
import { createSettleQueue } from './settle-queue.ts'
import { createTick } from './tick.ts'
import type { WalletBounds } from './wallet-bounds.ts'
import { createWalletBounds } from './wallet-bounds.ts'

/** Most captures and releases that may wait. Beyond it new paid calls are refused; running ones still end. */
const MAX_UNSETTLED = 50_000
const CURSOR_INTERVAL_MS = 1 * SECOND

type Options = {
  /** Makes the connections to the gate. They reconnect by themselves from then on. */
  readonly connect: (listeners: MoneyListeners) => MoneyConnection
  readonly buckets: number
  readonly clock: Time
  readonly log: Logger
  readonly journal: JournalReplay
  /** Brings other data that this process knows and Redis may have lost, before the gate opens again. */
  readonly bringMore?: (restore: LedgerRestore | undefined) => Promise<unknown>
}

export type FundsStore = Funds & {
  readonly gate: { readonly connection: MoneyConnection; readonly member: GateMember }
  /** Daily caps of offers. They belong to the same epochs, because a rebuild counts both. */
  readonly offerCaps: OfferCapsStore
  /**
   * True while Redis has every settlement that this process has sent. Paid calls may still be refused while too many
   * settlements wait.
   */
  isGateOpen(): boolean
  /** Counts the calls and the settlements whose end Redis has not seen. */
  pending(): { openCalls: number; unsettled: number }
  /** Waits until Redis has every settlement. Returns false at the deadline, in milliseconds. */
  drain(deadlineMs: number): Promise<boolean>
  /**
   * Ends the connections, as the last act of a process. It waits up to `waitMs` milliseconds for the posting. A process
   * with nothing left to settle or to be posted signs off, so that no rebuild waits for it.
   */
  leave(waitMs: number): Promise<void>
}

/**
 * Opens this process's part of the gate. It starts closed and opens when it takes part in an epoch; see gate-member.ts.
 */
export function openFunds(options: Options): FundsStore {
  const { buckets, clock, log, journal, bringMore = async () => undefined } = options
  // Holds carry the name of the process. The name of the node would not do, because the next process on the node has
  // it, too.
  const node = journal.member
  const openCalls = createOpenCalls(clock)
  const connection = options.connect({
    onReady: (runId) => member.connected(runId),
    onLost: () => member.lost(),
    onEpochNews: () => member.look(),
  })
  const member = createGateMember({
    connection,
    name: journal.member,
    clock,
    log,
    register: (membership) => heir.bringAll(membership),
    onRegistered: () => {
      tick.wake()
      heir.handOn()
    },
    onOpen: () => {
      tick.wake()
      void offerCaps.resume()
    },
  })
  const offerCaps = createOfferCaps({ gate: { connection, member }, clock, log })
  const settles: SettleQueue = createSettleQueue(
    { connection, member, buckets, clock, log, onDone: ({ rid }) => openCalls.remove(rid) },
    () => tick.wake(),
  )
  const reserves: ReserveQueue = createReserveQueue(
    {
      connection,
      member,
      buckets,
      clock,
      log,
      onLost: ({ rid, account, keyId }) => {
        void settles.push({ kind: 'release', rid, account, keyId, node, reason: 'reserve_lost', event: null })
      },
    },
    () => tick.wake(),
  )
  const tick = createTick(clock, () => {
    settles.flush()
    reserves.flush()
  })
  const reserving = { reserves, openCalls, node, ...refusing(connection, buckets, clock) }
  const known = { openCalls, offerCaps, settles, journal, bringMore }
  const heir = createHeir({ connection, member, ...known, node, buckets, clock, log })

  const advance = async () => advanceCursor({ connection, member, settles, buckets }, journal)

  const stopCursor = clock.every(CURSOR_INTERVAL_MS, () => {
    advance().catch((error: unknown) => log.warn({ cause: describeCause(error) }, 'the posted cursor stands still'))
    heir.handOn()
  })

  return {
    gate: { connection, member },
    offerCaps,
    isGateOpen: () => member.open() !== undefined,
    isOpen: () => member.open() !== undefined && settles.size() < MAX_UNSETTLED,
    reserve: (request) => (settles.size() < MAX_UNSETTLED ? reserve(reserving, request) : Promise.reject(gateClosed())),
    ...settlements(settles, node),
    find: (account, rid) => find(connection, moneyKeys.hold(moneyBucket(account, buckets), rid), account),
    pending: () => ({ openCalls: openCalls.size(), unsettled: settles.size() }),
    drain: (deadlineMs) => until(clock, deadlineMs, () => settles.size() === 0),
    async leave(waitMs) {
      const isOver = () => settles.size() === 0 && openCalls.size() === 0 && journal.unpostedCount() === 0
      await until(clock, waitMs, () => advance().then(isOver, isOver))
      stopCursor()
      member.stop()
      if (isOver() && member.open() !== undefined) await signOff(connection, journal.member).catch(() => undefined)
      connection.close()
    },
  }
}

function settlements(settles: SettleQueue, node: string): Pick<Funds, 'capture' | 'release'> {
  return {
    capture({ rid, account, keyId, budgets }, usedMicro, event) {
      const capture = { kind: 'capture' as const, rid, account, keyId, node, usedMicro, event, capturedAt: null }
      return settles.push(budgets === undefined ? capture : { ...capture, budgets })
    },
    async release({ rid, account, keyId }, reason, event) {
      await settles.push({ kind: 'release', rid, account, keyId, node, reason, event })
    },
  }
}

async function find(connection: MoneyConnection, key: string, account: AccountId): Promise<HoldRecord | undefined> {
  const fields = await connection.reads.hgetall(key).catch((error: unknown) => {
    throw gateClosed(error)
  })
  const hold = readHold(fields)
  return hold?.account === account ? hold : undefined
}

type ReservePorts = {
  readonly reserves: ReserveQueue
  readonly seeds: ReturnType<typeof createSeedRequests>
  readonly openCalls: OpenCalls
  readonly fullLimits: FullLimits
  readonly walletBounds: WalletBounds
  readonly node: string
}

/** The parts that handle a reserve which is not granted at once. */
function refusing(connection: MoneyConnection, buckets: number, clock: Time) {
  return {
    seeds: createSeedRequests(connection, clock),
    fullLimits: createFullLimits(connection, buckets, clock),
    walletBounds: createWalletBounds(connection, buckets),
  }
}

async function reserve(ports: ReservePorts, request: ReserveRequest): Promise<CreditHold> {
  const { rid, account, keyId, wantMicro, minMicro, ttlMs, caps } = request
  const { dailyMicro: dailyCapMicro, monthlyMicro: monthlyCapMicro, budgets } = caps
  const operation = {
    rid,
    account,
    keyId,
    wantMicro,
    minMicro,
    ttlMs,
    node: ports.node,
    dailyCapMicro,
    monthlyCapMicro,
    ...(budgets && { budgets }),
  }
  let answer = await ports.reserves.push(operation)
  if (answer.kind === 'unseeded') {
    answer = await ports.seeds.retry(account, () => ports.reserves.push(operation))
  }
  if (answer.kind === 'capped' && keyId !== null) ports.fullLimits.noteCap({ keyId, account }, answer)
  if (answer.kind === 'over_budget') {
    const budget = budgets?.[answer.place]
    if (budget !== undefined) ports.fullLimits.noteBudget(budget, answer.at)
  }
  if (answer.kind === 'insufficient') throw shortage(await ports.walletBounds(account), answer.availableMicro, request)
  if (answer.kind !== 'granted') throw refusalOf(answer, request)
  const granted = { rid, account, keyId, grantedMicro: answer.amountMicro }
  const hold = budgets === undefined ? granted : { ...granted, budgets: budgets.map(({ id }) => id) }
  ports.openCalls.add(hold, ttlMs)
  return hold
}

/** Names the insufficient source. Amounts are plain digits of micro-USD. */
function shortage(source: 'balance' | 'allowance', availableMicro: MicroUsd, { minMicro }: ReserveRequest): AppError {
  return new AppError(`insufficient_${source}`, {
    detail: {
      limit_source: source,
      limit_scope: 'account',
      available_usdc: formatMicroUsd(availableMicro),
      required_usdc: formatMicroUsd(minMicro),
      resets_at: null,
    },
  })
}

/** Turns the reason why a reserve was not granted into an error of the API. Amounts are plain digits of micro-USD. */
function refusalOf(
  answer: Exclude<ReserveAnswer, { kind: 'granted' | 'insufficient' }>,
  request: ReserveRequest,
): AppError {
  switch (answer.kind) {
    case 'capped': {
      const isDay = answer.scope === 'day'
      return new AppError('key_cap_reached', {
        detail: {
          limit_source: isDay ? 'key_daily_cap' : 'key_monthly_cap',
          limit_scope: 'key',
          key_id: request.keyId,
          limit_usdc: formatMicroUsd(answer.limitMicro),
          spent_usdc: formatMicroUsd(answer.spentMicro),
          required_usdc: formatMicroUsd(request.minMicro),
          resets_at: (isDay ? nextUtcDay(answer.at) : nextUtcMonth(answer.at)) / SECOND,
        },
      })
    }
    case 'over_budget':
      return budgetReached(answer, request)
    case 'duplicate':
      return new AppError('internal_error', { cause: new Error(`the request id has a hold that is ${answer.state}`) })
    case 'error':
      return gateClosed(new Error(answer.message))
    case 'unseeded':
    case 'stale':
      return gateClosed()
  }
}

function budgetReached(
  { place, spentMicro, at }: Extract<ReserveAnswer, { kind: 'over_budget' }>,
  { caps, minMicro }: ReserveRequest,
): AppError {
  const budget = caps.budgets?.[place]
  if (budget === undefined) return gateClosed(new Error('the gate names an unknown budget'))
  const { of, limitMicro } = budget
  const resetsAt = nextUtcMonth(at)
  const isWorkspace = of.startsWith('wsp_')
  const whose = isWorkspace ? 'This workspace has a budget' : 'You have a budget in this organisation'
  const most = `${formatDollars(limitMicro)} USD for ${utcMonth(at)}`
  return new AppError('budget_reached', {
    message: `${whose} of ${most}, and too little is left for this call. Ask an owner or admin to raise the budget, or wait until ${utcDay(resetsAt)}.`,
    detail: {
      limit_source: isWorkspace ? 'workspace_budget' : 'member_budget',
      limit_scope: isWorkspace ? 'workspace' : 'member',
      budget_of: of,
      limit_usdc: formatMicroUsd(limitMicro),
      spent_usdc: formatMicroUsd(spentMicro),
      required_usdc: formatMicroUsd(minMicro),
      resets_at: resetsAt / SECOND,
    },
  })
}

const LOOK_MS = 20

async function until(clock: Time, limitMs: number, check: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = clock.monotonic() + limitMs
  while (!(await check())) {
    if (clock.monotonic() >= deadline) return false
    await clock.sleep(LOOK_MS)
  }
  return true
}
