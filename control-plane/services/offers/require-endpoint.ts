import { listBodiesOf } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { ModelSchema, servedEndpoints } from '#shared/catalog/model.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { runsModel } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'

const Body = ModelSchema.pick({ endpoints: true })

/**
 * Throws `model_capability_unsupported` for a model that no path of the market serves, and for a host that runs no
 * endpoint of the model: its offer could serve nobody.
 */
export async function requireEndpoint(ctx: Pick<Ctx, 'db'>, provider: Provider, model: string): Promise<void> {
  const [body] = await listBodiesOf(ctx.db, [model])
  const { endpoints } = Body.parse(body)
  const served = servedEndpoints({ endpoints })
  if (served.length === 0) {
    throw new AppError('model_capability_unsupported', {
      message: `The model is for ${endpoints.join(', ')}, which the market does not sell yet.`,
      param: 'model',
      detail: { model_endpoints: endpoints },
    })
  }
  if (provider.endpoints === null || runsModel(provider, { endpoints: served })) return
  throw new AppError('model_capability_unsupported', {
    message: `The host of ${provider.name} runs ${provider.endpoints.join(', ')}; the model is for ${endpoints.join(', ')}.`,
    param: 'model',
    detail: { provider: provider.id, provider_endpoints: provider.endpoints, model_endpoints: endpoints },
  })
}
