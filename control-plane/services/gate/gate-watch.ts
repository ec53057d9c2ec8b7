import type { MoneyRecord } from '#control-plane/db/money-epoch.ts'
import type { Gate } from '#control-plane/ports/gate/gate.ts'
import type { GateKeeper, GateView } from '#control-plane/ports/gate-keeper/gate-keeper.ts'
import { SECOND } from '#shared/clock.ts'
import type { RebuildCtx } from './gate-rebuild.ts'
import { finishRebuild, nodesHere, reasonToRebuild, rebuildGate, seedPage, toChange } from './gate-rebuild.ts'
import { noticeLowBeat, noticeOtherDatabase } from './ledger-restores.ts'

const LOOK_MS = 100
/** Time after which another process tries again to become the rebuilder. */
const LOCK_RETRY_MS = 1 * SECOND
const FAILURE_PAUSE_MS = 200
/** Interval at which living members are recorded. */
const MEMBERS_INTERVAL_MS = 10 * SECOND
/** Interval of the ledger's beat: a restored ledger that lacks more than this is noticed at once. */
const BEAT_MS = 1 * SECOND

/**
 * Watches the gate until the signal, and rebuilds it whenever it cannot be trusted. Many processes may run this. One
 * leads, and the others wait for its end.
 */
export async function watchGate(ctx: RebuildCtx, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await ctx.ledger.lead((ledger) => lead({ ...ctx, ledger }, signal))
    } catch (error) {
      ctx.log.warn({ err: error }, 'watching the gate failed')
    }
    await ctx.clock.sleep(LOCK_RETRY_MS, signal)
  }
}

type Memory = {
  /** The run of the Redis server that is trusted. */
  runId: string | undefined
  readonly admitted: Set<string>
  /** The last announcement of each node, and the nodes seen alive since the last write. */
  announced: ReadonlyMap<string, number>
  readonly living: Set<string>
  writtenAt: number
  /** Monotonic milliseconds of the last beat. */
  beatAt: number
  /** The last account seeded after the opening; undefined once all accounts are seeded. */
  seededTo: string | undefined
}

/** Works as the rebuilder. Throws when this process loses the lead. */
async function lead(ctx: RebuildCtx, signal: AbortSignal): Promise<void> {
  const memory: Memory = {
    runId: undefined,
    admitted: new Set(),
    announced: new Map(),
    living: new Set(),
    writtenAt: 0,
    beatAt: Number.NEGATIVE_INFINITY,
    seededTo: undefined,
  }
  // A restored or promoted server ends every connection, so one check at the start of each lead is enough.
  await noticeOtherDatabase(ctx)
  let moneyRecord: MoneyRecord | undefined
  while (!signal.aborted) {
    // This read goes through the connection that holds the lead. When it fails, the right to rebuild is gone.
    const record = moneyRecord ?? (await ctx.ledger.readEpoch())
    const isOld = moneyRecord !== undefined
    moneyRecord = undefined
    try {
      moneyRecord = await look(ctx, memory, record, isOld)
      await ctx.clock.sleep(memory.seededTo === undefined ? LOOK_MS : 0, signal)
    } catch (error) {
      ctx.log.warn({ err: error }, 'the watch over the gate failed')
      await ctx.clock.sleep(FAILURE_PAUSE_MS, signal)
    }
  }
}

/**
 * Returns the record while it may serve for the next check. Each beat reads the record again. A check that finds a
 * fault by an old record reads it again before it acts.
 */
async function look(
  ctx: RebuildCtx,
  memory: Memory,
  moneyRecord: MoneyRecord,
  isOld: boolean,
): Promise<MoneyRecord | undefined> {
  const view = await ctx.keeper.view()
  const isWell =
    view.ledgerBeat === moneyRecord.beat && reasonToRebuild(view, moneyRecord.epoch, memory.runId) === undefined
  const record = isOld && !isWell ? await ctx.ledger.readEpoch() : moneyRecord
  // A different database has a low beat, too, and would cause the next rebuild as well.
  const isRestored = (await noticeLowBeat(ctx, record, view)) || record.isRestoreNew
  const reason = isRestored ? 'the ledger went back in time' : reasonToRebuild(view, record.epoch, memory.runId)
  memory.runId = view.runId
  if (reason === undefined) {
    await keepMembers(ctx, memory, view)
    if (record.heldAt !== undefined && record.joinedAt === undefined) {
      // The process that opened this gate died before it recorded the epoch.
      await finishRebuild(ctx, record.epoch)
      return undefined
    }
    const isBeaten = await beat(ctx, memory)
    if (memory.seededTo !== undefined) memory.seededTo = await seedPage(ctx, record.epoch, memory.seededTo)
    return isBeaten ? undefined : record
  }
  ctx.log.warn({ reason, epoch: record.epoch }, 'rebuilding the gate')
  const epoch = await rebuildGate(ctx, view)
  memory.admitted.clear()
  memory.seededTo = ''
  await finishRebuild(ctx, epoch)
  return undefined
}

/** Writes the beat to the ledger first, so the ledger never has the older beat. Returns true when the beat was due. */
async function beat({ ledger, keeper, clock }: RebuildCtx, memory: Memory): Promise<boolean> {
  if (clock.monotonic() - memory.beatAt < BEAT_MS) return false
  memory.beatAt = clock.monotonic()
  await keeper.noteBeat(await ledger.raiseBeat())
  return true
}

/** Records new nodes and admits them, retires nodes that left, and notes which nodes are alive. */
async function keepMembers({ ledger, keeper, clock }: RebuildCtx, memory: Memory, view: GateView): Promise<void> {
  const left = [...view.nodes].filter(([, at]) => at < 0).map(([node]) => node)
  if (left.length > 0) {
    await ledger.retireNodes(left)
    await keeper.dismiss(left)
    for (const node of left) {
      memory.admitted.delete(node)
      memory.living.delete(node)
    }
  }
  // An announcement outlives its process, so only a changed announcement shows life. No clocks need to agree.
  const living = nodesHere(view).filter(
    (node) => memory.announced.has(node) && memory.announced.get(node) !== view.nodes.get(node),
  )
  memory.announced = view.nodes
  for (const node of living) memory.living.add(node)
  const isNew = living.some((node) => !memory.admitted.has(node))
  if (!isNew && clock.monotonic() - memory.writtenAt < MEMBERS_INTERVAL_MS) return
  const lastMembers = [...memory.living]
  await ledger.markNodesSeen(lastMembers)
  await keeper.admit(lastMembers)
  const members = new Set(await ledger.listMembers())
  await keeper.dismiss(nodesHere(view).filter((node) => !members.has(node)))
  for (const node of lastMembers) memory.admitted.add(node)
  memory.living.clear()
  memory.writtenAt = clock.monotonic()
}

export type SeedCtx = {
  readonly ledger: RebuildCtx['ledger']
  readonly gate: Gate
  readonly keeper: Pick<GateKeeper, 'takeSeedRequests'>
  readonly clock: RebuildCtx['clock']
  readonly log: RebuildCtx['log']
}

const REQUESTS_AT_ONCE = 500
const REQUEST_WAIT_MS = 1 * SECOND

/** A call waits two seconds for its account, so the first tries follow each other fast. */
const FIRST_SEED_PAUSE_MS = 10
/** After this many attempts the calls that wait for the account have ended. Later calls ask again. */
const MAX_SEED_TRIES = 10

/**
 * Seeds the accounts that nodes ask for, until the signal. Any number of processes may run this. A request leaves the
 * queue once, so a failed answer is repeated: a broken connection must not refuse the calls that wait.
 */
export async function answerSeedRequests(
  { ledger, gate, keeper, clock, log }: SeedCtx,
  signal: AbortSignal,
): Promise<void> {
  let accounts: readonly string[] = []
  let tries = 0
  while (!signal.aborted) {
    try {
      if (accounts.length === 0) accounts = await keeper.takeSeedRequests(REQUESTS_AT_ONCE, REQUEST_WAIT_MS)
      if (accounts.length === 0) continue
      const balances = await ledger.findBalances([...new Set(accounts)])
      await gate.seed(balances.map(toChange))
      accounts = []
      tries = 0
    } catch (error) {
      if (signal.aborted) return
      log.warn({ err: error }, 'accounts could not be seeded')
      await clock.sleep(Math.min(FIRST_SEED_PAUSE_MS * 2 ** tries, FAILURE_PAUSE_MS), signal)
      tries += 1
      if (tries < MAX_SEED_TRIES) continue
      accounts = []
      tries = 0
    }
  }
}
