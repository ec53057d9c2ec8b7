/**
 * A provider for lent keys: it accepts uploads, sends a long file, and answers batches of JSON-RPC. Run it as a process
 * with `--host --bytes 100000000`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { listenAndSay } from './listen-and-say.ts'

const PIECE = Buffer.alloc(65_536, 0xa5)

const { values } = parseArgs({
  options: { host: { type: 'string', default: '127.0.0.1' }, bytes: { type: 'string', default: '100000000' } },
})
const fileBytes = Number(values.bytes)

function* file(): Generator<Buffer> {
  for (let left = fileBytes; left > 0; left -= PIECE.length) yield PIECE.subarray(0, left)
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/rpc') {
    const asked: readonly { readonly id: number }[] = JSON.parse((await buffer(request)).toString('utf8'))
    const said = JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, result: '0x1234567890abcdef' })))
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': said.length }).end(said)
    return
  }
  let bytes = 0
  for await (const piece of request) bytes += piece.length
  if (request.url === '/files/down') {
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': fileBytes })
    Readable.from(file()).pipe(response)
  } else response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ bytes }))
}

listenAndSay(
  createServer((request, response) => void serve(request, response).catch(() => response.destroy())),
  values.host,
)
