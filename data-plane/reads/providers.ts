import type { Provider } from '#shared/catalog/providers.ts'
import type { Read } from './read.ts'
import { memoize } from './read.ts'

const MAX_AGE_SECONDS = 300

/** `GET /v1/providers`: the allow-list, with the flag that default routing goes by. */
export const listProviders: Read = ({ market }) => ({
  json: allowList(market().providers),
  maxAgeSeconds: MAX_AGE_SECONDS,
})

const allowList = memoize((providers: readonly Provider[]) =>
  JSON.stringify({
    providers: providers.map(({ id, name, baseUrl, host, isTrusted, costReferenceUrl }) => ({
      id,
      name,
      base_url: baseUrl,
      host,
      trusted: isTrusted,
      cost_reference_url: costReferenceUrl,
    })),
  }),
)
