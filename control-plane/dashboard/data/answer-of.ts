/** Readers of answers of the data plane, which have no generated types. */

/** A member of a JSON value, at a path of names and places. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  )
}

type Call = { readonly key: string; readonly body?: object; readonly withinMs: number }
type Answer = { readonly body: unknown; readonly headers: Headers }

/**
 * Calls the data plane at this page's own address with a key that the reader typed. The session is left out, so the key
 * alone decides. Throws an Error with the message of the market.
 */
export async function answerOf(path: string, { key, body, withinMs }: Call): Promise<Answer> {
  const answer = await fetch(path, {
    method: body === undefined ? 'GET' : 'POST',
    credentials: 'omit',
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(withinMs),
  })
  const read: unknown = await answer.json().catch(() => undefined)
  if (answer.ok) return { body: read, headers: answer.headers }
  const message = at(read, 'error', 'message')
  throw new Error(typeof message === 'string' ? message : `The market answered with status ${answer.status}.`)
}
