import { findModelBody } from '#control-plane/db/market-book.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'

const Body = ModelSchema.pick({ endpoints: true })

/** The endpoint on which a probe asks for a model: a chat where it converses or nobody knows it, else its first one. */
export async function probeEndpoint(ctx: Pick<Ctx, 'db'>, model: string): Promise<Endpoint> {
  const body = await findModelBody(ctx.db, model)
  const endpoints = body === undefined ? [] : Body.parse(body).endpoints
  return endpoints.find((endpoint) => endpoint === 'chat') ?? endpoints[0] ?? 'chat'
}
