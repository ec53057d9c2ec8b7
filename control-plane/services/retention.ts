import { deleteExpiredIdempotencyKeys } from '../db/idempotency.ts'
import type { Ctx } from '../operation.ts'

/** Removes stored answers past their end; answers how many. */
export function purgeIdempotencyKeys(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredIdempotencyKeys(ctx.db, ctx.clock.now())
}
