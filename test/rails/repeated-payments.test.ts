import { request } from 'node:http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { inHeader, payDemand, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

let chain: TestChain
let network: Network
let redis: Redis

beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
  redis = new Redis(network.sandbox.redis_url)
})
afterAll(() => redis?.disconnect())

const RICH = { usdc: 1_000_000n }
const CHAT = '/v1/chat/completions'
const BODY = { model: 'gpt-5-mini', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello.' }] }
const FILM = '/v1/video/generations'
const KEY = { 'idempotency-key': 'a3f0c2d1-1f7f-4f0e-9f57-7f3b9a4c5d6e' }

type Headers = Readonly<Record<string, string>>
type Told = { readonly status: number; readonly text: string; readonly headers: Readonly<Record<string, unknown>> }

/** Sends a call from an address of the loopback network. */
function ask(headers: Headers, from = '127.0.0.1', path = CHAT, body: object = BODY): Promise<Told> {
  const url = new URL(network.sandbox.base_url + path)
  const options = {
    method: 'POST',
    localAddress: from,
    headers: { 'content-type': 'application/json', host: url.host, ...headers },
  }
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

const demandFor = async (path = CHAT, body: object = BODY): Promise<PaymentRequired> =>
  JSON.parse((await ask({}, '127.0.0.1', path, body)).text)

async function newPayment(path = CHAT, body: object = BODY): Promise<PaymentPayload> {
  const wallet = await chain.newWallet(RICH)
  return signPayment(stockClient(chain, wallet, 'exact'), await demandFor(path, body))
}

const Refusal = z.looseObject({ error: z.string(), accepts: z.array(z.unknown()) })
/** Checks for the refusal of a used payment, without any part of the answer. */
function expectUsed({ status, text }: Told): void {
  expect([status, Refusal.parse(JSON.parse(text))]).toMatchObject([402, { error: 'payment_already_used', accepts: [] }])
}

describe('the answer of a paid call', () => {
  it('is given again, with the receipt, to the client that paid, and not to a thief who copied the payment', async () => {
    const payment = inHeader(await newPayment())
    const first = await ask(payment)
    expect(first.status).toBe(200)
    expectUsed(await ask(payment, '127.0.0.9'))
    const again = await ask(payment)
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers['payment-response']).toBe(first.headers['payment-response'])
  })

  it('is not given to a caller who read the payment on the chain, at any quoted price', async () => {
    const payment = await newPayment()
    const first = await ask(inHeader(payment))
    expect(first.status).toBe(200)
    const { accepts } = await demandFor()
    const own = accepts.find(({ scheme }) => scheme === 'exact')
    const { quote: _, ...extra } = payment.accepted.extra
    const { x402Version, accepted, payload } = payment
    const rebuilt: readonly object[] = [
      { x402Version, accepted: { ...accepted, extra }, payload },
      { x402Version, accepted: { ...accepted, extra: { ...extra, quote: '' } }, payload },
      { x402Version, accepted: own, payload },
      { x402Version: 1, scheme: 'exact', network: 'base', payload },
    ]
    for (const one of rebuilt) {
      expectUsed(await ask(inHeader(one)))
      // A secret of the thief is not the payer's.
      expectUsed(await ask({ ...inHeader(one), ...KEY }))
    }
  })

  it('is bound to the key of a client that sends one, from any address', async () => {
    const payment = inHeader(await newPayment())
    const first = await ask({ ...payment, ...KEY })
    expect(first.status).toBe(200)
    expectUsed(await ask(payment))
    expectUsed(await ask({ ...payment, 'idempotency-key': `${KEY['idempotency-key']}x` }))
    const again = await ask({ ...payment, ...KEY }, '127.0.0.9')
    expect([again.status, again.text]).toEqual([200, first.text])
  })

  it('is not kept for a payment that proves nothing about its payer, and a short key proves nothing', async () => {
    const { payload } = await newPayment()
    const older = { 'x-payment': Buffer.from(JSON.stringify({ ...OLDER, payload })).toString('base64') }
    const headers = { ...older, 'idempotency-key': '1' }
    expect((await ask(headers)).status).toBe(200)
    expectUsed(await ask(headers))
  })

  it('by MPP is given again only to the client that paid', async () => {
    const wallet = await chain.newWallet(RICH)
    const demand = await fetch(network.sandbox.base_url + CHAT, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(BODY),
    })
    const credential = await payDemand(chain, wallet, 'mpp', demand)
    const first = await ask(credential)
    expect(first.status).toBe(200)
    expectUsed(await ask(credential, '127.0.0.9'))
    const again = await ask(credential)
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers['payment-receipt']).toBeDefined()
  })

  it('is stored sealed', async () => {
    const first = await ask(inHeader(await newPayment()))
    const rid = String(first.headers['x-request-id'])
    let kept: string | null = null
    await until('the answer is stored', 5_000, async () => {
      kept = await redis.get(`paid:${rid}`)
      return kept !== null
    })
    const text = String(kept)
    const words = JSON.parse(first.text).choices[0].message.content
    for (const plain of [text, Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()]) {
      for (const secret of [words, rid, 'payment-response']) expect(plain).not.toContain(secret)
    }
  })

  it('that is a job is given only to the client that paid: no other caller gets its token', async () => {
    const film = { model: 'sandbox/job', prompt: 'A boat on a lake.', seconds: 4 }
    const payment = inHeader(await newPayment(FILM, film))
    const first = await ask(payment, '127.0.0.1', FILM, film)
    expect(first.status).toBe(202)
    const other = await ask(payment, '127.0.0.9', FILM, film)
    expectUsed(other)
    expect(other.text).not.toContain('job_token')
    const again = await ask(payment, '127.0.0.1', FILM, film)
    expect([again.status, JSON.parse(again.text).job_token]).toEqual([202, JSON.parse(first.text).job_token])
    expect(again.headers['payment-response']).toBe(first.headers['payment-response'])
  })
})

const OLDER = { x402Version: 1, scheme: 'exact', network: 'base' }

describe('two payments in one request', () => {
  it.each<[string, (payment: Headers, other: Headers) => Headers]>([
    ['one of them by another scheme', (payment) => ({ ...payment, authorization: 'Payment garbage' })],
    ['one of them empty', (payment) => ({ ...payment, authorization: 'Payment' })],
    ['in the older header', (payment, other) => ({ ...payment, 'x-payment': other['payment-signature'] ?? '' })],
  ])('are refused, and neither is taken: %s', async (_what, both) => {
    const wallet = await chain.newWallet(RICH)
    const sign = async () => inHeader(await signPayment(stockClient(chain, wallet, 'exact'), await demandFor()))
    const payment = await sign()
    const refused = await ask(both(payment, await sign()))
    expect([refused.status, Refusal.parse(JSON.parse(refused.text))]).toMatchObject([402, { error: 'two_payments' }])
    expect(await chain.usdcBalance(wallet.address)).toBe(RICH.usdc)
    const alone = await ask({ ...payment, 'x-payment': payment['payment-signature'] })
    expect([alone.status, alone.text]).toMatchObject([200, expect.any(String)])
  })
})
