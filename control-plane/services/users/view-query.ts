import type { z } from 'zod'
import type { ViewScreen } from '#control-plane/db/tables/saved-views.ts'
import { oneLine } from '#shared/texts.ts'

/** Longest query of a view. */
const MAX_QUERY_CHARS = 1_000
/** Longest value of a filter, as the page reads it from an address. */
const MAX_VALUE_CHARS = 300

/** The filters of each screen, as its address names them. A page of a list and an open row are no filters. */
const FILTERS: Readonly<Record<ViewScreen, readonly string[]>> = {
  models: ['search', 'modality', 'feature', 'context', 'discount', 'sellers', 'uptime', 'sort', 'reverse', 'compare'],
  logs: ['period', 'from', 'to', 'model', 'provider', 'outcome', 'key', 'sort', 'reverse'],
  activity: ['period', 'from', 'to', 'group', 'figure', 'sum', 'hours', 'compare', 'model', 'provider'],
  jobs: ['state'],
  offers: ['status', 'window', 'sort', 'reverse', 'model', 'columns'],
}

/** A query as the address of a screen has it, without `?`. */
export const ViewQuery = oneLine(MAX_QUERY_CHARS)

/**
 * Reads the query of a view of a screen. Returns the query in its one spelling, or the fault for people. Only filters
 * of the screen are taken, each once, so a query never names another place.
 */
export function readViewQuery(
  screen: ViewScreen,
  query: string,
): { readonly query: string } | { readonly fault: string } {
  const pairs = [...new URLSearchParams(query)].filter(([, value]) => value !== '')
  const names = pairs.map(([name]) => name)
  const unknown = names.find((name) => !FILTERS[screen].includes(name))
  if (unknown !== undefined) {
    return { fault: `The list of ${screen} has no filter with this name. Its filters: ${FILTERS[screen].join(', ')}.` }
  }
  if (new Set(names).size < names.length) return { fault: 'A view has each filter once.' }
  if (pairs.some(([, value]) => !FilterValue.safeParse(value).success)) {
    return { fault: `The value of a filter is one line of at most ${MAX_VALUE_CHARS} characters.` }
  }
  const spelled = new URLSearchParams(pairs).toString()
  if (spelled === '') return { fault: 'Choose a filter first. A view has at least one.' }
  return spelled.length > MAX_QUERY_CHARS
    ? { fault: `The filters of a view have at most ${MAX_QUERY_CHARS} characters.` }
    : { query: spelled }
}

const FilterValue: z.ZodType<string> = oneLine(MAX_VALUE_CHARS)
