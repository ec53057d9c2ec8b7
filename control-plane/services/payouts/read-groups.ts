import type { Database, Trx } from '#control-plane/db/database.ts'
import type { SellerOwner } from '#control-plane/db/offer-earnings.ts'
import { findSellerOwner, listOpenEarnings, sumRecentEntries } from '#control-plane/db/offer-earnings.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { PayableGroup } from './payable-groups.ts'
import { groupsOf } from './payable-groups.ts'
import type { PayoutCtx } from './treasury-ctx.ts'

export type SellerGroups = { readonly owner: SellerOwner; readonly groups: readonly PayableGroup[] }

/** Reads a seller's money at each recipient. The result is exact while the seller's account is locked. */
export async function readGroups(
  { clock, settings: { payouts } }: Pick<PayoutCtx, 'clock' | 'settings'>,
  db: Database | Trx,
  seller: AccountId,
): Promise<SellerGroups> {
  const now = clock.now()
  const waitsAfter = payouts.holdMs === 0 ? undefined : ulidFloor(now - payouts.holdMs)
  const owner = await findSellerOwner(db, seller)
  if (owner === undefined) throw new AppError('not_found')
  const earnings = await listOpenEarnings(db, seller, waitsAfter)
  const recent = waitsAfter === undefined ? 0n : await sumRecentEntries(db, seller, waitsAfter)
  const { balance, wallet, walletSince } = owner
  const standing = { balance, wallet, walletSince, earnings, recent, now, coolingMs: payouts.coolingMs }
  return { owner, groups: groupsOf(standing) }
}
