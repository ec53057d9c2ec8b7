import type { Demand, ForwardDemand, ForwardTarget, ModelDemand, ModelTarget, Target } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { Market } from '#data-plane/store/market.ts'
import { AppError } from '#shared/errors.ts'

const MAX_SHOWN_NAME = 160

/**
 * Finds what a call is about, and the price by which it is charged whatever is published meanwhile. Throws AppError:
 * `unknown_model`; `no_sellers_for_model` and `no_resource_offer` when nobody has set a price.
 */
export function resolveTarget(market: Market, demand: Demand): Target {
  switch (demand.kind) {
    case 'model':
      return resolveModel(market, demand)
    case 'resource':
    case 'family':
      return resolveForward(market, demand)
  }
}

/** The form of a demand that its model can serve. */
export function suitableDemand(market: Market, demand: Demand): Demand {
  if (demand.kind !== 'model' || demand.otherwise === undefined) return demand
  const model = market.resolve(demand.model)
  return model === undefined || model.endpoints.includes(demand.endpoint) ? demand : demand.otherwise
}

function resolveModel(market: Market, demand: ModelDemand): ModelTarget {
  const model = market.resolve(demand.model)
  if (!model) {
    throw new AppError('unknown_model', {
      message: `The model ${JSON.stringify(demand.model.slice(0, MAX_SHOWN_NAME))} does not exist.`,
      param: 'model',
    })
  }
  const { id } = model
  const price = market.prices.get(id)
  if (!price) throw nobodySells({ kind: 'model', id })
  return { kind: 'model', id, listing: id, requested: demand.model, price, model, endpoint: demand.endpoint }
}

/**
 * A resource and a family are listed under a name with their kind in front, so that a path that names a model gets none
 * of their offers.
 */
function resolveForward(market: Market, { kind, name, endpoint }: ForwardDemand): ForwardTarget {
  const id = `${kind}/${name}`
  const price = market.prices.get(id)
  if (!price) throw nobodySells({ kind, id })
  return { kind, id, listing: id, requested: name, price, endpoint }
}

/** The refusal of a target that nobody sells. `message` and `detail` say more where there is more to say. */
export function nobodySells(
  { kind, id }: Pick<Target, 'kind' | 'id'>,
  { message, detail }: { readonly message?: string; readonly detail?: Readonly<Record<string, unknown>> } = {},
): AppError {
  const code = kind === 'model' ? 'no_sellers_for_model' : 'no_resource_offer'
  return new AppError(code, { ...(message === undefined ? {} : { message }), detail: { [kind]: id, ...detail } })
}

/** Throws `model_not_allowed` when the payer's key names models and this is none of them. */
export function checkAllowed(market: Market, target: Target, payer: Payer | undefined): void {
  const allowed = payer?.modelsAllowed ?? null
  if (allowed === null) return
  // A key that is limited to some models buys nothing else.
  const isAllowed = target.kind === 'model' && allowed.some((name) => market.resolve(name)?.id === target.id)
  if (!isAllowed)
    throw new AppError('model_not_allowed', {
      ...(target.kind === 'model' ? { param: 'model' } : {}),
      detail: { limit_source: 'key_models', limit_scope: 'key', resets_at: null },
    })
}
