import { z } from 'zod'
import type { Endpoint } from './model.ts'
import { ENDPOINTS } from './model.ts'
import { createHostList, FileHostsSchema, isHostOrPattern, ProviderHostsSchema } from './provider-hosts.ts'

/** The endpoints that a provider's host serves. Null means every endpoint of its protocol. */
export const ProviderEndpointsSchema = z
  .array(z.enum(ENDPOINTS))
  .min(1)
  .max(ENDPOINTS.length)
  .refine((endpoints) => new Set(endpoints).size === endpoints.length, 'an endpoint is named twice')
  .nullable()

/**
 * A base path of a host in normal form: no trailing slash, no empty or dot segment, no escapes. The empty text is the
 * root.
 */
const BasePathSchema = z
  .string()
  .max(300)
  .regex(/^(?:\/[A-Za-z0-9][\w.~-]{0,63}){0,8}$/)

/** Base paths of a host in addition to its base URL's. Two of them differ by more than their case. */
export const BasePathsSchema = z
  .array(BasePathSchema)
  .max(16)
  .refine((paths) => new Set(paths.map((path) => path.toLowerCase())).size === paths.length, 'a path is named twice')

/** A provider whose capacity sellers may list. */
export const ProviderSchema = z.object({
  /** Slug: `openai`. */
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
  name: z.string().min(1).max(200),
  /**
   * Start of its API, without a trailing slash. Requests go to `{baseUrl}/chat/completions`. Its host may be a pattern:
   * `https://*.openai.azure.com/openai/v1`.
   */
  baseUrl: z.url().max(2_048),
  /** Lower-case host, with a port if given, or a pattern. Hints with a URL are matched by it. */
  host: z.string().min(1).max(300).refine(isHostOrPattern),
  /** Hosts in addition to the base URL's, with the same base paths: names and patterns. */
  hosts: ProviderHostsSchema.default([]),
  /** Default routing uses trusted providers only. */
  isTrusted: z.boolean(),
  costReferenceUrl: z.string().nullable(),
  /** The endpoints that its host serves. A provider without this member serves every endpoint of its protocol. */
  endpoints: ProviderEndpointsSchema.default(null),
  /** The base paths of its hosts in addition to the base URL's. */
  basePaths: BasePathsSchema.default([]),
  /** Further hosts from which the files of its jobs are fetched, without its key. */
  fileHosts: FileHostsSchema.default([]),
})
export type Provider = z.infer<typeof ProviderSchema>

/** The names and patterns of all hosts of a provider, the base URL's first. */
export function hostsOf({ host, hosts }: Pick<Provider, 'host' | 'hosts'>): readonly string[] {
  return [host, ...hosts]
}

/** Every base URL that offers and keys at a provider may have on some of its hosts, in normal form. */
export function baseUrlsOf(
  { baseUrl, basePaths }: Pick<Provider, 'baseUrl' | 'basePaths'>,
  hosts: readonly string[],
): readonly string[] {
  const { protocol, pathname } = new URL(baseUrl)
  const paths = [pathname.replace(/\/$/, ''), ...basePaths]
  return hosts.flatMap((host) => paths.map((path) => `${protocol}//${host}${path}`))
}

/** True when the host of a provider serves an endpoint, by its record. */
export function runsEndpoint({ endpoints }: Pick<Provider, 'endpoints'>, endpoint: Endpoint): boolean {
  return endpoints === null || endpoints.includes(endpoint)
}

/** True when the host of a provider serves at least one endpoint of a model. */
export function runsModel(
  provider: Pick<Provider, 'endpoints'>,
  model: { readonly endpoints: readonly Endpoint[] },
): boolean {
  return model.endpoints.some((endpoint) => runsEndpoint(provider, endpoint))
}

/** Finds the provider that a buyer's hint names by an id, a name, a host or a URL. Undefined without a match. */
export type FindProvider = (hint: string) => Provider | undefined

const MAX_HINT_LENGTH = 2_048

export function createProviderFinder(providers: readonly Provider[]): FindProvider {
  const index = new Map<string, Provider>()
  for (const provider of providers) {
    for (const name of [provider.id, provider.name.toLowerCase(), provider.host, bareHost(provider.host)]) {
      if (!index.has(name)) index.set(name, provider)
    }
  }
  const lists = providers
    .filter(({ host, hosts }) => host.includes('*') || hosts.length > 0)
    .map((provider) => ({ provider, list: createHostList(hostsOf(provider)) }))
  return (hint) => {
    if (hint.length > MAX_HINT_LENGTH) return undefined
    const text = hint.trim().toLowerCase()
    const host = hostOf(text) ?? ''
    return (
      index.get(text) ??
      index.get(host) ??
      index.get(bareHost(host)) ??
      lists.find(({ list }) => list.has(host))?.provider
    )
  }
}

/** Reads the host in a hint, in any spelling. Undefined without one. */
export function hostOf(hint: string): string | undefined {
  try {
    const url = new URL(hint.includes('://') ? hint : `https://${hint}`)
    return url.host
      .toLowerCase()
      .replace(/\.$/, '')
      .replace(/\.(?=:\d+$)/, '')
  } catch {
    return undefined
  }
}

function bareHost(host: string): string {
  return host.replace(/:\d+$/, '')
}
