import type { Trx } from '#control-plane/db/database.ts'
import type { StoredOffer } from '#control-plane/db/offers.ts'
import { findAnyOffer, lockAnyOffer, updateOffer } from '#control-plane/db/offers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { cleanLine } from '#shared/texts.ts'
import { logHealth } from './health-log.ts'
import { changeByEvent } from './state.ts'
import type { OfferView, ViewCtx } from './view.ts'
import { viewOffers } from './view.ts'

/** An operator's action on an offer. Its seller sees the reason. */
export type OperatorMove = {
  readonly id: string
  readonly event: 'delist' | 'restore'
  /** The reason in one line. Only the reason of a delisting is stored with the offer. */
  readonly reason: string | null
}

/**
 * Delists an offer of any seller, or lets its seller activate it again. Throws `not_found`, and `conflict` for a
 * restore of an offer that is not delisted.
 */
export async function moveAsOperator(
  ctx: ViewCtx & Pick<RunCtx, 'publication' | 'ids' | 'log' | 'change'>,
  { id, event, reason }: OperatorMove,
): Promise<OfferView> {
  if (!isId('ofr', id)) throw new AppError('not_found')
  if (event === 'delist' && (reason === null || reason.trim() === '')) {
    throw new AppError('invalid_request', { message: 'Add a reason for the delisting.', param: 'reason' })
  }
  const move = async (trx: Trx) => {
    const offer = await lockAnyOffer(trx, id)
    if (offer === undefined) throw new AppError('not_found')
    const keptReason = event === 'delist' ? reason : null
    await updateOffer(trx, offer.id, changeByEvent(offer, event, keptReason), ctx.clock.now())
    return { before: offer, after: (await findAnyOffer(trx, id)) ?? offer }
  }
  const { before } = await ctx.change(move, (moved) => ({
    subject: id,
    before: standing(moved.before),
    after: { ...standing(moved.after), ...(event === 'restore' && reason !== null ? { restored: true, reason } : {}) },
  }))
  await ctx.publication.publishOffers([before.model])
  const action = event === 'delist' ? 'delisted' : 'restored'
  await logHealth(ctx, [
    {
      offer: id,
      model: before.model,
      action,
      detail: cleanLine((event === 'delist' ? reason : null) ?? 'by the operator', 300),
    },
  ])
  const after = await findAnyOffer(ctx.db, id)
  const [view] = after === undefined ? [] : await viewOffers(ctx, [after])
  if (view === undefined) throw new AppError('not_found')
  return view
}

function standing({ status, delistedReason }: Pick<StoredOffer, 'status' | 'delistedReason'>): object {
  return { status, delistedReason }
}
