import { listOffers } from '#control-plane/db/offers.ts'
import { findSellerOperation } from '#control-plane/db/seller-operations.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { BookEntry } from '#shared/market-view.ts'
import { readBook, requireModel } from './market/market-book.ts'
import type { MarketCtx } from './market/market-parts.ts'
import { forgetLive } from './market/market-parts.ts'
import type { OperationView } from './offers/seller-operations.ts'
import { viewOperation } from './offers/seller-operations.ts'
import type { ViewCtx } from './offers/view.ts'
import { viewOffers } from './offers/view.ts'

/** Most watched offers of one book (its best) and of one seller (the newest). */
export const MAX_WATCHED_OFFERS = 100

/** The best offers of a model's book. */
export type BookState = { readonly model: string; readonly offers: readonly BookEntry[] }

/** The best offers of a model now, without the cached health. Throws `not_found`. */
export async function readBookState(ctx: MarketCtx, name: string): Promise<BookState> {
  const model = await requireModel(ctx, name)
  forgetLive(ctx, model.id)
  return { model: model.id, offers: await readBook(ctx, model, { count: MAX_WATCHED_OFFERS }) }
}

/** The parts of an offer's state that change without the seller's doing. */
export type OfferHealth = {
  readonly id: string
  readonly model: string
  readonly status: string
  readonly healthy: boolean
  readonly consecutiveFailures: number
  /** Unix milliseconds. */
  readonly backedOffUntil: number | null
  readonly delistedReason: string | null
  readonly capDailyRemainingUsd: number | null
}

/** The health of a seller's newest offers. */
export async function readOfferHealth(ctx: ViewCtx, account: AccountId): Promise<OfferHealth[]> {
  const filter = { status: undefined, model: undefined, before: undefined }
  const offers = await viewOffers(ctx, await listOffers(ctx.db, account, filter, MAX_WATCHED_OFFERS))
  return offers.map((offer) => ({
    id: offer.id,
    model: offer.model,
    status: offer.status,
    healthy: offer.healthy,
    consecutiveFailures: offer.consecutiveFailures,
    backedOffUntil: offer.backedOffUntil,
    delistedReason: offer.delistedReason,
    capDailyRemainingUsd: offer.capDailyRemainingUsd,
  }))
}

/** The progress of a seller's operation. Throws `not_found`. */
export async function readSellerOperation(
  ctx: Pick<Ctx, 'db'>,
  account: AccountId,
  id: string,
): Promise<OperationView> {
  const sellerOperation = isId('opn', id) ? await findSellerOperation(ctx.db, account, id) : undefined
  if (sellerOperation === undefined) throw new AppError('not_found')
  return viewOperation(sellerOperation)
}
