import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath, pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const PRELOAD = pathToFileURL(fileURLToPath(new URL('fixtures/blocked-start.mjs', import.meta.url))).href
const HEALED_MS = 30_000
const MODEL = 'gpt-5-nano'
let network: Network | undefined
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  await network?.remove()
  network = undefined
})

type Asked = { readonly key?: string; readonly body?: object }

async function ask(url: string, { key, body }: Asked = {}): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': `blocked-${url}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

/** A receiver of webhooks. Returns the number of received ones. */
async function openEar(): Promise<{ readonly url: string; heard(): number }> {
  let heard = 0
  const server = createServer((message, answer) => {
    message.resume()
    heard++
    answer.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, heard: () => heard }
}

/**
 * The environment of all processes of `npm start`: planes, worker, sample providers, and the supervisor. Three
 * connections and two moments are blocked for longer than a command of Redis or a connection may take.
 */
const BLOCKS = 'c1,c3,c6,t300,t1500/2500'

it('a market whose processes were blocked during their start recovers by itself', async () => {
  network = await startNetwork({ NODE_OPTIONS: `--import ${PRELOAD}`, BLOCKED_START: BLOCKS })
  const { sandbox } = network
  const { api_base_url: api, control_plane_url: control, buyer_key: buyer, seller_key: seller } = sandbox
  for (const url of [`${api}/health/ready`, `${api}/health/paid`, `${control}/health/ready`]) {
    await until(`${url} is green`, HEALED_MS, async () => (await fetch(url)).ok)
  }
  // A call is served and booked.
  const call = (model: string) =>
    ask(`${api}/v1/chat/completions`, { key: buyer, body: { model, messages: [{ role: 'user', content: 'Hello' }] } })
  const first = await call(MODEL)
  expect([first.status, first.status === 200 ? '' : first.body]).toEqual([200, ''])
  const database = new pg.Client({ connectionString: sandbox.database_url })
  await database.connect()
  closers.push(() => database.end())
  const count = async (table: 'settlement' | 'health_log') =>
    Number((await database.query(`select count(*) as rows from ${table}`)).rows[0]?.rows)
  await until('the call is booked', HEALED_MS, async () => (await count('settlement')) > 0)
  // A change in the health of an offer reaches the log.
  expect((await call('sandbox/server-error')).status).toBeGreaterThanOrEqual(500)
  await until('the failure is in the log', HEALED_MS, async () => (await count('health_log')) > 0)
  // A webhook is delivered.
  const ear = await openEar()
  const hook = await ask(`${api}/v1/buyer/webhooks`, { key: buyer, body: { url: ear.url } })
  const { id } = z.looseObject({ id: z.string() }).parse(hook.body)
  await ask(`${api}/v1/buyer/webhooks/${id}/test`, { key: buyer, body: {} })
  await until('the webhook has arrived', HEALED_MS, () => ear.heard() > 0)
  // A new offer is published and receives calls.
  const offer = { model: MODEL, api_key: 'sk-blocked', seller_base_url: `${sandbox.provider_url}/v1`, discount: 90 }
  const listed = await ask(`${api}/v1/seller/offers`, { key: seller, body: offer })
  const made = z.looseObject({ id: z.string() }).parse(listed.body)
  await until('the offer is in the book', HEALED_MS, async () =>
    JSON.stringify((await ask(`${api}/api/markets/${MODEL}`)).body).includes(made.id),
  )
})
