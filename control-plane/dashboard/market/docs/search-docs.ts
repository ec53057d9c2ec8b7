import MiniSearch from 'minisearch'
import { SEARCH_OPTIONS } from './doc-page.ts'

/** A section that was found. */
export type DocHit = { readonly to: string; readonly title: string; readonly page: string; readonly excerpt: string }

const MAX_FOUND = 30
/** Share of a word's letters that may differ. Short words and numbers, such as a status, are taken as they are. */
const FUZZY = 0.2
const MIN_FUZZY_LETTERS = 4
const BOOST = { title: 4, page: 2 }

/** Reads the search index. The answer searches it. */
export async function openSearch(): Promise<(text: string) => readonly DocHit[]> {
  const answer = await fetch('/docs/search.json')
  if (!answer.ok) throw new Error(`The search index could not be read (${answer.status}).`)
  const index = MiniSearch.loadJSON<Record<string, string>>(await answer.text(), SEARCH_OPTIONS)
  return (text) =>
    index
      .search(text, { prefix: true, fuzzy: fuzzyOf, boost: BOOST, combineWith: 'AND' })
      .slice(0, MAX_FOUND)
      .map(({ id, title, page, excerpt }) => ({ to: String(id), title, page, excerpt }))
}

function fuzzyOf(word: string): number | boolean {
  return word.length >= MIN_FUZZY_LETTERS && !/\d/.test(word) && FUZZY
}
