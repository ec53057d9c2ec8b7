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
 * Adds the pages that an answer, a frame of a stream or a message names: `annotations` of OpenAI and OpenRouter,
 * `citations` and `search_results` of Perplexity and xAI. Malformed entries are skipped.
 */
export function takeSources(into: CitedSources, { annotations, citations, search_results: results }: JsonObject): void {
  // Results have titles, which plain addresses lack.
  for (const result of listOf(results)) addSource(into, result)
  for (const annotation of listOf(annotations))
    addSource(into, isRecord(annotation) ? (annotation['url_citation'] ?? annotation) : annotation)
  for (const citation of listOf(citations)) addSource(into, typeof citation === 'string' ? { url: citation } : citation)
}

function addSource(into: CitedSources, value: unknown): void {
  if (!isRecord(value)) return
  const { url, title, content } = value
  if (typeof url !== 'string' || url === '' || url.length > MAX_URL_CHARS) return
  if (into.has(url) || into.size >= MAX_SOURCES) return
  into.set(url, { url, title: textOf(title), citedText: textOf(content) })
}

/** The page of one annotation. Undefined without one. */
export function citedSource(annotation: unknown): CitedSource | undefined {
  const citedSources: CitedSources = new Map()
  takeSources(citedSources, { annotations: [annotation] })
  return citedSources.values().next().value
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, MAX_SOURCES) : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
