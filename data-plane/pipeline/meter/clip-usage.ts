import type { DemandBounds, Ending, ModelDemand, ModelPlan } from '#data-plane/call.ts'
import type { Model } from '#shared/catalog/model.ts'
import { USUAL_SEARCHES } from '#shared/members/surcharge.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { BYTES_A_TOKEN } from '#shared/usage.ts'

/** Tokens that a provider may add to the input as its own frame around a conversation and its tools. */
export const INPUT_OVERHEAD_TOKENS = 1_024

/** Tokens of the pages that a search brings. Model makers cut results to about this many. */
const SEARCH_TOKENS = 20_000

/** The tokens of this many bytes of text when a provider gives no figure. */
export function estimate(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_A_TOKEN))
}

/**
 * The most input tokens that a model reads of a call. Each exchange and each input has a context of its own, which a
 * part of unknown size may fill. Pages that a search finds are read in addition, turn by turn.
 */
export function readableInput(model: Model, bounds: DemandBounds, searches = 0): number {
  const { each, inputs = 1, inputTokens, inputImages, isOpenEnded = false } = bounds
  if (each !== undefined) return each.reduce((tokens, own) => tokens + readableInput(model, own, searches), 0)
  const window = model.contextLength * inputs
  const askedTokens = isOpenEnded ? window : Math.min(inputTokens + inputImages * model.imageTokens, window)
  return askedTokens + searches * SEARCH_TOKENS
}

/**
 * The most searches that a call pays for. None when they have no price of their own: the price of the call covers them,
 * or no seller gets them.
 */
export function paidSearches({ needs }: Pick<ModelDemand, 'needs'>, prices: UnitPrices): number {
  if (prices.searches === undefined) return 0
  return needs.searches ?? (asksSearch({ needs }) ? USUAL_SEARCHES : 0)
}

/** True for a call with a member that orders a search. A provider without a figure has made one search. */
export function asksSearch({ needs }: Pick<ModelDemand, 'needs'>): boolean {
  return needs.costly?.some(({ surcharge }) => surcharge === 'search') === true
}

/** The input tokens that a provider reports, up to the plausible maximum. */
export function clipInput(
  { target }: ModelPlan,
  demand: ModelDemand,
  { reported }: Ending,
  anomalies: string[],
): number {
  const searches = paidSearches(demand, target.price.unitPrices)
  const bound = readableInput(target.model, demand.bounds, searches) + INPUT_OVERHEAD_TOKENS
  const reportedTokens = reported.inputTokens ?? 0
  if (reportedTokens <= bound) return reportedTokens
  anomalies.push('input_clipped')
  return bound
}
