import { findModelBody } from '#control-plane/db/market-book.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { callsToolsThinking, ModelSchema } from '#shared/catalog/model.ts'

const Body = ModelSchema.pick({ endpoints: true, features: true, parameters: true })

/** The endpoint and the tools with which a probe asks for a model. */
export type ProbeManner = { readonly endpoint: Endpoint; readonly callsTools: boolean }

/** The manner of a probe for a model that is to be used, with tools where it calls them while it thinks. */
export async function probeManner(ctx: Pick<Ctx, 'db'>, model: string): Promise<ProbeManner> {
  const found = await findModelBody(ctx.db, model)
  const body = found === undefined ? undefined : Body.parse(found)
  const endpoints = body?.endpoints ?? []
  const endpoint = endpoints.find((one) => one === 'chat') ?? endpoints[0] ?? 'chat'
  return { endpoint, callsTools: body !== undefined && callsToolsThinking(body) }
}

/** The endpoint on which a probe asks for a model: a chat where it converses or nobody knows it, else its first one. */
export async function probeEndpoint(ctx: Pick<Ctx, 'db'>, model: string): Promise<Endpoint> {
  return (await probeManner(ctx, model)).endpoint
}
