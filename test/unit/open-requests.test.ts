import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { fastify } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmission } from '#data-plane/http/admission.ts'
import { createGate } from '#data-plane/http/gate.ts'
import { createHttpReply } from '#data-plane/http/http-reply.ts'
import { fromFramework, sendError } from '#data-plane/http/send-error.ts'
import { refusePipelined } from '#data-plane/http/socket-errors.ts'
import type { Surface } from '#data-plane/http/surface.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { MAX_OPEN_REQUESTS, watchOpenRequests } from '#shared/open-requests.ts'
import { until } from '#test/support/run/until.ts'

const ids = createIds(systemClock)
const voice = { envelope: openAiEnvelope }
const QUOTA = 512
const GET = 'GET /held HTTP/1.1\r\nHost: a\r\n\r\n'
const sockets: Socket[] = []
let app: FastifyInstance | undefined

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app?.close()
})

/** A server whose answers to `/held` wait for the test, behind the limit of the data plane's reads. */
async function serve() {
  const admission = createAdmission({
    timers: { every: () => () => undefined },
    open: { count: 0 },
    maxOpenCalls: 1,
    maxDelayMs: 1,
    measureDelay: () => 0,
  })
  const surface = { admission, ids, hosts: { base: 'a', api: 'a' } } as Partial<Surface> as Surface
  const heard = { served: 0, gone: 0, closed: 0 }
  const held: (() => void)[] = []
  const made = fastify({ genReqId: () => ids.requestId(), forceCloseConnections: true })
  app = made
  watchOpenRequests(made.server, refusePipelined(ids))
  made.setErrorHandler((thrown, request, reply) => sendError({ request, reply }, voice, fromFramework(thrown)))
  made.get(
    '/held',
    { onRequest: createGate(surface, { host: 'both', voice, intake: 'read' }) },
    async (request, reply) => {
      heard.served++
      reply.hijack()
      const answer = createHttpReply(reply.raw, ids.requestId(), voice)
      answer.onGone(() => heard.gone++)
      answer.onClosed(() => heard.closed++)
      held.push(() => answer.whole(200, {}, 'x'.repeat(70_000)))
      return request.id
    },
  )
  await made.listen({ host: '127.0.0.1', port: 0 })
  const address = made.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { admission, heard, held, port }
}

function dial(port: number): { readonly socket: Socket; text(): string } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (part: string) => {
    text += part
  })
  socket.on('error', () => undefined)
  sockets.push(socket)
  return { socket, text: () => text }
}

describe('requests of one connection', () => {
  it('give back their places when the connection breaks, however many answers wait behind the first', async () => {
    const { admission, heard, port } = await serve()
    for (let round = 1; round <= 6; round++) {
      const { socket } = dial(port)
      socket.write(GET.repeat(MAX_OPEN_REQUESTS))
      await until('all are served', 5_000, () => heard.served === round * MAX_OPEN_REQUESTS)
      socket.destroy()
      await until('all connections have closed', 5_000, () => heard.closed === round * MAX_OPEN_REQUESTS)
    }
    expect(heard.gone).toBe(heard.closed)
    // All places of reads are free again.
    for (let each = 0; each < QUOTA; each++) admission.admitRead()
    expect(() => admission.admitRead()).toThrow()
  })

  it('give back their places when the connection breaks during an answer', async () => {
    const { admission, heard, held, port } = await serve()
    const { socket } = dial(port)
    socket.pause()
    socket.write(GET.repeat(MAX_OPEN_REQUESTS))
    await until('all are served', 5_000, () => heard.served === MAX_OPEN_REQUESTS)
    for (const end of held) end()
    socket.destroy()
    await until('all connections have closed', 5_000, () => heard.closed === MAX_OPEN_REQUESTS)
    for (let each = 0; each < QUOTA; each++) admission.admitRead()
  })

  it('are answered up to a bound; the next request is refused and closes the connection, and later ones are ignored', async () => {
    const { heard, held, port } = await serve()
    const { socket, text } = dial(port)
    socket.write(GET.repeat(MAX_OPEN_REQUESTS + 20))
    await until('the bound of requests is reached', 5_000, () => heard.served === MAX_OPEN_REQUESTS)
    for (const end of held) end()
    await until('the connection is closed', 5_000, () => socket.destroyed)
    expect(text().match(/HTTP\/1\.1 200/g)).toHaveLength(MAX_OPEN_REQUESTS)
    expect(text().match(/HTTP\/1\.1 503/g)).toHaveLength(1)
    expect(text()).toContain('"limit_source":"connection"')
    expect(heard.served).toBe(MAX_OPEN_REQUESTS)
  })

  it('end with the connection when a client goes on sending', async () => {
    const { heard, port } = await serve()
    const { socket } = dial(port)
    socket.write(GET.repeat(MAX_OPEN_REQUESTS * 20))
    await until('the connection is cut', 5_000, () => socket.destroyed)
    expect(heard.served).toBe(MAX_OPEN_REQUESTS)
    await until('all connections have closed', 5_000, () => heard.closed === MAX_OPEN_REQUESTS)
  })

  it('may follow one another without a limit', async () => {
    const { heard, held, port } = await serve()
    const { socket, text } = dial(port)
    for (let round = 1; round <= 3; round++) {
      socket.write(GET.repeat(MAX_OPEN_REQUESTS))
      await until('all are served', 5_000, () => heard.served === round * MAX_OPEN_REQUESTS)
      for (const end of held.splice(0)) end()
      const answers = () => text().match(/HTTP\/1\.1 200/g)?.length ?? 0
      await until(
        'all are answered',
        5_000,
        () => answers() === round * MAX_OPEN_REQUESTS && heard.closed === answers(),
      )
    }
    expect(socket.destroyed).toBe(false)
  })
})
