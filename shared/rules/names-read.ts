import { isRecord } from '#shared/json-members.ts'
import type { PathStep, Rule, RuleRoot } from './parse-rule.ts'
import { rootsOf } from './parse-rule.ts'

/** The members at one place that rules read. */
export type NamesRead = {
  readonly members: ReadonlyMap<string, NamesRead>
  /** The names of the members, folded to one letter case. */
  readonly folded: ReadonlySet<string>
  /** The names that rules read in the elements of a list at that place. */
  readonly elements: NamesRead | undefined
}

/** The members below a root that rules read. Undefined where no rule reads the root. */
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
 * Finds a name that differs only in letter case from one that rules read at the same place. Many servers treat the two
 * as one member, so the request would be ambiguous.
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

/** Folds a name to one letter case by Unicode's simple folding: a long s and a Kelvin sign count as letters, too. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase()
}
