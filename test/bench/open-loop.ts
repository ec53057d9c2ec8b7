/**
 * Sends calls at a fixed rate whatever the answers do, and measures each from the instant it was due: a queue shows in
 * the figures instead of slowing the sender. Prints `{count, errors, p50, p99, max}` in milliseconds as JSON.
 * `--url --rate 1000 --seconds 10 --key inf_… --body '{…}'`.
 */
import { parseArgs } from 'node:util'
import { Pool } from 'undici'

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
const pool = new Pool(url.origin, { connections: 256, pipelining: 1 })
const total = Number(values.rate) * Number(values.seconds)
const gapMs = 1_000 / Number(values.rate)
const latencies: number[] = []
let errors = 0
let sent = 0
let finished = 0
const start = performance.now()
const headers = { 'content-type': 'application/json', ...(values.key ? { authorization: `Bearer ${values.key}` } : {}) }

async function call(dueAt: number): Promise<void> {
  try {
    const answer = await pool.request({ method: 'POST', path: url.pathname, headers, body: values.body })
    await answer.body.text()
    if (answer.statusCode !== 200) errors++
  } catch {
    errors++
  }
  latencies.push(performance.now() - dueAt)
  finished++
  if (finished === total) report()
}

function report(): void {
  const sorted = latencies.slice(Math.floor(latencies.length / 10)).sort((left, right) => left - right)
  const at = (share: number) =>
    Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(3))
  process.stdout.write(`${JSON.stringify({ count: finished, errors, p50: at(0.5), p99: at(0.99), max: at(1) })}\n`)
  void pool.close()
}

function pump(): void {
  const due = Math.min(total, Math.floor((performance.now() - start) / gapMs))
  while (sent < due) {
    void call(start + sent * gapMs)
    sent++
  }
  if (sent < total) setTimeout(pump, 1)
}
pump()
