import { BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, OPEN_LIST, OPEN_OBJECT, QUOTE } from '#shared/json-bytes.ts'

/** Follows a JSON object through the pieces of its text, such as the input of a call, to know when it is complete. */
export type FollowedObject = {
  /** The part of a piece that belongs to the object. Empty after its end, and for input that is no object. */
  take(piece: string): string
  isComplete(): boolean
  /** True when its object has begun and has not ended. */
  isOpen(): boolean
}

/** With `takesList` a list around the object counts as the object. */
export function followObject(takesList = false): FollowedObject {
  let depth = 0
  let isInText = false
  let isEscaped = false
  let state: 'before' | 'inside' | 'complete' | 'none' = 'before'

  /** The index at which the object ends in a piece, or the piece's length. */
  function walk(piece: string, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const char = piece.charCodeAt(at)
      if (isInText) {
        if (isEscaped) isEscaped = false
        else if (char === BACKSLASH) isEscaped = true
        else if (char === QUOTE) isInText = false
      } else if (char === QUOTE) isInText = true
      else if (char === OPEN_OBJECT || char === OPEN_LIST) depth++
      else if ((char === CLOSE_OBJECT || char === CLOSE_LIST) && --depth === 0) {
        state = 'complete'
        return at + 1
      }
    }
    return piece.length
  }

  return {
    take(piece) {
      if (state === 'complete' || state === 'none') return ''
      let from = 0
      if (state === 'before') {
        from = piece.search(/\S/)
        if (from < 0) return ''
        const first = piece.charCodeAt(from)
        state = first === OPEN_OBJECT || (takesList && first === OPEN_LIST) ? 'inside' : 'none'
        if (state === 'none') return ''
      }
      return piece.slice(from, walk(piece, from))
    },
    isComplete: () => state === 'complete',
    isOpen: () => state === 'inside',
  }
}
