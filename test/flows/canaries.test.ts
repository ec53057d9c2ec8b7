import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

/** The development network stores the keys for its user here. They are not the test's own. */
const NOT_OURS = /^(sandbox|secrets|wallets|lock)\.json$/
const MODEL = 'gpt-5-mini'

let network: Network
let database: pg.Pool
let redis: Redis
/** Texts that must appear nowhere, by name. */
const canaries = new Map<string, string>()
/** Bodies and headers of all answers that must contain no canary. */
const answers: string[] = []

const mark = () => randomBytes(12).toString('hex')
const wallet = privateKeyToAccount(generatePrivateKey())

beforeAll(async () => {
  network = await startNetwork({ LOG_LEVEL: 'trace' }, 'own')
  database = new pg.Pool({ connectionString: network.sandbox.database_url, max: 2 })
  database.on('error', () => undefined)
  redis = new Redis(network.sandbox.redis_url)
  keepWalletKeys()
  await useEverything()
})
afterAll(async () => {
  redis?.disconnect()
  await database?.end()
  await network?.remove()
})

/** Keys of wallets never leave their file, with 0x or without it. */
function keepWalletKeys(): void {
  const wallets = z.record(z.string(), z.object({ privateKey: z.string() }))
  const kept = wallets.parse(JSON.parse(readFileSync(join(network.home, 'wallets.json'), 'utf8')))
  expect(Object.keys(kept)).toEqual(['buyer', 'seller', 'facilitator', 'treasury'])
  for (const [name, { privateKey }] of Object.entries(kept)) keep(`key of the ${name}'s wallet`, privateKey.slice(2))
}

type Call = { key?: string | undefined; body?: unknown; headers?: Record<string, string>; isSecret?: boolean }

async function ask(method: string, path: string, { key, body, headers = {}, isSecret = false }: Call = {}) {
  const answer = await fetch(network.sandbox.api_base_url + path, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!isSecret) answers.push(`${path}\n${JSON.stringify([...answer.headers])}\n${text}`)
  return { status: answer.status, text, cookie: answer.headers.get('set-cookie') ?? '' }
}

/** Records a field that is shown once as a canary. */
function keep(name: string, value: string): string {
  expect(value.length, name).toBeGreaterThan(20)
  canaries.set(name, value)
  return value
}

const Key = z.object({ id: z.string(), key: z.string() })

async function signIn(path: string, body: object = {}): Promise<string> {
  const challenge = await ask('GET', `/v1/auth/challenge?address=${wallet.address}`, { isSecret: true })
  const { message } = z.object({ message: z.string() }).parse(JSON.parse(challenge.text))
  const signature = keep(`signature for ${path}`, await wallet.signMessage({ message }))
  const headers = { origin: network.sandbox.api_base_url }
  const answer = await ask('POST', path, { body: { message, signature, ...body }, headers, isSecret: true })
  expect([path, answer.status]).toEqual([path, 201])
  if (path !== '/v1/auth/session') return keep(`key of ${path}`, Key.parse(JSON.parse(answer.text)).key)
  return keep('cookie', /^[^=]+=([^;]+)/.exec(answer.cookie)?.[1] ?? '')
}

const chat = (prompt: string, more: object = {}) => ({
  model: MODEL,
  max_tokens: 32,
  messages: [{ role: 'user', content: prompt }],
  ...more,
})

/** Uses every operation with secrets, with failures and successes in turn. */
async function useEverything(): Promise<void> {
  const prompt = keep('prompt', `prompt-${mark()}`)
  const buyer = await signIn('/v1/buyer/auth/keys')
  const seller = await signIn('/v1/seller/auth/keys')
  await signIn('/v1/auth/session')
  const cookie = canaries.get('cookie') ?? ''
  const origin = network.sandbox.api_base_url
  for (const name of ['mkt_session', '__Host-mkt_session']) {
    await ask('GET', '/v1/buyer/me', { headers: { cookie: `${name}=${cookie}`, origin } })
  }
  const grant = { wallet: wallet.address.toLowerCase(), amountUsd: 5, ticket: mark(), note: 'test' }
  await ask('POST', '/trpc/credit.grant', { key: network.sandbox.management_key, body: grant })

  const idem = () => ({ 'idempotency-key': mark() })
  const headers = idem()
  const made = await ask('POST', '/v1/buyer/keys', { key: buyer, body: { label: 'app' }, headers, isSecret: true })
  const bounded = Key.parse(JSON.parse(made.text))
  keep('key of an app', bounded.key)
  await ask('POST', '/v1/buyer/keys', { key: buyer, body: { label: 'app' }, headers })
  const path = `/v1/buyer/keys/${bounded.id}/rotate`
  const rotated = await ask('POST', path, { key: buyer, body: {}, headers: idem(), isSecret: true })
  keep('rotated key', Key.parse(JSON.parse(rotated.text)).key)
  const hook = { url: 'http://127.0.0.1:1/hook' }
  const hooked = await ask('POST', '/v1/buyer/webhooks', { key: buyer, body: hook, isSecret: true })
  const { id, secret } = z.object({ id: z.string(), secret: z.string() }).parse(JSON.parse(hooked.text))
  keep('webhook secret', secret)
  await ask('POST', `/v1/buyer/webhooks/${id}/test`, { key: buyer, body: {} })

  const sell = (api_key: string, body: object) =>
    ask('POST', '/v1/seller/offers', {
      key: seller,
      headers: idem(),
      body: { model: MODEL, api_key, seller_base_url: `${network.sandbox.provider_url}/v1`, discount: 60, ...body },
    })
  const good = keep('provider key', `sk-good-${mark()}`)
  expect((await sell(good, {})).status).toBe(201)
  const bad = keep('refused provider key', `sk-bad-${mark()}`)
  expect((await sell(bad, {})).status).toBe(502)
  await sell(keep('provider key off the list', `sk-off-${mark()}`), { seller_base_url: 'https://evil.example/v1' })
  await sell(keep('provider key of a wrong request', `sk-wrong-${mark()}`), { discount: 'a lot' })
  for (const api_key of [good, bad]) {
    const base_url = `${network.sandbox.provider_url}/v1`
    const offers = ['gpt-5', 'nope'].map((model) => ({ model, discount: 50 }))
    for (const [path, body] of [
      ['discover', {}],
      ['test-connection', { model: MODEL }],
      ['test-health', { models: [MODEL, 'nope'] }],
      ['offers/bulk', { offers }],
    ] as const) {
      const call = { key: seller, body: { api_key, base_url, ...body }, headers: idem() }
      expect([200, 429, 502], path).toContain((await ask('POST', `/v1/seller/${path}`, call)).status)
    }
  }
  const lend = (api_key: string, body: object = {}) => {
    const terms = {
      resource_type: 'provider-p2',
      discount_percent: 30,
      ack_persists_state: true,
      ack_provider_terms: true,
    }
    return ask('POST', '/v1/resource/seller/offers', {
      key: seller,
      headers: idem(),
      body: { ...terms, api_key, ...body },
    })
  }
  const lentKey = await lend(keep('lent key', `sk-lent-${mark()}`))
  expect(lentKey.status).toBe(201)
  expect((await lend(keep('refused lent key', `sk-bad-${mark()}`))).status).toBe(502)
  await lend(keep('lent key of a wrong request', `sk-wrong-${mark()}`), { discount_percent: 4 })
  await lend(keep('lent key with a secret', `sk-secret-${mark()}`), {
    api_secret: keep('secret of it', `sk-s-${mark()}`),
  })
  for (const api_key of [canaries.get('lent key'), keep('probed key', `sk-probed-${mark()}`), bad]) {
    const body = { resource_id: 'provider-p2', api_key }
    expect([200, 429]).toContain((await ask('POST', '/v1/resource/seller/keys/probe', { key: seller, body })).status)
  }
  const { id: lentKeyId } = z.object({ id: z.string() }).parse(JSON.parse(lentKey.text))
  const lending = `mutation { probeKey(resourceId: "nope", apiKey: "${keep('key through GraphQL', `sk-gl-${mark()}`)}") { ok } }`
  await ask('POST', '/graphql', { key: seller, body: { query: lending } })
  for (const read of ['markets', 'capabilities', 'traits', 'market/analytics', 'book/provider-p2', 'access']) {
    await ask('GET', `/v1/resource/${read}`, { key: read === 'access' ? buyer : undefined })
  }
  await ask('POST', '/resources/provider-p2/chat/completions', { key: buyer, body: chat('Hello.'), headers: idem() })
  await ask('GET', `/v1/resource/seller/offers/${lentKeyId}`, { key: seller })
  for (const [name, model] of [
    ['own key', MODEL],
    ['own fallback key', null],
  ] as const) {
    const body = {
      model,
      base_url: `${network.sandbox.provider_url}/v1`,
      api_key: keep(name, `sk-own-${mark()}`),
      priority: 1,
    }
    expect((await ask('POST', '/v1/buyer/providers', { key: bounded.key, body })).status).toBe(201)
  }
  const own = keep('own key through GraphQL', `sk-graph-${mark()}`)
  const query = `mutation { createOwnProvider(input: {model: "nope", baseUrl: "x", apiKey: "${own}"}) { id } }`
  await ask('POST', '/graphql', { key: buyer, body: { query } })

  for (const [wire, body] of [
    ['/v1/chat/completions', chat(prompt)],
    ['/v1/chat/completions', chat(prompt, { stream: true })],
    ['/v1/chat/completions', chat(prompt, { model: prompt })],
    ['/v1/chat/completions', chat(prompt, { temperature: prompt })],
    ['/v1/chat/completions', `{"model":"${MODEL}","messages":[{"content":"${prompt}`],
    ['/compat/v1/messages', chat(prompt)],
    ['/v1/responses', { model: MODEL, input: prompt }],
  ] as const) {
    await ask('POST', wire, { key: bounded.key, body, isSecret: true })
    const broken = `${bounded.key.slice(0, -1)}${bounded.key.endsWith('a') ? 'b' : 'a'}`
    await ask('POST', wire, { key: keep('key with one character changed', broken), body, isSecret: true })
    await ask('POST', wire, { key: seller, body, isSecret: true })
  }
  for (const read of [
    '/v1/buyer/keys',
    '/v1/buyer/webhooks',
    '/v1/buyer/providers',
    '/v1/buyer/usage',
    '/v1/requests',
  ]) {
    await ask('GET', read, { key: buyer })
  }
  for (const read of ['/v1/seller/keys', '/v1/seller/offers', '/v1/seller/configs', '/v1/seller/health-log']) {
    await ask('GET', read, { key: seller })
  }
  await ask('GET', `/v1/buyer/me?key=${mark()}`, { key: `${buyer} ` })
  expect(
    (await ask('POST', '/v1/chat/completions', { key: bounded.key, body: chat(prompt), isSecret: true })).status,
  ).toBe(200)
  await until('every call is booked', 10_000, async () => {
    const booked = await database.query(
      'select 1 from settlement s join app_user u on u.buyer_account = s.account where u.wallet = $1',
      [wallet.address.toLowerCase()],
    )
    return booked.rows.length >= 4
  })
}

/** The canaries in a text. */
function found(text: string, where: string): string[] {
  return [...canaries].filter(([, canary]) => text.includes(canary)).map(([name]) => `${name} in ${where}`)
}

async function foundInPostgres(): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  )
  const leaks: string[] = []
  for (const { name } of tables.rows) {
    const rows = await database.query<{ text: string }>(`select to_jsonb(t)::text as text from ${name} t limit 20000`)
    leaks.push(...found(rows.rows.map(({ text }) => text).join('\n'), `the table ${name}`))
  }
  return leaks
}

async function foundInRedis(): Promise<string[]> {
  const leaks: string[] = []
  for await (const batch of redis.scanStream({ count: 1_000 })) {
    for (const key of z.array(z.string()).parse(batch)) {
      const dump = (await redis.dumpBuffer(key))?.toString('latin1') ?? ''
      leaks.push(...found(`${key}\n${dump}\n${await readable(key)}`, `the Redis key ${key}`))
    }
  }
  return leaks
}

/** Redis may pack short strings in a dump, so values are also searched in the form that commands read. */
async function readable(key: string): Promise<string> {
  switch (await redis.type(key)) {
    case 'string':
      return (await redis.get(key)) ?? ''
    case 'hash':
      return JSON.stringify(await redis.hgetall(key))
    case 'list':
      return JSON.stringify(await redis.lrange(key, 0, -1))
    case 'set':
      return JSON.stringify(await redis.smembers(key))
    case 'zset':
      return JSON.stringify(await redis.zrange(key, 0, -1))
    default:
      return ''
  }
}

/** Searches the network's folder: logs, journals, the data of Postgres and Redis. */
function foundInFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !NOT_OURS.test(entry.name))
    .flatMap((entry) => {
      const file = join(entry.parentPath, entry.name)
      return found(readFileSync(file).toString('latin1'), relative(folder, file))
    })
}

describe('secrets and prompts', () => {
  it('are in no table', async () => {
    expect(await foundInPostgres()).toEqual([])
  })

  it('are in no key of Redis, including the jobs of queues', async () => {
    expect(await foundInRedis()).toEqual([])
  })

  it('are in no answer but the first, and in no metric', async () => {
    expect(answers.length).toBeGreaterThan(20)
    expect(answers.flatMap((answer) => found(answer, `an answer of ${answer.split('\n', 1)[0]}`))).toEqual([])
    for (const base of [network.sandbox.base_url, network.sandbox.control_plane_url]) {
      const metrics = await (await fetch(`${base}/metrics`)).text()
      expect(found(metrics, base)).toEqual([])
    }
  })

  it('are in no log, journal or data file', () => {
    expect(found(network.output(), 'the printed text')).toEqual([])
    expect(foundInFiles(network.home)).toEqual([])
  })

  it('are found where a test places them', async () => {
    const control = mark()
    try {
      await redis.set('canary', control)
      await database.query('create table canary (note text)')
      await database.query('insert into canary values ($1)', [`a note of ${control}`])
      canaries.set('the control', control)
      expect(await foundInRedis()).toEqual(['the control in the Redis key canary'])
      expect(await foundInPostgres()).toEqual(['the control in the table canary'])
    } finally {
      canaries.delete('the control')
      await redis.del('canary')
      await database.query('drop table if exists canary')
    }
  })
})
