import type { Balance } from '#control-plane/db/accounts.ts'
import type { MoneySnapshot, UseTotal } from '#control-plane/db/money-epoch.ts'
import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import type { GateKeeper, GateView } from '#control-plane/ports/gate-keeper/gate-keeper.ts'
import type { MoneyLedger } from '#control-plane/ports/ledger/money-ledger.ts'
import type { Time } from '#shared/clock.ts'
import { MINUTE, SECOND, utcDay, utcMonth } from '#shared/clock.ts'
import type { UseSeed } from '#shared/contract/money-scripts/uses.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { microUsd, ZERO } from '#shared/money.ts'

export type RebuildCtx = {
  readonly ledger: MoneyLedger
  readonly keeper: GateKeeper
  readonly clock: Time
  readonly log: Logger
  /** Runs as soon as the gate is open, to confirm balances and sweep holds. Its errors are only logged. */
  readonly afterOpen?: () => Promise<void>
  /** Receives the length of a rebuild in milliseconds. */
  readonly onRebuilt?: (tookMs: number) => void
}

/**
 * Accounts that are seeded before the gate opens. The others are seeded after it opens, or when a call asks for one.
 */
const ACCOUNTS_BEFORE_OPENING = 20_000
const SEED_PAGE = 2_000
/** Longest time that the gate stays shut for members that do not report. */
const READY_WAIT_MS = 10 * SECOND
/** The longest wait after a restore: members read their journals, and the calls in them must not be spent twice. */
const RESTORED_WAIT_MS = 2 * MINUTE
const READY_LOOK_MS = 20
/** Most older epochs that are searched for captures. Each comes from an unfinished rebuild. */
const MAX_OLDER_EPOCHS = 1_000

/**
 * Returns the reason to rebuild the gate, or undefined while the gate may be trusted. `knownRunId` is the run of the
 * Redis server that was trusted last, if any.
 */
export function reasonToRebuild(
  view: GateView,
  newestEpoch: number,
  knownRunId: string | undefined,
): string | undefined {
  if (view.epoch === undefined) return 'there is no epoch'
  if (view.epoch.epoch !== newestEpoch) return 'the epoch is not the newest one'
  if (view.epoch.phase !== 'open') return 'a rebuild was left unfinished'
  if (!view.hasScripts) return 'the server does not know the scripts'
  if (knownRunId !== undefined && view.runId !== knownRunId) return 'the server is another run'
  if (view.doubted === view.epoch.epoch) return 'a node is in doubt'
  return undefined
}

/**
 * Rebuilds the gate under a new epoch and returns that epoch. The sources are Postgres, the records left in Redis, and
 * the calls that members report. Paid calls are refused from the first step to the last. The caller must be the only
 * rebuilder. Throws when Redis or Postgres fails or when a newer epoch appears. The caller then calls again, and the
 * rebuild begins anew.
 */
export async function rebuildGate(ctx: RebuildCtx, view: GateView): Promise<number> {
  const { ledger, keeper, clock, log } = ctx
  const startedAt = clock.monotonic()
  const epoch = await ledger.raiseEpoch(view.epoch?.epoch ?? 0)
  const { restore } = await ledger.readEpoch()
  await keeper.raise(restore === undefined ? { epoch } : { epoch, restore }, view.epoch)
  await keeper.load(epoch)
  await ledger.insertNewNodes(nodesHere(view))
  const snapshot = await ledger.readSnapshot(view.now, ACCOUNTS_BEFORE_OPENING)
  await seedSnapshot(keeper, epoch, snapshot)
  const harvested = await harvest(ctx, epoch)
  await keeper.startRegistering(epoch)
  const missing = await waitForMembers(ctx, {
    epoch,
    runId: view.runId,
    waitMs: restore === undefined ? READY_WAIT_MS : RESTORED_WAIT_MS,
  })
  await keeper.startCounting(epoch)
  await seedOffers(ctx, epoch, view.now)
  await keeper.admit(await ledger.listMembers())
  await keeper.open(epoch)
  const tookMs = Math.round(clock.monotonic() - startedAt)
  ctx.onRebuilt?.(tookMs)
  log.info({ epoch, accounts: snapshot.balances.length, harvested, missing, tookMs }, 'the gate is open')
  return epoch
}

/** The nodes that announced themselves and did not sign off. */
export function nodesHere(view: GateView): string[] {
  return [...view.nodes].filter(([, at]) => at >= 0).map(([node]) => node)
}

async function seedSnapshot(keeper: GateKeeper, epoch: number, snapshot: MoneySnapshot): Promise<void> {
  const { day, month, keyUses, budgetUses, postedBefore } = snapshot
  const toSeed = (use: Pick<UseTotal, 'month'> & Partial<UseTotal>, counter: string): UseSeed => ({
    counter,
    postedBefore,
    day,
    dayMicro: microUsd(use.day ?? 0n),
    month,
    monthMicro: microUsd(use.month),
  })
  await keeper.seed(epoch, snapshot.balances.map(toChange))
  crashPoint('seed_mid')
  await keeper.seedUses(epoch, [
    ...keyUses.map((use) => toSeed(use, keeper.keyCounter(use.id, use.account))),
    ...budgetUses.map((use) => toSeed(use, keeper.budgetCounter(use.id))),
  ])
}

/**
 * Adds the charges in the ledger and the unposted captures to the caps of offers. Captures are read first. A call that
 * is posted between the two reads is counted from the ledger only. A call that is captured after the reads is counted
 * by its node, which reports its takes. A node may also report captures of a dead process between the reads, and counts
 * those itself. Such a capture, posted before the ledger is read, counts twice until the UTC day ends. No capture is
 * left out.
 */
async function seedOffers({ ledger, keeper }: RebuildCtx, epoch: number, now: number): Promise<void> {
  const today = utcDay(now)
  const unposted = (await keeper.unpostedUses(epoch)).filter((take) => utcDay(take.takenAt) === today)
  const names = {
    rids: unposted.map((take) => take.rid),
    offers: [...new Set(unposted.map((take) => take.offer))],
  }
  const { day, totals, posted, capped } = await ledger.readOfferUses(now, names)
  await keeper.seedUses(
    epoch,
    [...totals].map(([offer, dayMicro]) => ({
      counter: keeper.offerCounter(offer),
      postedBefore: now,
      day,
      dayMicro: microUsd(dayMicro),
      month: utcMonth(now),
      monthMicro: ZERO,
    })),
  )
  await keeper.takeCaps(
    epoch,
    unposted.filter((take) => capped.has(take.offer) && !posted.has(take.rid)),
  )
}

/** Converts a ledger balance for the gate. The ledger forbids negative balances; the gate would get zero for one. */
export function toChange({ account, balance, version }: Balance): PostedChange {
  return { account, balanceMicro: balance < 0n ? ZERO : microUsd(balance), version }
}

async function harvest({ ledger, keeper }: RebuildCtx, epoch: number): Promise<number> {
  const { harvested } = await ledger.readEpoch()
  let count = 0
  for (let older = Math.max(harvested + 1, epoch - MAX_OLDER_EPOCHS); older < epoch; older++) {
    count += await keeper.harvest(epoch, older)
  }
  return count
}

/**
 * Waits until every member has reported its calls, for at most `waitMs`. Returns the members that did not report.
 * Throws when the server loses its memory during the wait.
 */
async function waitForMembers(
  { ledger, keeper, clock }: RebuildCtx,
  { epoch, runId, waitMs }: { readonly epoch: number; readonly runId: string; readonly waitMs: number },
): Promise<string[]> {
  const deadline = clock.monotonic() + waitMs
  const members = await ledger.listMembers()
  for (;;) {
    const [ready, view] = await Promise.all([keeper.ready(epoch), keeper.view()])
    if (view.doubted === epoch || view.runId !== runId) {
      throw new AppError('conflict', { message: 'the gate was lost again' })
    }
    // A member that signed off during the wait is gone. Its heir has reported its calls.
    const missing = members.filter((member) => !ready.has(member) && (view.nodes.get(member) ?? 0) >= 0)
    if (missing.length === 0 || clock.monotonic() >= deadline) return missing
    await clock.sleep(READY_LOOK_MS)
  }
}

/** Ends a rebuild after the gate has opened: marks the older epochs as harvested and runs `afterOpen`. */
export async function finishRebuild({ ledger, log, afterOpen }: RebuildCtx, epoch: number): Promise<void> {
  // The captures of this epoch are not posted yet, so only older epochs are marked.
  await ledger.markHarvested(epoch - 1)
  await afterOpen?.().catch((error: unknown) => log.warn({ err: error }, 'the work after a rebuild failed'))
}

/**
 * Seeds one page of funded accounts with ids above `after`. Returns the last id, or undefined at the end. The pages
 * cover every account, so the gate knows them all in a later outage of the control plane.
 */
export async function seedPage(
  { ledger, keeper }: RebuildCtx,
  epoch: number,
  after: string,
): Promise<string | undefined> {
  const page = await ledger.listFundedAccounts(after, SEED_PAGE)
  await keeper.seed(epoch, page.map(toChange))
  return page.at(-1)?.account
}
