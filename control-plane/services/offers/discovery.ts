import { z } from 'zod'
import { listModelBodies, listPricesAt } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { choosePlace, noList, PlaceInput, probeFailed } from '#control-plane/services/providers/provider-key.ts'
import { linesOf, UnitPriceList } from '#control-plane/services/view-fields.ts'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { createResolver } from '#shared/catalog/resolve.ts'
import { modelPrices } from '#shared/market-view.ts'
import { KEEP_ALL } from '#shared/money.ts'
import { isFloor } from '#shared/price-units.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import type { Host } from './require-endpoint.ts'
import { refusalOfEndpoints } from './require-endpoint.ts'

/** Most models of a provider in one answer. */
const MAX_REPORTED = 5_000
const MICRO_PER_DOLLAR = 1e6

/** A model of a provider. Reference prices are US dollars; null for a model without one. */
export const DiscoveredModelSchema = z
  .object({
    /** The canonical id of a model that the market knows; otherwise the provider's name for it. */
    model: z.string().describe('The canonical id where the market knows the model, else the name of the provider.'),
    /** True when it can be listed on this market. */
    supported: z.boolean(),
    pricing: z.object({
      inputPer1m: z.number().nullable(),
      outputPer1m: z.number().nullable(),
      priceUnit: z.string().nullable().describe('`M` for a million tokens, or the unit in which media are sold.'),
      unitPrice: z.number().nullable().describe('The price of one unit of media; null for tokens.'),
      unitPrices: UnitPriceList,
      priceVariable: z.boolean().describe('True when calls can cost more than these prices.'),
    }),
    metadata: z.object({
      providerModelId: z.string(),
      modelType: z.string().nullable(),
      availabilityStatus: z.enum(['available', 'unknown_model', 'no_reference_price', 'not_run_there']),
    }),
  })
  .meta({ id: 'DiscoveredModel', description: 'A model that a provider key can call, with its known prices.' })
export type DiscoveredModel = z.infer<typeof DiscoveredModelSchema>

/**
 * Lists the models that a provider serves for a key, with the market's data on each. The key is not stored. Throws
 * `provider_probe_failed` when the provider answers no list or refuses the key, and `invalid_request` for a protocol
 * that has no list.
 */
export const discoverModels = defineOperation({
  name: 'provider.discover',
  summary: 'List the models of a provider',
  about: 'We do not store the key.',
  example: { apiKey: 'sk-example-provider-key', sellerBaseUrl: 'https://api.example.com/v1' },
  access: 'seller',
  input: z.strictObject(PlaceInput),
  limit: 'probe',
  isAudited: false,
  idempotency: 'none',
  output: linesOf(DiscoveredModelSchema),
  run: async (ctx, actor, input): Promise<AsyncIterable<DiscoveredModel>> => {
    const { base, key } = await choosePlace(ctx, actor.account, input)
    const models = await ctx.listModels({ baseUrl: base.url, apiFormat: input.apiFormat, apiKey: key.secret })
    if (!models.isAccepted) throw models.isUnlisted === true ? noList(input) : probeFailed(base, models)
    const host = { provider: base.provider, apiFormat: input.apiFormat }
    return tellModels(await readCatalog(ctx), host, models.models)
  },
})

type Catalog = {
  readonly resolve: (name: string) => Model | undefined
  readonly prices: ReadonlyMap<string, UnitPrices>
}

async function readCatalog(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<Catalog> {
  const [bodies, prices] = await Promise.all([listModelBodies(ctx.db), listPricesAt(ctx.db, ctx.clock.now())])
  const models = bodies.map((body) => ModelSchema.parse(body))
  return {
    resolve: createResolver(models),
    prices: new Map(prices.map(({ model, unitPrices }) => [model, UnitPricesSchema.parse(unitPrices)])),
  }
}

async function* tellModels(
  catalog: Catalog,
  host: Host,
  listedNames: ReadonlySet<string>,
): AsyncGenerator<DiscoveredModel> {
  let notified = 0
  for (const name of listedNames) {
    if (++notified > MAX_REPORTED) return
    yield describe(catalog, host, name)
  }
}

function describe({ resolve, prices }: Catalog, host: Host, name: string): DiscoveredModel {
  const model = resolve(name)
  const unitPrices = model && prices.get(model.id)
  const availabilityStatus = availabilityOf(host, model, unitPrices)
  return {
    model: model?.id ?? name,
    supported: availabilityStatus === 'available',
    pricing: pricingOf(model ?? NO_UNIT, unitPrices),
    metadata: { providerModelId: name, modelType: model?.endpoints[0] ?? null, availabilityStatus },
  }
}

const NO_UNIT = { mediaUnit: null }

function availabilityOf(
  host: Host,
  model: Model | undefined,
  unitPrices: UnitPrices | undefined,
): DiscoveredModel['metadata']['availabilityStatus'] {
  if (model === undefined) return 'unknown_model'
  if (unitPrices === undefined) return 'no_reference_price'
  return refusalOfEndpoints(host, model) === undefined ? 'available' : 'not_run_there'
}

function pricingOf(model: Pick<Model, 'mediaUnit'>, unitPrices: UnitPrices | undefined): DiscoveredModel['pricing'] {
  const { input, output, mediaUnit, unitPrices: shownUnitPrices } = modelPrices(model, unitPrices ?? {}, KEEP_ALL)
  const isByTokens = input !== null || output !== null
  return {
    inputPer1m: dollars(input),
    outputPer1m: dollars(output),
    priceUnit: isByTokens ? 'M' : mediaUnit,
    unitPrice: isByTokens ? null : (shownUnitPrices[0]?.usd ?? null),
    unitPrices: shownUnitPrices,
    priceVariable: unitPrices !== undefined && isFloor(unitPrices),
  }
}

function dollars(micro: bigint | null): number | null {
  return micro === null ? null : Number(micro) / MICRO_PER_DOLLAR
}
