import type { Model } from './model.ts'

/** Finds the model of a name, or undefined. A name longer than {@link MAX_NAME_LENGTH} has none. */
export type ResolveModel = (name: string) => Model | undefined

const MAX_NAME_LENGTH = 160
const PRINTABLE = /^[\x21-\x7e]+$/
/** A date at the end of a vendor's id: `-20250929`, `-2025-09-29`, `@20250929`, `-0711`. */
const DATE_SUFFIX = /[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6}|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))$/
const LATEST_SUFFIX = /-latest$/
/** OpenRouter's suffixes for an order of the offers: `:nitro` is the fastest first, `:floor` the cheapest. */
const SORT_SUFFIX = /:(nitro|floor)$/i

/**
 * Builds the name index of a catalogue. A name is tried, in this order, as: the canonical id or an alias; the lab's
 * `lab/model` form; the Venice form (dots dropped or dashed, `/` as a dash); any of these without its date; a floating
 * name (`claude-sonnet-latest`, with or without OpenRouter's leading `~`), which is the newest plain model of that
 * family. Any of them may end with `:nitro` or `:floor`, which {@link sortOfName} reads. Case does not matter. When two
 * models claim one derived name, the newer has it; exact names have precedence.
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
  const families = newestFirst.filter((model) => !model.isSandbox && model.endpoints.includes('chat')).map(memberOf)

  return (requestedName) => {
    if (requestedName.length > MAX_NAME_LENGTH) return undefined
    const spelled = lookUp(requestedName)
    if (spelled) return spelled
    // Some other letters become ASCII in lower case.
    if (!PRINTABLE.test(requestedName)) return undefined
    const name = requestedName.toLowerCase().replace(/^~/, '').replace(SORT_SUFFIX, '')
    const model = lookUp(name)
    if (model) return model
    if (LATEST_SUFFIX.test(name)) return newestOfFamily(families, name.replace(LATEST_SUFFIX, ''))
    const undated = name.replace(DATE_SUFFIX, '')
    return undated === name ? undefined : lookUp(undated)
  }
}

/** The order of offers in a name. Undefined without one. */
export function sortOfName(name: string): 'fastest' | 'cheapest' | undefined {
  const [, word] = SORT_SUFFIX.exec(name) ?? []
  if (word === undefined) return undefined
  return word.toLowerCase() === 'nitro' ? 'fastest' : 'cheapest'
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

/**
 * Words of a name that are no line of products: a version, a size in parameters, a day or build, the form of a text
 * model.
 */
const VERSION = /^[vkm]?\d{1,2}(?:\.\d+)*o?$/
const SIZE = /^(?:a?\d+(?:\.\d+)?[bm]|\d+x\d+b|\d+e)$/
const DETAIL = /^(?:\d{3,8}|instruct|it)$/
/**
 * Words of the larger models of a family. Every other word is a line of its own: `mini`, `codex`, `image`, `preview`.
 */
const LARGER: ReadonlySet<string> = new Set([
  'opus',
  'sonnet',
  'pro',
  'max',
  'plus',
  'ultra',
  'premier',
  'large',
  'medium',
])

/** A model that floating names can mean. */
type Member = {
  readonly model: Model
  /** All its spellings in lower case. */
  readonly names: ReadonlySet<string>
  /** The words of each, without a date. */
  readonly wordLists: readonly (readonly string[])[]
}

function memberOf(model: Model): Member {
  const spellings = [model.id, ...model.aliases].flatMap((name) => [name, ...veniceSpellings(model.lab, name)])
  const names = new Set(spellings.map((name) => name.toLowerCase()))
  return { model, names, wordLists: [...names].map((name) => wordsOf(name.replace(DATE_SUFFIX, ''))) }
}

/**
 * Finds the newest chat model of a family: one with a name that holds every word of the family in order, and no word of
 * another line of products. `claude-sonnet` finds `claude-sonnet-4.5`, and `gemini-flash` finds `gemini-2.5-flash`,
 * never its image model. If the family has no plain model, it finds a larger one. A version must match exactly:
 * `claude-sonnet-4` is not `claude-sonnet-4.5`. When a model has the very name of the family, only that name matches,
 * and its other sizes do not.
 */
function newestOfFamily(newestFirst: readonly Member[], family: string): Model | undefined {
  const [stem = '', lab, beyond] = family.split('/').reverse()
  const words = wordsOf(stem)
  if (beyond !== undefined || words.length === 0) return undefined
  const hasVersion = words.some((word) => VERSION.test(word))
  const members = newestFirst.filter(({ model, wordLists }) => {
    if (lab !== undefined && lab !== model.lab) return false
    return wordLists.some((name) => {
      const beside = wordsBeside(name, words)
      return beside !== undefined && !(hasVersion && beside.some((word) => VERSION.test(word)))
    })
  })
  const isNamed = members.some(({ names }) => names.has(stem))
  const linesOf = ({ model, names }: Member) => {
    const isSized = !isNamed || names.has(stem)
    const isPlain = (word: string) => VERSION.test(word) || DETAIL.test(word) || (isSized && SIZE.test(word))
    return wordsOf(model.id).filter((word) => !words.includes(word) && !isPlain(word))
  }
  const plain = members.find((member) => linesOf(member).length === 0)
  return (plain ?? members.find((member) => linesOf(member).every((word) => LARGER.has(word))))?.model
}

function wordsOf(name: string): readonly string[] {
  return name
    .toLowerCase()
    .split('-')
    .filter((word) => word !== '')
}

/**
 * The words of a name besides those of a family. Undefined for a name that does not begin like the family, or lacks a
 * word of it.
 */
function wordsBeside(name: readonly string[], family: readonly string[]): readonly string[] | undefined {
  let at = 0
  const beside = name.filter((word) => {
    const isNext = word === family[at]
    if (isNext) at++
    return !isNext
  })
  return at === family.length && name[0] === family[0] ? beside : undefined
}
