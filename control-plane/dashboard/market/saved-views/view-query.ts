import { defaultStringifySearch } from '@tanstack/react-router'

/** The screens whose filters can be saved, by their names at the market. */
export const VIEW_PATHS = {
  models: '/models',
  logs: '/buyer/logs',
  activity: '/buyer/activity',
  jobs: '/buyer/jobs',
  offers: '/seller/offers',
} as const
export type SavedScreen = keyof typeof VIEW_PATHS

/** Members of an address that name a place in a list, or an open row. */
const PLACES: ReadonlySet<string> = new Set(['after', 'call'])

/** The filters of a screen as a view stores them: the query of its address, in the order of the names. */
export function viewQueryOf(search: object): string {
  const filters = Object.entries(search).filter(([name, value]) => value !== undefined && !PLACES.has(name))
  return sortedQuery(defaultStringifySearch(Object.fromEntries(filters)))
}

/** A query in one spelling, to compare it with another one. */
export function sortedQuery(query: string): string {
  const pairs = new URLSearchParams(query)
  pairs.sort()
  return pairs.toString()
}

/** The filters of a query for people, such as `outcome: failed`. */
export function filterWords(query: string): readonly string[] {
  return [...new URLSearchParams(query)].map(([name, value]) => `${name}: ${value.replace(/^"(.*)"$/, '$1')}`)
}
