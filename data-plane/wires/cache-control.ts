import { isRecord } from '#shared/json-members.ts'
import type { CacheControl } from '#shared/protocols/middle-form/conversation.ts'
import { wordOf } from './sampling.ts'

/** The cache mark of a part of a request. Empty without one. */
export function cacheControlOf(part: Readonly<Record<string, unknown>>): { readonly cacheControl?: CacheControl } {
  const mark = part['cache_control']
  return isRecord(mark) ? { cacheControl: { ttl: wordOf(mark['ttl']) } } : {}
}
