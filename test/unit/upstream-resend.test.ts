import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { askProvider } from '#data-plane/pipeline/attempt/ask-provider.ts'
import { createKeyPatterns } from '#data-plane/upstream/key-pattern.ts'
import type { Upstream, UpstreamFlow, UpstreamOptions } from '#data-plane/upstream/send.ts'
import { createUpstream } from '#data-plane/upstream/send.ts'
import { createHostList } from '#shared/catalog/provider-hosts.ts'
import { systemClock } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'
import { until } from '#test/support/run/until.ts'

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'

/** The act of a provider on a request, by the number of requests that its connection has brought before. */
type Behaviour = (socket: Socket, before: number) => void

/** A provider that closes each connection when the connection is used again. */
const closesOnReuse: Behaviour = (socket, before) => {
  if (before === 0) socket.write(ANSWER)
  else socket.resetAndDestroy()
}

/** For each request, the number of its connection. */
let requests: number[] = []
let behave: Behaviour = closesOnReuse
/** Milliseconds that the clock of the market is ahead. */
let ahead = 0
let connections = 0

const server = createServer((socket) => {
  const connection = ++connections
  let [before, text] = [0, '']
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (!text.endsWith('{"a":1}')) return
    text = ''
    requests.push(connection)
    behave(socket, before++)
  })
})
let host: string
let upstream: Upstream
const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead }

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  const hosts = createHostList([host])
  upstream = createUpstream({
    policy: { allowsLoopback: true },
    openCredential: () => new Secret('sk-a-key-of-a-seller-9fK2mZ'),
    patterns: createKeyPatterns(),
    clock,
    allowedHosts: () => hosts,
  })
  requests = []
  connections = 0
  ahead = 0
  behave = closesOnReuse
  return () => upstream.close()
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

const destination = () => ({ baseUrl: `http://${host}`, apiFormat: 'openai', credential: { host } }) as never
const REQUEST = { path: '/v1/chat/completions', body: '{"a":1}', contentType: 'application/json', accept: '*/*' }

type Asked = { readonly events: string[]; readonly flow: UpstreamFlow; readonly over: Promise<string[]> }

function begin(options: Partial<UpstreamOptions> = {}, request: object = REQUEST): Asked {
  const events: string[] = []
  let flow: UpstreamFlow | undefined
  const over = new Promise<string[]>((resolve) => {
    flow = upstream.send(
      destination(),
      request as never,
      { firstByteMs: 60_000, mayResend: true, ...options },
      {
        onConnected: () => events.push('connected'),
        onResend: () => events.push('resend'),
        onHead: () => events.push('head'),
        onData: () => undefined,
        onEnd: () => resolve([...events, 'end']),
        onError: (_error, isSent) => resolve([...events, isSent ? 'error' : 'never sent']),
      },
    )
  })
  if (flow === undefined) throw new Error('no flow')
  return { events, flow, over }
}

/** Leaves one open connection that has brought an answer. */
async function use(): Promise<void> {
  expect(await begin().over).toEqual(['connected', 'head', 'end'])
  // The client frees a connection after it has reported the end.
  await new Promise((resolve) => setImmediate(resolve))
}

const ask = async (options?: Partial<UpstreamOptions>, request?: object) => begin(options, request).over

describe('a request whose idle connection is closed as it leaves', () => {
  it('is sent once more on a new connection, and answered', async () => {
    await use()
    expect(await ask()).toEqual(['connected', 'resend', 'connected', 'head', 'end'])
    expect(requests).toEqual([1, 1, 2])
  })

  it('is sent with its pieces again', async () => {
    const pieces = [Buffer.from('{"a"'), Buffer.from(':1}')]
    await use()
    expect(await ask({}, { ...REQUEST, body: '', pieces })).toEqual(['connected', 'resend', 'connected', 'head', 'end'])
    expect(requests).toEqual([1, 1, 2])
  })

  it('leaves no connection behind that would be reused', async () => {
    await use()
    await ask()
    await ask()
    expect(requests).toEqual([1, 1, 2, 3])
  })

  it('takes no other idle connection', async () => {
    await Promise.all([begin().over, begin().over, begin().over])
    await new Promise((resolve) => setImmediate(resolve))
    expect(await ask()).toEqual(['connected', 'resend', 'connected', 'head', 'end'])
    expect([requests.length, requests.at(-1)]).toEqual([5, 4])
  })

  it('fails when the new connection is closed too', async () => {
    await use()
    behave = (socket) => socket.resetAndDestroy()
    expect(await ask()).toEqual(['connected', 'resend', 'connected', 'error'])
    expect(requests).toEqual([1, 1, 2])
  })

  it('is not sent again after an abort', async () => {
    await use()
    const { events, flow } = begin()
    behave = (socket) => {
      flow.abort()
      socket.resetAndDestroy()
    }
    await until('the provider has the request', 5_000, () => Promise.resolve(requests.length === 2))
    await new Promise((resolve) => setImmediate(resolve))
    expect(await ask()).toEqual(['connected', 'error'])
    expect([events, requests.length]).toEqual([['connected'], 3])
  })
})

describe('a request that is sent once only', () => {
  it('has a new connection', async () => {
    behave = (socket) => socket.resetAndDestroy()
    expect(await ask()).toEqual(['connected', 'error'])
    expect(requests).toEqual([1])
  })

  it.each([
    ['a part of the head of its answer', 'HTTP/1.1 2'],
    ['an early hint', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('has %s', async (_part, bytes) => {
    await use()
    behave = (socket) => socket.write(bytes, () => socket.destroy())
    expect(await ask()).toEqual(['connected', 'error'])
    expect(requests).toEqual([1, 1])
  })

  it('has the head of its answer', async () => {
    await use()
    behave = (socket) => socket.write(ANSWER.slice(0, -1), () => socket.destroy())
    expect(await ask()).toEqual(['connected', 'head', 'error'])
    expect(requests).toEqual([1, 1])
  })

  it('was at its provider for more than a second', async () => {
    await use()
    behave = (socket) => {
      ahead += 1_001
      socket.resetAndDestroy()
    }
    expect(await ask()).toEqual(['connected', 'error'])
    expect(requests).toEqual([1, 1])
  })

  it('may have effects at its provider', async () => {
    await use()
    expect(await ask({ mayResend: false })).toEqual(['connected', 'error'])
    expect(requests).toEqual([1, 1])
  })

  it('is forwarded', async () => {
    const passedOn = {
      url: `http://${host}/v1/x`,
      hosts: createHostList([host]),
      sealedFor: host,
      credential: { header: 'authorization', prefix: 'Bearer ' },
      headers: [],
    }
    const forwarded = { ...REQUEST, path: '', body: '', pieces: [Buffer.from('{"a":1}')], passedOn }
    expect(await ask({}, forwarded)).toEqual(['connected', 'head', 'end'])
    await new Promise((resolve) => setImmediate(resolve))
    expect(await ask({}, forwarded)).toEqual(['connected', 'error'])
    expect(requests).toEqual([1, 1])
  })

  it('starts, reads or cancels a job', async () => {
    await use()
    const answer = await askProvider({ upstream, clock } as never, destination(), REQUEST as never, 60_000)
    expect(answer).toMatchObject({ status: 0, isSent: true, failure: { errorClass: 'unreachable' } })
    expect(requests).toEqual([1, 1])
  })
})
