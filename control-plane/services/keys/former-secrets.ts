import { transact } from '#control-plane/db/database.ts'
import { deleteEndedSecrets, listEndedSecrets } from '#control-plane/db/key-changes.ts'
import { lockKeyStore } from '#control-plane/db/key-store.ts'
import { nextVersion } from '#control-plane/db/snapshot.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { MINUTE } from '#shared/clock.ts'

/** Interval of the sweep, and most secrets of one turn. */
export const SWEEP_SECRETS_EVERY_MS = MINUTE
const SWEEP_BATCH = 500

/**
 * Deletes the secrets of ended sessions, and former secrets whose window after a rotation has ended, in the key store
 * first. Both planes refuse such a secret as expired before its deletion and as unknown afterwards. Returns the number
 * of deleted secrets. Throws when the store is away.
 */
export async function sweepFormerSecrets(ctx: Pick<Ctx, 'db' | 'clock' | 'publisher'>): Promise<number> {
  return transact(ctx.db, async (trx) => {
    await lockKeyStore(trx)
    const endedSecrets = await listEndedSecrets(trx, ctx.clock.now(), SWEEP_BATCH)
    if (endedSecrets.length === 0) return 0
    // A store that is not filled gets the remaining secrets from its rebuild.
    if (await ctx.publisher.hasKeys()) await ctx.publisher.removeKeys(endedSecrets, await nextVersion(trx))
    await deleteEndedSecrets(trx, endedSecrets)
    return endedSecrets.length
  })
}
