import type { PaymentRequired } from '@x402/core/types'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { inHeader, payDemand, payingFetch, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import { filmFacts, textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const RICH = { usdc: 1_000_000n }
/** The sample provider makes its videos a second shorter than ordered. */
const FILM = { model: 'paid/job', prompt: 'A boat on a lake.', seconds: 4 }
const MUSIC = { model: 'sandbox/music-job', prompt: 'A slow waltz.' }
/** The sample provider lets this model fail because of its name. */
const FAILING = 'paid-job-failing'
const PATHS = ['/v1/video/generations', '/v1/videos', '/v1/music/generations'] as const

let chain: TestChain
let network: Network
let db: pg.Client
let provider: SampleProvider

beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
  db = new pg.Client(network.sandbox.database_url)
  await db.connect()
  const films = [FILM.model, FAILING].map((id) => textModel(id, filmFacts('0.1')))
  const operator = (name: string, input: object) =>
    post(`${network.sandbox.trpc_url}/${name}`, network.sandbox.management_key, input)
  await operator('catalog.import', { source: 'test', models: films })
  provider = await createSampleProvider({ host: '127.0.0.73', port: 0, name: 'paid-jobs' })
  await operator('provider.put', { id: 'paid-jobs', name: 'Paid jobs', baseUrl: provider.url, isTrusted: true })
  for (const model of [FILM.model, FAILING]) {
    await post(`${network.sandbox.api_base_url}/v1/seller/offers`, network.sandbox.seller_key, offerOf(model))
    await until('the model is on sale', 20_000, async () => (await send(PATHS[0], { ...FILM, model })).status === 402)
  }
})
afterAll(async () => {
  await db.end()
  await provider.close()
})

const offerOf = (model: string) => ({ model, api_key: `sk-${model}`, seller_base_url: provider.url, discount: 40 })

const asking = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})
const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(network.sandbox.api_base_url + path, asking(body, headers))

async function post(url: string, key: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': crypto.randomUUID() }
  const answer = await fetch(url, asking(body, headers))
  if (!answer.ok) throw new Error(`${url}: ${await answer.text()}`)
}

const Demand = z.looseObject({
  error: z.string(),
  accepts: z.array(z.object({ scheme: z.string(), amount: z.string() })),
})

async function demandFor(path: string, body: object): Promise<PaymentRequired> {
  const answer = await send(path, body)
  expect(answer.status).toBe(402)
  const text = await answer.text()
  expect(Demand.parse(JSON.parse(text)).accepts.map(({ scheme }) => scheme)).toEqual(['exact'])
  return JSON.parse(text)
}

const rowOf = async (rid: string | null) =>
  (await db.query('select * from chain_payment where rid = $1', [rid])).rows[0]

const creditOf = async ({ address }: ChainWallet): Promise<bigint> => {
  const text = 'select balance from account join app_user on buyer_account = account.id where wallet = $1'
  const { rows } = await db.query(text, [address.toLowerCase()])
  return BigInt(rows[0]?.balance ?? 0)
}

const Submitted = z.object({ id: z.string(), status: z.string(), job_token: z.string() })
const Job = z.object({
  status: z.string(),
  artifacts: z.array(z.object({ url: z.url() })),
  usage: z.object({ buyer_cost_micro: z.number(), seconds: z.number() }).nullable(),
})

async function finished(path: string, { id, job_token }: z.infer<typeof Submitted>): Promise<z.infer<typeof Job>> {
  let job: z.infer<typeof Job> | undefined
  await until('the job is over', 15_000, async () => {
    const answer = await fetch(`${network.sandbox.api_base_url}${path}/${id}`, {
      headers: { 'x-job-token': job_token },
    })
    job = Job.parse(await answer.json())
    return job.usage !== null
  })
  if (job === undefined) throw new Error('there is no job')
  return job
}

describe('a long job that a wallet pays for', () => {
  it('holds the signed amount, costs the final amount, and turns the rest into credit', async () => {
    const wallet = await chain.newWallet(RICH)
    const path = '/v1/video/generations'
    const demand = await demandFor(path, FILM)
    const signed = BigInt(demand.accepts[0]?.amount ?? 0)
    const payment = inHeader(await signPayment(stockClient(chain, wallet, 'exact'), demand))
    const answers = await Promise.all([send(path, FILM, payment), send(path, FILM, payment)])
    const first = answers.find(({ status }) => status === 202)
    const submitted = Submitted.parse(await first?.json())
    const told = JSON.parse(Buffer.from(first?.headers.get('payment-response') ?? '', 'base64').toString())
    expect(told).toMatchObject({ success: true, payer: wallet.address.toLowerCase() })
    expect(RICH.usdc - (await chain.usdcBalance(wallet.address))).toBe(signed)

    // The same payment buys the same job, however often it is sent, and no other request.
    const again = await send(path, FILM, payment)
    expect([again.status, Submitted.parse(await again.json())]).toEqual([202, submitted])
    const other = await send(path, { ...FILM, prompt: 'Another boat.' }, payment)
    expect([other.status, Demand.parse(await other.json())]).toMatchObject([402, { error: 'payment_already_used' }])
    const { rows } = await db.query('select rid from chain_payment where payer = $1', [wallet.address.toLowerCase()])
    expect(rows.map(({ rid }) => `job_${rid}`)).toEqual([submitted.id])

    const job = await finished(path, submitted)
    const cost = BigInt(job.usage?.buyer_cost_micro ?? 0)
    // The video is a second shorter, and the seller keeps 60 % of 10 cents for each.
    expect([job.status, job.usage?.seconds, cost]).toEqual(['succeeded', 3, 180_000n])
    const file = await fetch(job.artifacts[0]?.url ?? '')
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'video/mp4'])
    expect(
      Buffer.from(await file.arrayBuffer())
        .subarray(4, 8)
        .toString(),
    ).toBe('ftyp')

    const rid = submitted.id.slice('job_'.length)
    await until('the end is booked', 20_000, async () => (await creditOf(wallet)) > 0n)
    expect(await creditOf(wallet)).toBe(signed - cost)
    expect(await rowOf(rid)).toMatchObject({ state: 'confirmed', rail: 'x402-exact', amount: String(signed) })
    const looked = await fetch(`${network.sandbox.api_base_url}/v1/requests/${rid}`)
    expect(await looked.json()).toMatchObject({ settlement_type: 'x402', buyer_cost_micro: Number(cost) })
  })

  it('that fails costs nothing: the whole amount is credit', async () => {
    const wallet = await chain.newWallet(RICH)
    const path = '/v1/video/generations'
    const pay = payingFetch(chain, wallet, 'exact')
    const answer = await pay(network.sandbox.api_base_url + path, asking({ ...FILM, model: FAILING }))
    expect([answer.status, await chain.usdcBalance(wallet.address)]).toEqual([202, 760_000n])
    const job = await finished(path, Submitted.parse(await answer.json()))
    expect([job.status, job.usage?.buyer_cost_micro, job.artifacts]).toEqual(['failed', 0, []])
    await until('the whole amount is back', 20_000, async () => (await creditOf(wallet)) === 240_000n)
  })

  it('is bought by the stock client at each path, and is hidden without its token', async () => {
    const wallet = await chain.newWallet(RICH)
    const pay = payingFetch(chain, wallet, 'exact')
    for (const [path, body] of [
      [PATHS[0], FILM],
      [PATHS[1], { ...FILM, seconds: '4' }],
      [PATHS[2], MUSIC],
    ] as const) {
      const answer = await pay(network.sandbox.api_base_url + path, asking(body))
      const { id, job_token } = Submitted.parse(await answer.json())
      const look = (headers: Record<string, string>) =>
        fetch(`${network.sandbox.api_base_url}${path}/${id}`, { headers }).then(({ status }) => status)
      expect([answer.ok, await look({ 'x-job-token': job_token }), await look({})]).toEqual([true, 200, 401])
      expect(await look({ 'x-job-token': `${job_token}x` })).toBe(404)
    }
  })

  it.each([
    [PATHS[0], FILM],
    [PATHS[1], { ...FILM, seconds: '4' }],
  ] as const)('is bought by MPP at %s, and its end turns the rest into credit', async (path, body) => {
    const wallet = await chain.newWallet(RICH)
    const paid = await payDemand(chain, wallet, 'mpp', await send(path, body))
    const answer = await send(path, body, paid)
    const { id } = z.object({ id: z.string() }).parse(await answer.json())
    const receipt = Buffer.from(answer.headers.get('payment-receipt') ?? '', 'base64url').toString()
    expect([answer.ok, JSON.parse(receipt)]).toMatchObject([true, { method: 'evm', status: 'success' }])
    const row = await rowOf(id.slice(id.lastIndexOf('_') + 1))
    expect(row).toMatchObject({ rail: 'mpp', payer: wallet.address.toLowerCase() })
    // The video is a second shorter than the paid length.
    await until('the rest is credit', 20_000, async () => (await creditOf(wallet)) === BigInt(row.amount) - 180_000n)
  })

  it('is offered by MPP for music, too', async () => {
    const demand = await send(PATHS[2], MUSIC)
    expect(demand.headers.get('www-authenticate')).toMatch(/^Payment id=/)
    const wallet = await chain.newWallet(RICH)
    const answer = await send(PATHS[2], MUSIC, await payDemand(chain, wallet, 'mpp', demand))
    expect([answer.ok, Submitted.safeParse(await answer.json()).success]).toEqual([true, true])
  })

  it.each(PATHS)('is sold by no other way at %s, and a malformed payment is named', async (path) => {
    const body = path === '/v1/music/generations' ? MUSIC : FILM
    const wallet = await chain.newWallet(RICH)
    const probe = await fetch(network.sandbox.api_base_url + path, { method: 'POST' })
    const { accepts } = Demand.parse(await probe.json())
    expect([probe.status, accepts.map(({ scheme, amount }) => [scheme, amount])]).toEqual([402, [['exact', '1000']]])
    const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }] }
    const priced = await (await send('/v1/chat/completions', chat)).json()
    const upto = inHeader(await signPayment(stockClient(chain, wallet, 'upto'), priced))
    const reasons = []
    for (const headers of [upto, { 'payment-signature': 'nonsense!' }]) {
      const answer = await send(path, body, headers)
      reasons.push([answer.status, Demand.parse(await answer.json()).error])
    }
    expect(reasons).toEqual([
      [402, 'unsupported_scheme'],
      [402, 'invalid_payload'],
    ])
  })

  it('that costs more than a dollar is refused with that limit', async () => {
    const answer = await send('/v1/video/generations', { ...FILM, seconds: 20 })
    expect([answer.status, await answer.json()]).toMatchObject([402, { error: { code: 'cost_ceiling_reached' } }])
  })
})
