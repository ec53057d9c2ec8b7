import type { FalClient } from '@fal-ai/client'
import { createFalClient } from '@fal-ai/client'

/** The proxy, the buyer's key there, and the hosts of the provider's record. */
type Place = { readonly proxy: string; readonly key: string; readonly run: string; readonly queue: string }

/**
 * The stock client of a queue provider. Its own hook for requests sends each one to the proxy with the buyer's key, and
 * the requested address in `x-target-url`, at the hosts of this test. `costs` collects the costs in its answers.
 */
export function queueClient({ proxy, key, run, queue }: Place): {
  readonly client: FalClient
  readonly costs: (string | null)[]
} {
  const costs: (string | null)[] = []
  const client = createFalClient({
    // A key in the environment of the test is ignored.
    credentials: '',
    requestMiddleware({ url, method, headers }) {
      const { host, pathname, search } = new URL(url)
      const target = (host.startsWith('queue.') ? queue : run) + pathname + search
      const own = { authorization: `Bearer ${key}`, 'x-target-url': target }
      return Promise.resolve({ url: proxy, method, headers: { ...headers, ...own } })
    },
    async fetch(...request: Parameters<typeof fetch>) {
      const answer = await fetch(...request)
      costs.push(answer.headers.get('x-mkt-buyer-cost-micro'))
      return answer
    },
  })
  return { client, costs }
}
