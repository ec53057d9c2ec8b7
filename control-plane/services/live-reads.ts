import { listOffers } from '#control-plane/db/offers.ts'
import { findSellerOperation } from '#control-plane/db/seller-operations.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { BookEntry } from '#shared/market-view.ts'
import { readBook, requireModel } from './market/market-book.ts'
import { forgetLive } from './market/market-parts.ts'
import { viewOffers } from './offers/view.ts'
import type { OperationView } from './sellers/seller-operations.ts'
import { viewOperation } from './sellers/seller-operations.ts'

/** Most offers of one book and of one seller that are watched: the best ones, and the newest ones. */
export const MAX_WATCHED_OFFERS = 100

/** A book as it stands: its best offers. */
export type BookState = { readonly model: string; readonly offers: readonly BookEntry[] }

/** The best offers of a model now, past whatever was remembered of their health. Throws `not_found`. */
export async function readBookState(ctx: Ctx, name: string): Promise<BookState> {
  const model = await requireModel(ctx, name)
  forgetLive(ctx, model.id)
  return { model: model.id, offers: await readBook(ctx, model, { count: MAX_WATCHED_OFFERS }) }
}

/** What of an offer's state can change by itself. */
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
export async function readOfferHealth(ctx: Ctx, account: AccountId): Promise<OfferHealth[]> {
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

/** How far an operation of a seller is. Throws `not_found`. */
export async function readSellerOperation(ctx: Ctx, account: AccountId, id: string): Promise<OperationView> {
  const found = isId('opn', id) ? await findSellerOperation(ctx.db, account, id) : undefined
  if (found === undefined) throw new AppError('not_found')
  return viewOperation(found)
}
