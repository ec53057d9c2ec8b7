import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { textModel } from '#test/support/facts/text-model.ts'
import type { BoughtCall, Buyer, Facts, Way } from '#test/support/market/parity.ts'
import { booked, makeBuyers, seen } from '#test/support/market/parity.ts'
import type { RoutedMarket } from '#test/support/market/routed-market.ts'
import { sharedRoutedMarket } from '#test/support/market/routed-market.ts'

const X402: readonly Way[] = ['x402-upto', 'x402-exact']
const WALLETS: readonly Way[] = [...X402, 'mpp']

type Difference = { readonly facts: readonly string[]; readonly ways: readonly Way[]; readonly why: string }

/**
 * Every difference between a call by wallet and the same call by key. Two tests below cover the differences by path and
 * by trust.
 */
const DIFFERENCES: readonly Difference[] = [
  {
    facts: ['body usage.payment'],
    ways: WALLETS,
    why: 'an answer in JSON has the state of its payment; a call on credit has no payment',
  },
  {
    facts: ['header payment-response', 'header x-payment-response'],
    ways: X402,
    why: 'x402 reports the settlement in a header; a stream by upto is over before it is settled',
  },
  {
    facts: ['header trailer'],
    ways: ['x402-upto'],
    why: 'a stream by upto announces that its receipt follows its end',
  },
  {
    facts: ['header payment-receipt'],
    ways: ['mpp'],
    why: 'the Payment scheme reports the settlement in a header of its own',
  },
  {
    facts: ['header x-ratelimit-limit', 'header x-ratelimit-remaining', 'header x-ratelimit-reset'],
    ways: WALLETS,
    why: 'rates are counted by key or wallet: each payment has its own count, and a request without a payment has none',
  },
  {
    facts: ['look-up settlement_type', 'export settlement_type'],
    ways: WALLETS,
    why: 'the member names the way to pay',
  },
  {
    facts: ['look-up settlement_status', 'export settlement_status', 'look-up tx_hash', 'export tx_hash'],
    ways: WALLETS,
    why: 'a payment by credit ends at accrued; a payment on a chain ends at settled, with its transaction',
  },
  {
    facts: ['ledger the payment: buyer_credit', 'ledger the payment: external_usdc'],
    ways: WALLETS,
    why: 'the transfer is booked before the charge, and the rest stays as credit',
  },
]
const met = new Set<string>()

/** Prices at which a call costs more than the least payment. */
const dear = (name: string) =>
  textModel(name, {
    context_length: 8_000,
    pricing: { prompt: '0.00001', completion: '0.0001', input_cache_read: '0.000001' },
    unit_pricing: { characters: '0.0001' },
    top_provider: { max_completion_tokens: 4_000 },
    supported_parameters: ['max_tokens', 'stream'],
    endpoints: ['chat', 'embeddings', 'speech'],
  })
const MODEL = 'parity'
/** A model of pictures that are sold by the token. Its sellers' providers recognise it by the family in its name. */
const PICTURES = 'gpt-image-parity'
const drawing = textModel(PICTURES, {
  architecture: { input_modalities: ['text', 'image'], output_modalities: ['image'] },
  pricing: { prompt: '0.000005', completion: '0.00004', image_output: '0.00004' },
  image_output_tokens: { tokens: { low: { '1024x1024': 272 } }, partial: 100, source: 'a guide', date: '2025-12-01' },
  supported_parameters: ['size', 'quality', 'stream', 'partial_images'],
  endpoints: ['image', 'image-edit'],
})
/** Models whose first provider fails, and models whose providers all fail. A few failures back no offer off. */
const FAILING = ['parity-fails-whole', 'parity-fails-streamed'] as const
const DOWN = ['parity-down-whole', 'parity-down-streamed'] as const
let market: RoutedMarket
let buyers: readonly Buyer[]

beforeAll(async () => {
  market = await sharedRoutedMarket([...[MODEL, ...FAILING, ...DOWN].map(dear), drawing])
  buyers = await makeBuyers(market)
  for (const model of [...FAILING, ...DOWN]) {
    for (const provider of market.providers.slice(0, FAILING.some((failing) => failing === model) ? 1 : 2)) {
      const body = JSON.stringify({ model, behaviour: 'server-error' })
      await fetch(new URL('/__sandbox/behave', provider.url), { method: 'POST', body })
    }
  }
})
afterAll(() => market?.stop())

/** The facts in which a call by wallet differs from the same call by key, beyond those of the table. */
function unexplained(byKey: Facts, { way }: Buyer, facts: Facts): string[] {
  return [...new Set([...byKey.keys(), ...facts.keys()])]
    .filter((fact) => byKey.get(fact) !== facts.get(fact))
    .filter((fact) => {
      const isTold = DIFFERENCES.some((row) => row.facts.includes(fact) && row.ways.includes(way))
      if (isTold) met.add(`${fact} ${way}`)
      return !isTold
    })
    .map((fact) => `${way}: ${fact}: ${facts.get(fact) ?? 'none'}, by key ${byKey.get(fact) ?? 'none'}`)
}

const COSTS = [
  'cost in the body',
  'header x-mkt-buyer-cost-micro',
  'look-up buyer_cost_micro',
  'export buyer_cost_micro',
]

async function factsOf(buyer: Buyer, call: BoughtCall): Promise<Facts> {
  const answer = await buyer.buy(call)
  const facts = await seen(answer)
  if (facts.get('header x-mkt-marketplace-attempts') === '0') return facts
  for (const [name, value] of await booked(market, buyer, answer.headers.get('x-request-id') ?? '')) {
    facts.set(name, value)
  }
  // A call has one cost, wherever it is shown.
  const told = [...COSTS, 'ledger charge'].flatMap((name) => facts.get(name) ?? [])
  expect([told.length >= 4, new Set(told).size, call.path]).toEqual([true, 1, call.path])
  return facts
}

/** Buys a call in every way, and checks that all agree. Returns the facts by key. */
async function sameForAll(call: BoughtCall, ways: readonly Way[] = WALLETS, path = call.path): Promise<Facts> {
  const some = buyers.filter(({ way }) => way === 'key' || ways.includes(way))
  const all = await Promise.all(some.map((buyer) => factsOf(buyer, buyer.way === 'key' ? call : { ...call, path })))
  const [byKey = new Map<string, string>()] = all
  expect(some.flatMap((buyer, at) => unexplained(byKey, buyer, all[at] ?? new Map()))).toEqual([])
  return byKey
}

const text = 'Say a few words about parity.'
const messages = [{ role: 'user', content: text }]
const chat = (more: object = {}, headers: Record<string, string> = {}): BoughtCall => ({
  path: '/v1/chat/completions',
  body: { model: MODEL, max_tokens: 60, messages, ...more },
  headers,
})

const picture = (more: object = {}): BoughtCall => ({
  path: '/v1/images/generations',
  body: { model: PICTURES, prompt: text, quality: 'low', size: '1024x1024', ...more },
})

describe('the same call by key, x402 upto, x402 exact and MPP', () => {
  it.each<[string, BoughtCall]>([
    ['chat', chat()],
    ['chat, streamed', chat({ stream: true })],
    ['chat without an output limit', chat({ max_tokens: undefined })],
    ['completions', { path: '/v1/completions', body: { model: MODEL, max_tokens: 60, prompt: text } }],
    [
      'completions, streamed',
      { path: '/v1/completions', body: { model: MODEL, max_tokens: 60, prompt: text, stream: true } },
    ],
    ['responses', { path: '/v1/responses', body: { model: MODEL, max_output_tokens: 60, input: text } }],
    [
      'responses, streamed',
      { path: '/v1/responses', body: { model: MODEL, max_output_tokens: 60, input: text, stream: true } },
    ],
    ['embeddings', { path: '/v1/embeddings', body: { model: MODEL, input: [text, 'And more.'] } }],
    ['speech', { path: '/v1/audio/speech', body: { model: MODEL, voice: 'alloy', input: text } }],
    [
      'speech in events',
      { path: '/v1/audio/speech', body: { model: MODEL, voice: 'alloy', input: text, stream_format: 'sse' } },
    ],
    ['a picture', picture()],
    ['a picture after partial ones', picture({ stream: true, partial_images: 1 })],
    ['a picture in a stream', picture({ stream: true })],
    ['an edit', { ...picture({ image: 'https://example.com/a.png' }), path: '/v1/images/edits' }],
  ])('%s: body, headers, cost, look-up, export and ledger', async (_name, call) => {
    expect((await sameForAll(call)).get('status')).toBe('200')
  })

  it.each<[string, BoughtCall, string]>([
    ['a floor in a header', chat({}, { 'x-min-discount': '50' }), 'rt-cheap'],
    ['a floor in the body', chat({ min_discount_pct: 5, stream: true }), 'rt-cheap'],
    ['an allow-list', chat({ provider: ['rt-dear'] }), 'rt-dear'],
    ['a block list', chat({ providers_blocked: ['rt-cheap'] }), 'rt-dear'],
    ['an order', chat({ provider_order: ['rt-dear'] }), 'rt-dear'],
    ['failover', chat({ model: FAILING[0] }), 'rt-dear'],
    ['failover of a stream', chat({ model: FAILING[1], stream: true }), 'rt-dear'],
  ])('%s leads to the same seller', async (_name, call, provider) => {
    expect((await sameForAll(call)).get('header x-mkt-provider-family')).toBe(provider)
  })

  it.each<[string, BoughtCall, string]>([
    ['a floor that no offer meets', chat({}, { 'x-min-discount': '90' }), '503'],
    ['unknown providers', chat({ provider: ['nope'] }), '400'],
    ['a model without a seller', chat({ model: 'unsold' }), '404'],
    ['an unknown model', chat({ model: 'nope/nope' }), '400'],
    ['a body of the wrong shape', chat({ messages: 5 }), '400'],
    ['a provider that fails', chat({ model: DOWN[0] }), '502'],
    ['a provider that fails before a stream', chat({ model: DOWN[1], stream: true }), '502'],
  ])('%s is refused with the same error', async (_name, call, status) => {
    expect((await sameForAll(call)).get('status')).toBe(status)
  })

  it('a floor in the path and the mirror accept x402 alone, and sell the same', async () => {
    const { path } = chat()
    const floored = await sameForAll({ ...chat(), path: `/min50${path}` }, X402)
    expect(floored.get('header x-mkt-provider-family')).toBe('rt-cheap')
    await sameForAll(chat(), X402, `/x402/api/inference${path}`)
    await sameForAll({ ...picture(), path: `/min50${picture().path}` }, X402)
    await sameForAll(chat(), WALLETS, `/api/inference${path}`)
    for (const x402Alone of [`/min50${path}`, `/x402/api/inference${path}`]) {
      const url = market.network.sandbox.api_base_url + x402Alone
      const headers = { 'content-type': 'application/json' }
      const demand = await fetch(url, { method: 'POST', headers, body: JSON.stringify(chat().body) })
      expect([demand.status, demand.headers.has('www-authenticate')]).toEqual([402, false])
    }
  })

  it('only a key may buy from untrusted sellers', async () => {
    const of = async (buyer: Buyer) => {
      const answer = await buyer.buy(chat({ allow_untrusted: true }))
      await answer.text()
      return answer.headers.get('x-mkt-provider-family')
    }
    expect(await Promise.all(buyers.map(of))).toEqual(['rt-shady', 'rt-cheap', 'rt-cheap', 'rt-cheap'])
  })

  it('a conversation stays with the seller who has it cached', async () => {
    const long = [{ role: 'user', content: 'The same long beginning. '.repeat(400) }]
    const turn = (more: object = {}) => chat({ messages: long, max_tokens: 5, session_id: 'parity-1', ...more })
    for (const buyer of buyers) {
      for (let call = 0; call < 4; call++) await (await buyer.buy(turn({ provider: 'rt-dear' }))).text()
      const next = await buyer.buy(turn())
      await next.text()
      expect([buyer.way, next.headers.get('x-mkt-provider-family')]).toEqual([buyer.way, 'rt-dear'])
      const off = await buyer.buy({ ...turn(), headers: { 'x-mkt-affinity': 'off' } })
      await off.text()
      expect([buyer.way, off.headers.get('x-mkt-provider-family')]).toEqual([buyer.way, 'rt-cheap'])
    }
  })

  it('is explained with the same texts; a wallet signs in for the key', async () => {
    const Explained = z.looseObject({ would_serve: z.literal(true), hold_micro: z.number() })
    const explained = await Promise.all(
      buyers.map(async ({ key }) => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
        const question = { path: '/v1/chat/completions', body: chat().body }
        const asked = { method: 'POST', headers, body: JSON.stringify(question) }
        const url = `${market.network.sandbox.api_base_url}/v1/route/explain`
        return Explained.parse(await (await fetch(url, asked)).json())
      }),
    )
    for (const one of explained) expect(one).toEqual(explained[0])
  })

  // This test reads the results of the tests before it.
  it('differs exactly as listed in the table', () => {
    const told = DIFFERENCES.flatMap(({ facts, ways }) => facts.flatMap((fact) => ways.map((way) => `${fact} ${way}`)))
    expect(met).toEqual(new Set(told))
  })
})
