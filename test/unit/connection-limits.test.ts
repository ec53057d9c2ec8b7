import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { limitConnections, watchSlowBodies } from '#data-plane/http/connection-limits.ts'
import { refuseSlowBody } from '#data-plane/http/socket-errors.ts'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { until } from '#test/support/run/until.ts'
import { createManualTime } from './fixtures/manual-time.ts'

const sockets: Socket[] = []
let server: Server | undefined

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await new Promise((resolve) => server?.close(resolve))
})

async function listen(made: Server): Promise<number> {
  server = made
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  const address = made.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

function dial(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  sockets.push(socket)
  return socket
}

describe('connections of one address', () => {
  it('have a maximum number, and a closed connection frees a place', async () => {
    const made = createServer()
    limitConnections(made, 3)
    let accepted = 0
    made.on('connection', () => accepted++)
    const port = await listen(made)
    const first = [dial(port), dial(port), dial(port)]
    await until('three connections are open', 2_000, () => accepted === 3)
    const refused = dial(port)
    await until('the fourth connection is closed', 2_000, () => refused.destroyed)
    expect(first.some((socket) => socket.destroyed)).toBe(false)
    first[0]?.destroy()
    await until('a new connection is accepted', 2_000, async () => {
      const next = dial(port)
      await new Promise((resolve) => next.once('connect', resolve))
      await new Promise((resolve) => setImmediate(resolve))
      return !next.destroyed && next.readyState === 'open'
    })
  })
})

describe('[F45] a body that arrives too slowly', () => {
  it('has 15 seconds, then 408 closes its connection; a faster body continues', async () => {
    const { time, pass } = createManualTime()
    const bodies = watchSlowBodies(time)
    const ids = createIds(systemClock)
    let begun = 0
    const read = new Map<string, number>()
    const made = createServer((request) => {
      bodies.watch(request, () => refuseSlowBody(ids, request.socket))
      begun++
      request.on('data', (chunk: Buffer) => {
        const name = request.url ?? ''
        read.set(name, (read.get(name) ?? 0) + chunk.length)
      })
    })
    const port = await listen(made)
    const head = (path: string) => `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n`
    const slow = dial(port)
    const steady = dial(port)
    let answer = ''
    slow.on('data', (chunk: Buffer) => {
      answer += chunk.toString()
    })
    slow.write(`${head('/slow')}x`)
    steady.resume()
    steady.write(`${head('/steady')}${'x'.repeat(18_000)}`)
    await until('both bodies have begun', 2_000, () => begun === 2 && (read.get('/steady') ?? 0) >= 18_000)
    await pass(14_000)
    expect(slow.destroyed).toBe(false)
    await pass(2_000)
    await until('the slow connection is closed', 2_000, () => slow.destroyed)
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('invalid_request')
    expect(steady.destroyed).toBe(false)
    await pass(3_000)
    await until('the steady body fell below the rate', 2_000, () => steady.destroyed)
    bodies.close()
  })

  it('has its 15 seconds of a process that reads: a stall is not its own time', async () => {
    const { time, pass, freeze } = createManualTime()
    const bodies = watchSlowBodies(time)
    let begun = 0
    let cuts = 0
    const made = createServer((request) => {
      bodies.watch(request, () => cuts++)
      begun++
    })
    const port = await listen(made)
    dial(port).write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\nx')
    await until('the body has begun', 2_000, () => begun === 1)
    await pass(13_000)
    for (const readMs of [0, 1_000]) {
      await pass(readMs)
      await freeze(30_000)
      expect(cuts).toBe(0)
    }
    await pass(1_000)
    expect(cuts).toBe(1)
    bodies.close()
  })
})
