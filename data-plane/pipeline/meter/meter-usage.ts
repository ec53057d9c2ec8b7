import type { AttemptPlan, Demand, Ending, Metered, ModelDemand, ModelPlan, ServedFacts } from '#data-plane/call.ts'
import { forModel } from '#data-plane/wires/wire.ts'
import { isHeardByTokens } from '#shared/heard-audio.ts'
import { likelyImageTokens, mostImageTokens } from '#shared/images.ts'
import { askedRegion, askedSearchContext, askedTier, tierOf } from '#shared/members/surcharge.ts'
import { picoUsd } from '#shared/money.ts'
import type { ServiceTier } from '#shared/price-list.ts'
import { SEARCH_CONTEXTS, unitPricesFor } from '#shared/price-list.ts'
import { unpricedClasses } from '#shared/pricing.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { hasOutput } from '#shared/protocols/answers/reported-usage.ts'
import { splitClasses } from '#shared/protocols/answers/split-classes.ts'
import { isSpokenByTokens } from '#shared/spoken-text.ts'
import type { Usage } from '#shared/usage.ts'
import { inputTokens, sumUsage } from '#shared/usage.ts'
import { asksSearch, clipInput, estimate, paidSearches } from './clip-usage.ts'
import { meterImages } from './meter-images.ts'
import { meterSpeech } from './meter-speech.ts'
import { meterTranscript } from './meter-transcript.ts'
import { meterUnits } from './meter-units.ts'
import { differsFromOwnCost } from './own-cost.ts'

/** Tokens that an answer may count without a byte of text, for its end and its turns. */
const OUTPUT_OVERHEAD_TOKENS = 64
const MAX_ANOMALIES = 10
/** Finish reasons that apply to a whole call when one of its exchanges has them. */
const EARLY_ENDS: readonly string[] = ['cost_ceiling_reached', 'length']

/**
 * Meters an answer. It takes the provider's own figures up to the plausible maximum, otherwise a lower bound from the
 * bytes. An answer without content and without a token of output has no charged usage.
 */
export function meterUsage(plan: AttemptPlan, demand: Demand, ending: Ending): Metered {
  if (demand.kind !== 'model') return meterForwarded(ending)
  const { each, reported } = ending
  if (each !== undefined) return meterEach(plan, demand, each)
  const { price } = plan.target
  const consumed = meterAnswer(forModel(plan), demand, ending)
  const metered = price.unitPrices.calls === undefined ? consumed : countCall(consumed)
  const { ownCost } = reported
  if (ownCost === undefined) return metered
  if (!differsFromOwnCost(price, metered, ownCost)) return { ...metered, ownCost }
  return { ...metered, ownCost, anomalies: [...metered.anomalies.slice(0, MAX_ANOMALIES - 1), 'cost_differs'] }
}

/**
 * Meters each exchange of a call by its own figures and bounds, and adds them up. An exchange without a figure takes
 * none from the others.
 */
function meterEach(plan: AttemptPlan, demand: ModelDemand, each: readonly Ending[]): Metered {
  const exchanges = each.map((ending, place) => {
    const bounds = demand.bounds.each?.[place] ?? demand.bounds
    return meterUsage(plan, { ...demand, bounds }, ending)
  })
  const reasons = exchanges.map(({ finishReason }) => finishReason)
  const usages = exchanges.map(({ usage }) => usage)
  const tier = exchanges[0]?.serviceTier
  // The request asks for the same region and the same amount of search in all exchanges.
  const facts = exchanges.find((exchange) => exchange.facts !== undefined)?.facts
  return {
    usage: sumUsage(usages),
    ...(plan.target.price.overrides !== undefined && { each: usages }),
    ...(tier !== undefined && exchanges.every(({ serviceTier }) => serviceTier === tier) && { serviceTier: tier }),
    ...(facts && { facts }),
    source: exchanges.some(({ source }) => source === 'estimated') ? 'estimated' : 'reported',
    finishReason: EARLY_ENDS.find((reason) => reasons.includes(reason)) ?? reasons[0] ?? null,
    anomalies: [...new Set(exchanges.flatMap(({ anomalies }) => anomalies))].slice(0, MAX_ANOMALIES),
    ...sumOwnCosts(exchanges),
  }
}

/** The provider's own cost of a whole call: the sum of all exchanges, or none. */
function sumOwnCosts(exchanges: readonly Metered[]): Pick<Metered, 'ownCost'> {
  let total = 0n
  for (const { ownCost } of exchanges) {
    if (ownCost === undefined) return {}
    total += ownCost
  }
  return { ownCost: picoUsd(total) }
}

function meterAnswer(plan: ModelPlan, demand: ModelDemand, ending: Ending): Metered {
  const { units, images, speech, audio } = demand.bounds
  if (speech !== undefined && isSpokenByTokens(plan.target.price.unitPrices)) {
    return meterSpeech(plan, demand, speech, ending)
  }
  if (audio !== undefined && isHeardByTokens(plan.target.price.unitPrices)) return meterTranscript(plan, audio, ending)
  if (units !== undefined) return meterUnits(plan.target.price, units, ending)
  if (images !== undefined) return meterImages(plan, demand, images, ending)
  return meterTokens(plan, demand, ending)
}

/** Adds the call itself when it has a price besides its usage. A call without usage is free. */
function countCall(metered: Metered): Metered {
  const { usage } = metered
  const isCounted = usage.calls !== undefined || Object.keys(usage).length === 0
  return isCounted ? metered : { ...metered, usage: { ...usage, calls: 1 } }
}

/** Meters a forwarded answer. Its charged usage was decided when the answer was read. */
function meterForwarded({ forwarded, contentBytes, finishReason }: Ending): Metered {
  if (forwarded === undefined || contentBytes === 0) {
    return { usage: {}, source: 'reported', finishReason, anomalies: [] }
  }
  const { usage, isReported, anomalies } = forwarded
  return { usage, source: isReported ? 'reported' : 'estimated', finishReason, anomalies }
}

function meterTokens(plan: ModelPlan, demand: ModelDemand, ending: Ending): Metered {
  const { maxOutputTokens } = demand.bounds
  const anomalies: string[] = []
  const { reported: reportedUsage, finishReason, contentBytes } = ending
  if (reportedUsage.insaneFields > 0) anomalies.push('usage_insane')
  if (contentBytes === 0 && !hasOutput(reportedUsage)) return { usage: {}, source: 'reported', finishReason, anomalies }

  if (isZero(ending, maxOutputTokens))
    return { usage: {}, source: 'reported', finishReason, anomalies: [...anomalies, 'usage_zero'] }
  if (maxOutputTokens === 0) return meterInput(plan, demand, ending, anomalies)
  const reported = withThoughts(plan, reportedUsage)
  const hasFigures = hasOutput(reported)
  if (reported.outputTokens === 0) anomalies.push('usage_zero')
  if (reported.outputTokens === undefined) anomalies.push('usage_missing')
  if (contentBytes === 0) anomalies.push('content_missing')
  const output = hasFigures
    ? clipOutput(plan, demand, { ...ending, reported }, anomalies)
    : estimateOutput(plan, demand, ending)
  const input =
    reported.inputTokens === undefined ? estimate(demand.bounds.inputBytes) : clipInput(plan, demand, ending, anomalies)
  const pictureTokens = pictureTokensOf(plan, reported, hasFigures)
  const tokens = splitClasses(input, output, { reported, pictureTokens, asksLongCache: asksLongCache(demand) })
  const searches = countSearches(plan, demand, reported, anomalies)
  const usage = searches === 0 ? tokens : { ...tokens, searches }
  const serviceTier = servedTier(demand, reported)
  const facts = plan.target.price.overrides === undefined ? undefined : servedFacts(demand, reported)
  const prices = unitPricesFor(plan.target.price, { ...facts, promptTokens: inputTokens(usage), serviceTier })
  for (const name of unpricedClasses(prices, usage)) anomalies.push(`unpriced_${name}`)
  return {
    usage,
    ...(serviceTier && { serviceTier }),
    ...(facts && { facts }),
    source: hasFigures && reported.inputTokens !== undefined ? 'reported' : 'estimated',
    finishReason,
    anomalies: anomalies.slice(0, MAX_ANOMALIES),
  }
}

/** True for figures that are all zero. The provider bills nothing for such an answer, and so does the market. */
function isZero({ reported, isUnfinished = false }: Ending, maxOutputTokens: number | undefined): boolean {
  const { inputTokens, outputTokens } = reported
  return !isUnfinished && inputTokens === 0 && (outputTokens ?? maxOutputTokens) === 0
}

/** Meters the input alone, for a model without priced output. */
function meterInput(plan: ModelPlan, demand: ModelDemand, ending: Ending, anomalies: string[]): Metered {
  const hasFigures = ending.reported.inputTokens !== undefined
  if (!hasFigures) anomalies.push('usage_missing')
  const input = hasFigures ? clipInput(plan, demand, ending, anomalies) : estimate(demand.bounds.inputBytes)
  const usage: Usage = { input }
  for (const name of unpricedClasses(plan.target.price.unitPrices, usage)) anomalies.push(`unpriced_${name}`)
  return { usage, source: hasFigures ? 'reported' : 'estimated', finishReason: ending.finishReason, anomalies }
}

/**
 * The charged tier: the requested one, when the provider reports that it served it. A provider that reports another
 * tier, or none, served the standard one.
 */
function servedTier({ needs }: ModelDemand, { serviceTier, speed }: ReportedUsage): ServiceTier | undefined {
  const tier = askedTier(needs.costly)
  if (tier === undefined) return undefined
  const isServed = tier === 'fast' ? speed === 'fast' : tierOf(serviceTier) === tier
  return isServed ? tier : undefined
}

/**
 * The charged facts: the requested region, unless the provider reports another one, and the amount of search, which the
 * provider reports when the call does not name it.
 */
function servedFacts({ needs }: ModelDemand, reported: ReportedUsage): ServedFacts | undefined {
  const regionInRequest = askedRegion(needs.costly)
  const { region: reportedRegion = NO_REGION } = reported
  const region = reportedRegion === regionInRequest || reportedRegion === NO_REGION ? regionInRequest : undefined
  const contextInAnswer = SEARCH_CONTEXTS.find((context) => context === reported.searchContext)
  const searchContext = askedSearchContext(needs.costly) ?? contextInAnswer
  if (region === undefined && searchContext === undefined) return undefined
  return { ...(region !== undefined && { region }), ...(searchContext !== undefined && { searchContext }) }
}

/** Anthropic's value when the host decides the region. */
const NO_REGION = 'not_available'

/** The searches that the call pays for: as reported, up to the ordered number. */
function countSearches(
  { target }: ModelPlan,
  demand: ModelDemand,
  { searches }: ReportedUsage,
  anomalies: string[],
): number {
  const most = paidSearches(demand, target.price.unitPrices)
  const searchCount = searches ?? (asksSearch(demand) ? 1 : 0)
  if (searchCount > most && most > 0) anomalies.push('searches_clipped')
  return Math.min(searchCount, most)
}

/** True for a call that orders a prompt cache of an hour or longer. */
export function asksLongCache({ needs }: Pick<ModelDemand, 'needs'>): boolean {
  return needs.costly?.some(({ surcharge }) => surcharge === 'cache_write_long') === true
}

/** Estimates the output, at most the requested amount. */
function estimateOutput(plan: ModelPlan, { bounds }: ModelDemand, { contentBytes, reported }: Ending): number {
  const tokens = estimate(contentBytes) + likelyPictureTokens(plan, reported)
  return Math.min(tokens, plan.maxOutputTokens * bounds.choices)
}

/** The shape of a chat's images: a chat names none. */
const ANY_SHAPE = { size: undefined, resolution: undefined, quality: undefined }

/** Tokens of the images in a conversation's answer, by the catalogue's figures. */
function likelyPictureTokens({ target }: ModelPlan, { images = 0 }: ReportedUsage): number {
  return images === 0 ? 0 : images * likelyImageTokens(target.model.imageOutput, ANY_SHAPE)
}

function mostPictureTokens({ target }: ModelPlan, { images = 0 }: ReportedUsage): number {
  return images === 0 ? 0 : images * mostImageTokens(target.model.imageOutput, ANY_SHAPE)
}

/**
 * The image part of the output: as reported, at most the maximum for so many images. Without a reported part it is the
 * catalogue's figure.
 */
function pictureTokensOf(plan: ModelPlan, reported: ReportedUsage, hasFigures: boolean): number {
  const imageTokens = hasFigures ? reported.imageOutputTokens : undefined
  return imageTokens === undefined
    ? likelyPictureTokens(plan, reported)
    : Math.min(imageTokens, mostPictureTokens(plan, reported))
}

function clipOutput(plan: ModelPlan, demand: ModelDemand, ending: Ending, anomalies: string[]): number {
  const reportedTokens = ending.reported.outputTokens ?? 0
  const limit = plan.maxOutputTokens * demand.bounds.choices + OUTPUT_OVERHEAD_TOKENS
  // A model with hidden reasoning may count more tokens than it shows, and so may one with a predicted output.
  const isHidden = reasons(plan) || demand.bounds.isPredicted === true
  const mostTokens = ending.contentBytes + mostPictureTokens(plan, ending.reported)
  const bound = isHidden ? limit : Math.min(limit, mostTokens + OUTPUT_OVERHEAD_TOKENS)
  if (reportedTokens <= bound) return reportedTokens
  anomalies.push('output_clipped')
  return bound
}

function reasons({ target }: ModelPlan): boolean {
  return target.model.features.includes('reasoning')
}

/** Adds reasoning tokens that only the provider's total includes to the figures of output and reasoning. */
function withThoughts(plan: ModelPlan, reported: ReportedUsage): ReportedUsage {
  const { outputTokens = 0, reasoningTokens = 0, unnamedTokens = 0 } = reported
  if (unnamedTokens === 0 || !reasons(plan)) return reported
  return {
    ...reported,
    outputTokens: outputTokens + unnamedTokens,
    reasoningTokens: reasoningTokens + unnamedTokens,
  }
}
