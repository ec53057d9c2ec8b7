import { isRecord } from '#shared/json-members.ts'

/**
 * The kinds of tools that no seller receives, each as the name of a parameter that was left out, below the list itself.
 */
export function leftOutTools(tools: readonly unknown[], keptTools: ReadonlySet<unknown>): readonly string[] {
  const names = new Set<string>()
  for (const tool of tools) {
    const type = isRecord(tool) ? (tool['type'] ?? undefined) : undefined
    if (typeof type === 'string' && !keptTools.has(type)) names.add(`tools.${type}`)
  }
  return ['tools', ...names]
}

/** Tools that a chat expresses as functions, and their kind in the messages protocol. */
export const FUNCTIONS: ReadonlySet<unknown> = new Set(['function'])
export const DESCRIBED: ReadonlySet<unknown> = new Set(['custom'])
