/** Sends a request to the market with a key. Returns the body, or undefined without one. Throws for a refusal. */
export async function askMarket(
  site: string,
  { method, path, key, body }: { method: string; path: string; key: string; body?: object | undefined },
): Promise<unknown> {
  const answer = await fetch(`${site}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'idempotency-key': crypto.randomUUID(),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} answered ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
