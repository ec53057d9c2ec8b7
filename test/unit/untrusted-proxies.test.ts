import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createUntrustedProxies } from '#shared/untrusted-proxies.ts'

/** The warnings of a server that trusts these proxies, for requests from an address with a header. */
async function watched(trusted: string, requests: readonly (readonly [from: string, header?: string])[]) {
  const warned: unknown[] = []
  const log = { warn: (facts: unknown) => void warned.push(facts) }
  const proxies = createUntrustedProxies(log as never)
  const server = fastify({ trustProxy: [trusted] })
  server.addHook('onRequest', async (request) => proxies.see(request))
  server.get('/', async () => ({}))
  for (const [remoteAddress, header] of requests) {
    const headers = header === undefined ? {} : { 'x-forwarded-for': header }
    await server.inject({ method: 'GET', url: '/', remoteAddress, headers })
  }
  await server.close()
  return { count: proxies.count(), warned }
}

describe('a proxy that forwards requests', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['192.168.0.9', '192.168.0.9'],
    ['172.16.0.1', '172.16.0.1'],
    ['100.64.0.7', '100.64.0.7'],
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['fd00::1', 'fd00::1'],
  ])('from %s without an entry in the list is named in one warning', async (from, proxy) => {
    const request = [from, '203.0.113.9'] as const
    expect(await watched('192.0.2.1', [request, request, request])).toEqual({ count: 1, warned: [{ proxy }] })
  })

  it('causes no warning when it is on the list, is a stranger at a public address, or names no client', async () => {
    const requests = [['10.1.2.3', '203.0.113.9'], ['10.1.2.3', '10.1.2.3'], ['9.9.9.9', '198.51.100.1'], ['10.9.9.9']]
    const { count } = await watched('10.1.0.0/16', requests as never)
    expect(count).toBe(0)
  })

  it('is one of at most a hundred that the server remembers', async () => {
    const requests = Array.from({ length: 150 }, (_, at) => [`10.0.0.${at}`, '203.0.113.9'] as const)
    const { count, warned } = await watched('192.0.2.1', requests)
    expect([count, warned.length]).toEqual([100, 100])
  })
})
