import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startPlaneBeside } from '#test/support/market/plane-beside.ts'
import { until } from '#test/support/run/until.ts'
import type { VoucherOffice } from '#test/support/voucher-rail/voucher.ts'
import { openVoucherOffice, voucherHeader } from '#test/support/voucher-rail/voucher.ts'

/** A rail that the product does not have and that shares nothing with credit. It proves the interface of payments. */
let network: Network
let office: VoucherOffice
let plane: { readonly child: ChildProcess; readonly url: string }

beforeAll(async () => {
  network = await sharedNetwork()
  office = await openVoucherOffice()
  plane = await startPlane()
})

afterAll(async () => {
  plane.child.kill('SIGKILL')
  await office.close()
  await network?.remove()
})

const startPlane = () =>
  startPlaneBeside(network, 'test/rails/fixtures/voucher-plane.ts', 'voucher', { VOUCHER_OFFICE: office.url })

const PATH = '/voucher/chat/completions'
let nonces = 0
const newNonce = () => `voucher-${++nonces}`

function buy(body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(plane.url + PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'gpt-5-mini', max_tokens: 100, ...body }),
  })
}

const messages = [{ role: 'user', content: 'Say hello.' }]
const Paid = z.object({
  usage: z.object({
    buyer_cost_micro: z.number().int().positive(),
    voucher: z.object({ receipt: z.string().nullable() }),
  }),
})
const Challenge = z.object({ accepts: z.array(z.object({ scheme: z.string(), amount: z.string(), path: z.string() })) })

describe('a wallet without an account', () => {
  it('sees the price of exactly this body before it pays', async () => {
    const prices = await Promise.all(
      [100, 1_000].map(async (max_tokens) => {
        const answer = await buy({ messages, max_tokens })
        expect(answer.status).toBe(402)
        const { accepts } = Challenge.parse(await answer.json())
        expect(accepts).toEqual([{ scheme: 'voucher', amount: answer.headers.get('x-voucher-price'), path: PATH }])
        return Number(accepts[0]?.amount)
      }),
    )
    expect(prices[0]).toBeGreaterThan(0)
    expect(prices[1]).toBeGreaterThan(prices[0] ?? 0)
  })

  it('sees the fault of the body before any price', async () => {
    expect((await buy({ messages: 5 })).status).toBe(400)
    expect(await (await buy({ messages, model: 'nobody-has-it' })).json()).toMatchObject({
      error: { code: 'unknown_model' },
    })
  })

  it('pays a whole answer by its voucher, with the receipt in header and body', async () => {
    const nonce = newNonce()
    const answer = await buy({ messages }, voucherHeader(nonce, 50_000))
    expect(answer.status).toBe(200)
    const { usage } = Paid.parse(await answer.json())
    expect(office.paid.get(nonce)).toBe(BigInt(usage.buyer_cost_micro))
    expect(answer.headers.get('x-mkt-buyer-cost-micro')).toBe(String(usage.buyer_cost_micro))
    expect(usage.voucher.receipt).toMatch(/^[0-9a-f]{64}$/)
    expect(answer.headers.get('payment-receipt')).toBe(usage.voucher.receipt)
  })

  it('pays a stream by its voucher, with the receipt in the last chunk', async () => {
    const nonce = newNonce()
    const text = await (await buy({ messages, stream: true }, voucherHeader(nonce, 50_000))).text()
    const chunks = text.split('\n').filter((line) => line.startsWith('data: {'))
    const { usage } = Paid.parse(JSON.parse(chunks.at(-1)?.slice('data: '.length) ?? ''))
    expect(office.paid.get(nonce)).toBe(BigInt(usage.buyer_cost_micro))
    expect(usage.voucher.receipt).toMatch(/^[0-9a-f]{64}$/)
  })

  it('is served once by one voucher', async () => {
    const nonce = newNonce()
    expect((await buy({ messages }, voucherHeader(nonce, 50_000))).status).toBe(200)
    const paid = office.paid.get(nonce)
    expect((await buy({ messages }, voucherHeader(nonce, 50_000))).status).toBe(402)
    expect(office.paid.get(nonce)).toBe(paid)
  })

  it('is refused with an unreadable voucher or one of too little value, and no voucher is claimed', async () => {
    expect((await buy({ messages }, { 'x-voucher': 'no base64 of JSON' })).status).toBe(400)
    const nonce = newNonce()
    expect((await buy({ messages }, voucherHeader(nonce, 1))).status).toBe(402)
    expect(office.claimed.has(nonce)).toBe(false)
  })

  it('pays nothing for an answer that no provider could give', async () => {
    const nonce = newNonce()
    const answer = await buy({ messages, model: 'sandbox/server-error' }, voucherHeader(nonce, 50_000))
    expect(answer.status).toBeGreaterThanOrEqual(500)
    await until('the voucher is given back', 5_000, () => office.paid.has(nonce))
    expect(office.paid.get(nonce)).toBe(0n)
  })

  it('leaves no trace in the gate of credit', async () => {
    const nonce = newNonce()
    const answer = await buy({ messages }, voucherHeader(nonce, 50_000))
    const rid = answer.headers.get('x-request-id') ?? ''
    const redis = new Redis(network.sandbox.redis_url)
    try {
      expect(rid).toHaveLength(26)
      // A voucher shows no secret of its payer, so its answer is not stored for another request either.
      expect(await redis.keys(`*${rid}*`)).toEqual([])
    } finally {
      redis.disconnect()
    }
  })
})

describe('a payment that its rail could not finish', () => {
  it('is finished by the same process when possible, once and with the same amount', async () => {
    const nonce = newNonce()
    office.setShut(true)
    const answer = await buy({ messages }, voucherHeader(nonce, 50_000))
    expect(answer.status).toBe(200)
    const { usage } = Paid.parse(await answer.json())
    expect([usage.voucher.receipt, office.paid.has(nonce)]).toEqual([null, false])
    office.setShut(false)
    await until('the voucher is paid', 10_000, () => office.paid.has(nonce))
    expect(office.paid.get(nonce)).toBe(BigInt(usage.buyer_cost_micro))
  })

  it('is finished by the next process after a kill', async () => {
    const nonce = newNonce()
    office.setShut(true)
    const { usage } = Paid.parse(await (await buy({ messages }, voucherHeader(nonce, 50_000))).json())
    plane.child.kill('SIGKILL')
    await once(plane.child, 'exit')
    office.setShut(false)
    expect(office.paid.has(nonce)).toBe(false)
    plane = await startPlane()
    await until('the heir has paid the voucher', 20_000, () => office.paid.has(nonce))
    expect(office.paid.get(nonce)).toBe(BigInt(usage.buyer_cost_micro))
  })
})
