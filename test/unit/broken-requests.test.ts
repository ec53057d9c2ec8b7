import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { BrokenRequests } from '#shared/broken-requests.ts'
import { createBrokenRequests } from '#shared/broken-requests.ts'
import { until } from '#test/support/run/until.ts'
import type { ManualTime } from './fixtures/manual-time.ts'
import { createManualTime } from './fixtures/manual-time.ts'

/** Milliseconds after which the parser calls a head late, and between two checks. */
const LATE = { headersTimeout: 40, requestTimeout: 60_000, connectionsCheckingInterval: 10 }
const WAIT_MS = 20_000
const sockets: Socket[] = []
let server: Server | undefined

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await new Promise((resolve) => server?.close(resolve))
})

type World = Pick<ManualTime, 'pass'> & {
  readonly broken: BrokenRequests
  /** The number of errors of the parser so far. */
  errors(): number
  dial(): Socket & { received: string }
}

async function open(): Promise<World> {
  const { time, pass } = createManualTime()
  const broken = createBrokenRequests(({ message }) => ({ id: 'r1', body: message }), time)
  const made = createServer(LATE, (_request, response) => response.end('served'))
  server = made
  let errors = 0
  made.on('clientError', (error: Error, socket: Socket) => {
    errors++
    broken.refuse(error, socket)
  })
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  const address = made.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    broken,
    pass,
    errors: () => errors,
    dial() {
      const socket = Object.assign(connect(port, '127.0.0.1'), { received: '' })
      socket.on('error', () => undefined)
      socket.on('data', (chunk: Buffer) => {
        socket.received += chunk.toString()
      })
      sockets.push(socket)
      return socket
    },
  }
}

describe('a connection on which nothing was sent', () => {
  it('gets no answer that its client would take for that of its next request', async () => {
    const { dial, errors } = await open()
    const socket = dial()
    await until('the parser gave up', WAIT_MS, () => errors() === 1)
    expect(socket.received).toBe('')
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('the request is served', WAIT_MS, () => socket.received.includes('served'))
    expect(socket.received).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('is closed without an answer after the time of an idle one, and when the server ends', async () => {
    const { dial, errors, pass, broken } = await open()
    const idle = dial()
    await until('the parser gave up', WAIT_MS, () => errors() === 1)
    await pass(54_000)
    expect(idle.destroyed).toBe(false)
    await pass(2_000)
    await until('the connection is closed', WAIT_MS, () => idle.destroyed)
    const other = dial()
    await until('the parser gave up', WAIT_MS, () => errors() === 2)
    broken.close()
    await until('the connection is closed', WAIT_MS, () => other.destroyed)
    expect([idle.received, other.received]).toEqual(['', ''])
  })

  it('has the usual time for its head from its first byte on', async () => {
    const { dial, errors } = await open()
    const socket = dial()
    await until('the parser gave up', WAIT_MS, () => errors() === 1)
    socket.write('GET / HT')
    await until('the head is late', WAIT_MS, () => socket.destroyed)
    expect(socket.received).toMatch(/^HTTP\/1\.1 408 /)
  })
})

it('a request that the parser cannot read is refused, and its connection closes', async () => {
  const { dial } = await open()
  const socket = dial()
  socket.write('nonsense\r\n\r\n')
  await until('the connection is closed', WAIT_MS, () => socket.destroyed)
  expect(socket.received).toMatch(
    /^HTTP\/1\.1 400 .*\r\nx-request-id: r1\r\nconnection: close\r\n\r\nThe request is not/s,
  )
})
