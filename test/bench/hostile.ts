/**
 * A buyer whose bodies cost nothing to write and much to read, sent one after another without end: twelve megabytes of
 * small objects in `tools`. `--url --key inf_…`.
 */
import { connect } from 'node:net'
import { parseArgs } from 'node:util'

const OBJECTS = 600_000
/** Milliseconds between the end of a connection and the next. */
const PAUSE_MS = 5

const { values } = parseArgs({
  options: { url: { type: 'string', default: '' }, key: { type: 'string', default: '' } },
})
const url = new URL(values.url)
const tools = Array.from({ length: OBJECTS }, () => '{"type":"function"}').join()
const body = `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[${tools}]}`
const head = [
  `POST ${url.pathname} HTTP/1.1`,
  `host: ${url.host}`,
  'content-type: application/json',
  `content-length: ${body.length}`,
  `authorization: Bearer ${values.key}`,
]
const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)

function send(): void {
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => undefined)
  socket.on('data', () => socket.destroy())
  socket.on('close', () => setTimeout(send, PAUSE_MS))
  socket.write(request)
}
send()
