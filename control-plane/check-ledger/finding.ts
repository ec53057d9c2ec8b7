/** The finding of one invariant. `none` means that this run did not check it; `detail` says why. */
export type Finding = {
  readonly id: string
  readonly state: 'ok' | 'breach' | 'none'
  /** The extent of the check, or the first fault. */
  readonly detail: string
}

const MOST_SHOWN = 3

/** Makes a finding from its faults. Without faults it is `ok`, with `looked` as the extent of the check. */
export function findingOf(id: string, looked: string, wrong: readonly string[]): Finding {
  if (wrong.length === 0) return { id, state: 'ok', detail: looked }
  const shownLines = wrong.slice(0, MOST_SHOWN).join('; ')
  const rest = wrong.length > MOST_SHOWN ? ` and ${wrong.length - MOST_SHOWN} more` : ''
  return { id, state: 'breach', detail: shownLines + rest }
}

/** `I3   ok      37 accounts re-summed`. */
export function lineOf({ id, state, detail }: Finding): string {
  if (state === 'none') return `${id.padEnd(4)} ${detail}`
  return `${id.padEnd(4)} ${(state === 'ok' ? 'ok' : 'BREACH').padEnd(7)} ${detail}`
}

/** Sorts findings by their numbers. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((left, right) => Number(left.id.slice(1)) - Number(right.id.slice(1)))
}
