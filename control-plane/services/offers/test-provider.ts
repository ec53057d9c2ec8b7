import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { createLineFeed } from '#control-plane/services/exports/line-feed.ts'
import { ModelName } from '#control-plane/services/input-fields.ts'
import { probeManner, readFactsOf, readModelFacts } from '#control-plane/services/providers/model-facts.ts'
import { probeAs } from '#control-plane/services/providers/probe-as.ts'
import { ProbeCost, shownCost } from '#control-plane/services/providers/probe-cost.ts'
import { choosePlace, noList, PlaceInput } from '#control-plane/services/providers/provider-key.ts'
import { linesOf } from '#control-plane/services/view-fields.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { hasListing } from '#shared/protocols/index.ts'
import { PROBE_FIELDS, probeListing } from './probe-listing.ts'

/** Most models of one test, and models that are probed at once. */
const MAX_TESTED = 50
const ASKED_AT_ONCE = 4

export const ConnectionTestSchema = z
  .union([
    z.object({
      ok: z.literal(true),
      latencyMs: z.number(),
      probeCostUsd: ProbeCost,
    }),
    z.object({
      ok: z.literal(false),
      error: z.string(),
      status: z.number().int().optional(),
    }),
  ])
  .meta({
    id: 'ConnectionTest',
    description: 'The result of a test call: whether the provider answered, its latency, and the cost.',
  })
export type ConnectionTest = z.infer<typeof ConnectionTestSchema>

/**
 * Asks a provider whether it accepts a key, and whether it serves a model if one is named. A refusal is the answer, not
 * an error. The key is not stored. Throws `invalid_request` without a model for a protocol without a list of models.
 */
export const testConnection = defineOperation({
  name: 'provider.test-connection',
  summary: 'Test a provider key',
  about: 'A refusal by the provider is a result, not an error. We do not store the key.',
  example: { apiKey: 'sk-example-provider-key', sellerBaseUrl: 'https://api.example.com/v1' },
  access: 'seller',
  input: z.strictObject({ ...PlaceInput, model: ModelName.optional() }),
  limit: 'probe',
  isAudited: false,
  idempotency: 'none',
  output: ConnectionTestSchema,
  run: async (ctx, actor, input): Promise<ConnectionTest> => {
    const { base, key } = await choosePlace(ctx, actor.account, input)
    const { apiFormat, model: providerModel = null } = input
    if (providerModel === null && !hasListing(input)) throw noList(input)
    const facts = await readFactsOf(ctx, providerModel ?? '')
    const { endpoint } = probeManner(facts)
    const target = { baseUrl: base.url, apiFormat, apiKey: key.secret, providerModel, endpoint }
    const { result } = await probeAs(ctx, target)
    if (result.isAccepted) {
      const { latencyMs, usage } = result
      return { ok: true, latencyMs, probeCostUsd: shownCost(facts.priceOf(usage)) }
    }
    const { status, reason } = result
    return { ok: false, error: reason, ...(status === null ? {} : { status }) }
  },
})

export const HealthTestSchema = z
  .object({
    model: z.string(),
    ok: z.boolean(),
    latencyMs: z.number().optional(),
    ...PROBE_FIELDS,
    error: z.string().optional(),
  })
  .meta({
    id: 'HealthTest',
    description: 'The result of a test call to a model: whether it answered, its latency, and the cost.',
  })
export type HealthTest = z.infer<typeof HealthTestSchema>

/**
 * Tests each model on each of its endpoints, with one token or, for media, with a request that costs nothing, several
 * models at once. Yields each result as it is ready. The key is not stored.
 */
export const testHealth = defineOperation({
  name: 'provider.test-health',
  summary: 'Test models of a provider with one token each',
  about: 'Sends one small call for each endpoint of each model. `probes` has the results, `probe_cost_usd` their cost.',
  example: { apiKey: 'sk-example-provider-key', sellerBaseUrl: 'https://api.example.com/v1', models: ['gpt-5-mini'] },
  access: 'seller',
  input: z.strictObject({ ...PlaceInput, models: z.array(ModelName).min(1).max(MAX_TESTED) }),
  limit: 'probe',
  isAudited: false,
  idempotency: 'none',
  output: linesOf(HealthTestSchema),
  run: async (ctx, actor, input): Promise<AsyncIterable<HealthTest>> => {
    const { base, key } = await choosePlace(ctx, actor.account, input)
    const { apiFormat } = input
    const feed = createLineFeed<HealthTest>()
    const factsOf = await readModelFacts(ctx, input.models)
    const questions = inParallel([...new Set(input.models)], ASKED_AT_ONCE, async (model) => {
      if (feed.isAbandoned()) return
      const place = { baseUrl: base.url, apiFormat, apiKey: key.secret, provider: base.provider }
      const asking = { ...place, facts: factsOf(model), providerModel: model, asksModel: 'any' } as const
      const { refusal, probes, cost } = await probeListing(ctx, asking)
      const line = { model, probeCostUsd: shownCost(cost), probes }
      feed.push(
        refusal === undefined
          ? { ...line, ok: true, latencyMs: probes[0]?.latencyMs ?? 0 }
          : {
              ...line,
              ok: false,
              error: refusal.status === null ? refusal.reason : `${refusal.reason} (${refusal.status})`,
            },
      )
    })
    questions.then(feed.end, feed.fail)
    return feed.lines
  },
})
