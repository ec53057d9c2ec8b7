/** A GraphQL question as a command. */
export function curlOf(document: { toString(): string }, variables: unknown, needsKey = false): string {
  const body = JSON.stringify({ query: document.toString().trim(), variables }).replaceAll("'", "'\\''")
  const key = needsKey ? ` \\\n  -H "Authorization: Bearer $MARKET_KEY"` : ''
  return `curl -s ${location.origin}/graphql${key} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
