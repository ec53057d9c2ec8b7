/**
 * `npm run bench`: the data plane on one core, everything else on the other, one table, one run. Every figure of the
 * data plane stands beside a bare Fastify and undici pass-through of the same bytes in the same run.
 * `-- --seconds 10` sets the length of each load, `-- --profile DIR` writes a CPU profile of the data plane there,
 * `-- --only whole,streamed,open,selection,posting,routed` picks rows.
 */
import { parseArgs } from 'node:util'
import { freePort } from '#test/support/network.ts'
import { measureDisk } from './disk.ts'
import type { Load } from './load.ts'
import { drive, driveOpenLoop } from './load.ts'
import type { BenchMarket } from './market.ts'
import { MEASURED_CORE, startBenchMarket, startScript } from './market.ts'
import { measurePosting } from './posting.ts'
import { measureRouted } from './routed.ts'
import { measureSelection } from './selection.ts'

const CONNECTIONS = 64
const CHUNKS = 64
const OPEN_LOOP_RATE = 1_000
const WARM_UP_SECONDS = 3

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    profile: { type: 'string' },
    only: { type: 'string', default: 'whole,streamed,open,selection,posting,routed' },
  },
})
const seconds = Number(values.seconds)
const wanted = new Set(values.only.split(','))

type Row = { readonly what: string; readonly figure: string; readonly beside?: string }
const rows: Row[] = []

function say(row: Row): void {
  rows.push(row)
  process.stdout.write(`${row.what.padEnd(46)} ${row.figure.padEnd(28)} ${row.beside ?? ''}\n`)
}

function chatBody(model: string, isStreamed: boolean): string {
  return JSON.stringify({ model, stream: isStreamed, messages: [{ role: 'user', content: 'hi' }], max_tokens: 128 })
}

/** The same load on the pass-through and on the market, one after the other, each warmed up first. */
async function compare(market: BenchMarket, passUrl: string, isStreamed: boolean): Promise<[number, number]> {
  const body = chatBody(market.model, isStreamed)
  const path = '/v1/chat/completions'
  const bare: Load = { url: passUrl + path, body, connections: CONNECTIONS, seconds }
  const ours: Load = { ...bare, url: market.network.sandbox.api_base_url + path, key: market.buyerKey }
  await drive({ ...bare, seconds: WARM_UP_SECONDS })
  const bareResult = await drive(bare)
  await drive({ ...ours, seconds: WARM_UP_SECONDS })
  const ourResult = await drive(ours)
  if (ourResult.refused > 0) say({ what: '  refused calls of that load', figure: String(ourResult.refused) })
  return [bareResult.perSecond, ourResult.perSecond]
}

async function measureWhole(market: BenchMarket, passUrl: string): Promise<void> {
  const [bare, ours] = await compare(market, passUrl, false)
  say({ what: 'pass-through, whole chat', figure: `${bare.toFixed(0)} calls/s`, beside: '1.00' })
  say({
    what: 'paid chat, whole',
    figure: `${ours.toFixed(0)} calls/s`,
    beside: `${(ours / bare).toFixed(2)} of the pass-through`,
  })
}

async function measureStreamed(market: BenchMarket, passUrl: string): Promise<void> {
  const [bare, ours] = await compare(market, passUrl, true)
  say({
    what: 'pass-through, streamed chat',
    figure: `${(bare * CHUNKS).toFixed(0)} chunks/s`,
    beside: `${bare.toFixed(0)} calls/s`,
  })
  say({
    what: `paid chat, streamed (${CHUNKS} chunks)`,
    figure: `${(ours * CHUNKS).toFixed(0)} chunks/s`,
    beside: `${ours.toFixed(0)} calls/s, ${(ours / bare).toFixed(2)} of the pass-through`,
  })
}

function measureOpenLoop(market: BenchMarket, passUrl: string): void {
  const load = { body: chatBody(market.model, false), rate: OPEN_LOOP_RATE, seconds }
  const [bare, ours] = [
    { ...load, url: `${passUrl}/v1/chat/completions` },
    { ...load, url: `${market.network.sandbox.api_base_url}/v1/chat/completions`, key: market.buyerKey },
  ].map((one) => {
    driveOpenLoop({ ...one, seconds: WARM_UP_SECONDS })
    return driveOpenLoop(one)
  })
  if (!bare || !ours) return
  const added = (ourMs: number, bareMs: number) => `${(ourMs - bareMs).toFixed(2)} ms`
  say({ what: `pass-through at ${OPEN_LOOP_RATE} calls/s`, figure: `p50 ${bare.p50} ms, p99 ${bare.p99} ms` })
  say({
    what: `paid chat at ${OPEN_LOOP_RATE} calls/s, added`,
    figure: `p50 ${added(ours.p50, bare.p50)}, p99 ${added(ours.p99, bare.p99)}`,
    beside: ours.errors > 0 ? `${ours.errors} ERRORS` : '',
  })
}

async function measureMarket(): Promise<void> {
  const environment: Record<string, string> = values.profile ? { MARKET_PROFILE_DIR: values.profile } : {}
  const market = await startBenchMarket(environment)
  const port = await freePort()
  const passUrl = `http://127.0.0.1:${port}`
  const pass = await startScript(MEASURED_CORE, 'test/bench/pass-through.ts', [
    '--port',
    String(port),
    '--upstream',
    market.upstreamUrl,
  ])
  try {
    if (wanted.has('open')) measureOpenLoop(market, passUrl)
    if (wanted.has('routed')) say({ what: 'offer change to routed', ...(await measureRouted(market)) })
    if (wanted.has('whole')) await measureWhole(market, passUrl)
    if (wanted.has('streamed')) await measureStreamed(market, passUrl)
  } finally {
    pass.kill()
    await market.stop()
  }
}

say({ what: 'one fdatasync of this disk', ...measureDisk() })
if (wanted.has('selection')) for (const row of measureSelection()) say(row)
if (wanted.has('posting')) for (const row of await measurePosting()) say(row)
if (['whole', 'streamed', 'open', 'routed'].some((name) => wanted.has(name))) await measureMarket()
process.stdout.write(`\n${rows.length} figures, each load ${seconds} s, ${CONNECTIONS} connections\n`)
