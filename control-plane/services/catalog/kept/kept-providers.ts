import { z } from 'zod'
import { FileHostsSchema, ProviderHostsSchema } from '#shared/catalog/provider-hosts.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { BasePathsSchema, hostOf, ProviderEndpointsSchema } from '#shared/catalog/providers.ts'
import PROVIDERS from './providers.json' with { type: 'json' }

const ProvidersSchema = z.object({
  providers: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      base_url: z.url(),
      trusted: z.boolean(),
      cost_reference_url: z.url(),
      endpoints: ProviderEndpointsSchema.default(null),
      base_paths: BasePathsSchema.default([]),
      hosts: ProviderHostsSchema.default([]),
      file_hosts: FileHostsSchema.default([]),
    }),
  ),
})

/** The allow-list of real providers that this release knows. */
export function readKeptProviders(): readonly Provider[] {
  return ProvidersSchema.parse(PROVIDERS).providers.map((entry) => ({
    id: entry.id,
    name: entry.name,
    baseUrl: entry.base_url,
    host: hostOf(entry.base_url) ?? '',
    isTrusted: entry.trusted,
    costReferenceUrl: entry.cost_reference_url,
    endpoints: entry.endpoints,
    hosts: entry.hosts,
    basePaths: entry.base_paths,
    fileHosts: entry.file_hosts,
  }))
}
