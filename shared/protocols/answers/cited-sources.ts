import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'

/** A page that an answer cites. */
export type CitedSource = { readonly url: string; readonly title: string; readonly citedText: string }

/** The largest number of pages that one answer may cite. */
export const MAX_SOURCES = 100
const MAX_URL_CHARS = 8_192

/** The pages of an answer so far, by address. */
export type CitedSources = Map<string, CitedSource>

/**
 * Adds the pages that an answer, a frame of one or a message names: `annotations` of OpenAI and OpenRouter, `citations`
 * and `search_results` of Perplexity and xAI. What nobody can read is passed over.
 */
export function takeSources(into: CitedSources, { annotations, citations, search_results: results }: JsonObject): void {
  // Results have titles, which plain addresses lack.
  for (const given of listOf(results)) addSource(into, given)
  for (const given of listOf(annotations)) addSource(into, isRecord(given) ? (given['url_citation'] ?? given) : given)
  for (const given of listOf(citations)) addSource(into, typeof given === 'string' ? { url: given } : given)
}

function addSource(into: CitedSources, given: unknown): void {
  if (!isRecord(given)) return
  const { url, title, content } = given
  if (typeof url !== 'string' || url === '' || url.length > MAX_URL_CHARS) return
  if (into.has(url) || into.size >= MAX_SOURCES) return
  into.set(url, { url, title: textOf(title), citedText: textOf(content) })
}

/** The page of one annotation. Undefined where it is about none. */
export function citedSource(annotation: unknown): CitedSource | undefined {
  const found: CitedSources = new Map()
  takeSources(found, { annotations: [annotation] })
  return found.values().next().value
}

function listOf(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? given.slice(0, MAX_SOURCES) : []
}

function textOf(given: unknown): string {
  return typeof given === 'string' ? given : ''
}
