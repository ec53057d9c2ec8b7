import type { Provider } from '#shared/catalog/providers.ts'
import type { Read } from './read.ts'

const MAX_AGE_SECONDS = 300

/** `GET /v1/providers`: the allow-list, with the flag by which default routing decides. */
export const listProviders: Read = ({ market, memory }) => {
  const { providers } = market()
  const json = memory.textOf('providers', [providers], () => allowList(providers))
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

function allowList(providers: readonly Provider[]): string {
  return JSON.stringify({
    providers: providers.map(({ id, name, baseUrl, host, isTrusted, costReferenceUrl }) => ({
      id,
      name,
      base_url: baseUrl,
      host,
      trusted: isTrusted,
      cost_reference_url: costReferenceUrl,
    })),
  })
}
