import type { Captured, JournalReplay } from '#data-plane/journal/journal.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { Logger } from '#shared/logger.ts'
import type { GateMember, Membership } from './gate-member.ts'
import type { MoneyConnection } from './money-connection.ts'
import type { OpenCalls } from './open-calls.ts'
import { captureOf, createRegistrar } from './open-calls.ts'
import type { SettleQueue } from './settle-queue.ts'

type RegisterPorts = {
  readonly connection: MoneyConnection
  readonly openCalls: OpenCalls
  readonly settles: SettleQueue
  readonly journal: JournalReplay
  readonly node: string
  readonly buckets: number
  readonly log: Logger
}

/** Brings everything this process knows into an epoch: running calls from memory, unposted captures from the journal. */
export async function bringInto(ports: RegisterPorts, membership: Membership): Promise<void> {
  const { connection, openCalls, settles, journal, node, buckets, log } = ports
  const registrar = createRegistrar({ connection, membership, buckets, log })
  await registrar.calls(openCalls.operations(node))
  let captures: SettleOperation[] = []
  for await (const event of journal.unposted()) {
    const capture = captureOf(event, node)
    if (capture === undefined) log.error({ node }, 'the journal holds a capture that is no usage event')
    else if (!settles.holds(capture.rid)) captures.push(capture)
    if (captures.length < MAX_BATCH) continue
    await registrar.captures(captures)
    captures = []
  }
  await registrar.captures(captures)
}

type CursorPorts = {
  readonly connection: MoneyConnection
  readonly member: GateMember
  readonly settles: SettleQueue
  readonly buckets: number
}

/**
 * Which captures are posted: those that Redis took in this epoch and that are no longer among its unposted ones. The
 * epoch is read after them, because the sets of an older epoch are removed once they have been harvested.
 */
export async function arePosted(
  { connection, member, settles, buckets }: CursorPorts,
  membership: Membership,
  captures: readonly Captured[],
): Promise<readonly boolean[]> {
  const scores = new Map<string, string | null>()
  const groups = new Map<string, string[]>()
  for (const { rid, account } of captures) {
    const bucket = moneyBucket(account, buckets)
    const group = groups.get(bucket)
    if (group) group.push(rid)
    else groups.set(bucket, [rid])
  }
  for (const [bucket, rids] of groups) {
    const found = await connection.writes.zmscore(moneyKeys.unposted(bucket, membership.epoch), ...rids)
    for (const [index, rid] of rids.entries()) scores.set(rid, found[index] ?? null)
  }
  const seen = parseMoneyEpoch(await connection.writes.get(moneyKeys.epoch))
  const isSure = seen?.epoch === membership.epoch && seen.phase === 'open' && member.open() === membership
  return captures.map(({ rid }) => isSure && scores.get(rid) === null && !settles.holds(rid))
}
