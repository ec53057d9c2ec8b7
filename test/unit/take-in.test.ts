import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBodySpool } from '#data-plane/http/body-spool.ts'
import type { Row } from '#data-plane/http/row.ts'
import { fromFramework, sendError } from '#data-plane/http/send-error.ts'
import type { Surface } from '#data-plane/http/surface.ts'
import type { Flow } from '#data-plane/http/take-in.ts'
import { takeIn } from '#data-plane/http/take-in.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { systemClock } from '#shared/clock.ts'
import { toAppError } from '#shared/errors.ts'
import { createIds } from '#shared/ids.ts'

const LIMIT = 1_000
const LARGE = 1_500_000
const ids = createIds(systemClock)
const row: Row = {
  methods: ['POST'],
  host: 'both',
  path: '/raw',
  body: { kind: 'raw', limitBytes: LIMIT },
  envelope: openAiEnvelope,
  serves: { kind: 'metrics' },
}
const json: Row = { ...row, path: '/json', body: { kind: 'json', limitBytes: 2 * LARGE } }
let app: FastifyInstance
let port = 0
/** Called with each part of a body, or with the end of the body. */
let heard: (part: string) => void = () => undefined
const open = { count: 0 }
/** An answer waits for this promise. */
let mayEnd: Promise<void> | undefined

beforeAll(async () => {
  app = fastify({ genReqId: () => ids.requestId(), forceCloseConnections: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  const surface = { open, maxOpenCalls: 2 } as Partial<Surface> as Surface
  const reading = { clock: systemClock, floorBehind: undefined, readParams: () => ({}) }
  const flow: Flow = {
    isCounted: true,
    async serve(incoming, reply) {
      try {
        const { stream, body } = await incoming.read()
        for await (const part of stream ?? []) heard(String(part))
        heard('end')
        await mayEnd
        reply.whole(200, {}, `${body.length} held, ${open.count} open`)
      } catch (thrown) {
        const error = toAppError(thrown)
        heard(error.code)
        const refusal = openAiEnvelope(error, incoming.head.requestId)
        reply.whole(refusal.status, refusal.headers, refusal.body)
      }
    },
  }
  const spool = createBodySpool(2 * LARGE)
  for (const each of [row, json]) {
    app.route<{ Params: Record<string, string> }>({
      method: 'POST',
      url: each.path,
      handler: takeIn({ surface, row: each, reading, spool }, flow),
      errorHandler: (thrown, request, reply) => sendError({ request, reply }, each, fromFramework(thrown)),
    })
  }
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterAll(() => app?.close())

function begin(head: string, body: string): Socket {
  return post('/raw', { head, body })
}

function post(path: string, { head, body }: { readonly head: string; readonly body: string }): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${head}\r\n\r\n${body}`)
  return socket
}

function nextPart(): Promise<string> {
  return new Promise((resolve) => {
    heard = resolve
  })
}

async function answerOf(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (part) => {
    text += String(part)
  })
  await once(socket, 'close')
  return text
}

describe('a row whose body is raw', () => {
  it('passes the bytes on as they arrive, before the last of them is there, and stores none', async () => {
    let part = nextPart()
    const socket = begin('content-length: 6', 'abc')
    expect(await part).toBe('abc')
    part = nextPart()
    socket.write('def')
    expect(await part).toBe('def')
    expect(await answerOf(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*0 held, 1 open$/)
    expect(open.count).toBe(0)
  })

  it('ends the stream above the limit, and does not begin one with a Content-Length above the limit', async () => {
    const chunk = 'x'.repeat(600)
    const parts: string[] = []
    heard = (part) => parts.push(part)
    const line = `${chunk.length.toString(16)}\r\n${chunk}\r\n`
    expect(await answerOf(begin('transfer-encoding: chunked', `${line}${line}0\r\n\r\n`))).toMatch(/^HTTP\/1\.1 413 /)
    expect(parts.at(-1)).toBe('request_too_large')
    expect(parts.join('').length).toBeLessThan(LIMIT + 'request_too_large'.length)
    const known = parts.length
    const announced = begin(`content-length: ${LIMIT + 1}`, '')
    // The server would read the rest of the body, so the client closes the connection.
    expect(String(await once(announced, 'data'))).toMatch(/^HTTP\/1\.1 413 /)
    announced.destroy()
    expect([parts.slice(known), open.count]).toEqual([['request_too_large'], 0])
  })

  it('ends the stream when the buyer disconnects', async () => {
    let part = nextPart()
    const socket = begin('content-length: 6', 'abc')
    expect(await part).toBe('abc')
    part = nextPart()
    socket.destroy()
    expect(await part).toBe('invalid_request')
  })

  it('refuses a compressed body', async () => {
    expect(await answerOf(begin('content-encoding: gzip\r\ncontent-length: 0', ''))).toMatch(/^HTTP\/1\.1 415 /)
  })
})

describe('a row whose body is JSON', () => {
  const send = (bytes: number, head = `content-length: ${bytes}`) =>
    post('/json', { head: `content-type: application/json\r\n${head}`, body: bodyOf(bytes, head) })
  const bodyOf = (bytes: number, head: string) => {
    const text = `{"m":"${'x'.repeat(bytes - 8)}"}`
    return head.startsWith('content-length') ? text : `${bytes.toString(16)}\r\n${text}\r\n0\r\n\r\n`
  }

  it('reserves memory for a large body until its call ends, and none for a small body', async () => {
    let end = (): void => undefined
    mayEnd = new Promise((resolve) => {
      end = () => resolve(undefined)
    })
    const part = nextPart()
    // A body without a Content-Length reserves the memory of the largest body: all there is.
    const held = send(LARGE, 'transfer-encoding: chunked')
    expect(await part).toBe('end')
    const refused = await answerOf(send(LARGE))
    expect(refused).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused).toMatch(/retry-after: 1\r\n/)
    expect(refused).toContain('"code":"overloaded"')
    const small = send(1_000)
    end()
    expect(await answerOf(small)).toMatch(/1000 held/)
    expect(await answerOf(held)).toMatch(/1500000 held/)
    mayEnd = undefined
    expect(await answerOf(send(LARGE))).toMatch(/1500000 held/)
  })
})
