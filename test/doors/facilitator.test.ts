import { HTTPFacilitatorClient } from '@x402/core/http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INTERNAL_TOKEN_HEADER } from '#shared/contract/chain-payments.ts'
import { internalToken } from '#shared/internal-token.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import { paidCalls } from '#test/support/books/payments.ts'
import type { ChainEnvironment, TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'

const RICH = { usdc: 1_000_000n }
let market: TestMarket
let chain: TestChain
let environment: ChainEnvironment
let pay: ReturnType<typeof paidCalls>
let operatorKey: string
/** All answers so far. */
const heard: string[] = []

beforeAll(async () => {
  chain = await chainOf()
  environment = await chain.environment()
  market = await startMarket({ chain: environment })
  const { payments } = market.plane
  if (payments === null) throw new Error('payments are not set up')
  pay = paidCalls({ ...market.plane, payments }, chain, await newAccount(market.plane.db, 'seller_available'))
  operatorKey = await market.managementKey('operator')
})
afterAll(() => market?.stop())

/** The stock client of a facilitator, with a key or another header. */
function client(headers: Record<string, string> = { authorization: `Bearer ${operatorKey}` }): HTTPFacilitatorClient {
  const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers })
  return new HTTPFacilitatorClient({ url: `${market.url}/facilitator`, createAuthHeaders })
}

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`${market.url}/facilitator/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  heard.push(text)
  return { status: answer.status, text }
}

describe('the stock client of a facilitator', () => {
  it('gets the kinds of payments', async () => {
    const { kinds, extensions } = await client({}).getSupported()
    expect(kinds.map(({ scheme, network }) => [scheme, network])).toEqual([
      ['upto', 'eip155:8453'],
      ['exact', 'eip155:8453'],
    ])
    expect(extensions).toContain('eip2612GasSponsoring')
    heard.push(JSON.stringify(kinds))
  })

  it.each(['exact', 'upto'] as const)(
    'verifies and settles by %s once, into the credit of the payer',
    async (scheme) => {
      const wallet = await chain.newWallet(RICH)
      const { payload, requirement } = await pay.sign(wallet, scheme, 20_000n)
      const payer = wallet.address.toLowerCase()
      expect(await client().verify(payload, requirement)).toEqual({ isValid: true, payer })
      const wanted = scheme === 'upto' ? { ...requirement, amount: '7321' } : requirement
      const settled = await client().settle(payload, wanted)
      expect(settled).toMatchObject({ success: true, payer, amount: wanted.amount, network: 'eip155:8453' })
      expect(await client().settle(payload, wanted)).toEqual(settled)
      expect(1_000_000n - (await chain.usdcBalance(wallet.address))).toBe(BigInt(wanted.amount))
      expect(await client().verify(payload, requirement)).toMatchObject({
        isValid: false,
        invalidReason: 'payment_already_used',
      })
      const row = await market.plane.db
        .selectFrom('chain_payment')
        .select(['state', 'due', 'charge'])
        .where('payer', '=', payer)
        .executeTakeFirstOrThrow()
      expect(row).toEqual({ state: 'mined', due: BigInt(wanted.amount), charge: null })
    },
  )

  it("never settles beside a call, and gets the state of that call's payment", async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await pay.sign(wallet, 'upto', 20_000n)
    const rid = await pay.claimed(signed)
    const settle = () => client().settle(signed.payload, signed.requirement)
    expect(await settle()).toMatchObject({ success: false, errorReason: 'payment_already_used' })
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n)
    const { transaction } = await pay.settle(rid, 5_000n)
    expect(await settle()).toMatchObject({ success: true, transaction, amount: '5000' })
    expect(await chain.usdcBalance(wallet.address)).toBe(995_000n)
  })

  it.each([
    ['payTo', `0x${'aa'.repeat(20)}`],
    ['asset', `0x${'aa'.repeat(20)}`],
    ['network', 'eip155:1'],
    ['amount', '999'],
    ['amount', '1000001'],
  ])('settles nothing with another %s', async (member, value) => {
    const wallet = await chain.newWallet({ usdc: 5_000_000n })
    const { payload, requirement } = await pay.sign(wallet, 'exact', 20_000n)
    const settled = await client().settle(payload, { ...requirement, [member]: value })
    expect(settled).toMatchObject({ success: false, errorReason: 'invalid_payment_requirements', transaction: '' })
    expect(await chain.usdcBalance(wallet.address)).toBe(5_000_000n)
  })
})

describe('the paths of a facilitator', () => {
  const asked = async () => {
    const { payload, requirement } = await pay.sign(await chain.newWallet(RICH), 'exact', 20_000n)
    return { x402Version: 2, paymentPayload: payload, paymentRequirements: requirement }
  }

  it('verify for all callers, and settle only for operators and the data planes', async () => {
    const body = await asked()
    expect((await post('verify', body)).status).toBe(200)
    const { buyerKey, sellerKey } = await market.person()
    const org = await market.managementKey('org')
    expect((await post('settle', body)).status).toBe(401)
    expect((await post('settle', body, { [INTERNAL_TOKEN_HEADER]: 'guess' })).status).toBe(401)
    for (const key of [buyerKey, sellerKey, org]) {
      expect((await post('settle', body, { authorization: `Bearer ${key}` })).status).toBe(403)
    }
    const token = internalToken(market.plane.settings.keyPepper).reveal()
    const settled = await post('settle', body, { [INTERNAL_TOKEN_HEADER]: token })
    expect([settled.status, JSON.parse(settled.text).success]).toEqual([200, true])
  })

  it.each<[string, unknown, number]>([
    ['no JSON', '{', 400],
    ['a list', [], 400],
    ['version 1', { x402Version: 1, paymentPayload: {}, paymentRequirements: {} }, 400],
    ['an unknown member', { x402Version: 2, paymentPayload: {}, paymentRequirements: {}, more: 1 }, 400],
    ['100 KB', { x402Version: 2, paymentPayload: { a: 'x'.repeat(100_000) }, paymentRequirements: {} }, 413],
  ])('refuse %s', async (_name, body, status) => {
    for (const path of ['verify', 'settle']) {
      expect((await post(path, body, { authorization: `Bearer ${operatorKey}` })).status).toBe(status)
    }
  })

  it('report a malformed payment as invalid', async () => {
    const body = { x402Version: 2, paymentPayload: {}, paymentRequirements: {} }
    const authorization = `Bearer ${operatorKey}`
    expect(JSON.parse((await post('verify', body)).text)).toEqual({ isValid: false, invalidReason: 'invalid_payload' })
    expect(JSON.parse((await post('settle', body, { authorization })).text)).toMatchObject({
      success: false,
      errorReason: 'invalid_payload',
    })
  })

  it('never show the key that settles', async () => {
    const key = environment.FACILITATOR_PRIVATE_KEY.slice(2)
    expect(heard.length).toBeGreaterThan(10)
    expect(heard.filter((text) => text.includes(key))).toEqual([])
    const rows = await market.world.db.selectFrom('chain_transaction').selectAll().execute()
    expect(rows.length).toBeGreaterThan(2)
    expect(rows.filter((row) => Object.values(row).some((value) => String(value).includes(key)))).toEqual([])
  })
})

describe('the limits of a facilitator', () => {
  it('count the calls of a stranger', async () => {
    const narrow = { perKey: 2, perWallet: null }
    const strict = await startMarket({
      chain: await chain.environment(),
      overrides: { settings: { rateLimits: { read: narrow, write: narrow, probe: narrow, challenge: narrow } } },
    })
    const ask = () => fetch(`${strict.url}/facilitator/supported`)
    const statuses = [(await ask()).status, (await ask()).status, (await ask()).status]
    await strict.stop()
    expect(statuses).toEqual([200, 200, 429])
  })
})
