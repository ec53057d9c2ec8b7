/** The longest id of a call that is passed on. */
const MAX_ID_CHARS = 256

/**
 * The id of a call, which no other call of the answer has: the provider's, or a new one when it gives none or repeats
 * another call's. `ids` are those so far.
 */
export function callId(ids: Set<string>, value: unknown, otherwise: string): string {
  let id = typeof value === 'string' && value !== '' ? value.slice(0, MAX_ID_CHARS) : otherwise
  while (ids.has(id)) id += '_'
  ids.add(id)
  return id
}
