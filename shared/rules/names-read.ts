import { isRecord } from '#shared/json-members.ts'
import type { PathStep, Rule, RuleRoot } from './parse-rule.ts'
import { rootsOf } from './parse-rule.ts'

/** The members below one place that rules look at. */
export type NamesRead = {
  readonly members: ReadonlyMap<string, NamesRead>
  /** The names of the members in one letter case. */
  readonly folded: ReadonlySet<string>
  /** The names that rules read in the elements of a list at that place. */
  readonly elements: NamesRead | undefined
}

/** The members below a root that rules look at. Undefined where no rule looks at the root. */
export function namesRead(rules: readonly Rule[], root: RuleRoot): NamesRead | undefined {
  if (!rules.some((rule) => rootsOf(rule).has(root))) return undefined
  return treeOf(rules.flatMap((rule) => pathsIn(rule, root)))
}

function pathsIn(rule: Rule, root: RuleRoot): readonly (readonly PathStep[])[] {
  if (rule.is === 'literal') return []
  if (rule.is === 'path') return rule.root === root ? [rule.steps] : []
  return rule.args.flatMap((arg) => pathsIn(arg, root))
}

function treeOf(paths: readonly (readonly PathStep[])[]): NamesRead {
  const below = new Map<string, (readonly PathStep[])[]>()
  const elements: (readonly PathStep[])[] = []
  for (const [step, ...rest] of paths) {
    if (step === undefined) continue
    if (typeof step !== 'string') elements.push(rest)
    else below.set(step, [...(below.get(step) ?? []), rest])
  }
  return {
    members: new Map([...below].map(([name, rest]) => [name, treeOf(rest)])),
    folded: new Set([...below.keys()].map(fold)),
    elements: elements.length === 0 ? undefined : treeOf(elements),
  }
}

/**
 * Finds a name that differs in letter case alone from one that rules look at, in the same place. Many servers read the two
 * as one member, so nobody could say what such a request asks for.
 */
export function findNamesake(value: unknown, { members, folded, elements }: NamesRead): string | undefined {
  if (Array.isArray(value)) {
    if (elements === undefined) return undefined
    for (const each of value) {
      const namesake = findNamesake(each, elements)
      if (namesake !== undefined) return namesake
    }
    return undefined
  }
  if (!isRecord(value) || members.size === 0) return undefined
  for (const name in value) {
    const inner = members.get(name)
    const found = inner === undefined ? (folded.has(fold(name)) ? name : undefined) : findNamesake(value[name], inner)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * A single spelling for all letter cases, as Unicode's simple folding has it: a long s and a Kelvin sign are letters,
 * too.
 */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase()
}
