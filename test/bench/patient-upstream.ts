/**
 * A provider of long answers. A streamed request gets pieces of content at an interval until its time is over. A whole
 * request is read to its end and answered at once. Run it as a process with `--host --seconds 60 [--every-ms 1000]`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'
import { listenAndSay } from './listen-and-say.ts'

const HEAD = { id: 'chatcmpl-patient', object: 'chat.completion.chunk', created: 1_763_000_000, model: 'patient' }
const BEGINNING_BYTES = 4_096
const PIECE = frameOf({ delta: { content: ' word' }, finish_reason: null })
const LAST = `${frameOf({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`
const WHOLE = JSON.stringify({
  id: HEAD.id,
  object: 'chat.completion',
  created: HEAD.created,
  model: HEAD.model,
  choices: [{ index: 0, message: { role: 'assistant', content: 'Seen.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 2, total_tokens: 14 },
})
const MODELS = JSON.stringify({
  object: 'list',
  data: [{ id: 'gpt-5-nano', object: 'model', created: 1, owned_by: 'b' }],
})

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    seconds: { type: 'string' },
    'every-ms': { type: 'string', default: '1000' },
  },
})
const pieces = Math.max(1, Math.round((Number(values.seconds) * 1_000) / Number(values['every-ms'])))

function frameOf(choice: object): string {
  return `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, ...choice }] })}\n\n`
}

function stream(response: ServerResponse): void {
  let left = pieces
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(PIECE)
  const timer = setInterval(() => {
    left--
    if (left > 0) response.write(PIECE)
    else {
      clearInterval(timer)
      response.end(LAST)
    }
  }, Number(values['every-ms']))
  response.on('close', () => clearInterval(timer))
}

/** Only the beginning of a body is read, because other rows measure large bodies. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  let beginning = ''
  request.on('data', (chunk: Buffer) => {
    if (beginning.length < BEGINNING_BYTES) beginning += chunk.toString('latin1', 0, BEGINNING_BYTES)
  })
  request.on('end', () => {
    if (beginning.includes('"stream":true')) stream(response)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(request.method === 'GET' ? MODELS : WHOLE)
  })
}

listenAndSay(createServer({ requestTimeout: 0 }, serve), values.host)
