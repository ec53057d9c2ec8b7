/**
 * A provider of pictures. The prompt `large` gets a picture of `--megabytes`, any other one an answer of a kilobyte,
 * and so does a chat. Run it as a process with `--host [--megabytes 20]`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'
import { pngOf } from '#dev/provider/media/png.ts'
import { listenAndSay } from './listen-and-say.ts'

const BEGINNING_BYTES = 4_096
const MEGABYTE = 1_048_576
/** Models that the market's sellers offer here. */
const NAMES = ['gpt-5-nano', 'dall-e-3', 'gpt-image-1', 'flux-1-dev']

const { values } = parseArgs({
  options: { host: { type: 'string', default: '127.0.0.1' }, megabytes: { type: 'string', default: '20' } },
})

const picture = pngOf('a picture', 16, 16)
const answerOf = (bytes: number) =>
  Buffer.from(
    JSON.stringify({
      created: 1_763_000_000,
      data: [{ b64_json: Buffer.concat([picture, Buffer.alloc(bytes, 0xa5)]).toString('base64') }],
    }),
  )
const LARGE = answerOf(Number(values.megabytes) * MEGABYTE)
const SMALL = answerOf(500)
const CHAT = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-static',
    object: 'chat.completion',
    created: 1_763_000_000,
    model: 'static',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Four score. '.repeat(55) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 165, total_tokens: 177 },
  }),
)
const MODELS = Buffer.from(
  JSON.stringify({ object: 'list', data: NAMES.map((id) => ({ id, object: 'model', created: 1, owned_by: 'bench' })) }),
)

function answerTo({ method, url = '' }: IncomingMessage, beginning: string): Buffer {
  if (method === 'GET') return MODELS
  if (url.endsWith('/chat/completions')) return CHAT
  return beginning.includes('"large"') ? LARGE : SMALL
}

/** Only the beginning of a body is kept. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  let beginning = ''
  request.on('data', (chunk: Buffer) => {
    if (beginning.length < BEGINNING_BYTES) beginning += chunk.toString('latin1', 0, BEGINNING_BYTES)
  })
  request.on('end', () => {
    const body = answerTo(request, beginning)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  })
}

listenAndSay(createServer({ requestTimeout: 0 }, serve), values.host)
