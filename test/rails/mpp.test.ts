import { evm, Mppx } from 'mppx/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

let chain: TestChain
let network: Network

beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
})
afterAll(() => network?.remove())

const CHAT = '/v1/chat/completions'

function asking(body: object = {}, headers: Record<string, string> = {}) {
  const asked = { model: 'gpt-5-mini', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello.' }], ...body }
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(asked) }
}
const ask = (body: object = {}, headers: Record<string, string> = {}, path = CHAT) =>
  fetch(network.sandbox.base_url + path, asking(body, headers))

/** The stock client of a wallet. It leaves the global `fetch` alone. */
function stock(wallet: ChainWallet) {
  return Mppx.create({
    methods: [evm.charge({ account: wallet.account, currencies: [evm.assets.base.USDC] })],
    polyfill: false,
  })
}

/** The credential for a call, made by the stock client and not sent. */
async function credentialFor(wallet: ChainWallet, body: object = {}): Promise<string> {
  return stock(wallet).createCredential(await ask(body))
}

const Receipt = z.object({ method: z.literal('evm'), reference: z.string(), status: z.literal('success') })
const Refusal = z.object({ error: z.string() })
const Demand = z.object({
  x402Version: z.literal(2),
  accepts: z.array(z.object({ scheme: z.string(), amount: z.coerce.number() })),
})
const Payment = z.object({
  usage: z.object({ payment: z.looseObject({ type: z.literal('mpp'), status: z.string() }) }),
})

type Wire = { challenge: Record<string, unknown>; payload: Record<string, unknown>; source?: unknown }

/** A credential with a changed member. */
function changed(credential: string, change: (wire: Wire) => unknown): string {
  const wire: Wire = JSON.parse(Buffer.from(credential.replace(/^Payment +/, ''), 'base64url').toString())
  return `Payment ${Buffer.from(JSON.stringify(change(wire))).toString('base64url')}`
}

describe('a wallet that pays by the Payment scheme', () => {
  it.each([false, true])('gets its answer with the stock client, streamed: %s', async (stream) => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const answer = await stock(wallet).fetch(network.sandbox.base_url + CHAT, asking({ stream }))
    expect(answer.status).toBe(200)
    const text = await answer.text()
    const last = stream
      ? text
          .split('\n')
          .filter((line) => line.startsWith('data: {'))
          .at(-1)
          ?.slice(6)
      : text
    expect(Payment.parse(JSON.parse(last ?? '')).usage.payment).toMatchObject({ status: 'settled' })
    if (!stream) {
      const receipt = Buffer.from(answer.headers.get('payment-receipt') ?? '', 'base64url').toString()
      expect(Receipt.parse(JSON.parse(receipt)).reference).toMatch(/^0x[0-9a-f]{64}$/)
    }
    expect(await chain.usdcBalance(wallet.address)).toBe(999_000n)
  })

  it('can pay in both ways on /v1, and by x402 alone under a floor and under /x402', async () => {
    const paths = [
      CHAT,
      '/api/inference/v1/chat/completions',
      `/min30${CHAT}`,
      '/x402/api/inference/v1/chat/completions',
    ]
    const answers = await Promise.all(paths.map((path) => ask({}, {}, path)))
    expect(answers.map(({ status }) => status)).toEqual([402, 402, 402, 402])
    const offers = answers.map(({ headers }) => [headers.has('payment-required'), headers.has('www-authenticate')])
    expect(offers).toEqual([
      [true, true],
      [true, true],
      [true, false],
      [true, false],
    ])
    for (const answer of answers) {
      const text = await answer.text()
      expect(Buffer.from(answer.headers.get('payment-required') ?? '', 'base64').toString()).toBe(text)
      const { accepts } = Demand.parse(JSON.parse(text))
      expect(accepts.map(({ scheme }) => scheme)).toEqual(['upto', 'exact'])
      for (const { amount } of accepts) expect(amount >= 1_000 && amount <= 1_000_000).toBe(true)
    }
  })

  it('buys one answer with one credential', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const authorization = await credentialFor(wallet)
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask({}, { authorization })))
    const texts = await Promise.all(answers.filter(({ status }) => status === 200).map((answer) => answer.text()))
    expect(new Set(texts).size).toBe(1)
    // A repeat gets the same answer, and another body gets none.
    expect(await (await ask({}, { authorization })).text()).toBe(texts[0])
    expect((await ask({ max_tokens: 99 }, { authorization })).status).toBe(402)
    expect(await chain.usdcBalance(wallet.address)).toBe(999_000n)
  })

  const forged = (change: (wire: Wire) => unknown) => (credential: string) => changed(credential, change)
  const inChallenge = (change: object) => forged((wire) => ({ ...wire, challenge: { ...wire.challenge, ...change } }))
  const inPayload = (change: object) => forged((wire) => ({ ...wire, payload: { ...wire.payload, ...change } }))

  it.each<[string, (credential: string) => string, string]>([
    ['garbage', () => 'Payment !!!', 'malformed-credential'],
    ['nothing', () => 'Payment', 'malformed-credential'],
    [
      'base64 of text that is not JSON',
      () => `Payment ${Buffer.from('no JSON').toString('base64url')}`,
      'malformed-credential',
    ],
    ['14 KB', () => `payment ${'A'.repeat(14_000)}`, 'malformed-credential'],
    ['no payload', forged(({ challenge }) => ({ challenge })), 'malformed-credential'],
    ['another realm', inChallenge({ realm: 'elsewhere.example' }), 'invalid-challenge'],
    ['another id', inChallenge({ id: 'A'.repeat(43) }), 'invalid-challenge'],
    ['an edited price', forged(lowered), 'invalid-challenge'],
    ['a later expiry', inChallenge({ expires: '2099-01-01T00:00:00.000Z' }), 'invalid-challenge'],
    ['another method', inChallenge({ method: 'stripe' }), 'method-unsupported'],
    ['another nonce', inPayload({ nonce: `0x${'22'.repeat(32)}` }), 'invalid-payload'],
    ['another recipient', inPayload({ to: '0x00000000000000000000000000000000000000AA' }), 'invalid-payload'],
    ['a smaller value', inPayload({ value: '999' }), 'payment-insufficient'],
    ['an expired time', inPayload({ validBefore: '1' }), 'payment-expired'],
    ['the signature of another payment', inPayload({ signature: `0x${'5a'.repeat(64)}1b` }), 'verification-failed'],
    ['a signature of another kind', inPayload({ signature: '0x00' }), 'verification-failed'],
    [
      'the source of another wallet',
      forged((wire) => ({ ...wire, source: 'did:pkh:eip155:8453:0xaa' })),
      'invalid-payload',
    ],
  ])('%s is refused with its problem and a new challenge', async (_name, change, problem) => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const answer = await ask({}, { authorization: change(await credentialFor(wallet)) })
    expect([answer.status, Refusal.parse(await answer.json()).error]).toEqual([402, problem])
    expect(answer.headers.get('x-payment-problem')).toBe(`https://paymentauth.org/problems/${problem}`)
    expect(answer.headers.get('www-authenticate')).toMatch(/^Payment id=/)
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n)
  })

  it('a credential for another body is refused', async () => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const answer = await ask({ max_tokens: 99 }, { authorization: await credentialFor(wallet) })
    expect([answer.status, Refusal.parse(await answer.json()).error]).toEqual([402, 'invalid-challenge'])
  })
})

/** A credential whose request names a lower price. */
function lowered(wire: Wire): unknown {
  const request = JSON.parse(Buffer.from(String(wire.challenge['request']), 'base64url').toString())
  const edited = Buffer.from(JSON.stringify({ ...request, amount: '1' })).toString('base64url')
  return { ...wire, challenge: { ...wire.challenge, request: edited }, payload: { ...wire.payload, value: '1' } }
}
