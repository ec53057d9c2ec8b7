import { deleteExpiredIdempotencyKeys } from '#control-plane/db/idempotency.ts'
import { deleteExpiredSignIns } from '#control-plane/db/sessions.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'

/** Removes expired stored answers. Returns their number. */
export function purgeIdempotencyKeys(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredIdempotencyKeys(ctx.db, ctx.clock.now())
}

/** Removes expired nonces and sessions. Returns their number. */
export function purgeSignIns(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredSignIns(ctx.db, ctx.clock.now())
}
