import { findKeyUseMark, listKeyUses, updateKeysUsed, updateKeyUseMark } from '#control-plane/db/key-uses.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { MINUTE } from '#shared/clock.ts'
import { ulidTime } from '#shared/ids.ts'

/**
 * Time between two reads of new postings, and the overlap of the reads. A posting becomes visible some time after its
 * timestamp.
 */
export const NOTE_USES_EVERY_MS = MINUTE
const OVERLAP_MS = 2 * MINUTE

/**
 * Stores the last use of every key whose calls were posted since the last turn, however long ago it was. Returns the
 * number of keys that changed.
 */
export async function noteKeyUses(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  const now = ctx.clock.now()
  const mark = await findKeyUseMark(ctx.db)
  const uses = await listKeyUses(ctx.db, Math.min(mark, now) - OVERLAP_MS)
  const keysUsed = await updateKeysUsed(
    ctx.db,
    uses.map(({ keyId, rid }) => ({ keyId, at: ulidTime(rid) })),
  )
  await updateKeyUseMark(ctx.db, now)
  return keysUsed
}
