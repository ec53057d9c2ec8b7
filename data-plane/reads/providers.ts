import type { Provider } from '#shared/catalog/providers.ts'
import type { Read } from './read.ts'

const MAX_AGE_SECONDS = 300

/**
 * `GET /v1/providers`: the allow-list, with the trust flag that default routing uses. `data` has the same entries for
 * OpenRouter's clients.
 */
export const listProviders: Read = ({ market, memory }) => {
  const { providers } = market()
  const json = memory.textOf('providers', [providers], () => allowList(providers))
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

function allowList(providers: readonly Provider[]): string {
  const entries = providers.map(({ id, name, baseUrl, host, isTrusted, costReferenceUrl }) => ({
    id,
    name,
    base_url: baseUrl,
    host,
    trusted: isTrusted,
    cost_reference_url: costReferenceUrl,
    slug: id,
    ...UNKNOWN_OF_PROVIDER,
  }))
  return JSON.stringify({ providers: entries, data: entries })
}

/** Members of OpenRouter's shape without a record here. Its clients require them. */
const UNKNOWN_OF_PROVIDER = {
  privacy_policy_url: null,
  terms_of_service_url: null,
  status_page_url: null,
  headquarters: null,
  datacenters: null,
}
