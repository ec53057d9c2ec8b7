import { findsSomething } from '#shared/rules/apply-rule.ts'
import type { AskedRoute, CompiledResource } from './compile-resource.ts'
import { capturedBy } from './compile-resource.ts'
import type { AskedCall } from './quote-resource.ts'
import { queryOf } from './quote-resource.ts'

/** Why a fence that looks into requests keeps a call out. Undefined where none does. */
export function reasonInRequest(
  { fences }: CompiledResource,
  asked: AskedRoute,
  { body, query }: Pick<AskedCall, 'body' | 'query'>,
): string | undefined {
  const scope = { body, query: queryOf(query) }
  for (const { when, reason, ...fence } of fences) {
    const path = when && capturedBy(fence, asked)
    if (path !== undefined && when !== undefined && findsSomething(when, { ...scope, path })) return reason
  }
  return undefined
}
