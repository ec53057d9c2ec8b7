import type { Demand, MarketOffer, Target } from '#data-plane/call.ts'
import type { Market } from '#data-plane/store/market.ts'
import { AppError } from '#shared/errors.ts'
import type { CostlyMember } from '#shared/members/surcharge.ts'
import { allows, askedRegion, askedTier, isCovered, passOf, SURCHARGES } from '#shared/members/surcharge.ts'
import { protocolOf } from '#shared/protocols/index.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import { servedRegions } from '#shared/protocols/served-regions.ts'

/** A costly member of a call, and whether a price of its model covers it. */
export type JudgedMember = CostlyMember & { readonly isCovered: boolean }

/**
 * The members of a call that exclude sellers: those without a price, and those that a seller must allow. Undefined
 * without any, as in most calls.
 */
export function judgeMembers(market: Market, demand: Demand): readonly JudgedMember[] | undefined {
  if (demand.kind !== 'model') return undefined
  const { costly } = demand.needs
  if (costly === undefined || costly.length === 0) return undefined
  const model = market.resolve(demand.model)
  const price = model && market.prices.get(model.id)
  // A call for an unknown model or one without a price is refused for that reason.
  if (model === undefined || price === undefined) return undefined
  const askedService = { tier: askedTier(costly), region: askedRegion(costly) }
  const judged = costly
    // Sellers do not receive a parameter that the model does not list.
    .filter(({ param }) => takesMember(model, param))
    .map((member) => ({ ...member, isCovered: isCovered(member, { model, price }, askedService) }))
    .filter((member) => !member.isCovered || passOf(member.surcharge) !== undefined)
  return judged.length === 0 ? undefined : judged
}

type Speaker = Pick<MarketOffer, 'apiFormat' | 'passes' | 'baseUrl' | 'providerModel'>

/**
 * True when a member excludes an offer: its provider would receive the member, which is unpaid or not allowed. A region
 * belongs to the offer's own host or model, or to a protocol with a member for it.
 */
export function isKeptFrom(offer: Speaker, { only, surcharge, region, isCovered: isPaid }: JudgedMember): boolean {
  if (only !== undefined && !only.includes(offer.apiFormat)) return false
  if (!isPaid) return true
  if (region !== undefined && servedRegions(offer).includes(region)) return false
  const word = passOf(surcharge)
  if (word !== undefined && !allows(offer, word)) return true
  return region !== undefined && protocolOf(offer).chat?.saysRegion !== true
}

/** The refusal of a call for a member that no seller of its target receives. */
export function memberRefusal(
  { id }: Pick<Target, 'id'>,
  { param, surcharge, isCovered: isPaid }: JudgedMember,
): AppError {
  const why = isPaid ? `no seller of ${id} allows` : `no seller of ${id} sells at a known price`
  return new AppError('unsupported_parameter', {
    message: `${param} asks for ${SURCHARGES[surcharge]}, which ${why}. Leave it out.`,
    param,
    detail: { surcharge },
  })
}
