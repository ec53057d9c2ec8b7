import type { LentRule, LentScope } from '#shared/contract/lent-offers.ts'
import { matchPath, parsePathPattern } from '#shared/rules/path-pattern.ts'

/** The parts of a call that a seller's scope checks. An absent part passes. */
export type ScopedCall = {
  readonly good?: string | undefined
  readonly method?: string | undefined
  /** The path at the provider. */
  readonly path?: string | undefined
}

/** The first rule of a seller's scope that refuses a call. Undefined when all allow it. */
export function refusedByScope({ models, methods, paths }: LentScope, call: ScopedCall): LentRule | undefined {
  const { good, method, path } = call
  if (models !== null && good !== undefined && !models.includes(good)) return 'models'
  if (methods !== null && method !== undefined && !methods.some((each) => each === method)) return 'methods'
  if (paths !== null && path !== undefined && !paths.some((pattern) => fits(pattern, path))) return 'paths'
  return undefined
}

function fits(text: string, path: string): boolean {
  const pattern = parsePathPattern(text)
  return pattern !== undefined && matchPath(pattern, path) !== undefined
}
