/**
 * Sends calls at a fixed rate, however fast the answers are, and measures each from its due time. So a queue shows in
 * the figures and does not slow the sender. It shares a core with the processes that answer, so it does as little as
 * possible: it sends the same bytes over sockets of its own and accepts only answers with a length. Prints `{count,
 * errors, p50, p99, max}` in milliseconds as JSON. `--url --rate 1000 --seconds 10 --key inf_… --body '{…}'`.
 */
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '10' },
    key: { type: 'string', default: '' },
    body: { type: 'string', default: '{}' },
  },
})
const url = new URL(values.url)
const total = Number(values.rate) * Number(values.seconds)
const gapMs = 1_000 / Number(values.rate)
const request = Buffer.from(
  [
    `POST ${url.pathname} HTTP/1.1`,
    `host: ${url.host}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(values.body)}`,
    ...(values.key ? [`authorization: Bearer ${values.key}`] : []),
    '',
    values.body,
  ].join('\r\n'),
)
/** The header in the spelling of Node and of the providers here. */
const LENGTH = '\r\ncontent-length: '
const READ_BYTES = 65_536
const latencies: number[] = []
let errors = 0
let sent = 0
const start = performance.now()

/** A connection and the call for which it waits. */
type Line = { readonly socket: Socket; dueAt: number | undefined; answer: string }
const free: Line[] = []

function openLine(): Line {
  const socket = connect({
    port: Number(url.port),
    host: url.hostname,
    noDelay: true,
    // Bytes go straight into one buffer, because a stream of chunks would cost more than the rest of this program.
    onread: {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback(bytes, buffer) {
        line.answer += Buffer.from(buffer.buffer, buffer.byteOffset, bytes).toString('latin1')
        if (!isWhole(line.answer)) return true
        finish(line, line.answer.startsWith('HTTP/1.1 200 '))
        free.push(line)
        return true
      },
    },
  })
  const line: Line = { socket, dueAt: undefined, answer: '' }
  // Every end of a connection closes it. Its call has failed, and an idle connection is not used again.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    if (line.dueAt !== undefined) finish(line, false)
    else free.splice(free.indexOf(line), 1)
  })
  return line
}

/** True once the body is as long as its head says. An answer without a length is never whole. */
function isWhole(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n')
  const length = answer.lastIndexOf(LENGTH, head)
  return (
    head >= 0 && length >= 0 && answer.length >= head + 4 + Number.parseInt(answer.slice(length + LENGTH.length), 10)
  )
}

function call(dueAt: number): void {
  const line = free.pop() ?? openLine()
  line.dueAt = dueAt
  line.answer = ''
  line.socket.write(request)
}

function finish(line: Line, isWell: boolean): void {
  const { dueAt } = line
  if (dueAt === undefined) return
  line.dueAt = undefined
  if (!isWell) errors++
  latencies.push(performance.now() - dueAt)
  if (latencies.length === total) report()
}

function report(): void {
  const sorted = latencies.slice(Math.floor(latencies.length / 10)).sort((left, right) => left - right)
  const at = (share: number) =>
    Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(3))
  process.stdout.write(
    `${JSON.stringify({ count: latencies.length, errors, p50: at(0.5), p99: at(0.99), max: at(1) })}\n`,
    () => process.exit(0),
  )
}

/** Sends the calls that are due. The first is due at once. */
function pump(): void {
  const due = Math.min(total, Math.floor((performance.now() - start) / gapMs) + 1)
  while (sent < due) {
    call(start + sent * gapMs)
    sent++
  }
  if (sent < total) setTimeout(pump, 1)
}
pump()
