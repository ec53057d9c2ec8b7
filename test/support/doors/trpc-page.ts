import { readProcedures } from '#dev/procedures/procedures.ts'

const HEAD = `# tRPC procedures

<!-- Generated from the router: npm run generate -->

Call procedures at \`/trpc\`. A query is \`GET /trpc/{procedure}?input={JSON}\`, a mutation \`POST /trpc/{procedure}\` with the
input as JSON. Send a buyer's, a seller's or a management key in \`Authorization: Bearer …\`. An answer is
\`{"result":{"data":…}}\`, a refusal \`{"error":{"message","code","data":{"errorCode","param","problems","requestId",…}}}\` with
our code as \`errorCode\` ([Error catalogue](errors.md)). Procedures that create something take \`Idempotency-Key\`.

\`\`\`sh
curl -s "$MARKET_URL/trpc/buyer.me" -H "Authorization: Bearer $MARKET_KEY"
curl -s "$MARKET_URL/trpc/preferences.put" -H "Authorization: Bearer $MARKET_KEY" \\
  -H 'Content-Type: application/json' -d '{"minDiscountPct":10}'
\`\`\`

The router types a program in TypeScript, without generated code. \`control-plane/cli/market-client.ts\` is such a client.

\`\`\`ts
import { createTRPCClient, httpLink } from '@trpc/client'
import type { AppRouter } from '#control-plane/api/trpc/router.ts'

const market = createTRPCClient<AppRouter>({
  links: [httpLink({ url: \`\${address}/trpc\`, headers: { authorization: \`Bearer \${key}\` } })],
})
const { stats } = await market.buyer.me.query()
\`\`\`

## Procedures

`

/** The text of docs/trpc.md: how to call tRPC, and every procedure of the router, sorted by name. */
export function trpcPage(): string {
  const rows = readProcedures().map(({ name, type, words }) => `- \`${name}\` (${type}): ${words.summary}`)
  return `${HEAD}${rows.join('\n')}\n`
}
