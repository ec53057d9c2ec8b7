import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '#test/faults/harness/client.ts'
import { WHOLE } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { readRequests } from '#test/faults/harness/verify.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'

const IDLE_CONNECTIONS = 2_000
const SLOW_HEADERS = 200
const SLOW_BODIES = 200
const DRIP_MS = 1_000
const WATCH_MS = 45_000
const MOST_TIMES_SLOWER = 2
/** Milliseconds by which the p99 of a few hundred calls varies by chance. */
const STUTTER_MS = 20

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

function openSockets(world: World, count: number, opening: string, forEver: Socket[]): Socket[] {
  const { port } = new URL(world.origin(0))
  return Array.from({ length: count }, () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.resume()
    socket.write(opening)
    forEver.push(socket)
    return socket
  })
}

/** Opens thousands of idle connections and hundreds of slow ones. Other clients must be served as before. */
async function crowd(stage: Stage): Promise<void> {
  const { world } = stage
  const measure = async () => {
    const load = stage.load({ clients: 4, nodes: [0], calls: 300, shapes: [WHOLE], pauseMs: 10 })
    await load.done
    return percentile(
      load.seen.map((call) => call.endedAt - call.sentAt),
      0.99,
    )
  }
  await measure()
  const quiet = await measure()
  const sockets: Socket[] = []
  openSockets(world, IDLE_CONNECTIONS, 'GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n', sockets)
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n'
  const slowHeads = openSockets(world, SLOW_HEADERS, `${head}x-slow: `, sockets)
  const whole = `${head}content-type: application/json\r\nauthorization: Bearer x\r\ncontent-length: 5000\r\n\r\n{`
  const slowBodies = openSockets(world, SLOW_BODIES, whole, sockets)
  const dripping = setInterval(() => {
    for (const socket of [...slowHeads, ...slowBodies]) if (!socket.destroyed) socket.write('a')
  }, DRIP_MS)
  await pause(2_000)
  const crowded = await measure()
  const began = performance.now()
  await until('slow heads are cut', WATCH_MS, () => slowHeads.every((socket) => socket.destroyed))
  stage.figure('slow heads cut after (ms)', performance.now() - began)
  clearInterval(dripping)
  for (const socket of sockets) socket.destroy()
  stage.figure('p99 alone (ms)', quiet)
  stage.target('p99 in the crowd (ms)', crowded, quiet * MOST_TIMES_SLOWER + STUTTER_MS)
}

/** Keys that wrap other keys are missing, old or wrong, and sealed credentials are moved and edited. */
async function confuseKeys(stage: Stage): Promise<void> {
  const { world } = stage
  const [node] = world.dataPlanes
  const good = world.secrets.environment.CREDENTIAL_KEYS
  const fresh = `k2:${randomBytes(32).toString('base64')}`
  const client = createClient(world.origin, 'keys')
  const [buyer] = world.buyers
  if (buyer === undefined) return
  const ask = async () => {
    const seen = await client.call(0, buyer, WHOLE)
    stage.saw(seen)
    return seen
  }
  const restart = async (keys: string) => {
    await node.end()
    await node.start({ environment: { CREDENTIAL_KEYS: keys } })
    await world.untilPaid()
  }
  await node.end()
  await node.start({ environment: { CREDENTIAL_KEYS: '' }, isHasty: true, mustEnd: true })
  stage.require((await node.ended()) === 1, 'starts without a key')
  await node.start()
  await restart(`${fresh},${good}`)
  stage.require((await ask()).isComplete, 'the old key behind a new one opens nothing')
  const beforeWrong = await databaseTime(world)
  await restart(fresh)
  const closed = await ask()
  stage.require(!closed.isComplete && closed.status >= 500, `without the right key a call saw ${closed.status}`)
  await requireHealthEntry(stage, beforeWrong, 'a wrong key')
  await restart(good)
  await world.cache.kill()
  await world.cache.start()
  await until('both sellers serve again', 20_000, async () => (await ask()).isComplete)
  for (const [what, damage] of [
    ['swapped ciphertexts', swapCiphertexts],
    ['an edited tenant', exchangeTenants],
  ] as const) {
    const since = await databaseTime(world)
    const repair = await damage(world)
    await publishAnew(world)
    stage.require(!(await ask()).isComplete, `${what}: a credential of another tenant was used`)
    await requireHealthEntry(stage, since, what)
    await repair()
  }
  await publishAnew(world)
  await until('both sellers serve again', 20_000, async () => (await ask()).isComplete)
  client.close()
  for (const [provider, name] of ['a', 'b'].entries()) {
    const strange = (await readRequests(world, provider)).filter(
      ({ authorization }) => !authorization.includes(`-${name}-`),
    )
    stage.require(strange.length === 0, `provider ${name} saw a key that is not its seller's`)
  }
}

async function databaseTime({ sql }: World): Promise<Date> {
  return (await sql.query<{ now: Date }>('select now()')).rows[0]?.now ?? new Date()
}

/** Requires an entry in the health log of the offers, in words for their seller. */
async function requireHealthEntry({ world, require }: Stage, since: Date, when: string): Promise<void> {
  const find = async () => {
    const found = 'select detail from health_log where at >= $1 and error_class = $2'
    const { rows } = await world.sql.query<{ detail: string }>(found, [since, 'credential_rejected'])
    return rows.some(({ detail }) => detail.includes('does not open'))
  }
  await until('the health log has the entry', 10_000, find).catch(() => require(false, `no health entry after ${when}`))
}

type Repair = () => Promise<void>
type Stored = { readonly id: string; readonly tenant: string; readonly sealed: Readonly<Record<string, string>> }

/** Finds one credential of each of two tenants, and a way to restore both. */
async function findCredentials({ sql }: World) {
  const { rows } = await sql.query<Stored>(
    'select distinct on (tenant) id, tenant, sealed from credential order by tenant',
  )
  const [first, second] = rows
  if (first === undefined || second === undefined) throw new Error('there are no two tenants')
  const store = async ({ id, tenant, sealed }: Stored) => {
    await sql.query('update credential set tenant = $2, sealed = $3 where id = $1', [
      id,
      tenant,
      JSON.stringify(sealed),
    ])
  }
  const repair: Repair = async () => {
    await store(first)
    await store(second)
  }
  return { first, second, store, repair }
}

/** Puts each tenant's secret into the other's row under the row's own name. */
async function swapCiphertexts(world: World): Promise<Repair> {
  const { first, second, store, repair } = await findCredentials(world)
  const secretOf = ({ sealed: { wrapIv = '', wrappedKey = '', iv = '', ciphertext = '' } }: Stored) => {
    return { wrapIv, wrappedKey, iv, ciphertext }
  }
  await store({ ...first, sealed: { ...first.sealed, ...secretOf(second) } })
  await store({ ...second, sealed: { ...second.sealed, ...secretOf(first) } })
  return repair
}

/** Changes each row so that it belongs to the other tenant, in every field to which its seal is bound. */
async function exchangeTenants(world: World): Promise<Repair> {
  const { first, second, store, repair } = await findCredentials(world)
  await store({ ...first, tenant: second.tenant, sealed: { ...first.sealed, tenant: second.tenant } })
  await store({ ...second, tenant: first.tenant, sealed: { ...second.sealed, tenant: first.tenant } })
  return repair
}

/**
 * Publishes the snapshot again. A publication would follow within half a minute by itself; an empty cache is filled at
 * once.
 */
async function publishAnew(world: World): Promise<void> {
  await world.cache.kill()
  await world.cache.start()
  for (const program of world.dataPlanes) await program.end()
  for (const index of [0, 1]) await world.dropSnapshot(index)
  for (const program of world.dataPlanes) await program.start()
  await world.untilPaid()
}

export const HOSTILE_ROWS: readonly Row[] = [
  { number: 'F45', title: 'idle, slow and dripping connections by the thousand', world: {}, run: crowd },
  {
    number: 'F47',
    title: 'keys of keys missing, old and wrong; credentials swapped and edited',
    world: {},
    run: confuseKeys,
  },
]
