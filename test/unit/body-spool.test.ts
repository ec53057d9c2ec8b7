import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBodySpool, readWholeBody } from '#data-plane/http/body-spool.ts'
import { AppError } from '#shared/errors.ts'

const LIMIT = 1_000
const waiting: ((request: IncomingMessage) => void)[] = []
let server: Server
let port = 0

beforeAll(async () => {
  server = createServer((request) => waiting.shift()?.(request))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  port = typeof address === 'object' && address !== null ? address.port : 0
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

/** A request whose head and first bytes have arrived. */
async function begin(head: string, body: string): Promise<{ request: IncomingMessage; socket: Socket }> {
  const arrived = new Promise<IncomingMessage>((resolve) => waiting.push(resolve))
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n${body}`)
  return { request: await arrived, socket }
}

async function codeOf(reading: Promise<Buffer>): Promise<string> {
  try {
    return (await reading).toString()
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

describe('a spooled body', () => {
  it('is read whole from any pieces, with and without a Content-Length', async () => {
    const plain = await begin('content-length: 6', 'abc')
    const chunked = await begin('transfer-encoding: chunked', '3\r\nabc\r\n')
    const both = [readWholeBody(plain.request, LIMIT), readWholeBody(chunked.request, LIMIT)]
    plain.socket.end('def')
    chunked.socket.end('3\r\ndef\r\n0\r\n\r\n')
    expect((await Promise.all(both)).map(String)).toEqual(['abcdef', 'abcdef'])
  })

  it('is one buffer also when it is large, with and without a Content-Length', async () => {
    const text = 'a large body '.repeat(200_000)
    const plain = await begin(`content-length: ${text.length}`, text)
    const chunked = await begin('transfer-encoding: chunked', `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    const both = [plain, chunked].map(({ request }) => readWholeBody(request, text.length))
    for (const body of await Promise.all(both)) expect(body.equals(Buffer.from(text))).toBe(true)
    for (const { socket } of [plain, chunked]) socket.destroy()
  })

  it('is refused above its limit, with and without a Content-Length', async () => {
    const { request, socket } = await begin('transfer-encoding: chunked', `7d0\r\n${'x'.repeat(2_000)}\r\n0\r\n\r\n`)
    expect(await codeOf(readWholeBody(request, LIMIT))).toBe('request_too_large')
    socket.destroy()
  })

  it('ends with an error when the sender disconnects, also before it is read', async () => {
    const { request, socket } = await begin('content-length: 100', 'abc')
    const reading = readWholeBody(request, LIMIT)
    socket.destroy()
    expect(await codeOf(reading)).toBe('invalid_request')
    expect(await codeOf(readWholeBody(request, LIMIT))).toBe('invalid_request')
  })
})

describe('the memory for bodies', () => {
  it('is reserved by the Content-Length, or by the limit where there is none', async () => {
    const spool = createBodySpool(1_600)
    const plain = (await begin('content-length: 600', '')).request
    const chunked = (await begin('transfer-encoding: chunked', '')).request
    const large = (await begin('content-length: 1001', '')).request
    const first = spool.reserve(plain, LIMIT)
    const second = spool.reserve(chunked, LIMIT)
    expect(() => spool.reserve(plain, LIMIT)).toThrow(expect.objectContaining({ code: 'overloaded' }))
    expect(() => spool.reserve(large, LIMIT)).toThrow(expect.objectContaining({ code: 'request_too_large' }))
    first()
    first()
    const third = spool.reserve(plain, LIMIT)
    expect(() => spool.reserve(plain, LIMIT)).toThrow(AppError)
    second()
    third()
    for (const request of [plain, chunked, large]) request.destroy()
  })
})
