import type { Cancel, Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { LedgerRestore, MoneyPhase, MoneyScripts } from '#shared/contract/money-scripts.ts'
import { moneyScripts, parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { MoneyConnection } from './money-connection.ts'
import { isMissingScript } from './money-connection.ts'

/** Milliseconds between two reads of the epoch: while the node admits paid calls, and while it does not. */
const OPEN_POLL_MS = 1 * SECOND
const CLOSED_POLL_MS = 100
/** A node in doubt waits this long for another process to raise the epoch. Then it asks for a new one. */
const DOUBT_PATIENCE_MS = 1 * SECOND

/** The epoch that this process takes part in. */
export type Membership = {
  readonly epoch: number
  readonly scripts: MoneyScripts
  /** The last restore of the ledger; absent without one. */
  readonly restore?: LedgerRestore
}

type Ports = {
  readonly connection: Pick<MoneyConnection, 'isReady' | 'writes'>
  /** Unique to this process. */
  readonly name: string
  readonly clock: Time
  readonly log: Logger
  /** Brings running calls and unposted captures into the epoch. Rejects when that failed. */
  register(membership: Membership): Promise<void>
  /** Called when the gate opens: paid calls and waiting work may run. */
  onOpen(): void
  /** Called when the process is registered in an epoch that is not open yet: captures and releases may be sent. */
  onRegistered(): void
}

/**
 * This process's part in the recovery of the gate. It joins an epoch and registers in it. It admits paid calls once the
 * epoch is open and has its membership on record.
 */
export type GateMember = {
  /** The epoch in which captures and releases may be written now; undefined without one. */
  registered(): Membership | undefined
  /** The epoch in which paid calls are admitted now; undefined without one. */
  open(): Membership | undefined
  /**
   * Reports a contradiction to the epoch of `about`. Paid calls stop until a newer epoch opens. A late doubt about an
   * older epoch changes nothing.
   */
  doubt(reason: string, about: Membership): void
  connected(runId: string): void
  lost(): void
  /** Looks at the epoch at once instead of at the next turn. */
  look(): void
  /** True while the epoch has not moved on since `membership` was read. */
  isCurrent(membership: Membership): boolean
  stop(): void
}

type State = {
  joined: Membership | undefined
  isRegistered: boolean
  isOpen: boolean
  /** The epoch that is no longer trusted, and since when, in monotonic milliseconds. */
  doubted: { readonly epoch: number; readonly since: number } | undefined
  runId: string | undefined
}

export function createGateMember(ports: Ports): GateMember {
  const { connection, clock, log } = ports
  const state: State = { joined: undefined, isRegistered: false, isOpen: false, doubted: undefined, runId: undefined }
  let endPause: Cancel | undefined
  let isLooking = false
  let looksAgain = false
  let isStopped = false

  function close(reason: string): void {
    if (state.isOpen) log.warn({ reason, epoch: state.joined?.epoch }, 'paid calls are refused')
    state.isOpen = false
  }

  function doubt(reason: string, { epoch }: Membership): void {
    if (state.joined?.epoch !== epoch || state.doubted?.epoch === epoch) return
    state.doubted = { epoch, since: clock.monotonic() }
    state.isRegistered = false
    log.warn({ reason, epoch }, 'the money epoch is in doubt')
    close(reason)
    look()
  }

  function look(): void {
    endPause?.()
    if (isStopped) return
    if (isLooking) {
      looksAgain = true
      return
    }
    isLooking = true
    step(ports, state, { doubt, close })
      .catch((error: unknown) => {
        close('the gate does not answer')
        log.debug({ cause: describeCause(error) }, 'looking at the money epoch failed')
      })
      .finally(() => {
        isLooking = false
        if (isStopped) return
        endPause = clock.after(looksAgain ? 0 : state.isOpen ? OPEN_POLL_MS : CLOSED_POLL_MS, look)
        looksAgain = false
      })
  }

  const canWrite = () => state.isRegistered && connection.isReady()
  return {
    registered: () => (canWrite() ? state.joined : undefined),
    open: () => (state.isOpen && canWrite() ? state.joined : undefined),
    doubt,
    connected(runId) {
      if (state.runId !== undefined && state.runId !== runId && state.joined) {
        doubt('the server is another run', state.joined)
      }
      state.runId = runId
      look()
    },
    lost() {
      close('the connection is lost')
      look()
    },
    look,
    isCurrent: (membership) => state.joined === membership && canWrite(),
    stop() {
      isStopped = true
      endPause?.()
    },
  }
}

/**
 * Tells whether Redis is in that phase of the epoch. Redis runs earlier commands first. Rejects while Redis is out of
 * reach.
 */
export async function isInPhase(
  { writes }: Pick<MoneyConnection, 'writes'>,
  { epoch }: Membership,
  phase: MoneyPhase,
): Promise<boolean> {
  const moneyEpoch = parseMoneyEpoch(await writes.get(moneyKeys.epoch))
  return moneyEpoch?.epoch === epoch && moneyEpoch.phase === phase
}

/** Reads the epoch once and acts on it. */
async function step(
  ports: Ports,
  state: State,
  actions: Pick<GateMember, 'doubt'> & { close(reason: string): void },
): Promise<void> {
  const { connection, name, clock } = ports
  if (!connection.isReady()) return actions.close('the gate is away')
  const [text, isMember] = await Promise.all([
    connection.writes.get(moneyKeys.epoch),
    connection.writes.hexists(moneyKeys.members, name),
    connection.writes.hset(moneyKeys.nodes, name, clock.now()),
  ])
  const moneyEpoch = parseMoneyEpoch(text)
  if (moneyEpoch === undefined) return actions.close('there is no epoch')
  if (state.joined && moneyEpoch.epoch < state.joined.epoch) return actions.doubt('the epoch went back', state.joined)
  if (state.joined?.epoch !== moneyEpoch.epoch) {
    actions.close('a new epoch')
    state.isRegistered = false
    const { epoch, restore } = moneyEpoch
    state.joined = { epoch, scripts: moneyScripts(epoch), ...(restore === undefined ? {} : { restore }) }
  }
  if (state.doubted?.epoch === moneyEpoch.epoch) return askForRebuild(ports, state.doubted)
  if (moneyEpoch.phase === 'join') return actions.close('the gate is being rebuilt')
  const membership = state.joined
  if (membership === undefined) return
  if (!state.isRegistered) {
    try {
      await ports.register(membership)
    } catch (error) {
      if (isMissingScript(error)) return actions.doubt('the server does not know the scripts', membership)
      throw error
    }
    if (state.joined !== membership || state.doubted?.epoch === membership.epoch) return
    await connection.writes.hset(moneyKeys.ready(membership.epoch), name, clock.now())
    state.isRegistered = true
    ports.onRegistered()
  }
  if (moneyEpoch.phase !== 'open' || isMember !== 1) return actions.close('the gate is not open yet')
  if (state.isOpen) return
  state.isOpen = true
  ports.log.info({ epoch: membership.epoch }, 'paid calls are admitted')
  ports.onOpen()
}

async function askForRebuild({ connection, clock }: Ports, doubted: { epoch: number; since: number }): Promise<void> {
  if (clock.monotonic() - doubted.since < DOUBT_PATIENCE_MS) return
  await connection.writes.set(moneyKeys.doubt, doubted.epoch)
}
