import { z } from 'zod'
import type { StoredLentOffer } from '#control-plane/db/lent-offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { viewCap } from '#control-plane/services/view-cap.ts'
import { TRAIT_PROVENANCES } from '#shared/catalog/resources.ts'
import { keptToPercent } from '#shared/discount.ts'
import { keptBps } from '#shared/money.ts'
import { claimedTraits } from './claimed-traits.ts'

export const LentTraitSchema = z.object({ name: z.string(), provenance: z.enum(TRAIT_PROVENANCES) })

/** A lent key for its seller, without the key or a part of it. Instants are Unix milliseconds. */
export const LentOfferViewSchema = z
  .object({
    id: z.string(),
    resourceType: z.string(),
    discountPercent: z.number(),
    active: z.boolean(),
    status: z.enum(['active', 'paused', 'delisted']),
    delistedReason: z.string().nullable(),
    healthy: z.boolean(),
    consecutiveFailures: z.number(),
    backedOffUntil: z.number().nullable(),
    label: z.string().nullable(),
    capDailyUsd: z.number().nullable(),
    capDailyRemainingUsd: z.number().nullable(),
    models: z.array(z.string()).readonly().nullable(),
    methods: z.array(z.string()).readonly().nullable(),
    paths: z.array(z.string()).readonly().nullable(),
    ratePerMinute: z.number().nullable(),
    buyerSharePct: z.number().nullable(),
    traits: z.array(LentTraitSchema).readonly(),
    /** The instant at which the key was destroyed. */
    purgedAt: z.number().nullable(),
    createdAt: z.number(),
    updatedAt: z.number(),
  })
  .meta({ id: 'KeyOffer', description: 'A provider key that a seller lends, with its scope, price, caps and health.' })
export type LentOfferView = z.infer<typeof LentOfferViewSchema>

export type LentViewCtx = Pick<Ctx, 'db' | 'clock' | 'liveOffers'>

/** Adds the health and the remaining caps to lent keys, in the given order. */
export async function viewLentOffers(ctx: LentViewCtx, offers: readonly StoredLentOffer[]): Promise<LentOfferView[]> {
  if (offers.length === 0) return []
  const capped = offers.filter(({ capDailyMicro }) => capDailyMicro !== null).map(({ id }) => id)
  const [health, usedMicro] = await Promise.all([
    ctx.liveOffers.health(offers.map(({ id }) => id)),
    ctx.liveOffers.capTaken(capped),
  ])
  const now = ctx.clock.now()
  return offers.map((offer) => {
    const record = health.get(offer.id)
    const backedOffUntil = record?.backedOffUntil ?? null
    return {
      ...viewFacts(offer),
      ...viewCap(offer.capDailyMicro, usedMicro.get(offer.id) ?? 0n),
      healthy: backedOffUntil === null || backedOffUntil <= now,
      consecutiveFailures: record?.consecutiveFailures ?? 0,
      backedOffUntil,
    }
  })
}

function viewFacts(offer: StoredLentOffer) {
  const { id, status, delistedReason, label, models, methods, paths, ratePerMinute, buyerSharePct } = offer
  return {
    id,
    status,
    delistedReason,
    label,
    models,
    methods,
    paths,
    ratePerMinute,
    buyerSharePct,
    resourceType: offer.resource,
    discountPercent: keptToPercent(keptBps(offer.keptBps)),
    active: status === 'active',
    traits: claimedTraits(offer),
    purgedAt: offer.purgedAt?.getTime() ?? null,
    createdAt: offer.createdAt.getTime(),
    updatedAt: offer.updatedAt.getTime(),
  }
}
