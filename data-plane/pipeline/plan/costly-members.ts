import type { Demand, MarketOffer, Target } from '#data-plane/call.ts'
import type { Market } from '#data-plane/store/market.ts'
import { AppError } from '#shared/errors.ts'
import type { CostlyMember } from '#shared/members/surcharge.ts'
import { isCovered, SURCHARGES } from '#shared/members/surcharge.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'

/** The members of a call that no price of its model covers. Undefined where there are none, as in most calls. */
export function uncoveredMembers(market: Market, demand: Demand): readonly CostlyMember[] | undefined {
  if (demand.kind !== 'model') return undefined
  const { costly } = demand.needs
  if (costly === undefined || costly.length === 0) return undefined
  const model = market.resolve(demand.model)
  const price = model && market.prices.get(model.id)
  // A call for an unknown model or one without a price is refused for that.
  if (model === undefined || price === undefined) return undefined
  // Sellers are not sent a parameter that the model does not list.
  const uncovered = costly.filter((member) => takesMember(model, member.param) && !isCovered(member, { model, price }))
  return uncovered.length === 0 ? undefined : uncovered
}

/** True where an offer's provider would be sent a member that nobody pays for. */
export function reaches({ apiFormat }: Pick<MarketOffer, 'apiFormat'>, { only }: CostlyMember): boolean {
  return only === undefined || only === apiFormat
}

/** The refusal of a call for a member that makes it dearer than any price says. */
export function memberRefusal({ id }: Pick<Target, 'id'>, { param, surcharge }: CostlyMember): AppError {
  return new AppError('unsupported_parameter', {
    message: `${param} asks for ${SURCHARGES[surcharge]}, which no seller of ${id} sells at a known price. Leave it out.`,
    param,
    detail: { surcharge },
  })
}
