import type { Model } from '#shared/catalog/model.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { runsModel } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'
import type { Speaker } from '#shared/protocols/index.ts'
import { canServe, needOfEndpoint } from '#shared/protocols/index.ts'

/** A provider and the protocol that it speaks. */
export type Host = Speaker & { readonly provider: Provider }

/** Throws `model_capability_unsupported` for an offer that no call could use. */
export function requireEndpoint(host: Host, model: Pick<Model, 'endpoints'>): void {
  const refusal = refusalOfEndpoints(host, model)
  if (refusal !== undefined) throw refusal
}

/** The refusal of an offer that no call could use. Undefined when host and protocol serve an endpoint of the model. */
export function refusalOfEndpoints(
  { provider, apiFormat }: Host,
  { endpoints }: Pick<Model, 'endpoints'>,
): AppError | undefined {
  const spoken = endpoints.filter((endpoint) => canServe({ apiFormat }, needOfEndpoint(endpoint)))
  if (spoken.length === 0) {
    return new AppError('model_capability_unsupported', {
      message: `The protocol ${apiFormat} cannot serve ${endpoints.join(', ')}, which the model needs.`,
      param: 'apiFormat',
      detail: { api_format: apiFormat, model_endpoints: endpoints },
    })
  }
  if (provider.endpoints === null || runsModel(provider, { endpoints: spoken })) return undefined
  return new AppError('model_capability_unsupported', {
    message: `The host of ${provider.name} runs ${provider.endpoints.join(', ')}. The model needs ${endpoints.join(', ')}.`,
    param: 'model',
    detail: { provider: provider.id, provider_endpoints: provider.endpoints, model_endpoints: endpoints },
  })
}
