import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { readConfig } from '#control-plane/config.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { createServer } from '#control-plane/server.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { keepMarketWarm } from '#control-plane/services/market/market-warmth.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import { until } from '#test/support/run/until.ts'
import type { MarketSize } from './market-history.ts'
import { fillHealthLog, fillMarket } from './market-history.ts'
import { middle } from './middle.ts'

const SIZE: MarketSize = { models: 100, providers: 4, sellers: 200, offers: 100_000, calls: 1_000_000, hours: 48 }
const SUBSCRIBERS = 1_000
/** Streams from one address are limited to this, so the subscribers come from several addresses. */
const PER_ADDRESS = 200
const ROUNDS = 11
/** Rounds before all measurements but the first, because a new server runs code that is not compiled yet. */
const WARM_UP_ROUNDS = 40
/**
 * Milliseconds between two requests. They are longer than the cache of live figures, so that every page reads again.
 */
const APART_MS = 1_100
const WAIT_MS = 60 * SECOND
const SECRET = 'for benches only, 32 characters long'
const MANY = 1_000_000_000
const WATCHED = 'model-0'
/** Less than the kept share of any offer in the filled market. */
const BEST_KEPT_BPS = 500

const INCIDENT = 'edges { node { model provider startedAt endedAt offers offersOnSale backOffs cause } }'

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/**
 * Measures GraphQL over a market of 100,000 offers, a million calls and a million lines of the health log: pages and
 * series over HTTP, and one book watched by a thousand subscribers. The server, the workers' publishing and all
 * subscribers share one process here.
 */
export async function measureGraphQL(size: MarketSize = SIZE): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'market-graphql-'))
  const [postgres, redis] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres') }),
    startRedis({ dataDir: join(folder, 'redis') }),
  ])
  const database = await createTestDatabase(postgres.url, 4)
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'warn',
    KEY_PEPPER: SECRET,
    FINGERPRINT_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  })
  const wide = { perKey: MANY, perWallet: MANY }
  const rateLimits = { read: wide, write: wide, probe: wide, challenge: wide }
  const plane = createControlPlane(config, { settings: { rateLimits } })
  const server = await createServer(plane)
  let stopWarming = () => {}
  try {
    await plane.connected(5 * SECOND)
    await fillMarket(database.db, size)
    await fillHealthLog(database.db, size, size.calls)
    await sql`insert into model_alias (alias, model, is_manual) select id, id, false from model`.execute(plane.db)
    await rollUp(plane, 0)
    await plane.publication.reconcile()
    stopWarming = await keepMarketWarm(plane)
    const url = await server.listen({ host: '0.0.0.0', port: 0 })
    const port = Number(new URL(url).port)
    return [...(await measurePages(port)), ...(await measureSubscribers(plane, port))]
  } finally {
    stopWarming()
    await server.close()
    await plane.close()
    await database.drop()
    await Promise.all([postgres.stop(), redis.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measurePages(port: number): Promise<Figure[]> {
  const screen = (name: string) =>
    readFileSync(new URL(`../../control-plane/dashboard/market/${name}.graphql`, import.meta.url), 'utf8')
  const from = Date.now() - 2 * DAY
  const model = { model: WATCHED, name: WATCHED }
  const asked: readonly (readonly [string, string, object])[] = [
    ['page of 50 markets', screen('models/public-models'), {}],
    ['model page: figures, 100 offers, prices, series', screen('model/public-model'), model],
    ['page of 100 of a book', `{ orderBook(model: "${WATCHED}", first: 100) { edges { node { id rank } } } }`, {}],
    ['series of two days by model', `{ marketSeries(from: ${from}, groupBy: [model]) { bucket calls } }`, {}],
    ['series of two days, everything', `{ marketSeries(from: ${from}) { bucket calls ttftP50Ms } }`, {}],
    ['100 incidents of a week', `{ incidents(from: ${Date.now() - 7 * DAY}, first: 100) { ${INCIDENT} } }`, {}],
    ['100 incidents of a month', `{ incidents(from: ${Date.now() - 30 * DAY}, first: 100) { ${INCIDENT} } }`, {}],
    ['latest trades', '{ trades(limit: 100) { model costMicro createdAt } }', {}],
  ]
  const figures: Figure[] = []
  for (const [what, query, variables] of asked) {
    const body = JSON.stringify({ query, variables })
    const first = await timeOf(port, body)
    for (let round = 0; round < WARM_UP_ROUNDS; round++) await timeOf(port, body)
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await pause(APART_MS)
      times.push(await timeOf(port, body))
    }
    figures.push({ what: `GraphQL: ${what}`, figure: ms(middle(times)), beside: `the very first ${ms(first)}` })
  }
  return figures
}

/** Milliseconds from a request to the end of its answer. */
async function timeOf(port: number, body: string): Promise<number> {
  const startedAt = performance.now()
  const answer = await fetch(`http://127.0.0.1:${port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const text = await answer.text()
  if (text.includes('"errors"')) throw new Error(text.slice(0, 300))
  return performance.now() - startedAt
}

type Subscriber = { seenAt: number; looksFor: string }

async function measureSubscribers(plane: ControlPlane, port: number): Promise<Figure[]> {
  const subscribers = await Promise.all(Array.from({ length: SUBSCRIBERS }, (_, at) => subscribe(port, at)))
  const worst: number[] = []
  const medians: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [id, kept] = [`ofr_${round * 100}`, BEST_KEPT_BPS - round]
    const looksFor = `"id":"${id}","rank":1,`
    for (const subscriber of subscribers) Object.assign(subscriber, { seenAt: 0, looksFor })
    const startedAt = performance.now()
    await sql`update offer set kept_bps = ${kept}, updated_at = now() where id = ${id}`.execute(plane.db)
    await plane.publication.publishOffers([WATCHED])
    await until('every subscriber has the change', WAIT_MS, () => subscribers.every(({ seenAt }) => seenAt > 0))
    const times = subscribers.map(({ seenAt }) => seenAt - startedAt)
    worst.push(Math.max(...times))
    medians.push(middle(times))
  }
  const beside = `the last of them ${ms(middle(worst))}, at worst ${ms(Math.max(...worst))}`
  return [
    { what: `a change of one offer until ${SUBSCRIBERS} subscribers have it`, figure: ms(middle(medians)), beside },
  ]
}

/** Watches the book from one of several addresses, and records the time when the awaited text arrives. */
async function subscribe(port: number, at: number): Promise<Subscriber> {
  const subscriber: Subscriber = { seenAt: 0, looksFor: '\0' }
  const query = `subscription { bookUpdates(model: "${WATCHED}") { offers(first: 20) { id rank discountPct available } } }`
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = http.request({
      host: '127.0.0.1',
      port,
      path: '/graphql',
      method: 'POST',
      agent: false,
      localAddress: `127.0.0.${2 + Math.floor(at / PER_ADDRESS)}`,
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    })
    request.on('response', resolve).on('error', reject).end(JSON.stringify({ query }))
  })
  if (answer.statusCode !== 200) throw new Error(`a subscription was answered ${answer.statusCode}`)
  answer.setEncoding('utf8')
  answer.on('data', (text: string) => {
    if (subscriber.seenAt === 0 && text.includes(subscriber.looksFor)) subscriber.seenAt = performance.now()
  })
  answer.on('error', () => undefined)
  return subscriber
}

function ms(time: number): string {
  return `${time < 10 ? time.toFixed(1) : time.toFixed(0)} ms`
}
