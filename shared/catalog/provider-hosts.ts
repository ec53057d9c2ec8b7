import { z } from 'zod'

/** Letters that a customer's own name, and a region of each cloud, may have in the place of a pattern's star. */
const OWN_NAME = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const AWS_REGION = '[a-z]{2}(?:-[a-z]{2,12}){1,2}-[1-9]\\d?'
const GOOGLE_REGION = '[a-z]{2,20}(?:-[a-z]{2,20}[1-9]\\d?)?'

/**
 * The patterns that an operator may write in place of a host, each with the meaning of its star: a part of one DNS
 * label, never a dot. A name does not show whether one provider runs every host below a domain: under `*.amazonaws.com`
 * are buckets that any customer can create (`bedrock-runtime.s3.amazonaws.com` is one), and under `*.co.uk` are hosts
 * of any owner. Any other pattern is refused.
 */
const PATTERNS: ReadonlyMap<string, string> = new Map([
  ['*.openai.azure.com', OWN_NAME],
  ['*.services.ai.azure.com', OWN_NAME],
  ['*.cognitiveservices.azure.com', OWN_NAME],
  ['bedrock-runtime.*.amazonaws.com', AWS_REGION],
  ['bedrock-runtime-fips.*.amazonaws.com', AWS_REGION],
  ['bedrock-runtime.*.api.aws', AWS_REGION],
  ['bedrock-mantle.*.api.aws', AWS_REGION],
  ['*-aiplatform.googleapis.com', GOOGLE_REGION],
  ['aiplatform.*.rep.googleapis.com', GOOGLE_REGION],
])

/** The patterns that an operator may write in place of a host. */
export const HOST_PATTERNS: readonly string[] = [...PATTERNS.keys()]

const MATCHERS: ReadonlyMap<string, RegExp> = new Map(
  [...PATTERNS].map(([pattern, star]) => {
    const [before = '', behind = ''] = pattern.split('*').map((text) => text.replaceAll('.', '\\.'))
    return [pattern, new RegExp(`^${before}${star}${behind}$`)]
  }),
)

/** True for one of {@link HOST_PATTERNS}. */
export function isHostPattern(host: string): boolean {
  return MATCHERS.has(host)
}

/** True for a host without a star, and for one of {@link HOST_PATTERNS}. */
export function isHostOrPattern(host: string): boolean {
  return !host.includes('*') || isHostPattern(host)
}

const HOST = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9]\d{0,4})?$/
const MAX_HOSTS = 16

/** Hosts in normal form: lower case, with a port only if it is not the default. */
export const FileHostsSchema = z
  .array(z.string().max(260).regex(HOST))
  .max(MAX_HOSTS)
  .refine((hosts) => new Set(hosts).size === hosts.length, 'a host is named twice')

/** Hosts in normal form, and patterns of hosts. */
export const ProviderHostsSchema = z
  .array(
    z
      .string()
      .max(260)
      .refine(
        (host) => HOST.test(host) || isHostPattern(host),
        `neither a host nor one of ${HOST_PATTERNS.join(', ')}`,
      ),
  )
  .max(MAX_HOSTS)
  .refine((hosts) => new Set(hosts).size === hosts.length, 'a host is named twice')

/** Hosts that may be dialled. */
export type HostList = { has(host: string): boolean }

/** A list of names and of patterns. A name is found in one step; the patterns are few. */
export function createHostList(hosts: Iterable<string>): HostList {
  const names = new Set<string>()
  const patterns = new Map<string, RegExp>()
  for (const host of hosts) {
    const pattern = MATCHERS.get(host)
    if (pattern !== undefined) patterns.set(host, pattern)
    else if (!host.includes('*')) names.add(host)
  }
  if (patterns.size === 0) return names
  const matchers = [...patterns.values()]
  return { has: (host) => names.has(host) || matchers.some((matcher) => matcher.test(host)) }
}

/** True when some host is on both lists. No host is under two of {@link HOST_PATTERNS}. */
export function doHostsOverlap(some: readonly string[], others: readonly string[]): boolean {
  const [list, otherList] = [createHostList(some), createHostList(others)]
  return some.some((host) => others.includes(host) || otherList.has(host)) || others.some((host) => list.has(host))
}
