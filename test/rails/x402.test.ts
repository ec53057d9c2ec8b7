import { wrapAxiosWithPayment } from '@x402/axios'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import axios from 'axios'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { inHeader, payingFetch, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

let chain: TestChain
let network: Network
let treasury: string
let db: pg.Client

beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
  db = new pg.Client(network.sandbox.database_url)
  await db.connect()
  treasury = (await demandFor()).accepts[0]?.payTo ?? ''
})

afterAll(async () => {
  await db.end()
})

const addressOf = (text: string) => `0x${text.slice(2)}` as const
const CHAT = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Say hello.' }]

function asking(body: object, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'gpt-5-mini', max_tokens: 100, messages, ...body }),
  }
}

const ask = (body: object = {}, headers: Record<string, string> = {}, path = CHAT) =>
  fetch(network.sandbox.base_url + path, asking(body, headers))

const Demand = z.looseObject({
  x402Version: z.literal(2),
  error: z.string(),
  accepts: z.array(
    z.looseObject({
      scheme: z.string(),
      amount: z.string(),
      payTo: z.string(),
      extra: z.record(z.string(), z.unknown()),
    }),
  ),
  resource: z.object({ url: z.string() }),
})

async function demandFor(body: object = {}, path = CHAT): Promise<PaymentRequired> {
  const answer = await ask(body, {}, path)
  expect(answer.status).toBe(402)
  const text = await answer.text()
  expect(Buffer.from(answer.headers.get('payment-required') ?? '', 'base64').toString()).toBe(text)
  Demand.parse(JSON.parse(text))
  return JSON.parse(text)
}

/** A payment for a body, signed by the stock client. */
async function signed(wallet: ChainWallet, scheme: 'exact' | 'upto', body: object = {}): Promise<PaymentPayload> {
  return signPayment(stockClient(chain, wallet, scheme), await demandFor(body))
}

const Paid = z.object({
  usage: z.object({
    buyer_cost_micro: z.number().int(),
    payment: z.object({ status: z.string(), transaction: z.string().nullable(), payer: z.string() }),
  }),
})

const Response = z.object({
  success: z.boolean(),
  transaction: z.string(),
  network: z.string(),
  payer: z.string(),
  amount: z.string().optional(),
  errorReason: z.string().optional(),
})
const responseOf = (answer: globalThis.Response) =>
  Response.parse(JSON.parse(Buffer.from(answer.headers.get('payment-response') ?? '', 'base64').toString()))

const rowOf = async (rid: string | null) =>
  (await db.query('select * from chain_payment where rid = $1', [rid])).rows[0]

/** The payment of a call once its books are closed. */
async function booked(rid: string | null) {
  await until('the payment is booked', 15_000, async () => (await rowOf(rid))?.booked_at != null)
  return rowOf(rid)
}

const creditOf = async (wallet: ChainWallet): Promise<bigint> => {
  const { rows } = await db.query(
    'select balance from account join app_user on buyer_account = account.id where wallet = $1',
    [wallet.address.toLowerCase()],
  )
  return BigInt(rows[0]?.balance ?? 0)
}

describe('the 402', () => {
  it('prices exactly this body, upto first, and fits a header', async () => {
    const [small, large] = await Promise.all([demandFor(), demandFor({ model: 'claude-opus-4.1', max_tokens: 4_000 })])
    expect(small.accepts.map(({ scheme }) => scheme)).toEqual(['upto', 'exact'])
    expect(small.accepts.map(({ payTo }) => payTo)).toEqual([treasury, treasury])
    expect(small.accepts[0]?.amount).toBe('1000')
    expect(Number(large.accepts[0]?.amount)).toBeGreaterThan(10_000)
    expect(JSON.stringify(large).length).toBeLessThan(6_000)
  })

  it('refuses to price a call of more than 1.00 USD, and says so', async () => {
    const answer = await ask({ model: 'claude-opus-4.1', max_tokens: 32_000 })
    expect([answer.status, await answer.json()]).toMatchObject([402, { error: { code: 'cost_ceiling_reached' } }])
  })

  it('answers a probe without a body with the least price, and a bad body with its fault', async () => {
    const probe = await fetch(network.sandbox.base_url + CHAT, { method: 'POST' })
    expect([probe.status, Demand.parse(await probe.json()).accepts[0]?.amount]).toEqual([402, '1000'])
    expect((await ask({ messages: 5 })).status).toBe(400)
  })

  it('is never shown on the messages wire', async () => {
    const answer = await ask({}, inHeader({ x402Version: 2 }), '/compat/v1/messages')
    expect([answer.status, answer.headers.get('payment-required')]).toEqual([401, null])
  })
})

describe('a wallet with USDC, without ETH and without an account', () => {
  it.each([
    ['upto', false],
    ['upto', true],
    ['exact', false],
    ['exact', true],
  ] as const)('pays by %s with the stock client, streamed: %s', async (scheme, stream) => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const before = await chain.usdcBalance(addressOf(treasury))
    const body = { stream, model: 'claude-opus-4.1', max_tokens: 400 }
    const answer = await payingFetch(chain, wallet, scheme)(network.sandbox.base_url + CHAT, asking(body))
    expect(answer.status).toBe(200)
    const text = await answer.text()
    const last = stream
      ? text
          .split('\n')
          .filter((line) => line.startsWith('data: {'))
          .at(-1)
          ?.slice(6)
      : text
    const { usage } = Paid.parse(JSON.parse(last ?? ''))
    expect(usage.payment).toMatchObject({ status: 'settled', payer: wallet.address.toLowerCase() })
    if (!stream) {
      expect(responseOf(answer)).toMatchObject({ success: true, transaction: usage.payment.transaction })
      expect(answer.headers.get('x-mkt-buyer-cost-micro')).toBe(String(usage.buyer_cost_micro))
    }
    const row = await booked(answer.headers.get('x-request-id'))
    expect(row).toMatchObject({
      state: 'confirmed',
      tx_hash: usage.payment.transaction,
      charge: String(usage.buyer_cost_micro),
    })
    const told = await fetch(`${network.sandbox.base_url}/v1/requests/${row.rid}`)
    expect(await told.json()).toMatchObject({
      settlement_status: 'settled',
      settlement_type: 'x402',
      tx_hash: usage.payment.transaction,
      buyer_cost_micro: usage.buyer_cost_micro,
    })
    const cost = BigInt(usage.buyer_cost_micro)
    const taken = 1_000_000n - (await chain.usdcBalance(wallet.address))
    expect(taken).toBe(scheme === 'upto' ? (cost > 1_000n ? cost : 1_000n) : BigInt(row.amount))
    expect((await chain.usdcBalance(addressOf(treasury))) - before).toBe(taken)
    expect(await creditOf(wallet)).toBe(taken - cost)
  })

  it('pays with the older stock client, on the path for x402 alone and on the canonical one', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    for (const path of ['/x402/api/inference/v1/chat/completions', '/api/inference/v1/chat/completions']) {
      const client = wrapAxiosWithPayment(axios.create(), stockClient(chain, wallet, 'upto', 'exact') as never)
      const answer = await client.post(network.sandbox.base_url + path, {
        model: 'gpt-5-mini',
        max_tokens: 50,
        messages,
      })
      expect(Paid.parse(answer.data).usage.payment.status).toBe('settled')
    }
  })

  it('pays nothing for an answer that no provider could give', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const body = { model: 'sandbox/server-error' }
    const answer = await payingFetch(chain, wallet, 'upto')(network.sandbox.base_url + CHAT, asking(body))
    expect(answer.status).toBeGreaterThanOrEqual(500)
    const rid = answer.headers.get('x-request-id')
    await until('the claim is released', 5_000, async () => (await rowOf(rid))?.state === 'released')
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n)
  })
})

describe('a used payment', () => {
  const paidCalls = async (wallet: ChainWallet) =>
    (await db.query('select rid from chain_payment where payer = $1', [wallet.address.toLowerCase()])).rows.length

  it('buys one answer, which a repeat gets again, and a repeat during the call asks for no other payment', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const headers = inHeader(await signed(wallet, 'exact'))
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask({}, headers)))
    const texts = new Set<string>()
    for (const answer of answers) {
      const text = await answer.text()
      if (answer.status === 200) texts.add(text)
      // A busy market may ask a repeat to come again, which buys nothing either.
      else if (answer.status !== 503)
        expect([answer.status, JSON.parse(text)]).toMatchObject([402, { error: 'payment_already_used', accepts: [] }])
    }
    expect([texts.size, await paidCalls(wallet)]).toEqual([1, 1])
    const again = await ask({}, headers)
    expect([again.status, await again.text()]).toEqual([200, [...texts][0]])
    expect(responseOf(again)).toMatchObject({ success: true })
    expect(await chain.usdcBalance(wallet.address)).toBe(999_000n)
  })

  it('buys nothing for another body', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const headers = inHeader(await signed(wallet, 'upto'))
    expect((await ask({}, headers)).status).toBe(200)
    const other = await ask({ max_tokens: 90 }, headers)
    expect([other.status, await other.json()]).toMatchObject([402, { error: 'payment_already_used', accepts: [] }])
    expect(await paidCalls(wallet)).toBe(1)
  })
})

describe('an invalid payment', () => {
  type Change = (payment: PaymentPayload) => unknown
  const exactly = (change: object): Change => {
    return (payment) => {
      const authorization = { ...Object(payment.payload['authorization']), ...change }
      return { ...payment, payload: { ...payment.payload, authorization } }
    }
  }
  const accepted =
    (change: object): Change =>
    (payment) => ({ ...payment, accepted: { ...payment.accepted, ...change } })
  const nowSeconds = () => Math.floor(Date.now() / 1_000)
  const STRANGER = '0x00000000000000000000000000000000000000AA'

  it.each<[string, Change, string]>([
    ['version 1', (payment) => ({ ...payment, x402Version: 1 }), 'invalid_x402_version'],
    ['version "2"', (payment) => ({ ...payment, x402Version: '2' }), 'invalid_x402_version'],
    ['no version', ({ x402Version: _, ...payment }) => payment, 'invalid_x402_version'],
    ['an unknown scheme', accepted({ scheme: 'foo' }), 'unsupported_scheme'],
    ['another network', accepted({ network: 'eip155:1' }), 'invalid_network'],
    ['a network by its name', accepted({ network: 'base' }), 'invalid_network'],
    ['another token', accepted({ asset: STRANGER }), 'invalid_asset'],
    ['another recipient', accepted({ payTo: STRANGER }), 'invalid_pay_to'],
    ['another recipient in the signed part', exactly({ to: STRANGER }), 'invalid_exact_evm_recipient_mismatch'],
    ['a value below the price', exactly({ value: '999' }), 'invalid_exact_evm_payload_authorization_value_mismatch'],
    [
      'a lowered price',
      (p) => exactly({ value: '999' })(accepted({ amount: '999' })(p) as PaymentPayload),
      'invalid_exact_evm_payload_authorization_value',
    ],
    [
      'a value above the price',
      (p) => exactly({ value: '1001' })(accepted({ amount: '1001' })(p) as PaymentPayload),
      'invalid_exact_evm_payload_authorization_value',
    ],
    [
      'an expired time',
      exactly({ validBefore: String(nowSeconds() - 1) }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'a time that ends too soon',
      exactly({ validBefore: String(nowSeconds() + 300) }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'a time in the year 3000',
      exactly({ validBefore: '32503680000' }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'a time that has not begun',
      exactly({ validAfter: String(nowSeconds() + 600) }),
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    ['the signature of another payment', exactly({ nonce: `0x${'11'.repeat(32)}` }), 'invalid_exact_evm_signature'],
    [
      'another resource',
      (p) => ({ ...p, resource: { url: 'https://elsewhere.example/v1/chat/completions' } }),
      'invalid_resource',
    ],
  ])('%s is refused with its reason, and may be paid again', async (_name, change, reason) => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const answer = await ask({}, inHeader(change(await signed(wallet, 'exact'))))
    const document = Demand.parse(await answer.json())
    expect([answer.status, document.error, document.accepts.length]).toEqual([402, reason, 2])
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n)
  })

  it.each([
    ['text that is not base64', 'no base64 at all!'],
    ['text that is not JSON', Buffer.from('no JSON').toString('base64')],
    ['a list', Buffer.from('[]').toString('base64')],
    ['nothing', ''],
    ['two at once', 'e30=, e30='],
  ])('%s is refused as a payload', async (_name, header) => {
    const answer = await ask({}, { 'payment-signature': header })
    expect([answer.status, Demand.parse(await answer.json()).error]).toEqual([402, 'invalid_payload'])
  })

  it('a wallet without money, or with less than the sum that it signs, is refused', async () => {
    const poor = await chain.newWallet()
    const answer = await ask({}, inHeader(await signed(poor, 'exact')))
    expect([answer.status, Demand.parse(await answer.json()).error]).toEqual([
      402,
      'invalid_exact_evm_insufficient_balance',
    ])
    const once = await chain.newWallet({ usdc: 1_500n })
    const both = await Promise.all([signed(once, 'exact'), signed(once, 'exact')])
    const answers = await Promise.all(both.map((payment) => ask({}, inHeader(payment))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 402])
  })

  it('an upto payment without an allowance and without a permit is refused', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const { extensions: _, ...payment } = await signed(wallet, 'upto')
    const answer = await ask({}, inHeader(payment))
    expect([answer.status, Demand.parse(await answer.json()).error]).toEqual([402, 'permit2_allowance_required'])
  })

  it.each<[string, object, string]>([
    ['facilitator', { facilitator: STRANGER }, 'upto_facilitator_mismatch'],
    ['recipient', { to: STRANGER }, 'invalid_permit2_recipient_mismatch'],
  ])('an upto payment with another %s is refused', async (_name, change, reason) => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const payment = await signed(wallet, 'upto')
    const permit = Object(payment.payload['permit2Authorization'])
    const permit2Authorization = { ...permit, witness: { ...permit.witness, ...change } }
    const answer = await ask({}, inHeader({ ...payment, payload: { ...payment.payload, permit2Authorization } }))
    expect([answer.status, Demand.parse(await answer.json()).error]).toEqual([402, reason])
  })

  it('a payment for another body is refused when that body costs more', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const headers = inHeader(await signed(wallet, 'upto'))
    const answer = await ask({ model: 'claude-opus-4.1', max_tokens: 4_000 }, headers)
    const { error, accepts } = Demand.parse(await answer.json())
    expect([answer.status, error]).toEqual([402, 'permit2_amount_mismatch'])
    expect(Number(accepts[0]?.amount)).toBeGreaterThan(1_000)
  })

  it('is ignored beside a key, and the key pays', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const headers = { ...inHeader(await signed(wallet, 'exact')), authorization: `Bearer ${network.sandbox.buyer_key}` }
    const answer = await ask({}, headers)
    expect([answer.status, answer.headers.get('payment-response')]).toEqual([200, null])
    expect(await rowOf(answer.headers.get('x-request-id'))).toBeUndefined()
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n)
  })
})

describe('the older envelope', () => {
  it('is accepted with X-PAYMENT', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const { payload } = await signed(wallet, 'exact')
    const older = { x402Version: 1, scheme: 'exact', network: 'base', payload }
    const answer = await ask({}, { 'x-payment': Buffer.from(JSON.stringify(older)).toString('base64') })
    expect([answer.status, answer.headers.has('x-payment-response')]).toEqual([200, true])
  })
})
