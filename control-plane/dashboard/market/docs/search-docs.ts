import MiniSearch from 'minisearch'
import { REFERENCE, SEARCH_OPTIONS } from './doc-page.ts'

/** A section that was found. */
export type DocHit = { readonly to: string; readonly title: string; readonly page: string; readonly excerpt: string }

const MAX_FOUND = 20
/** Share of a word's letters that may differ. Short words and numbers, such as a status, are taken as they are. */
const FUZZY = 0.2
const MIN_FUZZY_LETTERS = 4
const BOOST = { title: 4, page: 2 }

/** A guide explains more than an operation, so it comes before an operation that fits as well. */
const REFERENCE_SHARE = 0.5

/** The best hits of a search, and the number of all. */
export type DocsFound = { readonly hits: readonly DocHit[]; readonly total: number }

/** Reads the search index. The answer searches it. */
export async function openSearch(): Promise<(text: string) => DocsFound> {
  const answer = await fetch('/docs/search.json')
  if (!answer.ok) throw new Error(`The search index could not be read (${answer.status}).`)
  const index = MiniSearch.loadJSON<Record<string, string>>(await answer.text(), SEARCH_OPTIONS)
  return (text) => {
    const found = index.search(text, {
      prefix: true,
      fuzzy: fuzzyOf,
      boost: BOOST,
      boostDocument: (id: unknown) => (String(id).startsWith(REFERENCE) ? REFERENCE_SHARE : 1),
      combineWith: 'AND',
    })
    const hits = found
      .slice(0, MAX_FOUND)
      .map(({ id, title, page, excerpt }) => ({ to: String(id), title, page, excerpt }))
    return { hits, total: found.length }
  }
}

function fuzzyOf(word: string): number | boolean {
  return word.length >= MIN_FUZZY_LETTERS && !/\d/.test(word) && FUZZY
}
