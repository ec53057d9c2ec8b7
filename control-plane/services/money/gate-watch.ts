import type { Gate } from '#control-plane/ports/gate/gate.ts'
import type { GateKeeper, GateView } from '#control-plane/ports/gate-keeper/gate-keeper.ts'
import { SECOND } from '#shared/clock.ts'
import type { RebuildCtx } from './gate-rebuild.ts'
import { finishRebuild, nodesHere, reasonToRebuild, rebuildGate, seedPage, toChange } from './gate-rebuild.ts'

const LOOK_MS = 100
/** How long another process waits before it tries again to become the rebuilder. */
const LOCK_RETRY_MS = 1 * SECOND
const FAILURE_PAUSE_MS = 200
/** How often the time at which members were last seen is written down. */
const MEMBERS_INTERVAL_MS = 10 * SECOND

/**
 * Watches the gate and rebuilds it whenever it cannot be trusted, until the signal. Of all processes that run this, the
 * one that leads works; the others wait for it to end.
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
  /** The run of the server that is trusted. */
  runId: string | undefined
  readonly admitted: Set<string>
  /** What each node last announced, and those that were seen to live since that was written down. */
  announced: ReadonlyMap<string, number>
  readonly living: Set<string>
  writtenAt: number
  /** Where the seeding behind an opening has come to; undefined when it is through. */
  seededTo: string | undefined
}

/** Works as the rebuilder until the right to lead is lost, which throws. */
async function lead(ctx: RebuildCtx, signal: AbortSignal): Promise<void> {
  const memory: Memory = {
    runId: undefined,
    admitted: new Set(),
    announced: new Map(),
    living: new Set(),
    writtenAt: 0,
    seededTo: undefined,
  }
  while (!signal.aborted) {
    // Asked of the ledger that leads: when that answers no more, the right to rebuild is gone.
    const { epoch } = await ctx.ledger.readEpoch()
    try {
      await look(ctx, memory, epoch)
      await ctx.clock.sleep(memory.seededTo === undefined ? LOOK_MS : 0, signal)
    } catch (error) {
      ctx.log.warn({ err: error }, 'the gate could not be looked after')
      await ctx.clock.sleep(FAILURE_PAUSE_MS, signal)
    }
  }
}

async function look(ctx: RebuildCtx, memory: Memory, newestEpoch: number): Promise<void> {
  const view = await ctx.keeper.view()
  const reason = reasonToRebuild(view, newestEpoch, memory.runId)
  memory.runId = view.runId
  if (reason === undefined) {
    await keepMembers(ctx, memory, view)
    if (memory.seededTo !== undefined) memory.seededTo = await seedPage(ctx, newestEpoch, memory.seededTo)
    return
  }
  ctx.log.warn({ reason, epoch: newestEpoch }, 'rebuilding the gate')
  const epoch = await rebuildGate(ctx, view)
  memory.admitted.clear()
  memory.seededTo = ''
  await finishRebuild(ctx, epoch)
}

/** Puts new nodes on record and lets them in, takes those off that left, and notes which are seen to live. */
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
  // An announcement stays when its process dies: only one that changes shows life, whatever the clocks say.
  const living = nodesHere(view).filter(
    (node) => memory.announced.has(node) && memory.announced.get(node) !== view.nodes.get(node),
  )
  memory.announced = view.nodes
  for (const node of living) memory.living.add(node)
  const isNew = living.some((node) => !memory.admitted.has(node))
  if (!isNew && clock.monotonic() - memory.writtenAt < MEMBERS_INTERVAL_MS) return
  const seen = [...memory.living]
  await ledger.markNodesSeen(seen)
  await keeper.admit(seen)
  const members = new Set(await ledger.listMembers())
  await keeper.dismiss(nodesHere(view).filter((node) => !members.has(node)))
  for (const node of seen) memory.admitted.add(node)
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

/** Seeds the accounts that nodes ask for, until the signal. Any number of processes may run it. */
export async function answerSeedRequests(
  { ledger, gate, keeper, clock, log }: SeedCtx,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const accounts = await keeper.takeSeedRequests(REQUESTS_AT_ONCE, REQUEST_WAIT_MS)
      if (accounts.length === 0) continue
      const balances = await ledger.findBalances([...new Set(accounts)])
      await gate.seed(balances.map(toChange))
    } catch (error) {
      if (signal.aborted) return
      log.warn({ err: error }, 'accounts could not be seeded')
      await clock.sleep(FAILURE_PAUSE_MS, signal)
    }
  }
}
