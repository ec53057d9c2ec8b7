import { refusalOf, transact } from '#control-plane/db/database.ts'
import type { Offer, OfferChange, OfferStatus } from '#control-plane/db/offers.ts'
import { lockOffer, updateOffer as storeOffer } from '#control-plane/db/offers.ts'
import type { RunCtx } from '#control-plane/operation.ts'
import { defineOperation } from '#control-plane/operation.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { publishOffers } from '../snapshot.ts'
import { ONE_ACTIVE, readOffer, refuseTwin } from './create.ts'
import { OfferIdInput, readPricing, UpdateOfferInput } from './input.ts'
import type { OfferView } from './view.ts'

/** What a seller can do to the state of an offer. */
export type OfferEvent = 'activate' | 'pause' | 'remove'

type Step = { readonly to: OfferStatus } | { readonly refusal: ErrorCode }

/** Every state and event. Activation also needs that no twin is active, which the database holds. */
const STEPS: { readonly [Status in OfferStatus | 'delisted']: { readonly [Event in OfferEvent]: Step } } = {
  active: { activate: { to: 'active' }, pause: { to: 'paused' }, remove: { to: 'inactive' } },
  paused: { activate: { to: 'active' }, pause: { to: 'paused' }, remove: { to: 'inactive' } },
  inactive: { activate: { to: 'active' }, pause: { refusal: 'conflict' }, remove: { to: 'inactive' } },
  delisted: {
    activate: { refusal: 'offer_delisted_by_operator' },
    pause: { refusal: 'conflict' },
    remove: { to: 'inactive' },
  },
}

/** The state an event leads to. Throws the table's refusal. */
export function nextStatus(offer: Pick<Offer, 'status' | 'delistedReason'>, event: OfferEvent): OfferStatus {
  const step = STEPS[offer.delistedReason === null ? offer.status : 'delisted'][event]
  if ('refusal' in step) throw new AppError(step.refusal, { detail: { status: offer.status } })
  return step.to
}

/** Changes price, cap, label, payout address or state; what is left out stays. */
export const updateOffer = defineOperation({
  name: 'offer.update',
  access: 'seller',
  input: UpdateOfferInput,
  limit: 'write',
  idempotency: 'none',
  run: async (ctx, actor, input): Promise<OfferView> => {
    const pricing = readPricing(input)
    const { capDailyUsd, payoutAddress, label, status } = input
    const set: OfferChange = {
      ...pricing,
      ...(capDailyUsd === undefined ? {} : { capDailyMicro: capDailyUsd }),
      ...(payoutAddress === undefined ? {} : { payoutAddress }),
      ...(label === undefined ? {} : { label }),
    }
    const event = status === undefined ? undefined : status === 'active' ? 'activate' : 'pause'
    return changeOffer(ctx, actor.account, { id: input.id, set, event })
  },
})

/** Takes an offer off the market. The record and its sealed key stay; its place is free for another. */
export const deleteOffer = defineOperation({
  name: 'offer.delete',
  access: 'seller',
  input: OfferIdInput,
  limit: 'write',
  idempotency: 'none',
  run: async (ctx, actor, input): Promise<OfferView> =>
    changeOffer(ctx, actor.account, { id: input.id, set: {}, event: 'remove' }),
})

type Wish = { readonly id: string; readonly set: OfferChange; readonly event: OfferEvent | undefined }

async function changeOffer(ctx: RunCtx, seller: AccountId, { id, set, event }: Wish): Promise<OfferView> {
  if (!isId('ofr', id)) throw new AppError('not_found')
  const before = await readOffer(ctx, seller, id)
  let twin: Offer | undefined
  try {
    await transact(ctx.db, async (trx) => {
      const offer = await lockOffer(trx, seller, id)
      if (offer === undefined) throw new AppError('not_found')
      twin = offer
      const status = event === undefined ? {} : { status: nextStatus(offer, event) }
      await storeOffer(trx, id, { ...set, ...status }, ctx.clock.now())
    })
  } catch (error) {
    if (twin === undefined || refusalOf(error)?.constraint !== ONE_ACTIVE) throw error
    await refuseTwin(ctx, seller, twin)
    throw new AppError('duplicate_offer_for_credential', { cause: error })
  }
  await publishOffers(ctx, [before.model])
  const after = await readOffer(ctx, seller, id)
  ctx.note({ subject: id, before, after })
  return after
}
