import { listBodiesOf } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { runsModel } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'

const Body = ModelSchema.pick({ endpoints: true })

/** Throws `model_capability_unsupported` for a host that runs no endpoint of the model: its offer could serve nobody. */
export async function requireEndpoint(ctx: Pick<Ctx, 'db'>, provider: Provider, model: string): Promise<void> {
  if (provider.endpoints === null) return
  const [body] = await listBodiesOf(ctx.db, [model])
  const { endpoints } = Body.parse(body)
  if (runsModel(provider, { endpoints })) return
  throw new AppError('model_capability_unsupported', {
    message: `The host of ${provider.name} runs ${provider.endpoints.join(', ')}; the model is for ${endpoints.join(', ')}.`,
    param: 'model',
    detail: { provider: provider.id, provider_endpoints: provider.endpoints, model_endpoints: endpoints },
  })
}
