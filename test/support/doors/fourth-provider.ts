import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ResourceInput } from '#shared/catalog/resources.ts'

/** A provider that no release knows. It accepts keys which begin with `fp-good`. */
export type FourthProvider = {
  readonly url: string
  /** The requests, each with the header that contained the key. */
  readonly asked: { readonly path: string; readonly key: string }[]
  close(): void
}

export async function startFourthProvider(): Promise<FourthProvider> {
  const asked: FourthProvider['asked'] = []
  const server = createServer((request, response) => {
    const key = String(request.headers['x-fourth'] ?? '')
    asked.push({ path: request.url ?? '', key })
    const isGood = key.startsWith('Token fp-good')
    response.statusCode = isGood ? 200 : 401
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(isGood ? { tier: 3, echo: key } : { error: `bad key ${key}` }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, asked, close: () => void server.close().closeAllConnections() }
}

/** The provider's record. */
export const fourthRecord = (baseUrl: string, changes: Partial<ResourceInput> = {}): ResourceInput => ({
  id: 'provider-x4',
  kind: 'resource',
  name: 'Provider X4',
  unit: 'per image',
  style: 'path',
  hosts: [{ role: 'api', baseUrl }],
  credential: { header: 'x-fourth', prefix: 'Token ' },
  probe: { host: 'api', path: '/me', accepts: [200] },
  traits: [
    { name: 'account.tier2', title: 'Higher limits.', shownBy: { at: 'answer.tier', isOneOf: ['2', '3'] } },
    { name: 'account.private', title: 'Keeps nothing.' },
  ],
  goods: [{ id: 'draw', prices: { images: '0.02' } }],
  routes: [
    {
      id: 'draw',
      title: 'Draw',
      kind: 'sale',
      methods: ['POST'],
      host: 'api',
      path: '/draw',
      good: 'draw',
      quote: { images: 'body.n ?? 1' },
      reported: { images: 'count(answer.images[*])' },
    },
  ],
  ...changes,
})
