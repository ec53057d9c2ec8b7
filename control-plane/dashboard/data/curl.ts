type ChatCall = { readonly model: string; readonly prompt: string; readonly maxTokens?: number }

/** A chat call as a command. Without a key it reads the key from the environment. */
export function chatCurlOf(url: string, { model, prompt, maxTokens }: ChatCall, key = '$MARKET_KEY'): string {
  const body = JSON.stringify({ model, max_tokens: maxTokens, messages: [{ role: 'user', content: prompt }] })
  return `curl ${url}/v1/chat/completions \\\n  -H "Authorization: Bearer ${key}" \\\n  -H "Content-Type: application/json" \\\n  -d '${body}'`
}

/** A GraphQL question as a command. */
export function curlOf(document: { toString(): string }, variables: unknown, needsKey = false): string {
  const body = JSON.stringify({ query: document.toString().trim(), variables }).replaceAll("'", "'\\''")
  const key = needsKey ? ` \\\n  -H "Authorization: Bearer $MARKET_KEY"` : ''
  return `curl -s ${location.origin}/graphql${key} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
