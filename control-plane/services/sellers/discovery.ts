import { z } from 'zod'
import { listModelBodies, listPricesAt } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { choosePlace, PlaceInput, probeFailed } from '#control-plane/services/providers/provider-key.ts'
import { linesOf } from '#control-plane/services/view-fields.ts'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema, servedEndpoints } from '#shared/catalog/model.ts'
import { createResolver } from '#shared/catalog/resolve.ts'
import { mediaPricesInDollars, tokenPrices } from '#shared/market-view.ts'
import { KEEP_ALL } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { dearestInput, dearestOutput, UnitPricesSchema } from '#shared/pricing.ts'

/** Most models of a provider in one answer. */
const MAX_TOLD = 5_000
const MICRO_PER_DOLLAR = 1e6

/** One model of a provider. Reference prices are US dollars; null means there is none. */
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
      priceVariable: z.boolean().describe('True when the figures are a floor: calls can cost more than they say.'),
    }),
    metadata: z.object({
      providerModelId: z.string(),
      modelType: z.string().nullable(),
      availabilityStatus: z.enum(['available', 'unknown_model', 'no_reference_price', 'not_sold_yet']),
    }),
  })
  .meta({ id: 'DiscoveredModel' })
export type DiscoveredModel = z.infer<typeof DiscoveredModelSchema>

/**
 * Lists the models that a provider serves for a key, with the market's data on each. The key is not stored. Throws
 * `provider_probe_failed` when the provider has no list or refuses the key.
 */
export const discoverModels = defineOperation({
  name: 'provider.discover',
  access: 'seller',
  input: z.strictObject(PlaceInput),
  limit: 'probe',
  isAudited: false,
  idempotency: 'none',
  output: linesOf(DiscoveredModelSchema),
  run: async (ctx, actor, input): Promise<AsyncIterable<DiscoveredModel>> => {
    const { base, key } = await choosePlace(ctx, actor.account, input)
    const listed = await ctx.listModels({ baseUrl: base.url, apiFormat: input.apiFormat, apiKey: key.secret })
    if (!listed.isAccepted) throw probeFailed(base, listed)
    return tellModels(await readCatalog(ctx), listed.models)
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

async function* tellModels(catalog: Catalog, listed: ReadonlySet<string>): AsyncGenerator<DiscoveredModel> {
  let told = 0
  for (const name of listed) {
    if (++told > MAX_TOLD) return
    yield describe(catalog, name)
  }
}

function describe({ resolve, prices }: Catalog, name: string): DiscoveredModel {
  const model = resolve(name)
  const unitPrices = model === undefined ? undefined : prices.get(model.id)
  const tokens = tokenPrices(unitPrices ?? {}, KEEP_ALL)
  const media = tokens.input === null ? Object.values(mediaPricesInDollars(unitPrices ?? {}, KEEP_ALL))[0] : undefined
  const isSold = unitPrices !== undefined && model !== undefined && servedEndpoints(model).length > 0
  const reason =
    model === undefined ? 'unknown_model' : unitPrices === undefined ? 'no_reference_price' : 'not_sold_yet'
  return {
    model: model?.id ?? name,
    supported: isSold,
    pricing: {
      inputPer1m: dollars(tokens.input),
      outputPer1m: dollars(tokens.output),
      priceUnit: unitPrices === undefined ? null : (model?.mediaUnit ?? 'M'),
      unitPrice: media ?? null,
      priceVariable: unitPrices !== undefined && tokens.input !== null && isFloor(unitPrices),
    },
    metadata: {
      providerModelId: name,
      modelType: model?.endpoints[0] ?? null,
      availabilityStatus: isSold ? 'available' : reason,
    },
  }
}

/** True when something beside input and output is billed for more than they are. */
function isFloor(prices: UnitPrices): boolean {
  const { input, output } = prices
  const isDearer = dearestInput(prices) > (input ?? 0n) || dearestOutput(prices) > (output ?? 0n)
  return isDearer || Object.keys(mediaPricesInDollars(prices, KEEP_ALL)).length > 0
}

function dollars(micro: bigint | null): number | null {
  return micro === null ? null : Number(micro) / MICRO_PER_DOLLAR
}
