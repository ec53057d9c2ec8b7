import { deleteExpiredIdempotencyKeys } from '../db/idempotency.ts'
import { deleteExpiredSignIns } from '../db/sessions.ts'
import type { Ctx } from '../operation.ts'

/** Removes stored answers past their end; answers how many. */
export function purgeIdempotencyKeys(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredIdempotencyKeys(ctx.db, ctx.clock.now())
}

/** Removes used nonces and sessions past their end; answers how many. */
export function purgeSignIns(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredSignIns(ctx.db, ctx.clock.now())
}
