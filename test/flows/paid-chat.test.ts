import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import pg from 'pg'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { testChain } from '#test/support/chain/chain.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { BUSY_MS, until } from '#test/support/run/until.ts'

const run = promisify(execFile)
const MODEL = 'gpt-5-mini'
let network: Network
let client: OpenAI
let database: pg.Pool

beforeAll(async () => {
  network = await sharedNetwork()
  client = new OpenAI({
    baseURL: `${network.sandbox.api_base_url}/v1`,
    apiKey: network.sandbox.buyer_key,
    maxRetries: 0,
  })
  database = new pg.Pool({ connectionString: network.sandbox.database_url, max: 2 })
  database.on('error', () => undefined)
})

afterAll(async () => {
  await database?.end()
})

const Lookup = z.object({
  request_id: z.string(),
  model: z.string(),
  provider: z.string().nullable(),
  settlement_status: z.string(),
  confirmed_at: z.string().nullable(),
  settlement_type: z.literal('credit'),
  buyer_cost_micro: z.number().int(),
  attempts: z.array(z.object({ provider: z.string(), status: z.number(), ms: z.number() })),
})

async function get(path: string, key = network.sandbox.buyer_key): Promise<Response> {
  return fetch(network.sandbox.api_base_url + path, { headers: { authorization: `Bearer ${key}` } })
}

async function lookUp(rid: string): Promise<z.infer<typeof Lookup>> {
  const answer = await get(`/v1/requests/${rid}`)
  expect(answer.status).toBe(200)
  return Lookup.parse(await answer.json())
}

async function balance(): Promise<bigint> {
  const answer = await get('/v1/buyer/me')
  expect(answer.status).toBe(200)
  return BigInt(z.object({ credit_balance_usdc: z.string() }).parse(await answer.json()).credit_balance_usdc)
}

/** The ledger's charge to the buyer for one call, once it is posted. */
async function ledgerCharge(rid: string): Promise<number> {
  let charged: number | undefined
  await until(`${rid} is posted`, 10_000, async () => {
    const rows = await database.query<{ amount: string }>(
      `select -e.amount as amount from ledger_entry e join account a on a.id = e.account
       where e.tx = $1 and a.kind = 'buyer_credit'`,
      [rid],
    )
    charged = rows.rows[0] === undefined ? undefined : Number(rows.rows[0].amount)
    return charged !== undefined
  })
  return charged ?? -1
}

describe('a paid chat call through both planes', () => {
  it('is answered whole to the official client, and its charge is the same integer everywhere', async () => {
    const before = await balance()
    const { data, response } = await client.chat.completions
      .create({ model: MODEL, messages: [{ role: 'user', content: 'Say hello to the market.' }] })
      .withResponse()
    const rid = response.headers.get('x-request-id') ?? ''
    const usage = z.object({ cost: z.number(), buyer_cost_micro: z.number().int().positive() }).parse(data.usage)
    expect(data.choices[0]?.message.content?.length).toBeGreaterThan(0)
    expect(data.model).toBe(MODEL)
    expect(usage.cost).toBeCloseTo(usage.buyer_cost_micro / 1e6, 9)
    expect(Number(response.headers.get('x-mkt-buyer-cost-micro'))).toBe(usage.buyer_cost_micro)
    expect(Number(response.headers.get('x-mkt-list-cost-micro'))).toBeGreaterThan(usage.buyer_cost_micro)
    expect(response.headers.get('x-mkt-served-by')).toBe('marketplace')
    expect(response.headers.get('x-generation-id')).toBe(rid)
    expect((await lookUp(rid)).buyer_cost_micro).toBe(usage.buyer_cost_micro)
    expect(await ledgerCharge(rid)).toBe(usage.buyer_cost_micro)
    await until('the call is booked', 10_000, async () => (await lookUp(rid)).confirmed_at !== null)
    expect(before - (await balance())).toBe(BigInt(usage.buyer_cost_micro))
  })

  it('is answered as a stream with one finish reason and one last usage chunk that has the cost', async () => {
    const before = await balance()
    const { data: stream, response } = await client.chat.completions
      .create({ model: MODEL, stream: true, messages: [{ role: 'user', content: 'Stream a few words.' }] })
      .withResponse()
    const rid = response.headers.get('x-request-id') ?? ''
    let text = ''
    const finishes: string[] = []
    const usages: unknown[] = []
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason)
      if (chunk.usage) {
        expect(chunk.choices).toEqual([])
        usages.push(chunk.usage)
      }
    }
    expect(text.length).toBeGreaterThan(0)
    expect(finishes).toEqual(['stop'])
    expect(usages).toHaveLength(1)
    const cost = z.object({ buyer_cost_micro: z.number().int().positive() }).parse(usages[0]).buyer_cost_micro
    expect((await lookUp(rid)).buyer_cost_micro).toBe(cost)
    expect(await ledgerCharge(rid)).toBe(cost)
    await until('the balance has settled', 10_000, async () => before - (await balance()) === BigInt(cost))
  })

  it('is refused with the typed errors that the official client knows', async () => {
    const ask = (key: string, model = MODEL) =>
      new OpenAI({ baseURL: `${network.sandbox.api_base_url}/v1`, apiKey: key, maxRetries: 0 }).chat.completions.create(
        {
          model,
          messages: [{ role: 'user', content: 'x' }],
        },
      )
    await expect(ask(network.sandbox.buyer_key, 'no-such-model')).rejects.toMatchObject({
      status: 400,
      code: 'unknown_model',
    })
    await expect(ask('inf_nonsense')).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    await expect(ask(network.sandbox.seller_key)).rejects.toMatchObject({ status: 401, code: 'wrong_key_type' })
    await expect(ask(network.sandbox.buyer_key, 'sandbox/server-error')).rejects.toMatchObject({
      status: expect.toSatisfy((status: number) => status >= 500),
    })
  })

  it('has as many choices as requested, whole and streamed', async () => {
    const asked = { model: MODEL, n: 2, messages: [{ role: 'user' as const, content: 'Say it twice.' }] }
    const whole = await client.chat.completions.create(asked)
    expect(whole.choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'stop'],
      [1, 'stop'],
    ])
    const texts = ['', '']
    for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
      for (const { index, delta } of choices) texts[index] += delta.content ?? ''
    }
    expect(texts).toEqual(whole.choices.map(({ message }) => message.content))
  })

  it('lists models, the sandbox last and off the market', async () => {
    const models: string[] = []
    for await (const model of client.models.list()) models.push(model.id)
    expect(models.filter((id) => !id.startsWith('sandbox/')).length).toBeGreaterThanOrEqual(40)
    const firstSandbox = models.findIndex((id) => id.startsWith('sandbox/'))
    expect(firstSandbox).toBeGreaterThan(0)
    expect(models.slice(firstSandbox).every((id) => id.startsWith('sandbox/'))).toBe(true)
    const markets = z
      .object({ markets: z.array(z.object({ model: z.string() })) })
      .parse(await (await get('/api/markets')).json())
    expect(markets.markets.length).toBeGreaterThan(20)
    expect(markets.markets.some((row) => row.model.startsWith('sandbox/'))).toBe(false)
  })

  it('sandbox calls are free and marked as free', async () => {
    const { data, response } = await client.chat.completions
      .create({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'free?' }] })
      .withResponse()
    expect(data.usage).toMatchObject({ cost: 0, buyer_cost_micro: 0 })
    expect(response.headers.get('x-mkt-buyer-cost-micro')).toBe('0')
    const rid = response.headers.get('x-request-id') ?? ''
    await until('the look-up shows it as free', 5_000, async () => (await lookUp(rid)).settlement_status === 'free')
  })

  it('needs only a paste of the printed curl line', async () => {
    await until('the line is printed', 5_000, () => network.output().includes('/v1/chat/completions'))
    const [, key = ''] = /Authorization: Bearer (\S+?)'/.exec(network.output()) ?? []
    expect((await get('/v1/key', key)).status).toBe(200)
  })

  it('has one sample buyer, whose key and wallet it prints', async () => {
    const { api_base_url: url, buyer_key: key, buyer_private_key } = network.sandbox
    const answer = await fetch(`${url}/v1/buyer/me`, { headers: { authorization: `Bearer ${key}` } })
    expect(await answer.json()).toMatchObject({ wallet: privateKeyToAddress(buyer_private_key).toLowerCase() })
  })

  it('is paid by a wallet with a paste of the printed lines', async () => {
    await until('the lines are printed', 5_000, () => network.output().includes('.rpc_url'))
    const { rpc_url: rpcUrl, buyer_private_key: key } = network.sandbox
    const balance = () => testChain(rpcUrl).usdcBalance(privateKeyToAddress(key))
    const before = await balance()
    const [, lines = ''] = /^Pay for one call .*\n\n((?: {2}.*\n)+)/m.exec(network.output()) ?? []
    const { stdout, stderr } = await run('/bin/sh', ['-c', lines], { timeout: BUSY_MS })
    expect(stdout).toMatch(/^transaction +0x[0-9a-f]{64}$/m)
    expect(stdout + stderr).not.toContain(key.slice(2))
    expect(before - (await balance())).toBe(1_000n)
  })
})
