import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createHttpReply, writePieces } from '#data-plane/http/http-reply.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'

const PIECE = Buffer.alloc(1_048_576, ' ')
const REFUSAL = JSON.stringify({ error: { code: 'request_too_large' } })

/** Sends pieces of a body to a server that refuses at once, and reads only after the last piece is sent. */
async function sendThenRead(pieces: number): Promise<string> {
  const server = createServer((_request, response) => {
    const reply = createHttpReply(response, createIds(systemClock).requestId(), { envelope: openAiEnvelope })
    reply.whole(413, { 'content-type': 'application/json' }, REFUSAL)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
  // The failed write reports the error, too.
  socket.on('error', () => undefined)
  const write = promisify((part: string | Buffer, done: (error?: Error | null) => void) => socket.write(part, done))
  try {
    await write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${PIECE.length * pieces}\r\n\r\n`)
    for (let sent = 0; sent < pieces; sent++) await write(PIECE)
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    return answer
  } finally {
    socket.destroy()
    server.close()
  }
}

it('a client that first sends its whole large body can read the refusal', async () => {
  for (const pieces of [1, 27, 33]) {
    const answer = await sendThenRead(pieces)
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer.endsWith(REFUSAL)).toBe(true)
  }
})

it('a client that sends without end is disconnected', async () => {
  await expect(sendThenRead(80)).rejects.toThrow(/EPIPE|ECONNRESET/)
})

it('a buyer who does not read a large answer is disconnected, and one who reads gets all of it', async () => {
  let isClosed: () => void = () => undefined
  const server = createServer((_request, response) => {
    response.on('close', () => isClosed())
    writePieces(
      response,
      Array.from({ length: 40 }, () => PIECE),
      500,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const begin = () => {
    const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
    socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    return socket
  }
  try {
    let bytes = 0
    for await (const chunk of begin()) bytes += chunk.length
    expect(bytes).toBeGreaterThan(40 * PIECE.length)
    const isCut = new Promise<void>((resolve) => {
      isClosed = resolve
    })
    const idle = begin()
    await isCut
    expect(idle.bytesRead).toBeLessThan(40 * PIECE.length)
    idle.destroy()
  } finally {
    server.close()
  }
})
