import type { Demand, Target } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { Market } from '#data-plane/store/market.ts'
import { AppError } from '#shared/errors.ts'

const MAX_SHOWN_NAME = 160

/**
 * The model that a name means and the price by which this call is charged from now on, whatever is published meanwhile.
 * Throws AppError: `unknown_model`, `model_not_allowed`, `no_sellers_for_model` where nobody has set a price.
 */
export function resolveTarget(market: Market, demand: Demand): Target {
  const model = market.resolve(demand.model)
  if (!model) {
    throw new AppError('unknown_model', {
      message: `The model ${JSON.stringify(demand.model.slice(0, MAX_SHOWN_NAME))} does not exist.`,
      param: 'model',
    })
  }
  const price = market.prices.get(model.id)
  if (!price) throw new AppError('no_sellers_for_model', { detail: { model: model.id } })
  return { model, price, endpoint: demand.endpoint, requestedModel: demand.model }
}

/** Throws `model_not_allowed` when the payer's key names models and this is none of them. */
export function checkAllowed(market: Market, target: Target, payer: Payer | undefined): void {
  const allowed = payer?.modelsAllowed ?? null
  if (allowed === null) return
  const isAllowed = allowed.some((name) => market.resolve(name)?.id === target.model.id)
  if (!isAllowed)
    throw new AppError('model_not_allowed', {
      param: 'model',
      detail: { limit_source: 'key_models', limit_scope: 'key', resets_at: null },
    })
}
