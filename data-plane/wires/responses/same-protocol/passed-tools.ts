import { hasCacheMark } from '#data-plane/wires/content.ts'
import { leftOutTools } from '#data-plane/wires/left-out-tools.ts'
import { SEARCH } from '#data-plane/wires/responses/tools.ts'
import { isRecord } from '#shared/json-members.ts'

type Json = Readonly<Record<string, unknown>>

/** Tools that the buyer runs, by their types. Every other tool runs at the provider, which charges for it. */
const BUYERS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', 'local_shell', 'apply_patch'])
const DESCRIBED: ReadonlySet<unknown> = new Set(['function', 'custom'])

/** True for a tool that a seller of this protocol receives unchanged: the buyer runs it, and it has no cache mark. */
export function isPassedTool(tool: unknown): boolean {
  if (!isRecord(tool) || hasCacheMark(tool)) return false
  const { type, environment, execution, tools } = tool
  if (type === 'shell') return isRecord(environment) && environment['type'] === 'local'
  if (type === SEARCH) return execution === 'client'
  if (type !== 'namespace') return BUYERS.has(type)
  return (
    Array.isArray(tools) &&
    tools.every((inner) => isRecord(inner) && DESCRIBED.has(inner['type']) && isPassedTool(inner))
  )
}

/**
 * The tools that may pass, and the names of the left-out parts: the other tools, and `defer_loading` without a search
 * that could find a tool later. Undefined when all may stay unchanged.
 */
export function passedTools(
  tools: unknown,
): { readonly kept: readonly Json[]; readonly leftOut: readonly string[] } | undefined {
  if (!Array.isArray(tools)) return undefined
  const passedEntries = tools.filter(isRecord).filter(isPassedTool)
  const isWhole = passedEntries.length === tools.length
  const isWaiting = passedEntries.some(isDeferred) && !passedEntries.some(({ type }) => type === SEARCH)
  if (isWhole && !isWaiting) return undefined
  const types = new Set(passedEntries.map(({ type }) => String(type)))
  return {
    kept: isWaiting ? passedEntries.map(withoutDeferral) : passedEntries,
    leftOut: [...(isWhole ? [] : leftOutTools(tools, types)), ...(isWaiting ? ['tools.defer_loading'] : [])],
  }
}

/** True for a tool, or a namespace with one, that a search has to find. Providers refuse it without a search. */
function isDeferred(tool: unknown): boolean {
  if (!isRecord(tool)) return false
  const { defer_loading: isLater, tools } = tool
  return isLater === true || (Array.isArray(tools) && tools.some(isDeferred))
}

function withoutDeferral({ defer_loading: _, ...tool }: Json): Json {
  const { tools } = tool
  return Array.isArray(tools) ? { ...tool, tools: tools.filter(isRecord).map(withoutDeferral) } : tool
}

/** True for a choice among the remaining tools. */
export function isChoiceAmong(choice: unknown, tools: readonly unknown[]): boolean {
  if (tools.length === 0) return false
  if (!isRecord(choice)) return true
  const { type, tools: allowedTools } = choice
  if (type !== 'allowed_tools') return tools.some((tool) => isNamed(choice, tool))
  return (
    Array.isArray(allowedTools) &&
    allowedTools.every((entry) => isRecord(entry) && tools.some((tool) => isNamed(entry, tool)))
  )
}

function isNamed({ type, name, namespace }: Json, tool: unknown): boolean {
  if (!isRecord(tool)) return false
  if (tool['type'] === 'namespace' && type !== 'namespace') {
    const inner = Array.isArray(tool['tools']) ? tool['tools'] : []
    return (namespace === undefined || namespace === tool['name']) && inner.some((one) => isNamed({ type, name }, one))
  }
  return tool['type'] === type && (name === undefined || tool['name'] === name)
}
