import type { ShownResource } from './shown-resource.ts'

type Route = ShownResource['routes'][number]

/** A command to paste: a call of the resource's first route that has a price. */
export function callOf({ market, hosts, goods, routes }: ShownResource, apiBaseUrl: string): string {
  const route = routes.find(({ kind }) => kind === 'sale') ?? routes[0]
  if (route === undefined) return ''
  const good = goods[0]?.id ?? ''
  const method = route.methods[0] ?? 'POST'
  const path = filled(route.path, good)
  const body =
    method === 'GET'
      ? ''
      : ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(bodyOf(route, good))}'`
  if (market.kind === 'family') {
    // A family is sold to wallets alone, so the answer to a first call has the price.
    return `curl -i -X ${method} ${apiBaseUrl}/x402/api/${market.id}${path}${body}`
  }
  const key = '-H "Authorization: Bearer $MARKET_KEY"'
  if (market.style === 'path')
    return `curl -X ${method} ${apiBaseUrl}/resources/${market.id}${path} \\\n  ${key}${body}`
  const host = hosts.find(({ role }) => role === route.host)?.baseUrl ?? ''
  return `curl -X ${method} ${apiBaseUrl}/resources/${market.id} \\\n  ${key} \\\n  -H 'x-target-url: ${host}${path}'${body}`
}

/** A path with the good in place of `{model}`, and a placeholder in place of each other name. */
function filled(path: string, good: string): string {
  return path.replaceAll(/\{(\w+)\+?\}/g, (_whole, name: string) => (name === 'model' ? good : name.toUpperCase()))
}

function bodyOf({ rpcMethods, path }: Route, model: string): object {
  const [method] = rpcMethods ?? []
  if (method !== undefined) return { jsonrpc: '2.0', id: 1, method, params: [] }
  if (path.endsWith('/chat/completions')) {
    return { model, max_tokens: 32, messages: [{ role: 'user', content: 'Say hello.' }] }
  }
  return { model, prompt: 'Waves at night' }
}
