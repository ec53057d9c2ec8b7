import { OWNER_DIED } from '#shared/contract/hold.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { bucketNames, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { Membership } from './gate-member.ts'
import type { MoneyConnection } from './money-connection.ts'
import type { Registrar } from './open-calls.ts'

/** Most open holds of a bucket that are searched for those of a dead process. The others expire by themselves. */
const MAX_LOOKED_AT = 50_000

type Ports = {
  readonly connection: Pick<MoneyConnection, 'writes'>
  readonly registrar: Registrar
  readonly membership: Membership
  readonly buckets: number
}

/**
 * Returns the holds of a dead process once all captures of its journal are in the gate. The holds that are still open
 * then belong to calls without a recorded end, which cost nothing. A capture that is still on its way to Redis would be
 * booked late. Returns the number of holds. Throws when the epoch moved on.
 */
export async function releaseLeftHolds(ports: Ports, node: string): Promise<number> {
  const { connection, registrar, membership, buckets } = ports
  let released = 0
  for (const bucket of bucketNames(buckets)) {
    const rids = await connection.writes.zrange(moneyKeys.expiring(bucket, membership.epoch), 0, MAX_LOOKED_AT - 1)
    for (let start = 0; start < rids.length; start += MAX_BATCH) {
      const page = rids.slice(start, start + MAX_BATCH)
      const holds = await Promise.all(
        page.map((rid) => connection.writes.hmget(moneyKeys.hold(bucket, rid), 'node', 'acct', 'key')),
      )
      const releases = page.flatMap((rid, index): SettleOperation[] => {
        const [owner, account, keyId] = holds[index] ?? []
        if (owner !== node || !account) return []
        return [{ kind: 'release', rid, account, keyId: keyId || null, node, reason: OWNER_DIED, event: null }]
      })
      await registrar.settle(releases)
      released += releases.length
    }
  }
  return released
}
