import { z } from 'zod'
import { HEADERS } from './answer-headers.ts'
import type { DocumentRoute } from './control-routes.ts'
import { controlRoutes } from './control-routes.ts'
import { dataRoutes } from './data-routes.ts'
import type { Components, Json } from './json-schema.ts'
import { PAYMENT_REQUIRED, refusalResponses } from './refusals.ts'

const DESCRIPTION = `An open marketplace for inference: sellers list capacity, buyers call one API, each call goes to the
cheapest healthy seller.

- **Buyers** call the wires of OpenAI and Anthropic with a key \`inf_…\`. Every answer has its cost.
- **Sellers** list offers with a key \`mkt_seller_…\`.
- **Organizations**: manage them with a management key \`mkt_mgmt_…\` or as a signed-in user.
- Amounts are micro-USD, instants Unix milliseconds, unless a name says otherwise (\`_usd\`, seconds in \`created\`).
- Every refusal has a code of one table and a request id; \`Retry-After\` says when to try again.
- Lists page with \`next_token\`. Writes take an \`Idempotency-Key\`.`

const TAGS: readonly (readonly [name: string, description: string])[] = [
  ['Chat', 'Chats in OpenAI’s protocol.'],
  ['Responses', 'OpenAI’s responses protocol.'],
  ['Messages', 'Anthropic’s messages protocol, under /compat.'],
  ['Completions', 'Plain texts.'],
  ['Embeddings', 'Vectors of texts.'],
  ['Images', 'Create and edit images.'],
  ['Audio', 'Speech and transcripts.'],
  ['Video', 'Films, as long jobs.'],
  ['Music', 'Music, as long jobs.'],
  ['Media files', 'Files that answers link to.'],
  ['Provider keys', 'Calls to whole providers, on keys that sellers lend.'],
  ['Forwarded calls', 'Reads of other services, paid by wallets.'],
  ['Catalog', 'Models, providers and prices.'],
  ['Market', 'Public figures of the market.'],
  ['Calls', 'Look-ups of calls, and explanations of routes.'],
  ['Sign-in', 'Sign in with a wallet, a passkey or a link by e-mail, for a key or in a browser.'],
  ['Account', 'Balance, preferences and own providers of a buyer.'],
  ['Buyer keys', 'Keys for calls, with their limits.'],
  ['Usage', 'Usage, spend and savings.'],
  ['Webhooks', 'Events for your own address.'],
  ['Offers', 'Models that you sell, with their discounts.'],
  ['Lent keys', 'Whole provider accounts that sellers lend.'],
  ['Earnings', 'Earnings and payouts of sellers.'],
  ['Seller keys', 'Keys of sellers.'],
  ['Organizations', 'People, workspaces and their keys.'],
  ['Audit', 'The log of changes.'],
  ['Health', 'For load balancers and watchers.'],
]

const bearer = (description: string): Json => ({ type: 'http', scheme: 'bearer', description })
const SECURITY_SCHEMES: Json = {
  buyerKey: bearer('A buyer key: it begins with inf_.'),
  sellerKey: bearer('A seller key: it begins with mkt_seller_.'),
  managementKey: bearer('A management key of an organization: it begins with mkt_mgmt_.'),
  messagesKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'A buyer key, as Anthropic’s clients send it.',
  },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-mkt_session', description: 'A signed-in user.' },
}

/** The description of every REST route of the control plane and every wire and read of the data plane. */
export function buildDocument(version: string): Json {
  const components: Components = new Map([['PaymentRequired', PAYMENT_REQUIRED]])
  const routes = named([...dataRoutes(components), ...controlRoutes(components)])
  requireChapters(routes)
  const schemas = [...components].sort(([left], [right]) => (left < right ? -1 : 1))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Inference marketplace',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    'x-service-info': {
      categories: ['ai', 'inference'],
      docs: { homepage: '/docs', apiReference: '/openapi.json', llms: '/llms.txt' },
    },
    servers: [{ url: '/', description: 'The address of this document.' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    paths: pathsOf(routes),
    components: {
      schemas: Object.fromEntries(schemas),
      responses: usedResponses(routes),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

/** Throws for an operation whose chapter is not in `TAGS`. The reference page would not show the operation. */
function requireChapters(routes: readonly DocumentRoute[]): void {
  const chapters = new Set<unknown>(TAGS.map(([name]) => name))
  for (const { path, operation } of routes) {
    const [tag] = z.array(z.string()).parse(operation['tags'])
    if (!chapters.has(tag)) throw new Error(`${path} is in an unknown chapter: ${tag}`)
  }
}

/** Gives every operation a name of its own, because several paths may run the same operation. */
function named(routes: readonly DocumentRoute[]): DocumentRoute[] {
  const takenIds = new Set<string>()
  return routes.map((route) => {
    const words = String(route.operation['operationId'])
    const bare = camel(words)
    const id = takenIds.has(bare) ? camel(`${words}.${route.method}.${route.path}`) : bare
    if (takenIds.has(id)) throw new Error(`${id} names two operations`)
    takenIds.add(id)
    return { ...route, operation: { ...route.operation, operationId: id } }
  })
}

function camel(words: string): string {
  const [first = '', ...rest] = words.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return first + rest.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}

function pathsOf(routes: readonly DocumentRoute[]): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const { path, method, operation } of routes) paths[path] = { ...paths[path], [method]: operation }
  return paths
}

function usedResponses(routes: readonly DocumentRoute[]): Json {
  const text = JSON.stringify(routes)
  return Object.fromEntries(
    Object.entries(refusalResponses()).filter(([name]) => text.includes(`"#/components/responses/${name}"`)),
  )
}
