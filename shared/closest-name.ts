import { distance } from 'fastest-levenshtein'

/** Longest text that is compared, and most names. A longer text is no typing mistake. */
const MAX_CHARACTERS = 80
const MAX_NAMES = 2_000
/** The largest share of letters that a typing mistake changes, and the changes that a short name may have. */
const MAX_SHARE = 0.34
const MIN_CHANGES = 2

/** The name that was most likely meant. Undefined when none is near. */
export function closestName(text: string, names: Iterable<string>): string | undefined {
  if (text === '' || text.length > MAX_CHARACTERS) return undefined
  const typed = bare(text)
  let best: { readonly name: string; readonly changes: number } | undefined
  let compared = 0
  for (const name of names) {
    compared += 1
    if (compared > MAX_NAMES) break
    const changes = distance(typed, bare(name))
    if (changes < (best?.changes ?? Number.POSITIVE_INFINITY)) best = { name, changes }
  }
  const limit = Math.max(MIN_CHANGES, Math.floor(typed.length * MAX_SHARE))
  return best !== undefined && best.changes <= limit && best.changes < typed.length ? best.name : undefined
}

/** A name as its id would be written: "Claude 3.5 Haiku" is claude-3.5-haiku, and a lab in front does not count. */
function bare(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[\s_]+/g, '-')
    .replace(/^.*\//, '')
}

/** "Did you mean X?" after a space. Empty when no name is near. */
export function didYouMean(text: string, names: Iterable<string>): string {
  const name = closestName(text, names)
  return name === undefined ? '' : ` Did you mean ${name}?`
}
