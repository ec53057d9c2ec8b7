import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectOf } from '#data-plane/pipeline/attempt-result.ts'
import { createKeyPatterns } from '#data-plane/upstream/key-pattern.ts'
import type { Upstream } from '#data-plane/upstream/send.ts'
import { createUpstream } from '#data-plane/upstream/send.ts'
import { createHostList } from '#shared/catalog/provider-hosts.ts'
import { systemClock } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'

const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
/** No server listens at this port. */
const CLOSED = '127.0.0.1:1'
let host: string
let upstream: Upstream

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const hosts = createHostList([host, CLOSED])
  upstream = createUpstream({
    policy: { allowsLoopback: true },
    openCredential: () => new Secret('sk-a-key-of-a-seller-9fK2mZ'),
    patterns: createKeyPatterns(),
    clock: systemClock,
    allowedHosts: () => hosts,
  })
})
afterAll(async () => {
  await upstream.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

/** The events of one request, in their order. `turn` is the next turn of the event loop. */
function ask(place = host): Promise<string[]> {
  const events: string[] = []
  const destination = { baseUrl: `http://${place}`, apiFormat: 'openai', credential: { host: place } } as never
  const request = { path: '/v1/chat/completions', body: '{}', contentType: 'application/json', accept: '*/*' }
  return new Promise((resolve) => {
    upstream.send(
      destination,
      request as never,
      { firstByteMs: 60_000 },
      {
        onConnected: () => events.push('connected'),
        onHead: () => events.push('head'),
        onData: () => undefined,
        onEnd: () => resolve([...events, 'end']),
        onError: () => resolve([...events, 'error']),
      },
    )
    setImmediate(() => events.push('turn'))
  })
}

describe('the wait for a connection', () => {
  it('ends before the head. A request on an open connection does not wait', async () => {
    expect(await ask()).toEqual(['turn', 'connected', 'head', 'end'])
    // The client frees a connection after it has reported the end.
    await new Promise((resolve) => setImmediate(resolve))
    expect(await ask()).toEqual(['connected', 'turn', 'head', 'end'])
  })

  it('never ends for an address that refuses connections', async () => {
    expect(await ask(CLOSED)).toEqual(['turn', 'error'])
  })

  it.each([
    [undefined, {}],
    [100.2, {}],
    [141.6, { connectMs: 42 }],
  ])('is in the row of an attempt in whole milliseconds, when there are any: %s', (connectedAt, row) => {
    expect(connectOf({ sentAt: 100, connectedAt })).toEqual(row)
  })
})
