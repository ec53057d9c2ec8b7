import { listKeyUses, updateKeysUsed } from '#control-plane/db/key-uses.ts'
import type { Ctx } from '#control-plane/operation.ts'
import { MINUTE } from '#shared/clock.ts'
import { ulidTime } from '#shared/ids.ts'

/** How often it is looked for uses, and how far back: turns overlap, for a worker may come late. */
export const NOTE_USES_EVERY_MS = MINUTE
const LOOK_BACK_MS = 3 * MINUTE

/** Notes the last use of every key that paid a call lately, in one statement; answers how many keys it moved on. */
export async function noteKeyUses(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  const uses = await listKeyUses(ctx.db, ctx.clock.now() - LOOK_BACK_MS)
  if (uses.length === 0) return 0
  return updateKeysUsed(
    ctx.db,
    uses.map(({ keyId, rid }) => ({ keyId, at: ulidTime(rid) })),
  )
}
