/**
 * `npm run bench`: runs the data plane on one core and everything else on the other, and prints one table. Beside every
 * figure of the data plane is the figure of a bare Fastify and undici pass-through of the same bytes in the same run.
 * The worker is stopped while the data plane is loaded, unless a row says otherwise. Posting is measured by itself,
 * because on two cores it would take the core of the load generator. wrk drives the closed loops, or autocannon where
 * there is no wrk. The table names the driver, and lists refusals.
 *
 * `-- --seconds 10` sets the length of each load. `-- --profile DIR` writes a CPU profile of the data plane there.
 * `-- --streams 2000 --stream-seconds 60` sets the number and the length of open streams. `-- --only whole,streamed`
 * selects rows by name; without it, the rows in the default of `only` below run. Other rows run only when named:
 * - `figures`, `sellers`, `buyers`, `graphql`: reads of a market of 100,000 offers and a million calls.
 * - `dashboard`: the web page in a browser on a market of that size, for seven minutes.
 * - `payments`: wallets on chains of their own. `lines`: keys whose accounts pay from wallets.
 * - `treasury`: payouts and the reconciliation. `jobs`: ten thousand open jobs. `artifacts`: large files of jobs.
 * - `forwarded`: calls on lent keys. `refused`: the processor time of a refused byte at both planes.
 */
import { parseArgs } from 'node:util'
import { startNetwork } from '#test/support/market/network.ts'
import { measureArtifacts } from './artifacts.ts'
import { measureBesideHostile } from './beside-hostile.ts'
import { measureBuyers } from './buyers.ts'
import { measureDashboard } from './dashboard.ts'
import { measureDisk } from './disk.ts'
import { measureForwarded } from './forwarded.ts'
import { measureGraphQL } from './graphql.ts'
import { measureJobs } from './jobs.ts'
import { measureLatency } from './latency.ts'
import type { Driver, Load } from './load.ts'
import { findDriver } from './load.ts'
import type { BenchMarket } from './market.ts'
import { MEASURED_CORE, startBenchMarket, startScript } from './market.ts'
import { measureMarketFigures } from './market-figures.ts'
import { makeKeys, measurePatience } from './patience.ts'
import { measureLines, measurePayments } from './payments.ts'
import { measurePictures } from './pictures.ts'
import { measurePosting } from './posting.ts'
import { measurePricing } from './pricing.ts'
import { processorSeconds } from './processor-time.ts'
import { countRefusals, describeRefusals } from './refusals.ts'
import { measureRefusedBytes } from './refused-bytes.ts'
import { measureRouted } from './routed.ts'
import { measureSelection } from './selection.ts'
import { measureSellers } from './sellers.ts'
import { measureTranslation } from './translation.ts'
import { measureTreasury } from './treasury.ts'

/** Enough connections that neither side waits for the load. A paid call takes longer, because of Redis and its disk. */
const CONNECTIONS = 128
/** Rounds on both sides in turns, so that other work of the machine hits both. The median counts. */
const ROUNDS = 5
const CHUNKS = 64
/** Seconds until the compilers are done. */
const WARM_UP_SECONDS = 6

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    profile: { type: 'string' },
    only: {
      type: 'string',
      default: 'whole,streamed,probe,open,selection,pricing,translation,posting,routed,hostile,body,streams,pictures',
    },
    streams: { type: 'string', default: '2000' },
    'stream-seconds': { type: 'string', default: '60' },
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

/** Calls per second, and microseconds of processor time per call. */
type Measured = { readonly perSecond: number; readonly microseconds: number }

type Sides = {
  readonly market: BenchMarket
  readonly driver: Driver
  readonly pass: { readonly url: string; readonly pid: number }
}

/** The kind of call: a whole answer, a stream, or the price of a call, which callers without a credential get. */
type Kind = 'whole' | 'streamed' | 'probe'

/** Puts the same load on the pass-through and on the market in turns. Each is warmed up first. */
async function compare({ market, driver, pass }: Sides, kind: Kind): Promise<{ bare: Measured; ours: Measured }> {
  const body = chatBody(market.model, kind === 'streamed')
  const path = '/v1/chat/completions'
  const bare: Load = { url: pass.url + path, body, connections: CONNECTIONS, seconds: Math.ceil(seconds / ROUNDS) }
  const credential = kind === 'probe' ? {} : { key: market.buyerKey }
  const ours: Load = { ...bare, url: market.network.sandbox.api_base_url + path, ...credential }
  const [bareResults, ourResults]: [Measured[], Measured[]] = [[], []]
  await market.postAll()
  market.pausePosting()
  for (const load of [bare, ours]) await driver.drive({ ...load, seconds: WARM_UP_SECONDS })
  for (let round = 0; round < ROUNDS; round++) {
    bareResults.push(await measure(driver, bare, pass.pid))
    const before = await countRefusals(market.network.sandbox.api_base_url)
    ourResults.push(await measure(driver, ours, market.network.sandbox.pids['data_plane'] ?? 0, kind === 'probe'))
    const reasons = describeRefusals(before, await countRefusals(market.network.sandbox.api_base_url))
    if (reasons !== '' && !isDemands(kind, reasons))
      say({ what: '  refusals of the previous load, by reason', figure: reasons })
  }
  market.resumePosting()
  return { bare: median(bareResults), ours: median(ourResults) }
}

/** True when all refusals are demands for payment, which a probe asks for. */
const isDemands = (kind: Kind, reasons: string) => kind === 'probe' && /^\d+ x 402 payment_required$/.test(reasons)

/** With `isProbe`, answers with another status than 200 are the ones that count. */
async function measure(driver: Driver, load: Load, pid: number, isProbe = false): Promise<Measured> {
  const before = processorSeconds(pid)
  const { perSecond: good, refused, unanswered } = await driver.drive(load)
  const used = processorSeconds(pid) - before
  const perSecond = isProbe ? refused / load.seconds : good
  if (refused > 0 && !isProbe) say({ what: '  refused calls of a load', figure: String(refused) })
  if (unanswered > 0) say({ what: '  calls of a load without an answer', figure: String(unanswered) })
  return { perSecond, microseconds: (used * 1e6) / (perSecond * load.seconds) }
}

function median(results: readonly Measured[]): Measured {
  const sorted = [...results].sort((left, right) => left.perSecond - right.perSecond)
  return sorted[Math.floor(sorted.length / 2)] ?? { perSecond: 0, microseconds: 0 }
}

async function measureWhole(sides: Sides): Promise<void> {
  const { bare, ours } = await compare(sides, 'whole')
  say({
    what: 'pass-through, whole chat',
    figure: `${bare.perSecond.toFixed(0)} calls/s`,
    beside: `1.00, ${bare.microseconds.toFixed(0)} µs of processor time a call`,
  })
  say({
    what: 'paid chat, whole',
    figure: `${ours.perSecond.toFixed(0)} calls/s`,
    beside: `${(ours.perSecond / bare.perSecond).toFixed(2)} of the pass-through, ${ours.microseconds.toFixed(0)} µs`,
  })
}

async function measureStreamed(sides: Sides): Promise<void> {
  const { bare, ours } = await compare(sides, 'streamed')
  const chunks = ({ perSecond }: Measured) => `${(perSecond * CHUNKS).toFixed(0)} chunks/s`
  say({
    what: 'pass-through, streamed chat',
    figure: chunks(bare),
    beside: `${bare.perSecond.toFixed(0)} calls/s`,
  })
  say({
    what: `paid chat, streamed (${CHUNKS} chunks)`,
    figure: chunks(ours),
    beside: `${ours.perSecond.toFixed(0)} calls/s, ${(ours.perSecond / bare.perSecond).toFixed(2)} of the pass-through`,
  })
}

async function measureProbe(sides: Sides): Promise<void> {
  const { bare, ours } = await compare(sides, 'probe')
  say({
    what: 'a demand for payment (402), no credential',
    figure: `${ours.perSecond.toFixed(0)} calls/s`,
    beside: `${(ours.perSecond / bare.perSecond).toFixed(2)} of the pass-through (goal 0.4), ${ours.microseconds.toFixed(0)} µs`,
  })
}

/** Strangers' work has no limit here, because all of it comes from one address. */
const UNBOUNDED = { ADDRESS_WORK_PER_MINUTE: '1000000000' }

async function measureRefused(): Promise<void> {
  const network = await startNetwork(UNBOUNDED, 'own')
  const { api_base_url, control_plane_url, pids } = network.sandbox
  const data = { url: api_base_url, pid: pids['data_plane'] ?? 0 }
  const control = { url: control_plane_url, pid: pids['control_plane'] ?? 0 }
  for await (const row of measureRefusedBytes(data, control)) say(row)
  await network.remove()
}

const environment: Record<string, string> = values.profile ? { MARKET_PROFILE_DIR: values.profile } : {}

async function measureMarket(): Promise<void> {
  const market = await startBenchMarket(environment)
  const passArgs = ['--upstream', market.upstreamUrl]
  const { child, port } = await startScript(MEASURED_CORE, 'test/bench/pass-through.ts', passArgs)
  const url = `http://127.0.0.1:${port}`
  try {
    const driver = await findDriver()
    say({ what: 'closed loops are driven by', figure: driver.name, beside: driver.beside })
    const sides: Sides = { market, driver, pass: { url, pid: child.pid ?? 0 } }
    // This comes first, because the driver of the loads blocks this process, and kept connections do not survive that.
    if (wanted.has('routed')) say({ what: 'offer change to routed', ...(await measureRouted(market)) })
    if (wanted.has('open')) {
      const body = chatBody(market.model, false)
      const latency = { market, driver, passUrl: url, body, connections: CONNECTIONS, seconds }
      for (const row of await measureLatency(latency)) say(row)
    }
    if (wanted.has('hostile')) {
      const [hostileKey = ''] = await makeKeys(market, 1)
      say(await measureBesideHostile({ market, body: chatBody(market.model, false), seconds, hostileKey }))
    }
    if (wanted.has('whole')) await measureWhole(sides)
    if (wanted.has('streamed')) await measureStreamed(sides)
    if (wanted.has('probe')) await measureProbe(sides)
  } finally {
    child.kill()
    await market.stop()
  }
}

say({ what: 'one fdatasync of this disk', ...measureDisk() })
// This comes first of all, because the writes and deletions of other rows slow the disk down for a while.
if (['whole', 'streamed', 'probe', 'open', 'routed', 'hostile'].some((name) => wanted.has(name))) await measureMarket()
if (wanted.has('refused')) await measureRefused()
if (wanted.has('pictures')) for (const row of await measurePictures(seconds, environment)) say(row)
if (wanted.has('selection')) for (const row of measureSelection()) say(row)
if (wanted.has('pricing')) for (const row of await measurePricing()) say(row)
if (wanted.has('translation')) for (const row of measureTranslation()) say(row)
if (wanted.has('posting')) for (const row of await measurePosting()) say(row)
if (wanted.has('figures')) for (const row of await measureMarketFigures()) say(row)
if (wanted.has('sellers')) for (const row of await measureSellers()) say(row)
if (wanted.has('buyers')) for (const row of await measureBuyers()) say(row)
if (wanted.has('artifacts')) for (const row of await measureArtifacts()) say(row)
if (wanted.has('forwarded')) for await (const row of measureForwarded(seconds)) say(row)
if (wanted.has('jobs')) for (const row of await measureJobs()) say(row)
if (wanted.has('payments')) for (const row of await measurePayments()) say(row)
if (wanted.has('lines')) for (const row of await measureLines()) say(row)
if (wanted.has('treasury')) for (const row of await measureTreasury()) say(row)
if (wanted.has('graphql')) for (const row of await measureGraphQL()) say(row)
if (wanted.has('dashboard')) await measureDashboard(say)
if (['body', 'streams'].some((name) => wanted.has(name))) {
  const patience = { streams: Number(values.streams), seconds: Number(values['stream-seconds']), parts: wanted }
  for (const row of await measurePatience(patience)) say(row)
}
const end = `\n${rows.length} figures, each load ${seconds} s, ${CONNECTIONS} connections\n`
// The page's builder keeps processes of its own, which the bench does not wait for.
process.stdout.write(end, () => process.exit())
