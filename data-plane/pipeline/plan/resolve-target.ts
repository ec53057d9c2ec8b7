import type { Demand, ForwardDemand, ForwardTarget, ModelDemand, ModelTarget, Target } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { Market } from '#data-plane/store/market.ts'
import { didYouMean } from '#shared/closest-name.ts'
import { soldName } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import { priceAt } from '#shared/price-list.ts'

const MAX_SHOWN_NAME = 160

/**
 * Finds the target of a call, and the price that applies to it whatever is published meanwhile. `at` is the instant of
 * the call in Unix milliseconds, which decides conditions of time. Throws AppError: `unknown_model`;
 * `no_sellers_for_model` when no price is set.
 */
export function resolveTarget(market: Market, demand: Demand, at: number): Target {
  switch (demand.kind) {
    case 'model':
      return resolveModel(market, demand, at)
    case 'resource':
    case 'family':
      return resolveForward(demand)
  }
}

/** The form of a demand that its model can serve. */
export function suitableDemand(market: Market, demand: Demand): Demand {
  if (demand.kind !== 'model' || demand.otherwise === undefined) return demand
  const model = market.resolve(demand.model)
  return model === undefined || model.endpoints.includes(demand.endpoint) ? demand : demand.otherwise
}

function resolveModel(market: Market, demand: ModelDemand, at: number): ModelTarget {
  const model = market.resolve(demand.model)
  if (!model) {
    const shownName = JSON.stringify(demand.model.slice(0, MAX_SHOWN_NAME))
    throw new AppError('unknown_model', {
      message: `The model ${shownName} does not exist.${didYouMean(demand.model, market.prices.keys())}`,
      param: 'model',
    })
  }
  const { id } = model
  const price = market.prices.get(id)
  if (!price) throw nobodySells({ kind: 'model', id })
  const { model: requestedName, endpoint } = demand
  return { kind: 'model', id, listing: id, requested: requestedName, price: priceAt(price, at), model, endpoint }
}

/** The record that parsed the request also set the price. */
function resolveForward({ kind, name, endpoint, good, price }: ForwardDemand): ForwardTarget {
  const id = soldName({ kind, id: name })
  return { kind, name, endpoint, good, price, id, listing: name, requested: good ?? name }
}

/** The refusal of a target without offers. `message` and `detail` add to it. */
export function nobodySells(
  { kind, id }: Pick<Target, 'kind' | 'id'>,
  {
    message,
    detail,
  }: { readonly message?: string | undefined; readonly detail?: Readonly<Record<string, unknown>> } = {},
): AppError {
  const code = kind === 'model' ? 'no_sellers_for_model' : 'no_resource_offer'
  const param = kind === 'model' ? { param: 'model' } : {}
  return new AppError(code, { ...param, ...(message !== undefined && { message }), detail: { [kind]: id, ...detail } })
}

/** Throws `model_not_allowed` when the payer's key lists models without this one. */
export function checkAllowed(market: Market, target: Target, payer: Payer | undefined): void {
  const modelsAllowed = payer?.modelsAllowed ?? null
  if (modelsAllowed === null) return
  // A key that is limited to some models buys nothing else.
  const isAllowed = target.kind === 'model' && modelsAllowed.some((name) => market.resolve(name)?.id === target.id)
  if (!isAllowed)
    throw new AppError('model_not_allowed', {
      ...(target.kind === 'model' ? { param: 'model' } : {}),
      detail: { limit_source: 'key_models', limit_scope: 'key', resets_at: null },
    })
}
