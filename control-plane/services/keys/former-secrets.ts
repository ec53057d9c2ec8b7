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
 * Deletes secrets whose window after a rotation has ended and those of sessions that have, in the key store first.
 * Until then both planes refuse them as expired, and afterwards as unknown. Returns their number. Throws when the store
 * is away.
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
