import type { ServerResponse } from 'node:http'
import pg from 'pg'
import { createWalletClient, http, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { CHAIN, chainOf } from '#test/support/chain/chain.ts'
import { inHeader, sendAsStranger, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import { filmFacts, textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { RecordingProvider } from '#test/support/market/recording-provider.ts'
import { startRecordingProvider } from '#test/support/market/recording-provider.ts'
import { until } from '#test/support/run/until.ts'

/** A video that two hosts sell. The first one has the lower price. */
const MODEL = 'hosted-film'
const FILM = { model: MODEL, prompt: 'A boat on a lake.', seconds: 4 }
const PATH = '/v1/video/generations'
/** A video whose download takes longer than its reader stays. */
const FILM_BYTES = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom'), Buffer.alloc(8_000_000, 9)])
const FILM_HEADERS = { 'content-type': 'video/mp4', 'content-length': FILM_BYTES.length }
const TOKEN = parseAbi(['function transfer(address, uint256) returns (bool)'])

let chain: TestChain
let network: Network
let cheap: RecordingProvider
let dear: RecordingProvider

type Say = (response: ServerResponse) => void
const json =
  (status: number, body: object): Say =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const TAKEN = json(200, { id: 'vid-1', object: 'video', status: 'queued' })

const stateOf = (status: string, more: object = {}) => json(200, { id: 'vid-1', object: 'video', status, ...more })

/** A host that lists the model and answers submits and polls as the test says. By default it runs a film for ever. */
function says(host: RecordingProvider, submit: Say, state: Say = stateOf('in_progress')): void {
  host.answers(({ method, url }, response) => {
    if (url === '/v1/models') json(200, { object: 'list', data: [{ id: MODEL, object: 'model' }] })(response)
    else if (method === 'POST' && url === '/v1/videos') submit(response)
    else if (url?.endsWith('/content') === true) response.writeHead(200, FILM_HEADERS).end(FILM_BYTES)
    else state(response)
  })
}

const submits = ({ heard }: RecordingProvider) => heard.filter(({ method }) => method === 'POST').length

async function post(url: string, key: string | undefined, body: object, headers: Record<string, string> = {}) {
  const sent = {
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...headers,
  }
  return fetch(url.startsWith('http') ? url : network.sandbox.api_base_url + url, {
    method: 'POST',
    headers: sent,
    body: JSON.stringify(body),
  })
}

beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
  const film = textModel(MODEL, filmFacts('0.1'))
  const operator = (name: string, input: object) =>
    post(`${network.sandbox.trpc_url}/${name}`, network.sandbox.management_key, input)
  await operator('catalog.import', { source: 'test', models: [film] })
  cheap = await startRecordingProvider('127.0.0.74')
  dear = await startRecordingProvider('127.0.0.75')
  for (const [host, id, discount] of [
    [cheap, 'host-cheap', 50],
    [dear, 'host-dear', 30],
  ] as const) {
    says(host, TAKEN)
    const baseUrl = `${host.origin}/v1`
    await operator('provider.put', { id, name: id, baseUrl, isTrusted: true })
    const offer = { model: MODEL, api_key: `sk-${id}`, seller_base_url: baseUrl, discount }
    const made = await post('/v1/seller/offers', network.sandbox.seller_key, offer)
    expect([made.status, made.ok ? '' : await made.text()]).toEqual([201, ''])
    await until('the model is on sale', 20_000, async () => {
      const { status } = await post(PATH, undefined, { ...FILM, provider: id })
      return status === 402
    })
  }
})
afterAll(() => {
  cheap.close()
  dear.close()
})

const Refusal = z.object({ error: z.object({ code: z.string() }) })
const Looked = z.object({ settlement_status: z.string(), buyer_cost_micro: z.number() })

/** Submits a video with a key. Returns the status, the code of a refusal, and the submits that each host received. */
async function submit() {
  const answer = await post(PATH, network.sandbox.buyer_key, FILM)
  const refusal = Refusal.safeParse(await answer.json())
  if (refusal.success) {
    const rid = answer.headers.get('x-request-id')
    const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
    await until('the money is back', 5_000, async () => {
      const looked = await fetch(`${network.sandbox.api_base_url}/v1/requests/${rid}`, { headers })
      const read = Looked.safeParse(await looked.json())
      return read.data?.settlement_status === 'failed' && read.data.buyer_cost_micro === 0
    })
  }
  return [answer.status, refusal.data?.error.code, submits(cheap), submits(dear)]
}

describe('a submit', () => {
  it.each<[string, Say, number, string]>([
    ['whose host disconnects before it answers', (response) => response.socket?.destroy(), 502, 'upstream_error'],
    ['that a gateway gave up', json(504, {}), 504, 'upstream_timeout'],
    ['whose gateway lost the answer', json(502, {}), 502, 'upstream_error'],
    ['whose answer names no job', json(200, { ok: true }), 502, 'upstream_error'],
  ])('%s may have been accepted, and is sent to no other host', async (_name, say, status, code) => {
    says(cheap, say)
    says(dear, TAKEN)
    expect(await submit()).toEqual([status, code, 1, 0])
    says(cheap, TAKEN)
    expect(await submit()).toEqual([202, undefined, 1, 0])
  })

  it.each([429, 500, 503])('that a host refused with %i goes to the next one', async (status) => {
    const headers = { 'content-type': 'application/json', 'retry-after': '0' }
    says(cheap, (response) => response.writeHead(status, headers).end('{"error":{"message":"no"}}'))
    says(dear, TAKEN)
    expect(await submit()).toEqual([202, undefined, 1, 1])
    says(cheap, TAKEN)
    says(dear, TAKEN)
    await until('the first host is back', 10_000, async () => (await submit())[2] === 1)
  })

  it.each([400, 403])(
    'that is refused for its content with %i is sent to no other host, and backs no offer off',
    async (status) => {
      says(dear, TAKEN)
      for (let time = 0; time < 6; time += 1) {
        says(
          cheap,
          json(status, {
            error: { code: 'moderation_blocked', message: 'Not this.', type: 'image_generation_user_error' },
          }),
        )
        expect(await submit()).toEqual([400, 'upstream_rejected', 1, 0])
      }
      says(cheap, TAKEN)
      expect(await submit()).toEqual([202, undefined, 1, 0])
    },
  )
})

const Job = z.object({
  id: z.string(),
  status: z.string(),
  artifacts: z.array(z.object({ url: z.url() })).optional(),
  usage: z.object({ buyer_cost_micro: z.number(), seconds: z.number() }).nullish(),
})

async function asked(method: string, id: string): Promise<z.infer<typeof Job>> {
  const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
  return Job.parse(await (await fetch(`${network.sandbox.api_base_url}${PATH}/${id}`, { method, headers })).json())
}

/** A video that the lower-priced host has accepted. */
async function taken(): Promise<string> {
  return Job.parse(await (await post(PATH, network.sandbox.buyer_key, FILM)).json()).id
}

const Book = z.object({ offers: z.array(z.object({ id: z.string(), provider: z.string(), discount_pct: z.number() })) })

/** Changes the discount of the lower-priced host, and waits until buyers see it. */
async function sellAt(discount: number): Promise<void> {
  const book = async () => {
    const answer = await fetch(`${network.sandbox.api_base_url}/api/markets/${MODEL}`)
    return Book.parse(await answer.json()).offers.find(({ provider }) => provider === 'host-cheap')
  }
  const url = `${network.sandbox.api_base_url}/v1/seller/offers/${(await book())?.id}`
  const headers = { authorization: `Bearer ${network.sandbox.seller_key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ discount }) })
  expect([answer.status, answer.ok ? '' : await answer.text()]).toEqual([200, ''])
  await until('buyers see the discount', 20_000, async () => (await book())?.discount_pct === discount)
}

describe('a job that its host has accepted', () => {
  it('ends once, at the price of its submit: later answers of its host change nothing, nor does a cancellation', async () => {
    says(cheap, TAKEN)
    const id = await taken()
    await sellAt(20)
    says(cheap, TAKEN, stateOf('completed', { seconds: '3' }))
    const first = await asked('GET', id)
    // Three seconds at ten cents, of which the seller kept half.
    expect(first).toMatchObject({ status: 'succeeded', usage: { seconds: 3, buyer_cost_micro: 150_000 } })
    for (const say of [stateOf('failed'), stateOf('completed', { seconds: '4' }), json(404, {})]) {
      says(cheap, TAKEN, say)
      for (const method of ['GET', 'DELETE']) {
        const { status, usage } = await asked(method, id)
        expect([method, status, usage]).toEqual([method, first.status, first.usage])
      }
    }
    const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
    await until('the job is booked at that price', 20_000, async () => {
      const looked = await fetch(`${network.sandbox.api_base_url}/v1/requests/${id.slice('job_'.length)}`, { headers })
      const read = Looked.safeParse(await looked.json())
      return read.data?.buyer_cost_micro === 150_000
    })
    await sellAt(50)
  })

  it('that is over when its buyer cancels it stays as it was, and is charged', async () => {
    says(cheap, TAKEN)
    const id = await taken()
    says(cheap, TAKEN, stateOf('completed', { seconds: '2' }))
    expect(await asked('DELETE', id)).toMatchObject({ status: 'succeeded', usage: { buyer_cost_micro: 100_000 } })
  })

  it('that its host has lost runs on for its buyer until enough polls have failed, and costs nothing', async () => {
    says(cheap, TAKEN)
    const id = await taken()
    says(cheap, TAKEN, json(404, { error: { message: 'No such job.' } }))
    expect((await asked('GET', id)).status).toBe('running')
    const db = new pg.Client(network.sandbox.database_url)
    await db.connect()
    const hasten = 'update job set poll_at = now() where rid = $1 and asker is null'
    await until('the job is given up', 30_000, async () => {
      await db.query(hasten, [id.slice('job_'.length)])
      return (await asked('GET', id)).status === 'failed'
    })
    await db.end()
    expect(await asked('GET', id)).toMatchObject({ status: 'failed', usage: { buyer_cost_micro: 0 } })
  })

  it('makes a film whose download buyers may abort as often as they like', async () => {
    says(cheap, TAKEN)
    const id = await taken()
    says(cheap, TAKEN, stateOf('completed'))
    const url = (await asked('GET', id)).artifacts?.[0]?.url ?? ''
    const loaded = async () => Buffer.from(await (await fetch(url)).arrayBuffer()).equals(FILM_BYTES)
    expect(await loaded()).toBe(true)
    // An owner may run 32 downloads at once. Aborted downloads do not count.
    for (let time = 0; time < 40; time++) {
      const leaving = new AbortController()
      const answer = await fetch(url, { signal: leaving.signal })
      const part = await answer.body?.getReader().read()
      expect([answer.status, part?.done]).toEqual([200, false])
      leaving.abort()
    }
    expect(await loaded()).toBe(true)
  })
})

const Unpaid = z.object({ error: z.string(), accepts: z.array(z.unknown()).length(0) })
const Key = z.object({ key: z.string() })

async function keyOf({ account, address }: ChainWallet): Promise<string> {
  const asked = await fetch(`${network.sandbox.api_base_url}/v1/buyer/auth/challenge?address=${address}`)
  const { message } = z.object({ message: z.string() }).parse(await asked.json())
  const signature = await account.signMessage({ message })
  return Key.parse(await (await post('/v1/buyer/auth/keys', undefined, { message, signature })).json()).key
}

describe('a job whose payment cannot be taken', () => {
  it('is hidden until the money arrives after all', async () => {
    const payer = await chain.newWallet({ usdc: 1_000_000n, eth: 10n ** 17n })
    const friend = await chain.newWallet({ eth: 10n ** 17n })
    const clientOf = ({ account }: ChainWallet) =>
      createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
    const token = { address: CONTRACTS.LocalUsdc, abi: TOKEN } as const
    const move = async (from: ChainWallet, to: ChainWallet) => {
      const hash = await clientOf(from).writeContract({
        ...token,
        functionName: 'transfer',
        args: [to.address, 1_000_000n],
      })
      await chain.publicClient.waitForTransactionReceipt({ hash })
    }
    const body = { ...FILM, provider: 'host-cheap' }
    const payment = await signPayment(
      stockClient(chain, payer, 'exact'),
      await (await post(PATH, undefined, body)).json(),
    )
    let taken: (() => void) | undefined
    says(cheap, (response) => {
      taken = () => TAKEN(response)
    })
    // The key of a client that returns for the job that it paid.
    const paid = { ...inHeader(payment), 'idempotency-key': crypto.randomUUID() }
    const buying = post(PATH, undefined, body, paid)
    await until('the host has the submit', 10_000, async () => taken !== undefined)
    await move(payer, friend)
    taken?.()
    const unpaid = await buying
    expect(unpaid.status).toBe(402)
    Unpaid.parse(await unpaid.json())
    const id = `job_${unpaid.headers.get('x-request-id')}`
    const headers = { authorization: `Bearer ${await keyOf(payer)}` }
    const look = async () => (await fetch(`${network.sandbox.api_base_url}${PATH}/${id}`, { headers })).status
    expect(await look()).toBe(404)
    const again = () => post(PATH, undefined, body, paid)
    expect((await again()).status).toBe(402)

    await move(friend, payer)
    await sendAsStranger(chain, payment)
    await until('the payment is found', 30_000, async () => (await again()).status === 202)
    const { id: same } = z.object({ id: z.string() }).parse(await (await again()).json())
    expect([same, await look(), submits(cheap)]).toEqual([id, 200, 1])
  })
})
