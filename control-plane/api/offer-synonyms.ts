import { z } from 'zod'
import type { OfferPage } from '#control-plane/services/offers/read.ts'
import type { OfferView } from '#control-plane/services/offers/view.ts'
import { OfferViewSchema } from '#control-plane/services/offers/view.ts'
import { signedPageSchema } from '#control-plane/services/page.ts'

/** An offer in the form that other clients read: its id, its status and its price have a second name each. */
export const NamedOfferSchema = OfferViewSchema.extend({
  offerId: z.string(),
  active: z.boolean(),
  priceInputPer1m: z.number().nullable(),
  priceOutputPer1m: z.number().nullable(),
  mediaUnitPrice: z.number().nullable(),
}).meta({ id: 'Offer', description: 'An offer of a seller: a model at a provider, its price, caps, health and state.' })
export type NamedOffer = z.infer<typeof NamedOfferSchema>

export const NamedOfferPageSchema = signedPageSchema(NamedOfferSchema)

/** Adds the second names. The values are those of the first names. */
export function nameOffer(offer: OfferView): NamedOffer {
  return {
    ...offer,
    offerId: offer.id,
    active: offer.status === 'active',
    priceInputPer1m: offer.effectiveInputPer1m,
    priceOutputPer1m: offer.effectiveOutputPer1m,
    mediaUnitPrice: offer.effectiveMediaUnitPrice,
  }
}

export function nameOfferPage({ items, ...rest }: OfferPage): z.infer<typeof NamedOfferPageSchema> {
  return { ...rest, items: items.map(nameOffer) }
}
