import type { Captured, Inheritance, JournalReplay } from '#data-plane/journal/journal.ts'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { CaptureOperation } from '#shared/contract/money-scripts/settle.ts'
import { capUseOf, encodeCapCount } from '#shared/contract/money-scripts/uses.ts'
import type { LedgerRestore } from '#shared/contract/money-scripts.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { GateMember, Membership } from './gate-member.ts'
import { isInPhase } from './gate-member.ts'
import { releaseLeftHolds } from './left-holds.ts'
import type { MoneyConnection } from './money-connection.ts'
import type { OfferCapsStore } from './offer-caps.ts'
import type { OpenCalls, Registrar } from './open-calls.ts'
import { captureOf, createRegistrar } from './open-calls.ts'
import type { SettleQueue } from './settle-queue.ts'

/**
 * A command of a dead process may still be on its way to Redis. Its holds are searched this long after its captures.
 */
const IN_FLIGHT_MS = SECOND / 2

type HeirPorts = {
  readonly connection: MoneyConnection
  readonly member: Pick<GateMember, 'registered' | 'isCurrent'>
  readonly openCalls: OpenCalls
  readonly offerCaps: Pick<OfferCapsStore, 'bringAll'>
  readonly settles: SettleQueue
  readonly journal: JournalReplay
  /** Brings data that the gate does not count: marks of jobs, and claims of wallets after a restore of the ledger. */
  bringMore(restore: LedgerRestore | undefined): Promise<unknown>
  readonly node: string
  readonly buckets: number
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

/** Brings into an epoch the money that this process knows of and the money that it inherited from dead processes. */
export type Heir = {
  /** Brings in everything: takes of caps and running calls from memory, unposted captures from the journal. */
  bringAll(membership: Membership): Promise<void>
  /**
   * Brings in the money that was inherited since. Then returns the other holds of the dead processes and removes them
   * from the list of members that a rebuild waits for. It is called now and again; the next call repeats what failed.
   */
  handOn(): void
}

export function createHeir(ports: HeirPorts): Heir {
  const { connection, member, openCalls, journal, node, buckets, clock, log } = ports
  /** Monotonic milliseconds at which the captures of an inheritance were in the gate. */
  const broughtCount = new WeakMap<Inheritance, number>()
  let isHandingOn = false
  const registrarIn = (membership: Membership) => createRegistrar({ connection, membership, buckets, log })

  async function handOnAll(membership: Membership): Promise<void> {
    for (const inheritance of journal.inherited()) {
      if (!broughtCount.has(inheritance)) {
        await bringCaptures(ports, registrarIn(membership), { membership, of: inheritance })
        broughtCount.set(inheritance, clock.monotonic())
      }
      if (!member.isCurrent(membership)) return
      if (inheritance.isFirstHand && clock.monotonic() - (broughtCount.get(inheritance) ?? 0) < IN_FLIGHT_MS) continue
      if (inheritance.member !== undefined) await endMember(membership, inheritance.member, inheritance.isFirstHand)
      journal.crossOff(inheritance)
    }
  }

  /**
   * Captures that an earlier heir took over may still be on their way to the gate. Then the holds are left to their
   * deadlines.
   */
  async function endMember(membership: Membership, name: string, isFirstHand: boolean): Promise<void> {
    if (isFirstHand) {
      const registrar = registrarIn(membership)
      const released = await releaseLeftHolds({ connection, registrar, membership, buckets }, name)
      if (released > 0) log.info({ member: name, released }, 'released the holds of a dead process')
    }
    await signOff(connection, name)
  }

  return {
    async bringAll(membership) {
      if (membership.restore !== undefined) await journal.recapture(membership.restore)
      await ports.bringMore(membership.restore)
      const inherited = journal.inherited()
      const registrar = registrarIn(membership)
      // The take goes first: an heir that finds a hold here counts its capture only by its take.
      await ports.offerCaps.bringAll(membership)
      await registrar.calls(openCalls.operations(node))
      await bringCaptures(ports, registrar)
      // A rebuild counts the captures that arrived before its count began. Later ones have to be counted here.
      if (!(await isInPhase(connection, membership, 'register'))) await bringCaptures(ports, registrar, { membership })
      for (const inheritance of inherited) broughtCount.set(inheritance, clock.monotonic())
    },
    handOn() {
      const membership = member.registered()
      if (isHandingOn || membership === undefined || journal.inherited().length === 0) return
      isHandingOn = true
      handOnAll(membership)
        .catch((error: unknown) =>
          log.warn({ cause: describeCause(error) }, 'captures of a dead process could not be brought into the gate'),
        )
        .finally(() => {
          isHandingOn = false
        })
    },
  }
}

/** The captures of all inheritances, or only those of the given one. */
type LateComers = { readonly membership: Membership; readonly of?: Inheritance }

async function bringCaptures(ports: HeirPorts, registrar: Registrar, late?: LateComers): Promise<void> {
  const { settles, journal, node, log } = ports
  let captures: CaptureOperation[] = []
  for await (const event of journal.unposted(late?.of)) {
    const capture = captureOf(event, node)
    if (capture === undefined) log.error({ node }, 'the journal holds a capture that is no usage event')
    else if (!settles.holds(capture.rid)) captures.push(capture)
    if (captures.length < MAX_BATCH) continue
    await bringSome(ports, registrar, captures, late)
    captures = []
  }
  await bringSome(ports, registrar, captures, late)
}

async function bringSome(
  { connection }: HeirPorts,
  registrar: Registrar,
  captures: readonly CaptureOperation[],
  late: LateComers | undefined,
): Promise<void> {
  const unheldCaptures = await registrar.settle(captures)
  if (late === undefined) return
  const { capCount } = late.membership.scripts
  await Promise.all(
    captures.map(async ({ rid, event }) => {
      const use = capUseOf(event)
      if (use === undefined) return
      // After a loss of power, a machine may know less of a call than the gate does. Then the charge of the gate
      // counts.
      const chargeMicro = unheldCaptures.standing.get(rid) ?? use.chargeMicro
      await connection.run(capCount, encodeCapCount({ ...use, chargeMicro }, unheldCaptures.late.has(rid)))
    }),
  )
}

/** Removes a member from the list of members that a rebuild waits for. */
export async function signOff(connection: MoneyConnection, member: string): Promise<void> {
  await connection.writes.hset(moneyKeys.nodes, member, '-1')
}

type CursorPorts = {
  readonly connection: MoneyConnection
  readonly member: GateMember
  readonly settles: Pick<SettleQueue, 'holds'>
  readonly buckets: number
}

/** Moves the journal's cursor past the captures that are posted. Does nothing while the gate is closed. */
export async function advanceCursor(ports: CursorPorts, journal: JournalReplay): Promise<void> {
  const membership = ports.member.open()
  if (membership === undefined) return
  await journal.advance((captures) => arePosted(ports, membership, captures))
}

/**
 * Tells which captures are posted: those that Redis took in this epoch and that are no longer among its unposted ones.
 * The epoch is read last, because the sets of an older epoch are removed after their harvest.
 */
async function arePosted(
  { connection, member, settles, buckets }: CursorPorts,
  membership: Membership,
  captures: readonly Captured[],
): Promise<readonly boolean[]> {
  // The waiting settles are read before Redis is. A capture that reaches Redis after the read is missing from the
  // result, too.
  const wasWaiting = captures.map(({ rid }) => settles.holds(rid))
  const scores = new Map<string, string | null>()
  const groups = new Map<string, string[]>()
  for (const { rid, account } of captures) {
    // A capture without an account is not paid from credit, so the gate has none of it.
    if (account === null) continue
    const bucket = moneyBucket(account, buckets)
    const group = groups.get(bucket)
    if (group) group.push(rid)
    else groups.set(bucket, [rid])
  }
  for (const [bucket, rids] of groups) {
    const foundScores = await connection.writes.zmscore(moneyKeys.unposted(bucket, membership.epoch), ...rids)
    for (const [index, rid] of rids.entries()) scores.set(rid, foundScores[index] ?? null)
  }
  const moneyEpoch = parseMoneyEpoch(await connection.writes.get(moneyKeys.epoch))
  const isSure = moneyEpoch?.epoch === membership.epoch && moneyEpoch.phase === 'open' && member.open() === membership
  return captures.map(({ rid }, index) => isSure && scores.get(rid) === null && wasWaiting[index] === false)
}
