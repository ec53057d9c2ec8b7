import { hasUnbookedClaims } from '#control-plane/db/chain-payments.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { MoneyRecord } from '#control-plane/db/money-epoch.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { MINUTE } from '#shared/clock.ts'

/**
 * Shortest time after the nodes registered their captures again in which sellers get back what they had earned. The
 * platform stands in for the part of a payout that its seller's account lacks after it.
 */
const EARNING_AGAIN_MS = 10 * MINUTE

/**
 * True once sellers have what they had earned again, as far as they will, in a ledger that is held. A payment that was
 * claimed before the nodes had told ends at the latest when its authorization does.
 */
export async function isWholeAgain(
  { clock, treasury }: Pick<Ctx, 'clock' | 'treasury'>,
  trx: Trx,
  { heldAt, joinedAt }: Pick<MoneyRecord, 'heldAt' | 'joinedAt'>,
): Promise<boolean> {
  if (heldAt === undefined || joinedAt === undefined) return false
  // Money is held until every lost signature has run out, so sellers may have their earnings again until then.
  if (clock.now() <= Math.max(joinedAt + EARNING_AGAIN_MS, heldAt + (treasury?.validMs ?? 0))) return false
  return !(await hasUnbookedClaims(trx, joinedAt))
}
