/** A violated invariant, with the facts. */
export function violation(invariant: string, facts: string): Error {
  return Object.assign(new Error(`${invariant}: ${facts}`), { name: 'Violation', invariant })
}
