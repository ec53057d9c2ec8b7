import type { Model } from './model.ts'

/** Finds the model that a name means, or undefined. A name longer than {@link MAX_NAME_LENGTH} means none. */
export type ResolveModel = (name: string) => Model | undefined

const MAX_NAME_LENGTH = 160
const PRINTABLE = /^[\x21-\x7e]+$/
/** A date at the end of a vendor's id: `-20250929`, `-2025-09-29`, `@20250929`, `-0711`. */
const DATE_SUFFIX = /[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6}|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))$/
const LATEST_SUFFIX = /-latest$/

/**
 * Builds the name index of a catalogue. A name is tried, in this order, as: the canonical id or an alias; the maker's
 * `lab/model` form; the Venice form (dots dropped or dashed, `/` as a dash); any of these without its date; a floating
 * name (`claude-sonnet-latest`, with or without OpenRouter's leading `~`), which is the newest model of that family.
 * Case does not matter. Where two models claim one derived name, the newer has it; exact names always win.
 */
export function createResolver(models: readonly Model[]): ResolveModel {
  const exact = new Map<string, Model>()
  const derived = new Map<string, Model>()
  const newestFirst = [...models].sort((left, right) => right.created - left.created || (left.id < right.id ? -1 : 1))
  for (const model of newestFirst) {
    for (const name of [model.id, ...model.aliases]) claim(exact, name, model)
    claim(exact, `${model.lab}/${model.id}`, model)
    for (const name of [model.id, ...model.aliases]) {
      for (const spelling of veniceSpellings(model.lab, name)) claim(derived, spelling, model)
    }
  }
  const lookUp = (name: string) => exact.get(name) ?? derived.get(name)
  const families = newestFirst.filter((model) => !model.isSandbox)

  return (asked) => {
    if (asked.length > MAX_NAME_LENGTH) return undefined
    const spelled = lookUp(asked)
    if (spelled) return spelled
    // Some other letters become ASCII in lower case.
    if (!PRINTABLE.test(asked)) return undefined
    const name = asked.toLowerCase().replace(/^~/, '')
    const known = lookUp(name)
    if (known) return known
    if (LATEST_SUFFIX.test(name)) return newestOfFamily(families, name.replace(LATEST_SUFFIX, ''))
    const undated = name.replace(DATE_SUFFIX, '')
    return undated === name ? undefined : lookUp(undated)
  }
}

function claim(index: Map<string, Model>, name: string, model: Model): void {
  const key = name.toLowerCase()
  if (!index.has(key)) index.set(key, model)
}

function veniceSpellings(lab: string, name: string): string[] {
  const stems = [name, `${lab}/${name}`]
  return stems.flatMap((stem) => {
    const flat = stem.replaceAll('/', '-')
    return [
      flat,
      flat.replaceAll('.', ''),
      flat.replaceAll('.', '-'),
      stem.replaceAll('.', '-'),
      stem.replaceAll('.', ''),
    ]
  })
}

/** Words that mark the smaller models of a family. A floating name means such a model only when it has the word. */
const SMALLER = new Set(['mini', 'nano', 'lite', 'small', 'tiny', 'air', 'oss', 'flash', 'fast', 'haiku'])

/**
 * Finds the newest chat model whose id holds every word of the family in order: `claude-sonnet` finds
 * `claude-sonnet-4.5`.
 */
function newestOfFamily(newestFirst: readonly Model[], family: string): Model | undefined {
  const [stem, lab, beyond] = family.split('/').reverse()
  if (beyond !== undefined) return undefined
  const words = (stem ?? '').split('-').filter((word) => word !== '')
  if (words.length === 0) return undefined
  const members = newestFirst.filter((model) => {
    const parts = model.id.toLowerCase().split('-')
    if ((lab !== undefined && lab !== model.lab) || parts[0] !== words[0] || !model.endpoints.includes('chat'))
      return false
    let at = 0
    for (const part of parts) if (part === words[at]) at++
    return at === words.length
  })
  const isSmaller = (model: Model) => model.id.split('-').some((part) => SMALLER.has(part) && !words.includes(part))
  return members.find((model) => !isSmaller(model)) ?? members[0]
}
