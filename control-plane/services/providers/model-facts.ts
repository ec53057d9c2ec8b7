import type { z } from 'zod'
import { listPricesAt } from '#control-plane/db/catalog.ts'
import { listNamedBodies } from '#control-plane/db/market-book.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { callsToolsThinking, ModelSchema } from '#shared/catalog/model.ts'
import type { PriceOfProbe } from './probe-cost.ts'
import { priceOfProbes } from './probe-cost.ts'

const Body = ModelSchema.pick({ id: true, endpoints: true, features: true, parameters: true })

/** The part of a model that a listing and a probe need. Undefined for a name that the market does not know. */
export type ModelFacts = {
  readonly model: z.infer<typeof Body> | undefined
  readonly priceOf: PriceOfProbe
}

/** The facts of models by any of their names, in two statements for any number of models. */
export async function readModelFacts(
  ctx: Pick<Ctx, 'db' | 'clock'>,
  names: readonly string[],
): Promise<(name: string) => ModelFacts> {
  const at = ctx.clock.now()
  const rows = await listNamedBodies(ctx.db, names)
  const models = new Map(rows.map(({ alias, body }) => [alias, Body.parse(body)]))
  const ids = [...new Set([...models.values()].map(({ id }) => id))]
  const rowsOfPrices = ids.length === 0 ? [] : await listPricesAt(ctx.db, at, ids)
  const prices = new Map(rowsOfPrices.map((row) => [row.model, row]))
  return (name) => {
    const model = models.get(name.toLowerCase())
    return { model, priceOf: priceOfProbes(model && prices.get(model.id), at) }
  }
}

/** The facts of one model. */
export async function readFactsOf(ctx: Pick<Ctx, 'db' | 'clock'>, name: string): Promise<ModelFacts> {
  return (await readModelFacts(ctx, [name]))(name)
}

/** The endpoint and the tools of a model's probe. */
export type ProbeManner = { readonly endpoint: Endpoint; readonly callsTools: boolean }

/**
 * The manner of a probe: a chat for a conversational or unknown model, with tools for a model that calls tools while it
 * reasons.
 */
export function probeManner({ model }: ModelFacts): ProbeManner {
  const endpoints = model?.endpoints ?? []
  const endpoint = endpoints.find((one) => one === 'chat') ?? endpoints[0] ?? 'chat'
  return { endpoint, callsTools: model !== undefined && callsToolsThinking(model) }
}
