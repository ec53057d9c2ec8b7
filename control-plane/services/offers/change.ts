import type { Trx } from '#control-plane/db/database.ts'
import { planProbe } from '#control-plane/db/offer-probes.ts'
import type { OfferChange, StoredOffer } from '#control-plane/db/offers.ts'
import { lockOffer, updateOffer as storeOffer } from '#control-plane/db/offers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { readOffer } from './create.ts'
import { OfferIdInput, readPricing, UpdateOfferInput } from './input.ts'
import { notePayee } from './new-payee.ts'
import type { OfferEvent } from './state.ts'
import { changeByEvent } from './state.ts'
import { FIRST_PROBE_MS, orTwin } from './store-offer.ts'
import type { OfferView, ViewCtx } from './view.ts'
import { OfferViewSchema } from './view.ts'

/** Changes price, cap, passed members, label, payout address or state. An absent field stays. */
export const updateOffer = defineOperation({
  name: 'offer.update',
  summary: 'Update an offer',
  about:
    'Changes price, cap, allowed members, label, payout address or status. Routing follows within a quarter of a second.',
  example: { discount: 30 },
  access: 'seller',
  input: UpdateOfferInput,
  limit: 'write',
  idempotency: 'none',
  output: OfferViewSchema,
  run: async (ctx, actor, input): Promise<OfferView> => {
    const pricing = readPricing(input)
    const { capDailyUsd, passes, payoutAddress, label, status } = input
    const set: OfferChange = {
      ...pricing,
      ...(capDailyUsd === undefined ? {} : { capDailyMicro: capDailyUsd }),
      ...(passes === undefined ? {} : { passes: passes ?? [] }),
      ...(payoutAddress === undefined ? {} : { payoutAddress }),
      ...(label === undefined ? {} : { label }),
    }
    const event = status === undefined ? 'edit' : status === 'active' ? 'activate' : 'pause'
    return changeOffer(ctx, actor.account, { id: input.id, set, event })
  },
})

/**
 * Takes an offer off the market. The record and its sealed key stay. The credential, address and model may be listed
 * again.
 */
export const deleteOffer = defineOperation({
  name: 'offer.delete',
  summary: 'Delete an offer',
  about: 'New calls no longer go to the offer.',
  example: {},
  access: 'seller',
  input: OfferIdInput,
  limit: 'write',
  idempotency: 'none',
  output: OfferViewSchema,
  run: async (ctx, actor, input): Promise<OfferView> =>
    changeOffer(ctx, actor.account, { id: input.id, set: {}, event: 'remove' }),
})

type OfferEdit = { readonly id: string; readonly set: OfferChange; readonly event: OfferEvent }

async function changeOffer(
  ctx: ViewCtx & Pick<RunCtx, 'publication' | 'change' | 'ids' | 'settings'>,
  seller: AccountId,
  { id, set, event }: OfferEdit,
): Promise<OfferView> {
  if (!isId('ofr', id)) throw new AppError('not_found')
  const before = await readOffer(ctx, seller, id)
  let twin: StoredOffer | undefined
  const changeTo = (after: OfferView) => ({ subject: id, before, after })
  const change = () =>
    ctx.change(async (trx) => {
      const offer = await lockOffer(trx, seller, id)
      if (offer === undefined) throw new AppError('not_found')
      twin = offer
      const at = ctx.clock.now()
      const payoutChange = await noteNewAddress(ctx, trx, offer, set)
      await storeOffer(trx, id, { ...set, ...payoutChange, ...changeByEvent(offer, event) }, at)
      if (event === 'activate') await planProbe(trx, id, at + FIRST_PROBE_MS)
      return readOffer({ ...ctx, db: trx }, seller, id)
    }, changeTo)
  await orTwin(ctx, seller, () => twin, change)
  await ctx.publication.publishOffers([before.model])
  return readOffer(ctx, seller, id)
}

/** A new payout address is paid only after its cooling time, and its seller is notified at once. */
async function noteNewAddress(
  ctx: Pick<RunCtx, 'clock' | 'ids' | 'settings'>,
  trx: Trx,
  { id, sellerAccount: seller, payoutAddress: from }: StoredOffer,
  { payoutAddress: to }: OfferChange,
): Promise<OfferChange> {
  if (to === undefined || to === from) return {}
  return { payoutAddressSince: await notePayee(ctx, trx, { seller, offer: id, from, to }) }
}
