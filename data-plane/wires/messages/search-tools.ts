import { isRecord } from '#shared/json-members.ts'
import { MOST_SEARCHES, USUAL_SEARCHES } from '#shared/members/surcharge.ts'

/** The tool that searches the web at the model's maker: `web_search_20250305` and its later versions. */
const SEARCH_TYPE = /^web_search_\d{8}$/

type Json = Readonly<Record<string, unknown>>

/** True for a tool that searches the web at the model's maker. Such searches are billed one by one. */
export function isSearchTool({ type }: Json): boolean {
  return typeof type === 'string' && SEARCH_TYPE.test(type)
}

/** The most searches that the tools of a request order. Undefined without a search. */
export function searchesOf(tools: unknown): number | undefined {
  if (!Array.isArray(tools)) return undefined
  let searches = 0
  for (const tool of tools) if (isRecord(tool) && isSearchTool(tool)) searches += usesOf(tool)
  return searches === 0 ? undefined : searches
}

/** The searches that a tool may make: the named number, within our bound, or the default. */
export function usesOf({ max_uses: maxUses }: Json): number {
  return typeof maxUses === 'number' && Number.isSafeInteger(maxUses) && maxUses >= 1
    ? Math.min(maxUses, MOST_SEARCHES)
    : USUAL_SEARCHES
}
