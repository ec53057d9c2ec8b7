const SPECIAL = /[.*+?^${}()|[\]\\]/g

/** A part of a text, with its place in it. */
export type MarkedPart = { readonly start: number; readonly text: string; readonly isMarked: boolean }

/** A text in parts, with the searched words marked. A word of one letter is not marked. */
export function markedParts(text: string, search: string): readonly MarkedPart[] {
  const words = search.split(/\s+/).filter((word) => word.length > 1)
  if (words.length === 0) return [{ start: 0, text, isMarked: false }]
  const pattern = new RegExp(`(${words.map((word) => word.replace(SPECIAL, '\\$&')).join('|')})`, 'i')
  let start = 0
  return text.split(pattern).map((part, at) => {
    const own = { start, text: part, isMarked: at % 2 === 1 }
    start += part.length
    return own
  })
}
