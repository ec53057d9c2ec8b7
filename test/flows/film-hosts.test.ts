import type { ServerResponse } from 'node:http'
import { createWalletClient, http, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CONTRACTS } from '#dev/chain/addresses.ts'
import type { ChainWallet, TestChain } from '#test/support/chain.ts'
import { CHAIN, chainOf } from '#test/support/chain.ts'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import type { RecordingProvider } from '#test/support/recording-provider.ts'
import { startRecordingProvider } from '#test/support/recording-provider.ts'
import { filmFacts, textModel } from '#test/support/text-model.ts'
import { until } from '#test/support/until.ts'
import { inHeader, sendAsStranger, signPayment, stockClient } from '#test/support/wallet-client.ts'

/** A film that two hosts sell. The first one is cheaper. */
const MODEL = 'hosted-film'
const FILM = { model: MODEL, prompt: 'A boat on a lake.', seconds: 4 }
const PATH = '/v1/video/generations'
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

/** A host that lists the model, runs each film for ever, and answers submits as it is told. */
function says(host: RecordingProvider, submit: Say): void {
  host.answers(({ method, url }, response) => {
    if (url === '/v1/models') json(200, { object: 'list', data: [{ id: MODEL, object: 'model' }] })(response)
    else if (method === 'POST' && url === '/v1/videos') submit(response)
    else json(200, { id: 'vid-1', object: 'video', status: 'in_progress' })(response)
  })
}

const submits = ({ heard }: RecordingProvider) => heard.filter(({ method }) => method === 'POST').length

async function post(url: string, key: string | undefined, body: object, headers: Record<string, string> = {}) {
  const sent = {
    ...{ 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
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
    await until('it is on sale', 20_000, async () => {
      const { status } = await post(PATH, undefined, { ...FILM, provider: id })
      return status === 402
    })
  }
}, 120_000)
afterAll(() => {
  cheap.close()
  dear.close()
})

const Refusal = z.object({ error: z.object({ code: z.string() }) })
const Looked = z.object({ settlement_status: z.string(), buyer_cost_micro: z.number() })

/** Submits a film with a key. Answers the status, the code of a refusal, and the submits that each host got. */
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
    ['whose host is gone before it answers', (response) => response.socket?.destroy(), 502, 'upstream_error'],
    ['that a gateway gave up', json(504, {}), 504, 'upstream_timeout'],
    ['whose gateway lost the answer', json(502, {}), 502, 'upstream_error'],
    ['whose answer names no job', json(200, { ok: true }), 502, 'upstream_error'],
  ])('%s may have been taken, and is sent to nobody else', async (_name, say, status, code) => {
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
    'that is refused for its content with %i is not asked of others, and closes no offer',
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

const Unpaid = z.object({ error: z.string(), accepts: z.array(z.unknown()).length(0) })
const Key = z.object({ key: z.string() })

async function keyOf({ account, address }: ChainWallet): Promise<string> {
  const asked = await fetch(`${network.sandbox.api_base_url}/v1/buyer/auth/challenge?address=${address}`)
  const { message } = z.object({ message: z.string() }).parse(await asked.json())
  const signature = await account.signMessage({ message })
  return Key.parse(await (await post('/v1/buyer/auth/keys', undefined, { message, signature })).json()).key
}

describe('a job whose payment cannot be taken', () => {
  it('is shown to nobody until the money came after all', async () => {
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
    const buying = post(PATH, undefined, body, inHeader(payment))
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
    const again = () => post(PATH, undefined, body, inHeader(payment))
    expect((await again()).status).toBe(402)

    await move(friend, payer)
    await sendAsStranger(chain, payment)
    await until('the payment is found', 30_000, async () => (await again()).status === 202)
    const { id: same } = z.object({ id: z.string() }).parse(await (await again()).json())
    expect([same, await look(), submits(cheap)]).toEqual([id, 200, 1])
  })
})
