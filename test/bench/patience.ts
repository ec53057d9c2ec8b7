import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { z } from 'zod'
import type { BenchMarket } from './market.ts'
import { startBenchMarket } from './market.ts'
import { memoryOf, resetPeak } from './memory.ts'
import { openStreams } from './open-streams.ts'

/** Number of streams of one key at once. A key may have two hundred. */
const STREAMS_A_KEY = 180
const KEY_RATE = 100_000
const REFUSALS = 100
const BODY_BYTES = 30 * 1_048_576
const IMAGES = 6
const BODIES = 5
const MEGABYTE = 1_048_576
/**
 * Milliseconds between two samples of the event loop. A timer that is not late fires exactly this long after the last
 * one.
 */
const SAMPLE_MS = 10

type Row = { readonly what: string; readonly figure: string; readonly beside: string }
type Wanted = { readonly streams: number; readonly seconds: number; readonly parts: ReadonlySet<string> }

/** Measures many slow streams at once, the refusals beside them, and a body of thirty megabytes. */
export async function measurePatience({ streams, seconds, parts }: Wanted): Promise<Row[]> {
  // The limit of calls is the count of streams, so the process is full when all of them are open.
  const market = await startBenchMarket({ MAX_OPEN_CALLS: String(streams) }, [
    'test/bench/patient-upstream.ts',
    '--seconds',
    String(seconds),
  ])
  try {
    return [
      ...(parts.has('body') ? [await measureBody(market)] : []),
      ...(parts.has('streams') ? await measureStreams(market, streams, seconds) : []),
    ]
  } finally {
    await market.stop()
  }
}

async function measureStreams(market: BenchMarket, count: number, seconds: number): Promise<Row[]> {
  const keys = await makeKeys(market, Math.ceil(count / STREAMS_A_KEY), KEY_RATE)
  const body = JSON.stringify({
    model: market.model,
    stream: true,
    max_tokens: 1_024,
    messages: [{ role: 'user', content: 'hi' }],
  })
  const url = new URL('/v1/chat/completions', market.network.sandbox.api_base_url)
  const from = performance.now()
  const opened = await openStreams({ url, body, keys }, count)
  const openMs = performance.now() - from
  await lateness(market)
  const refusals = await measureRefusals(market, keys[0] ?? '')
  const { whole, cut, pieces } = await opened.ended()
  const late = await lateness(market)
  return [
    {
      what: `${count} open streams, ${seconds} s each`,
      figure: `${cut} cut, ${whole} whole`,
      beside: `${opened.begun()} begun in ${(openMs / 1_000).toFixed(1)} s, ${pieces} pieces`,
    },
    {
      what: '  delay of the event loop meanwhile',
      figure: `p99 ${late.toFixed(1)} ms`,
      beside: 'from all open to all ended',
    },
    { what: '  refused while it is full, body unread', ...refusals },
  ]
}

/** Lateness of the data plane's timers since the last read: 99th percentile, in milliseconds. */
async function lateness({ network }: BenchMarket): Promise<number> {
  const text = await (await fetch(`${network.sandbox.api_base_url}/metrics`)).text()
  const seconds = Number(/^nodejs_eventloop_lag_p99_seconds ([\d.e-]+)$/m.exec(text)?.[1] ?? Number.NaN)
  return Math.max(0, seconds * 1_000 - SAMPLE_MS)
}

async function measureRefusals(market: BenchMarket, key: string): Promise<{ figure: string; beside: string }> {
  const times: number[] = []
  let taken = 0
  for (let each = 0; each < REFUSALS; each++) {
    const from = performance.now()
    const status = await announce(market, key, BODY_BYTES)
    if (status === 503) times.push(performance.now() - from)
    else taken++
  }
  times.sort((left, right) => left - right)
  const at = (share: number) => `${(times[Math.floor((times.length - 1) * share)] ?? Number.NaN).toFixed(1)} ms`
  return {
    figure: `p50 ${at(0.5)}, p99 ${at(0.99)}`,
    beside: `${times.length} refused with 503${taken > 0 ? `, ${taken} NOT REFUSED` : ''}`,
  }
}

/** The status of the answer to a call that announces a body and sends none of it. */
function announce({ network }: BenchMarket, key: string, bytes: number): Promise<number> {
  const { hostname, port } = new URL(network.sandbox.api_base_url)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': bytes }
  return new Promise((resolve, reject) => {
    const path = '/v1/chat/completions'
    const sent = request({ hostname, port, method: 'POST', path, headers, agent: false }, (answer: IncomingMessage) => {
      resolve(answer.statusCode ?? 0)
      answer.resume()
      sent.destroy()
    })
    sent.on('error', reject)
    sent.flushHeaders()
  })
}

/** Creates keys of the market's buyer. Without a rate they have the default. */
export async function makeKeys({ network }: BenchMarket, count: number, rate?: number): Promise<string[]> {
  const keys: string[] = []
  for (let each = 0; each < count; each++) {
    const answer = await fetch(`${network.sandbox.api_base_url}/v1/buyer/keys`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${network.sandbox.buyer_key}`,
        'content-type': 'application/json',
        'idempotency-key': `bench-key-${each}`,
      },
      body: JSON.stringify({ label: `bench ${each}`, ...(rate === undefined ? {} : { rate_limit_rpm: rate }) }),
    })
    keys.push(z.object({ key: z.string() }).parse(await answer.json()).key)
  }
  return keys
}

/** Memory that relaying a large body adds to the process: the worst of some calls, including the first. */
async function measureBody(market: BenchMarket): Promise<Row> {
  const url = `data:image/png;base64,${'A'.repeat(Math.floor(BODY_BYTES / IMAGES) - 128)}`
  const content = Array.from({ length: IMAGES }, () => ({ type: 'image_url', image_url: { url } }))
  const body = JSON.stringify({ model: market.model, max_tokens: 16, messages: [{ role: 'user', content }] })
  const pid = market.network.sandbox.pids['data_plane'] ?? 0
  const extra: number[] = []
  const times: number[] = []
  for (let each = 0; each < BODIES; each++) {
    const before = memoryOf(pid).resident
    resetPeak(pid)
    const from = performance.now()
    const answer = await fetch(`${market.network.sandbox.api_base_url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${market.buyerKey}`, 'content-type': 'application/json' },
      body,
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${answer.status} ${text.slice(0, 300)}`)
    times.push(performance.now() - from)
    extra.push((memoryOf(pid).peak - before) / MEGABYTE)
  }
  const whole = (value: number) => value.toFixed(0)
  return {
    what: `body of ${whole(body.length / MEGABYTE)} MB with ${IMAGES} images`,
    figure: `${whole(Math.max(...extra))} MB more memory`,
    beside: `each call ${extra.map(whole).join(', ')} MB; ${whole(Math.max(...times))} ms at the most`,
  }
}
