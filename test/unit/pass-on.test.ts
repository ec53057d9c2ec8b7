import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import { expect, it } from 'vitest'
import { mountControlPaths } from '#data-plane/http/pass-on.ts'

it('passes on who called, behind what earlier hops have said, and nothing else that only a hop may say', async () => {
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
