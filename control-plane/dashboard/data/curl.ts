type ChatCall = { readonly model: string; readonly prompt: string; readonly maxTokens?: number }

/** A chat call as a command. Without a key it reads the key from the environment. */
export function chatCurlOf(url: string, { model, prompt, maxTokens }: ChatCall, key = '$MARKET_KEY'): string {
  const body = JSON.stringify({ model, max_tokens: maxTokens, messages: [{ role: 'user', content: prompt }] })
  return callCurlOf(`${url}/v1/chat/completions`, body, key)
}

/** A call with a JSON body as a command. Without a key it reads the key from the environment. */
export function callCurlOf(url: string, json: string, key = '$MARKET_KEY'): string {
  return `curl ${url} \\\n  -H "Authorization: Bearer ${key}" \\\n  -H "Content-Type: application/json" \\\n  -d '${quotable(json)}'`
}

/** A text as a shell needs it between single quotes. */
const quotable = (text: string) => text.replaceAll("'", "'\\''")

/** A GraphQL query as a command. */
export function curlOf(document: { toString(): string }, variables: unknown, needsKey = false): string {
  const body = quotable(JSON.stringify({ query: document.toString().trim(), variables }))
  const key = needsKey ? ` \\\n  -H "Authorization: Bearer $MARKET_KEY"` : ''
  return `curl -s ${location.origin}/graphql${key} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
