/**
 * A provider that always sends the same chat answer at the least cost in Node: whole, or as 64 content chunks when the
 * request asks for a stream. Run it as a process with `--host [--chunks 64]`.
 */
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { listenAndSay } from './listen-and-say.ts'

const WHOLE_BODY = JSON.stringify({
  id: 'chatcmpl-static',
  object: 'chat.completion',
  created: 1_763_000_000,
  model: 'static',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Four score and seven.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 6, total_tokens: 18 },
})
const WHOLE = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(WHOLE_BODY)}\r\n\r\n${WHOLE_BODY}`,
)
const MODELS_BODY = JSON.stringify({
  object: 'list',
  data: [{ id: 'gpt-5-nano', object: 'model', created: 1, owned_by: 'bench' }],
})
const MODELS = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(MODELS_BODY)}\r\n\r\n${MODELS_BODY}`,
)
const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)

function frame(data: string): Buffer {
  const text = `data: ${data}\n\n`
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}

function streamFrames(chunks: number): Buffer[] {
  const head = { id: 'chatcmpl-static', object: 'chat.completion.chunk', created: 1_763_000_000, model: 'static' }
  const choice = (delta: object, finish: string | null) =>
    JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })
  const usage = { prompt_tokens: 12, completion_tokens: chunks, total_tokens: 12 + chunks }
  return [
    frame(choice({ role: 'assistant', content: '' }, null)),
    ...Array.from({ length: chunks }, (_, index) => frame(choice({ content: ` word${index}` }, null))),
    frame(choice({}, 'stop')),
    frame(JSON.stringify({ ...head, choices: [], usage })),
    Buffer.concat([frame('[DONE]'), Buffer.from('0\r\n\r\n')]),
  ]
}

/** Reads requests off a kept-alive connection. Bodies have a content-length, like those of every client here. */
function serve(socket: Socket, frames: readonly Buffer[]): void {
  let pending = ''
  socket.setNoDelay(true)
  socket.setEncoding('latin1')
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: string) => {
    pending += chunk
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const length = Number(/content-length: *(\d+)/i.exec(pending.slice(0, headEnd))?.[1] ?? 0)
      const end = headEnd + 4 + length
      if (pending.length < end) return
      const isStreamed = pending.slice(headEnd, end).includes('"stream":true')
      const isList = pending.startsWith('GET')
      pending = pending.slice(end)
      if (isStreamed) {
        socket.write(STREAM_HEAD)
        // Each chunk is one write, like from a provider that produces token by token.
        for (const part of frames) socket.write(part)
      } else socket.write(isList ? MODELS : WHOLE)
    }
  })
}

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    chunks: { type: 'string', default: '64' },
  },
})
const frames = streamFrames(Number(values.chunks))
listenAndSay(
  createServer((socket) => serve(socket, frames)),
  values.host,
)
