import { isRecord, readJsonObject } from '#shared/json-members.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'

/**
 * The index by which the maker of a model finds a page again. Citations of other sellers have none, and a maker accepts
 * only its own citations.
 */
const NO_INDEX = ''

type Json = Readonly<Record<string, unknown>>

/** A citation in this protocol, as JSON text: its maker's own, or one of a page that another seller cites. */
export function citationText({ source, own }: Extract<AnswerEvent, { readonly kind: 'citation' }>): string | undefined {
  if (own !== undefined || source === undefined) return own
  const { url, title, citedText } = source
  return JSON.stringify({
    type: 'web_search_result_location',
    url,
    title,
    cited_text: citedText,
    encrypted_index: NO_INDEX,
  })
}

/** True for a text of an earlier answer with citations that no model maker has written. */
export function hasForeignCitations({ citations }: Json): boolean {
  return Array.isArray(citations) && citations.some(isForeign)
}

function isForeign(citation: unknown): boolean {
  return isRecord(citation) && citation['encrypted_index'] === NO_INDEX
}

/** A text without such citations, as JSON text. */
export function withoutForeignCitations(text: string): string {
  const { citations, ...rest } = readJsonObject(text) ?? {}
  const keptCitations = Array.isArray(citations) ? citations.filter((citation) => !isForeign(citation)) : []
  return JSON.stringify(keptCitations.length === 0 ? rest : { ...rest, citations: keptCitations })
}
