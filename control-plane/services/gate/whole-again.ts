import { hasUnbookedClaims } from '#control-plane/db/chain-payments.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { MoneyRecord } from '#control-plane/db/money-epoch.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { MINUTE } from '#shared/clock.ts'

/**
 * The shortest time in which sellers regain their earnings, after the nodes registered their captures again. After this
 * time, the platform covers what a seller's account lacks for a payout.
 */
const EARNING_AGAIN_MS = 10 * MINUTE

/**
 * True once sellers have regained all earnings that will come back to a held ledger. A payment that was claimed before
 * the nodes registered ends at the latest with its authorization.
 */
export async function isWholeAgain(
  { clock, treasury }: Pick<Ctx, 'clock' | 'treasury'>,
  trx: Trx,
  { heldAt, joinedAt }: Pick<MoneyRecord, 'heldAt' | 'joinedAt'>,
): Promise<boolean> {
  if (heldAt === undefined || joinedAt === undefined) return false
  // The hold on money lasts until every lost signature has expired, so earnings may come back until then.
  if (clock.now() <= Math.max(joinedAt + EARNING_AGAIN_MS, heldAt + (treasury?.validMs ?? 0))) return false
  return !(await hasUnbookedClaims(trx, joinedAt))
}
