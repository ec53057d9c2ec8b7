import type { ClientRequest, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import { expect, it } from 'vitest'
import { mountControlPaths } from '#data-plane/http/pass-on.ts'
import { PASS_ON_LIMITS } from '#data-plane/http/passed-on-places.ts'
import { CONTROL_PREFIXES } from '#data-plane/routes.ts'
import { toAppError } from '#shared/errors.ts'
import { askRaw, rawGet, statusIn } from '#test/support/market/raw-http.ts'
import { until } from '#test/support/run/until.ts'

it("forwards the client's address behind those of earlier proxies, and no other header that only a proxy may set", async () => {
  const upstream = createServer((request, response) => response.end(JSON.stringify(request.headers)))
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done))
  const { port } = upstream.address() as AddressInfo
  const app = fastify({ forceCloseConnections: true })
  await mountControlPaths(app, `http://127.0.0.1:${port}`, [{ prefix: '/v1/buyer' }])
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const seen = async (headers: Record<string, string>) =>
    (await fetch(`${url}/v1/buyer/me`, { headers })).json() as Promise<Record<string, string>>

  expect((await seen({}))['x-forwarded-for']).toBe('127.0.0.1')
  const told = { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.8', 'x-request-id': 'mine' }
  const passed = await seen({ ...told, forwarded: 'for=203.0.113.9', authorization: 'Bearer x' })
  expect(passed).toMatchObject({ 'x-forwarded-for': '203.0.113.7, 127.0.0.1', authorization: 'Bearer x' })
  for (const name of ['x-real-ip', 'x-request-id', 'forwarded']) expect(name in passed).toBe(false)

  await app.close()
  upstream.close()
})

/** Spellings that lead out of a prefix, or that two readers resolve to different paths. */
const WAYS_OUT = [
  '/../../metrics',
  '/../metrics',
  '/..',
  '/.',
  '/./me',
  '/a/../../../metrics',
  '/%2e%2e/%2e%2e/metrics',
  '/.%2e/me',
  '/%2E%2E/metrics',
  '/..%2f..%2fmetrics',
  '/..%5c..%5cmetrics',
  '/%2e%2e%2fmetrics',
  '/a%2fb',
  '/a%5cb',
  '/%252e%252e/%252e%252e/metrics',
  '/%252e%252e%252fmetrics',
  '/%25252e%25252e/metrics',
  '/..%252fmetrics',
  '/..;/..;/metrics',
  '/..;a=b/metrics',
  '/;/../metrics',
  '/me;a=b',
  '/me%3ba=b',
  '/..\\..\\metrics',
  '/\\metrics',
  '//metrics',
  '/a//b',
  '//evil.example/metrics',
  '/..foo',
  '/foo..',
  '/%00',
  '/%0d%0a',
  '/%',
  '/%c0%ae%c0%ae/metrics',
  '/me#/../../metrics',
  '/%23/metrics',
  '/%3f/metrics',
]

it('forwards no request whose path is outside of the prefix, in any spelling', async () => {
  const seen: (string | undefined)[] = []
  const upstream = createServer((request, response) => {
    seen.push(request.url)
    response.end('passed')
  })
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done))
  const { port } = upstream.address() as AddressInfo
  const app = fastify({
    forceCloseConnections: true,
  })
  app.setErrorHandler((error, _request, reply) => reply.code(toAppError(error).status).send())
  await mountControlPaths(app, `http://127.0.0.1:${port}`, CONTROL_PREFIXES)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const wrong: unknown[] = []
  // The root itself is forwarded, and no path below it.
  for (const { prefix } of CONTROL_PREFIXES.filter((known) => known.prefix !== '/')) {
    const encoded = prefix.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    for (const target of [
      ...WAYS_OUT.map((way) => prefix + way),
      `${encoded}/me`,
      `/.${prefix}/me`,
      `/x/..${prefix}/me`,
    ]) {
      const status = statusIn(await askRaw(url, rawGet(target, ['Host: a'])))
      if (status !== 404 && status !== 400) wrong.push([target, status])
    }
    expect(statusIn(await askRaw(url, rawGet(`${prefix}/a.b,c/0x1f@d:e~-_?q=/../x%2f;`, ['Host: a'])))).toBe(200)
    expect(seen.splice(0)).toEqual([`${prefix}/a.b,c/0x1f@d:e~-_?q=/../x%2f;`])
  }
  expect(wrong).toEqual([])

  await app.close()
  upstream.close()
})

it('forwards headers named by Connection when they concern more than one connection', async () => {
  const upstream = createServer((request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify(request.headers)))
  })
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done))
  const { port } = upstream.address() as AddressInfo
  const app = fastify({ forceCloseConnections: true })
  await mountControlPaths(app, `http://127.0.0.1:${port}`, [{ prefix: '/v1/buyer' }])
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const lines = [
    'Host: a',
    'Authorization: Bearer x',
    'X-Own: 1',
    'Content-Type: application/json',
    'Content-Length: 2',
  ]
  const names = 'close, authorization, x-own, content-length, content-type, x-forwarded-for, host, upgrade, keep-alive'
  const hops = [`Connection: ${names}`, 'Keep-Alive: timeout=5', 'Upgrade: h2c', 'TE: trailers', 'Expect: 100-continue']
  const answer = await askRaw(url, `POST /v1/buyer/me HTTP/1.1\r\n${[...lines, ...hops].join('\r\n')}\r\n\r\n{}`)
  const passed = JSON.parse(answer.slice(answer.lastIndexOf('\r\n\r\n')).replace(/^[^{]*|[^}]*$/g, '')) as object
  expect(passed).toMatchObject({ authorization: 'Bearer x', 'x-own': '1', 'x-forwarded-for': '127.0.0.1' })
  expect(passed).toMatchObject({ 'content-type': 'application/json', 'content-length': '2' })
  for (const name of ['keep-alive', 'upgrade', 'te', 'expect']) expect([name, name in passed]).toEqual([name, false])

  await app.close()
  upstream.close()
})

it('lets neither streams nor slow uploads of one address take the places of others', async () => {
  const open: ServerResponse[] = []
  const upstream = createServer((request, response) => {
    if (request.headers.accept === EVENTS) {
      response.writeHead(200, { 'content-type': EVENTS })
      response.write(':\n\n')
      open.push(response)
    } else request.resume().on('end', () => response.end('passed'))
  })
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done))
  const { port } = upstream.address() as AddressInfo
  const app = fastify({ forceCloseConnections: true, trustProxy: 'loopback' })
  app.setErrorHandler((error, _request, reply) => reply.code(toAppError(error).status).send())
  await mountControlPaths(app, `http://127.0.0.1:${port}`, [{ prefix: '/graphql' }])
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const asked: ClientRequest[] = []
  const ask = (from: string, headers: Record<string, string> = {}): Promise<number> =>
    new Promise((resolve) => {
      const sent = request(`${url}/graphql`, {
        method: 'POST',
        agent: false,
        headers: { 'x-forwarded-for': from, ...headers },
      })
      asked.push(sent)
      sent.on('response', ({ statusCode }) => resolve(statusCode ?? 0)).on('error', () => resolve(0))
      // A body that is announced and does not arrive.
      if ('content-length' in headers) sent.flushHeaders()
      else sent.end()
    })
  const many = (count: number, from: string, headers: Record<string, string>) =>
    Array.from({ length: count }, () => ask(from, headers))

  const { stream, call } = PASS_ON_LIMITS
  const streams = await Promise.all(many(stream.perAddress + 5, '198.51.100.1', { accept: EVENTS }))
  expect(streams.filter((status) => status === 200)).toHaveLength(stream.perAddress)
  expect(streams.filter((status) => status === 429)).toHaveLength(5)
  expect(await ask('198.51.100.1')).toBe(200)
  expect(await ask('198.51.100.2', { accept: EVENTS })).toBe(200)

  void many(call.perAddress + 5, '198.51.100.3', { 'content-length': '9' })
  expect(await ask('198.51.100.2')).toBe(200)
  await until('the last requests are refused', 5_000, async () => (await ask('198.51.100.3')) === 429)
  for (const each of asked) each.destroy()
  await until('the places are free', 5_000, async () => (await ask('198.51.100.3')) === 200)
  await until(
    'the places of streams are free, too',
    5_000,
    async () => (await ask('198.51.100.1', { accept: EVENTS })) === 200,
  )

  for (const each of asked) each.destroy()
  for (const response of open) response.end()
  await app.close()
  upstream.closeAllConnections()
  upstream.close()
})

const EVENTS = 'text/event-stream'
