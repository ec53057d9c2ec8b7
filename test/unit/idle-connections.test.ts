import type { Server } from 'node:http'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { keepIdleLonger } from '#shared/idle-connections.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 20_000
/** Shorter than every wait of this file, so that the timeouts of Node itself never come. */
const ANNOUNCED_MS = 60_000

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let server: Server | undefined
afterEach(() => {
  agent.destroy()
  server?.closeAllConnections()
  server?.close()
})

/** A server on one of whose connections a request was served. `expire` ends the announced time of the connection. */
async function serve(graceMs: number) {
  const made = createServer({ keepAliveTimeout: ANNOUNCED_MS }, (_message, response) => response.end('served'))
  server = made
  keepIdleLonger(made, graceMs)
  const sockets: Socket[] = []
  made.on('connection', (socket) => sockets.push(socket))
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  const { port } = made.address() as AddressInfo
  const ask = () =>
    new Promise<{ status: number | undefined; announced: unknown }>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', agent }, (response) => {
        response.resume().on('end', () => {
          const { statusCode: status, headers } = response
          resolve({ status, announced: headers['keep-alive'] })
        })
      })
      sent.on('error', reject)
      sent.end()
    })
  const first = await ask()
  const [socket] = sockets
  if (socket === undefined) throw new Error('there is no connection')
  return { first, socket, ask, sockets, expire: () => socket.emit('timeout') }
}

it('an idle connection outlives the time that its answers announce, and then closes', async () => {
  const { first, socket, expire } = await serve(40)
  expect(first).toEqual({ status: 200, announced: 'timeout=60' })
  expire()
  expect(socket.destroyed).toBe(false)
  await until('the connection closes', WAIT_MS, () => socket.destroyed)
})

it('a request in the time beyond is served on the same connection, which then has its whole time again', async () => {
  const { ask, socket, sockets, expire } = await serve(30_000)
  expire()
  expect((await ask()).status).toBe(200)
  expect(sockets.length).toBe(1)
  expect(socket.timeout).toBeGreaterThanOrEqual(ANNOUNCED_MS)
  expire()
  expect([socket.destroyed, socket.timeout]).toEqual([false, 30_000])
})
