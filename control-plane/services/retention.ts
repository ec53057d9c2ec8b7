import { deleteExpiredIdempotencyKeys } from '#control-plane/db/idempotency.ts'
import { deleteExpiredSignIns } from '#control-plane/db/sessions.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'

/** Removes stored answers past their end; answers how many. */
export function purgeIdempotencyKeys(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredIdempotencyKeys(ctx.db, ctx.clock.now())
}

/** Removes used nonces and sessions past their end; answers how many. */
export function purgeSignIns(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredSignIns(ctx.db, ctx.clock.now())
}
