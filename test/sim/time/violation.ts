/** A broken promise, with the facts of the breach. */
export function violation(invariant: string, facts: string): Error {
  return Object.assign(new Error(`${invariant}: ${facts}`), { name: 'Violation', invariant })
}
