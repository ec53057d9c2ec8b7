/** A provider's host of files: a video at every path. Run it as a process with `--host`. */
import { createServer } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { FILM_BYTES, filmPieces } from './film.ts'
import { listenAndSay } from './listen-and-say.ts'

const { values } = parseArgs({ options: { host: { type: 'string', default: '127.0.0.1' } } })

listenAndSay(
  createServer((request, response) => {
    if (request.url === '/v1/models') return void response.end('{}')
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': FILM_BYTES })
    pipeline(Readable.from(filmPieces(), { objectMode: false }), response, () => undefined)
  }),
  values.host,
)
