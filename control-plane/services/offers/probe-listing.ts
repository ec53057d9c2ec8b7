import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ProbeResult, ProbeTarget } from '#control-plane/ports/provider/probe.ts'
import type { CheckedBaseUrl } from '#control-plane/services/providers/base-url.ts'
import type { ModelFacts } from '#control-plane/services/providers/model-facts.ts'
import { probeManner } from '#control-plane/services/providers/model-facts.ts'
import { probeAs } from '#control-plane/services/providers/probe-as.ts'
import { ProbeCost, shownCost } from '#control-plane/services/providers/probe-cost.ts'
import { probeFailed } from '#control-plane/services/providers/provider-key.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { runsEndpoint } from '#shared/catalog/providers.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { MicroUsd } from '#shared/money.ts'
import { add, microUsd, ZERO } from '#shared/money.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { canServe, needOfEndpoint } from '#shared/protocols/index.ts'
import type { Usage } from '#shared/usage.ts'
import type { Host } from './require-endpoint.ts'

/**
 * Most endpoints of a model that are probed, and the time after which no further probe begins. A probe takes 20 s at
 * most.
 */
const MAX_ASKED = 8
const MAX_ASKING_MS = 30 * SECOND
/** The most that the probes after the first may cost: five cents, by the largest usage of a probe. */
const MAX_FURTHER_COST = microUsd(50_000n)
const MOST_USED: Usage = { input: 256, output: 16 }
/** Endpoints whose probe is a full request, which the provider bills. */
const BILLED: ReadonlySet<Endpoint> = new Set(['chat', 'completions', 'embeddings'])

const RESULTS = ['answered', 'listed', 'refused', 'unclear', 'not_asked'] as const

/** The result of the test call to one endpoint of a model. */
export const EndpointProbeSchema = z
  .object({
    endpoint: z.enum(ENDPOINTS).describe('The endpoint of the test call.'),
    result: z
      .enum(RESULTS)
      .describe(
        '`answered`; `listed`: the provider’s list names the model; `refused`: the model is not sold on this endpoint; `unclear`: the answer shows neither; `not_asked`: beyond the bounds of a test.',
      ),
    latencyMs: Count.nullable().describe('Null without a successful answer.'),
    costUsd: ProbeCost.describe('Approximate US dollars at the list price; null where the price is unknown.'),
    reason: z.string().nullable().describe('The provider’s refusal in words; null without one.'),
  })
  .meta({ id: 'EndpointProbe', description: 'The result of the test call to one endpoint of a model.' })
export type EndpointProbe = z.infer<typeof EndpointProbeSchema>

/** The members of an answer that report the results and the cost of its test calls. */
export const PROBE_FIELDS = {
  probeCostUsd: ProbeCost.optional(),
  probes: z.array(EndpointProbeSchema).readonly().optional(),
}

/** The seller's key at a host, and the model that is to be sold there. */
export type ListingTarget = Omit<ProbeTarget, 'endpoint' | 'providerModel'> & {
  readonly provider: Provider
  readonly facts: ModelFacts
  readonly providerModel: string
}

/** Test calls to every endpoint on which an offer would be sold, and the protocol in which they were answered. */
export type ProbedListing = {
  readonly apiFormat: ProtocolName
  readonly probes: readonly EndpointProbe[]
  /** The sum of their costs. Null when a cost is unknown. */
  readonly cost: MicroUsd | null
  readonly providerModel: string
  /** Endpoints that the provider does not serve. */
  readonly without: readonly Endpoint[]
  /** The refusal that ends the listing. */
  readonly refusal?: Refused
}

type Refused = Extract<ProbeResult, { isAccepted: false }>

/**
 * Probes a model on each endpoint on which an offer of it would be sold, a chat first. The listing is refused when the
 * first endpoint or the key is refused, and when a billed endpoint gives no answer at the moment. The offer is not sold
 * on any other endpoint that the provider refuses.
 */
export async function probeListing(
  ctx: Pick<Ctx, 'clock' | 'probe'>,
  { provider, facts, ...target }: ListingTarget,
): Promise<ProbedListing> {
  const { priceOf } = facts
  const { providerModel } = target
  const { callsTools } = probeManner(facts)
  const sold = soldEndpoints(facts, { provider, apiFormat: target.apiFormat })
  const until = ctx.clock.now() + MAX_ASKING_MS
  const { apiFormat, result } = await probeAs(ctx, { ...target, endpoint: sold[0], callsTools })
  // The protocol that the provider speaks may have fewer endpoints.
  const endpoints = sold.filter((endpoint, at) => at === 0 || canServe({ apiFormat }, needOfEndpoint(endpoint)))
  const probes: EndpointProbe[] = []
  const without: Endpoint[] = []
  let [cost, further]: [MicroUsd | null, MicroUsd] = [ZERO, ZERO]
  for (const [at, endpoint] of endpoints.entries()) {
    const isBilled = BILLED.has(endpoint)
    const most = at > 0 && isBilled ? priceOf(MOST_USED) : ZERO
    const isWithin = most !== null && add(further, most) <= MAX_FURTHER_COST
    if (!isWithin || at >= MAX_ASKED || (at > 0 && ctx.clock.now() > until)) {
      probes.push({ endpoint, result: 'not_asked', latencyMs: null, costUsd: 0, reason: null })
      continue
    }
    further = add(further, most)
    // A list of models names no endpoints, so each further endpoint gets a probe of its own.
    const probeResult = at === 0 ? result : await ctx.probe({ ...target, apiFormat, endpoint, asksModel: 'any' })
    const probePrice = probeResult.isAccepted ? priceOf(probeResult.usage) : ZERO
    cost = cost === null || probePrice === null ? null : add(cost, probePrice)
    const isRefused = at === 0 || isBilled || (!probeResult.isAccepted && isAbsent(probeResult))
    probes.push(viewProbe(endpoint, probeResult, { paid: probePrice, isRefused }))
    if (probeResult.isAccepted) continue
    if (at === 0 || probeResult.isOfKey === true || (isBilled && isOfTheMoment(probeResult))) {
      return { apiFormat, providerModel, probes, cost, without, refusal: probeResult }
    }
    if (isRefused) without.push(endpoint)
  }
  return { apiFormat, providerModel, probes, cost, without }
}

/** The endpoints of a model that a host and its protocol serve, a chat first. A chat for an unknown model. */
function soldEndpoints({ model }: ModelFacts, { provider, apiFormat }: Host): [Endpoint, ...Endpoint[]] {
  const endpoints = model?.endpoints ?? []
  const sold = endpoints.filter((one) => runsEndpoint(provider, one) && canServe({ apiFormat }, needOfEndpoint(one)))
  const [first = endpoints[0] ?? 'chat', ...others] = sold.sort((left, right) => rankOf(left) - rankOf(right))
  return [first, ...others]
}

const rankOf = (endpoint: Endpoint) => (endpoint === 'chat' ? 0 : 1)

type Shown = { readonly paid: MicroUsd | null; readonly isRefused: boolean }

function viewProbe(endpoint: Endpoint, probeResult: ProbeResult, { paid, isRefused }: Shown): EndpointProbe {
  const costUsd = shownCost(paid)
  if (probeResult.isAccepted) {
    const result = probeResult.isListed === true ? 'listed' : 'answered'
    return { endpoint, result, latencyMs: probeResult.latencyMs, costUsd, reason: null }
  }
  return { endpoint, result: isRefused ? 'refused' : 'unclear', latencyMs: null, costUsd, reason: probeResult.reason }
}

/**
 * True when the provider has no such path. Any other refusal of a probe without a required member may concern that
 * member.
 */
function isAbsent({ status }: Refused): boolean {
  return status === 404 || status === 405 || status === 410 || status === 501
}

/** True for a refusal that may be gone later. */
function isOfTheMoment({ status, isRate }: Refused): boolean {
  return status === null || isRate === true || (status >= 500 && status !== 501)
}

/** The error for a seller whose provider ends a listing, with the cost of the test calls. */
export function listingRefused(base: CheckedBaseUrl, probed: ProbedListing, refusal: Refused): AppError {
  const { probes, cost, providerModel } = probed
  const error = probeFailed(base, refusal)
  const endpoint = probes.at(-1)?.endpoint
  const hint = ` The test call named the model ${providerModel}. If the provider has another name for it, give that name (provider_model).`
  return new AppError(error.code, {
    message: refusal.status === 404 ? error.message + hint : error.message,
    detail: { ...error.detail, endpoint, probe_cost_usd: shownCost(cost) },
  })
}
