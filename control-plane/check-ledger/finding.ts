/** What was found out about one invariant. `none` says that nothing of the kind exists yet, or that tests show it. */
export type Finding = {
  readonly id: string
  readonly state: 'ok' | 'breach' | 'none'
  /** What was looked at, or the first of what is wrong. */
  readonly detail: string
}

const MOST_SHOWN = 3

/** A finding from what is wrong: none of it is `ok`, and then `looked` says what was looked at. */
export function findingOf(id: string, looked: string, wrong: readonly string[]): Finding {
  if (wrong.length === 0) return { id, state: 'ok', detail: looked }
  const shown = wrong.slice(0, MOST_SHOWN).join('; ')
  const rest = wrong.length > MOST_SHOWN ? ` and ${wrong.length - MOST_SHOWN} more` : ''
  return { id, state: 'breach', detail: shown + rest }
}

/** `I3   ok      37 accounts re-summed`. */
export function lineOf({ id, state, detail }: Finding): string {
  if (state === 'none') return `${id.padEnd(4)} ${detail}`
  return `${id.padEnd(4)} ${(state === 'ok' ? 'ok' : 'BREACH').padEnd(7)} ${detail}`
}

/** The order of their numbers. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((left, right) => Number(left.id.slice(1)) - Number(right.id.slice(1)))
}
