import { EventEmitter } from 'node:events'
import { pad } from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ChainWallet } from '#test/support/chain/chain.ts'
import { payDemand, payingFetch } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'
import { chain, costOf, json, KEY, lending, MEGABYTE, network, post, provider, refusalOf } from './forwarded-market.ts'

const BOOKED_MS = 30_000
const FILM = '/x402/resources/provider-p1/v1/uploads/film.bin'
const RPC = '/x402/api/crypto-rpc/rpc/base-mainnet'
const USER = '/x402/api/social/v2/users/by/username/ada'
const at = (path: string) => network.sandbox.base_url + path
/** A wallet's money, and the least payment, in micro-USD. */
const MONEY = 5_000_000n
const LEAST_MICRO = 1_000n
const newWallet = () => chain.newWallet({ usdc: MONEY, eth: 10n ** 17n })

/** The costs of forwarded calls for a wallet, and its refusals, in the market of the forwarded calls. */
export function describeWallets(): void {
  describe('a wallet that pays a forwarded call', () => {
    it(
      'by exact pays for an answer that goes out as it arrives at the first byte, and gets the rest as credit',
      paysAhead,
    )
    it('by exact gets the whole payment as credit when such an answer breaks off', getsAllBack)
    it.each(SCHEMES)('by %s streams a chat of provider-p2, and the look-up has its cost and its transfer', streamsAChat)
    it.each(PASSED_ON)('by upto pays for an answer that goes out as it arrives at its end: %s', paysAtTheEnd)
    it.each(PASSED_ON)('by upto pays nothing when such an answer breaks off: %s', paysForNoHalf)
    it('by upto pays for the whole of such an answer when it disconnects in the middle', paysForWhatItLeaves)
    it('gets the answer to an upload again for the same bytes, and not for other bytes of that length', repeatsAnUpload)
    it.each(NOT_BY_MPP)('cannot pay by MPP, which is not offered here: %s %s', takesNoMpp)
  })
  describe('a family of calls', () => {
    it.each(CHALLENGED)('asks for a payment by upto or exact: %s %s', asksForPayment)
    it.each(REFUSED)('refuses a body before it asks for a payment: %s', refusesABody)
    it('offers no network that is not sold', async () => {
      const answer = postRpc(CHAIN_ID, '/x402/api/crypto-rpc/rpc/elsewhere')
      expect(await refusalOf(answer)).toEqual([403, 'platform_route_refused', '0'])
    })
    it.each(FAILURES)('answers 502 when the provider answers %i, and nothing is charged', failsWithoutCharge)
  })
}

/** The credit of a wallet, in micro-USD. */
async function creditOf({ address }: ChainWallet): Promise<bigint> {
  const { rows } = await lending.database.query(
    'select balance from account join app_user on buyer_account = account.id where wallet = $1',
    [address.toLowerCase()],
  )
  return BigInt(rows[0]?.balance ?? 0)
}

const untilCredit = (wallet: ChainWallet, micro: bigint) =>
  until(`the wallet has ${micro} of credit`, BOOKED_MS, async () => (await creditOf(wallet)) === micro)

const PUT_FILM = { method: 'PUT', body: 'x', headers: { 'content-type': 'video/mp4' } }

async function paysAhead(): Promise<void> {
  const film = Buffer.alloc(9 * MEGABYTE, 'f')
  provider.answers((_request, response) => {
    response.writeHead(201, { 'content-type': 'video/mp4', 'content-length': film.length }).end(film)
  })
  const wallet = await newWallet()
  const answer = await payingFetch(chain, wallet, 'exact')(at(FILM), PUT_FILM)
  // The head goes out when the money has arrived, and before the answer's end is known.
  expect([answer.status, costOf(answer), answer.headers.get('content-length')]).toEqual([201, '600', `${film.length}`])
  expect(Buffer.from(await answer.arrayBuffer()).equals(film)).toBe(true)
  expect(provider.heard.length).toBe(1)
  // A payment is at least a thousand micro-USD, of which the call costs six hundred.
  await untilCredit(wallet, 400n)
}

async function repeatsAnUpload(): Promise<void> {
  json(201, { data: [{ url: 'the answer to the first' }] })
  const wallet = await newWallet()
  const upload = { ...PUT_FILM, body: 'first film' }
  const paid = await payDemand(chain, wallet, 'x402-exact', await fetch(at(FILM), upload))
  const put = (body: string) => fetch(at(FILM), { ...upload, body, headers: { ...upload.headers, ...paid } })
  const first = await put('first film')
  const text = await first.text()
  expect([first.status, first.headers.has('payment-response')]).toEqual([201, true])
  const other = await put('other film')
  expect([other.status, await other.json()]).toMatchObject([402, { error: 'payment_already_used' }])
  const again = await put('first film')
  expect([again.status, await again.text()]).toEqual([201, text])
  expect(provider.heard.length).toBe(1)
}

async function getsAllBack(): Promise<void> {
  const buyer = new EventEmitter()
  provider.answers((_request, response) => {
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': 1_000_000 })
    response.write(Buffer.alloc(500_000))
    buyer.once('reads', () => response.destroy())
  })
  const wallet = await newWallet()
  const answer = await payingFetch(chain, wallet, 'exact')(at(FILM), PUT_FILM)
  buyer.emit('reads')
  await expect(answer.arrayBuffer()).rejects.toThrow()
  expect(provider.heard.length).toBe(1)
  await untilCredit(wallet, 1_000n)
  await lending.lend('provider-p1', [{ key: KEY }])
}

const CHAT = { model: 'gpt-5-mini', max_tokens: 50, messages: [{ role: 'user', content: 'Say hello.' }] }

const SCHEMES = ['exact', 'upto'] as const
type Scheme = (typeof SCHEMES)[number]

const LookUp = z.looseObject({
  buyer_cost_micro: z.number(),
  settlement_status: z.string(),
  tx_hash: z.string().nullable(),
})

/** The record of a call of a wallet, once its charge is on the chain or given up. */
async function endOf(rid: string | null): Promise<z.infer<typeof LookUp>> {
  // Look-ups without a key are counted by address, so the look-up is sent only once the books have the call.
  await until(`the payment of ${rid} comes to its end`, BOOKED_MS, async () => {
    const { rows } = await lending.database.query(
      "select state from chain_payment where rid = $1 and state in ('confirmed', 'released', 'written_off')",
      [rid],
    )
    return rows.length > 0
  })
  let record: z.infer<typeof LookUp> | undefined
  await until(`the end of ${rid} is reported`, BOOKED_MS, async () => {
    const found = await fetch(`${network.sandbox.api_base_url}/v1/requests/${rid}`)
    record = found.ok ? LookUp.parse(await found.json()) : undefined
    return record !== undefined && ['settled', 'free', 'failed'].includes(record.settlement_status)
  })
  return LookUp.parse(record)
}

/**
 * Checks that a wallet has paid the cost, or the least payment with the rest as credit. The look-up names the transfer.
 */
async function hasPaid(wallet: ChainWallet, rid: string | null, cost: number): Promise<void> {
  const record = await endOf(rid)
  expect(record).toMatchObject({ buyer_cost_micro: cost, settlement_status: 'settled' })
  const { logs } = await chain.publicClient.getTransactionReceipt({ hash: Hash.parse(record.tx_hash) })
  const payer = pad(wallet.address).toLowerCase()
  expect(logs.some(({ topics }) => topics.some((topic) => topic === payer))).toBe(true)
  const paid = BigInt(cost) > LEAST_MICRO ? BigInt(cost) : LEAST_MICRO
  expect(await chain.usdcBalance(wallet.address)).toBe(MONEY - paid)
  await untilCredit(wallet, paid - BigInt(cost))
}

const Hash = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])

async function streamsAChat(scheme: Scheme): Promise<void> {
  const wallet = await newWallet()
  const answer = await payingFetch(
    chain,
    wallet,
    scheme,
  )(at('/x402/resources/provider-p2/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...CHAT, stream: true, stream_options: { include_usage: true } }),
  })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  const text = await answer.text()
  expect(text).toMatch(/data: \[DONE\]\s*$/)
  // Content that arrived during the settlement comes before later content.
  const whole = await post('/resources/provider-p2/chat/completions', { ...CHAT, stream: false })
  const Whole = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })) })
  const pieces = [...text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, piece = '""']) =>
    String(JSON.parse(piece)),
  )
  expect(pieces.join('')).toBe(Whole.parse(await whole.json()).choices[0]?.message.content)
  // The cost is known at the end, and the look-up shows it.
  const rid = answer.headers.get('x-request-id')
  const { buyer_cost_micro: cost } = await endOf(rid)
  expect(cost).toBeGreaterThan(0)
  await hasPaid(wallet, rid, cost)
}

/** A video of 9 MB, and half of one. */
const WHOLE = Buffer.alloc(9 * MEGABYTE, 'f')
const HALF = WHOLE.subarray(0, WHOLE.length / 2)

/** Calls whose answer goes out as it arrives, and the cost of each in micro-USD. */
const PASSED_ON: readonly PassedOn[] = [
  ['a relayed file', FILM, PUT_FILM, 600],
  ['a call of a family', USER, {}, 6_000],
]
type PassedOn = readonly [name: string, path: string, init: RequestInit, cost: number]

async function paysAtTheEnd(_name: string, path: string, init: RequestInit, cost: number): Promise<void> {
  provider.answers((_request, response) => response.writeHead(200, { 'content-type': 'video/mp4' }).end(WHOLE))
  const wallet = await newWallet()
  const answer = await payingFetch(chain, wallet, 'upto')(at(path), init)
  expect([answer.status, costOf(answer)]).toEqual([200, String(cost)])
  expect(Buffer.from(await answer.arrayBuffer()).equals(WHOLE)).toBe(true)
  expect(provider.heard.length).toBe(1)
  await hasPaid(wallet, answer.headers.get('x-request-id'), cost)
}

async function paysForNoHalf(_name: string, path: string, init: RequestInit): Promise<void> {
  const buyer = new EventEmitter()
  provider.answers((_request, response) => {
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': WHOLE.length })
    response.write(HALF)
    buyer.once('reads', () => response.destroy())
  })
  const wallet = await newWallet()
  const answer = await payingFetch(chain, wallet, 'upto')(at(path), init)
  buyer.emit('reads')
  await expect(answer.arrayBuffer()).rejects.toThrow()
  expect(provider.heard.length).toBe(1)
  expect(await endOf(answer.headers.get('x-request-id'))).toMatchObject({ buyer_cost_micro: 0, tx_hash: null })
  expect([await chain.usdcBalance(wallet.address), await creditOf(wallet)]).toEqual([MONEY, 0n])
  for (const resource of ['provider-p1', 'social']) await lending.lend(resource, [{ key: KEY }])
}

async function paysForWhatItLeaves(): Promise<void> {
  const buyer = new EventEmitter()
  provider.answers((_request, response) => {
    response.writeHead(200, { 'content-type': 'video/mp4' })
    response.write(HALF)
    // No buffer on the way holds so many bytes, so the market notices that the client does not read.
    buyer.once('left', () => response.end(Buffer.alloc(32 * MEGABYTE)))
  })
  const wallet = await newWallet()
  const leaving = new AbortController()
  const answer = await payingFetch(chain, wallet, 'upto')(at(FILM), { ...PUT_FILM, signal: leaving.signal })
  leaving.abort()
  buyer.emit('left')
  await hasPaid(wallet, answer.headers.get('x-request-id'), 600)
}

/** Every path of forwarded calls, and its demand to a caller without an accepted payment. */
const NOT_BY_MPP = [
  ['POST', '/x402/resources/provider-p2/chat/completions', 402, null],
  ['POST', RPC, 402, null],
  ['GET', USER, 402, null],
  ['POST', '/resources/provider-p2/chat/completions', 401, 'Bearer'],
] as const

async function takesNoMpp(method: string, path: string, status: number, asks: string | null): Promise<void> {
  provider.answers((_request, response) => response.writeHead(500).end())
  const wallet = await newWallet()
  const asked = { method, headers: { 'content-type': 'application/json' } }
  const body = method === 'POST' ? { body: JSON.stringify(path === RPC ? CHAIN_ID : CHAT) } : {}
  // A valid credential for a call that is sold by MPP.
  const demand = await fetch(`${network.sandbox.api_base_url}/v1/chat/completions`, {
    ...asked,
    method: 'POST',
    body: JSON.stringify(CHAT),
  })
  const paid = await payDemand(chain, wallet, 'mpp', demand)
  const answer = await fetch(at(path), { ...asked, ...body, headers: { ...asked.headers, ...paid } })
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([status, asks])
  expect([provider.heard, await chain.usdcBalance(wallet.address)]).toEqual([[], MONEY])
}

const CHAIN_ID = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }

const postRpc = (body: unknown, path = RPC) =>
  fetch(at(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** The demand is the least payment where the price is lower. */
const CHALLENGED = [
  ['GET', '/x402/api/social/v2/posts/search/recent?query=boats&max_results=100', '30000'],
  ['GET', USER, '6000'],
  ['POST', RPC, '1000'],
] as const

async function asksForPayment(method: 'GET' | 'POST', path: string, amount: string): Promise<void> {
  provider.answers((_request, response) => response.writeHead(500).end())
  const answer = method === 'GET' ? await fetch(at(path)) : await postRpc([CHAIN_ID, CHAIN_ID])
  const Demand = z.object({ accepts: z.array(z.object({ scheme: z.string(), amount: z.string() })) })
  const { accepts } = Demand.parse(await answer.json())
  expect(answer.status).toBe(402)
  expect(accepts).toEqual([
    { scheme: 'upto', amount },
    { scheme: 'exact', amount },
  ])
  expect(answer.headers.get('www-authenticate')).toBeNull()
  expect(provider.heard).toEqual([])
}

type Refused = readonly [name: string, body: unknown, status: number, code: string]

const REFUSED: readonly Refused[] = [
  ['a batch of none', [], 400, 'invalid_request'],
  ['a batch of 101', Array(101).fill(CHAIN_ID), 400, 'invalid_request'],
  ['a batch in a batch', [[CHAIN_ID]], 400, 'invalid_request'],
  ['no object', '"eth_chainId"', 400, 'invalid_request'],
  ['an id that is an object', { ...CHAIN_ID, id: {} }, 400, 'invalid_request'],
  ['a method that is a number', { ...CHAIN_ID, method: 5 }, 400, 'invalid_request'],
  ['params that are a text', { ...CHAIN_ID, params: 'x' }, 400, 'invalid_request'],
  ['jsonrpc 1.0', { ...CHAIN_ID, jsonrpc: '1.0' }, 400, 'invalid_request'],
  ['a prototype', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","__proto__":{}}', 400, 'invalid_request'],
  ['no JSON', '{', 400, 'invalid_json'],
  ['a method that writes', { ...CHAIN_ID, method: 'eth_sendRawTransaction' }, 403, 'platform_route_refused'],
  ['a method that signs', [CHAIN_ID, { ...CHAIN_ID, method: 'eth_sign' }], 403, 'platform_route_refused'],
]

async function refusesABody(_name: string, body: unknown, status: number, code: string): Promise<void> {
  const answer = await postRpc(body)
  expect(answer.headers.get('payment-required')).toBeNull()
  expect(await refusalOf(Promise.resolve(answer))).toEqual([status, code, '0'])
}

/** Failures of the provider. The last ones concern the request and do not back the key off. */
const FAILURES = [302, 401, 429, 503, 422, 404] as const

async function failsWithoutCharge(status: number): Promise<void> {
  await lending.lend('social', [{ key: KEY }])
  json(status, { title: `Incorrect API key ${KEY}` }, { location: 'http://127.0.0.1:1/' })
  const wallet = await newWallet()
  const answer = await payingFetch(chain, wallet, 'upto')(at(USER))
  const text = await answer.clone().text()
  expect(await refusalOf(Promise.resolve(answer))).toEqual([502, 'upstream_error', '0'])
  expect(text).not.toContain(KEY)
  expect(provider.heard.length).toBe(1)
}
