import { request } from 'node:http'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { openLending } from '#test/support/forwarded/lent-keys.ts'
import type { Driver, Load } from './load.ts'
import { findDriver } from './load.ts'
import type { BenchMarket } from './market.ts'
import { MEASURED_CORE, OTHER_CORE, startBenchMarket, startScript } from './market.ts'
import { memoryOf, resetPeak } from './memory.ts'
import { middle } from './middle.ts'
import { processorSeconds } from './processor-time.ts'

const ROUNDS = 3
const CONNECTIONS = 128
const WARM_UP_SECONDS = 6
const MEGABYTE = 1_000_000
const MICROS = 1_000_000
const FILE_BYTES = 100 * MEGABYTE
const PIECE_BYTES = 65_536
const BATCH = 100
const CALLS = 300
/** Number of lent keys of the resource whose book is read. */
const LENT_KEYS = 1_000
const PAD_CHARS = 900

type Row = { readonly what: string; readonly figure: string; readonly beside?: string }

/** Measures calls on lent keys: short ones, long ones, batches of JSON-RPC, and the public reads about them. */
export async function* measureForwarded(seconds: number): AsyncGenerator<Row> {
  const market = await startBenchMarket({})
  const upstream = await startScript(OTHER_CORE, 'test/bench/lent-upstream.ts', ['--bytes', String(FILE_BYTES)])
  const upstreamUrl = `http://127.0.0.1:${upstream.port}`
  const lending = await openLending(market.network)
  try {
    await lending.records([relayRecord(market.upstreamUrl), filesRecord(upstreamUrl)])
    await lending.lend('bench-relay', [{ key: 'sk-bench' }])
    await lending.lend('bench-files', [{ key: 'sk-bench' }])
    await lending.lend(
      'provider-p1',
      Array.from({ length: LENT_KEYS }, (_, at) => ({ key: `sk-bench-${at}`, keptBps: 5_000 + at })),
    )
    yield* await measureLong(market)
    yield* await measureBatches(market, `${upstreamUrl}/rpc`)
    yield* await measureReads(market)
    yield* await measureShort(market, seconds)
  } finally {
    await lending.close()
    upstream.child.kill()
    await market.stop()
  }
}

const COMMON = {
  kind: 'resource',
  unit: 'per call',
  style: 'path',
  credential: { header: 'authorization', prefix: 'Bearer ' },
} as const

/** Chats of the static provider, priced by the tokens that it reports. */
const relayRecord = (baseUrl: string): ResourceInput => ({
  ...COMMON,
  id: 'bench-relay',
  name: 'Relay',
  hosts: [{ role: 'api', baseUrl: `${baseUrl}/v1` }],
  probe: { host: 'api', path: '/models', accepts: [200] },
  goods: [{ id: 'chat', prices: { output: '0.000001' } }],
  routes: [
    {
      id: 'chat',
      title: 'Chat',
      kind: 'sale',
      methods: ['POST'],
      host: 'api',
      path: '/chat/completions',
      good: 'chat',
      quote: { output: 'body.max_tokens' },
      reported: { output: 'answer.usage.completion_tokens' },
    },
  ],
})

const filesRecord = (baseUrl: string): ResourceInput => ({
  ...COMMON,
  id: 'bench-files',
  name: 'Files',
  hosts: [{ role: 'api', baseUrl }],
  probe: { host: 'api', path: '/models', accepts: [200] },
  goods: [
    { id: 'file', prices: { calls: '0.000001' } },
    { id: 'rpc', prices: { calls: '0.000001' } },
  ],
  routes: [
    {
      id: 'files',
      title: 'Files',
      kind: 'sale',
      methods: ['PUT'],
      host: 'api',
      path: '/files/{name}',
      good: 'file',
      quote: { calls: '1' },
    },
    {
      id: 'rpc',
      title: 'Call a node',
      kind: 'sale',
      methods: ['POST'],
      host: 'api',
      path: '/rpc',
      good: 'rpc',
      rpc: { classes: { read: 1 }, methods: { eth_getBalance: 'read' } },
    },
  ],
})

/** Short calls and a bare pass-through of the same bytes in turns. */
async function measureShort(market: BenchMarket, seconds: number): Promise<Row[]> {
  const passArgs = ['--upstream', market.upstreamUrl]
  const { child, port } = await startScript(MEASURED_CORE, 'test/bench/pass-through.ts', passArgs)
  try {
    const driver = await findDriver()
    const content = 'x'.repeat(PAD_CHARS)
    const body = JSON.stringify({ model: 'static', max_tokens: 64, messages: [{ role: 'user', content }] })
    const load = { body, connections: CONNECTIONS, seconds: Math.ceil(seconds / ROUNDS) }
    const bare = { ...load, url: `http://127.0.0.1:${port}/v1/chat/completions` }
    const url = `${market.network.sandbox.api_base_url}/resources/bench-relay/chat/completions`
    const ours = { ...load, url, key: market.buyerKey }
    await market.postAll()
    market.pausePosting()
    for (const each of [bare, ours]) await driver.drive({ ...each, seconds: WARM_UP_SECONDS })
    const plane = market.network.sandbox.pids['data_plane'] ?? 0
    const rounds: { readonly bare: Driven; readonly ours: Driven }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({
        bare: await driveCounted(driver, bare, child.pid ?? 0),
        ours: await driveCounted(driver, ours, plane),
      })
    }
    market.resumePosting()
    const byTime = rounds.map((pair) => (pair.bare.secondsEach / pair.ours.secondsEach).toFixed(2))
    const byRate = rounds.map((pair) => (pair.ours.perSecond / pair.bare.perSecond).toFixed(2))
    const perSecond = middle(rounds.map((pair) => pair.ours.perSecond)).toFixed(0)
    const micros = (middle(rounds.map((pair) => pair.ours.secondsEach)) * MICROS).toFixed(0)
    return [
      {
        what: `a relayed call of ${Buffer.byteLength(body)} bytes`,
        figure: `${byTime.join(', ')} of the pass-through (goal 0.45)`,
        beside: `by processor time, ${micros} µs each; ${perSecond} calls/s, ${byRate.join(', ')} by rate, where the callers and the provider share a core`,
      },
    ]
  } finally {
    child.kill()
  }
}

type Driven = { readonly perSecond: number; readonly secondsEach: number }

/** Drives a load, and measures the processor time of one process per call. */
async function driveCounted(driver: Driver, load: Load, pid: number): Promise<Driven> {
  const before = processorSeconds(pid)
  const { perSecond } = await driver.drive(load)
  return { perSecond, secondsEach: (processorSeconds(pid) - before) / (perSecond * load.seconds) }
}

/** An upload and a download of a long file, side by side. */
async function measureLong({ network, buyerKey }: BenchMarket): Promise<Row[]> {
  const pid = network.sandbox.pids['data_plane'] ?? 0
  const url = `${network.sandbox.api_base_url}/resources/bench-files/files`
  const added: number[] = []
  let took = 0
  for (let round = 0; round <= ROUNDS; round++) {
    const before = memoryOf(pid).resident
    resetPeak(pid)
    const from = performance.now()
    const [up, down] = await Promise.all([put(`${url}/up`, buyerKey, FILE_BYTES), put(`${url}/down`, buyerKey, 1)])
    took = performance.now() - from
    if (up.status !== 201 || down.bytes !== FILE_BYTES) throw new Error(`${up.status}, ${down.bytes} bytes`)
    // The first round brings the process to its usual size.
    if (round > 0) added.push(memoryOf(pid).peak - before)
  }
  const megabytes = added.map((bytes) => (bytes / MEGABYTE).toFixed(0)).join(', ')
  const what = `memory of ${FILE_BYTES / MEGABYTE} MB up and as much down at once`
  return [{ what, figure: `${megabytes} MB (goal 64)`, beside: `both in ${took.toFixed(0)} ms` }]
}

function* pieces(bytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(PIECE_BYTES, 0x5a)
  for (let left = bytes; left > 0; left -= PIECE_BYTES) yield piece.subarray(0, left)
}

function put(url: string, key: string, bytes: number): Promise<{ readonly status: number; readonly bytes: number }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'video/mp4', 'content-length': bytes }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'PUT', headers, agent: false }, (answer) => {
      let read = 0
      answer.on('data', (piece: Buffer) => (read += piece.length))
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes: read }))
    })
    sent.on('error', reject)
    Readable.from(pieces(bytes)).pipe(sent)
  })
}

/** Batches one after another, at the provider and through the market in turns. */
async function measureBatches({ network, buyerKey }: BenchMarket, direct: string): Promise<Row[]> {
  const address = '0x0000000000000000000000000000000000000001'
  const body = JSON.stringify(
    Array.from({ length: BATCH }, (_, id) => {
      return { jsonrpc: '2.0', id, method: 'eth_getBalance', params: [address, 'latest'] }
    }),
  )
  const url = `${network.sandbox.api_base_url}/resources/bench-files/rpc`
  const call = async (to: string) => {
    const from = performance.now()
    const headers = { authorization: `Bearer ${buyerKey}`, 'content-type': 'application/json' }
    const answer = await fetch(to, { method: 'POST', headers, body })
    const answers = z.array(z.unknown()).parse(await answer.json())
    if (answers.length !== BATCH) throw new Error(`${answer.status}: ${answers.length} answers`)
    return performance.now() - from
  }
  const rounds: string[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const [bare, ours]: [number[], number[]] = [[], []]
    for (let at = 0; at < CALLS; at++) {
      bare.push(await call(direct))
      ours.push(await call(url))
    }
    if (round > 0) rounds.push((middle(ours) - middle(bare)).toFixed(2))
  }
  const what = `a batch of ${BATCH} chain reads, added`
  return [{ what, figure: `${rounds.join(', ')} ms (goal 3)`, beside: `medians of ${CALLS} by turns` }]
}

async function measureReads({ network }: BenchMarket): Promise<Row[]> {
  const rows: Row[] = []
  for (const path of ['/v1/resource/book/provider-p1', '/v1/resource/traits']) {
    const times: number[] = []
    for (let at = 0; at < CALLS; at++) {
      const from = performance.now()
      const answer = await fetch(network.sandbox.api_base_url + path)
      await answer.arrayBuffer()
      if (at >= CALLS / 3) times.push(performance.now() - from)
    }
    const slow = [...times].sort((left, right) => left - right)[Math.floor(times.length * 0.99)] ?? 0
    const beside = path.includes('book') ? `${LENT_KEYS} lent keys; ` : ''
    const figure = `${middle(times).toFixed(2)} ms (goal 5)`
    rows.push({ what: `GET ${path}`, figure, beside: `${beside}p99 ${slow.toFixed(2)} ms` })
  }
  return rows
}
