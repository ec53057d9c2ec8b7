import { invoke } from '#control-plane/operation/invoke.ts'
import { putResource } from '#control-plane/services/catalog/resources.ts'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import type { TestMarket } from './control-plane.ts'
import { operator } from './control-plane.ts'
import { newProviderKey } from './offers.ts'

/** The resource under which the tests lend keys of the market's sample provider. */
export const LENT_RESOURCE = 'sample'

/** Adds that resource to the market. */
export async function putSampleResource(market: TestMarket): Promise<void> {
  const record: ResourceInput = {
    id: LENT_RESOURCE,
    kind: 'resource',
    name: 'Sample',
    unit: 'per call',
    style: 'path',
    hosts: [{ role: 'api', baseUrl: market.provider.url }],
    credential: { header: 'authorization', prefix: 'Bearer ' },
    probe: { host: 'api', path: '/models', accepts: [200] },
    goods: [{ id: 'call', prices: { calls: '0.01' } }],
    routes: [
      {
        id: 'chat',
        title: 'Chat',
        kind: 'sale',
        methods: ['POST'],
        host: 'api',
        path: '/chat/completions',
        good: 'call',
        quote: { calls: '1' },
      },
    ],
  }
  await invoke(market.plane, operator, putResource, { record, source: 'test' })
}

/** A seller's request to lend a key, with names in camelCase. Each has a key that no other offer has. */
export const lentKeyInput = () => ({
  resourceType: LENT_RESOURCE,
  apiKey: newProviderKey(),
  discountPercent: 30,
  ackPersistsState: true,
  ackProviderTerms: true,
})

/** The same request as a body of REST. */
export function lentBody() {
  const { resourceType, apiKey, discountPercent } = lentKeyInput()
  return {
    resource_type: resourceType,
    api_key: apiKey,
    discount_percent: discountPercent,
    ack_persists_state: true,
    ack_provider_terms: true,
  }
}
