import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTRPCClient, httpLink } from '@trpc/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AppRouter } from '#control-plane/api/trpc/router.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { runMarket } from '#test/support/command-line.ts'
import { requireDescribed } from '#test/support/description.ts'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import { textModel } from '#test/support/text-model.ts'
import { until } from '#test/support/until.ts'

/** Each command is a process of its own. */
const SLOW_MS = 90_000
const SELLER_DISCOUNT = 25

const NO_PRICE = { prompt: '0', completion: '0' }

/** Models with a price of every unit that media are sold by, several of one model among them. */
const MODELS = {
  'units-tiers': {
    endpoints: ['image'],
    unit_pricing: { images: '0.04', images_2k: '0.06', images_4k: '0.12' },
  },
  'units-area': { endpoints: ['image'], unit_pricing: { pixels_per_million: '0.025' } },
  'units-film': {
    endpoints: ['video'],
    architecture: { input_modalities: ['text'], output_modalities: ['video'] },
    unit_pricing: { seconds: '0.1', seconds_1080p: '0.3', seconds_4k: '0.5' },
  },
  'units-minute': { endpoints: ['transcription'], unit_pricing: { minutes: '0.006' } },
  'units-speech': { endpoints: ['speech'], unit_pricing: { characters: '0.0000008' } },
  'units-call': { endpoints: ['image'], pricing: { ...NO_PRICE, request: '0.05' } },
  'units-mixed': {
    endpoints: ['chat', 'image'],
    pricing: { prompt: '0.0000003', completion: '0.0000025', image_output: '0.00003', request: '0.001' },
  },
} as const
type Name = keyof typeof MODELS
const NAMES = Object.keys(MODELS) as Name[]

type Shown = { readonly unit: string | null; readonly micro: number | null; readonly direct: number | null }
/** The media unit of each model, its price at the seller's discount and its reference, in micro-USD rounded up. */
const MAIN: Readonly<Record<Name, Shown>> = {
  'units-tiers': { unit: 'per image', micro: 30_000, direct: 40_000 },
  'units-area': { unit: 'per megapixel', micro: 18_750, direct: 25_000 },
  'units-film': { unit: 'per second', micro: 75_000, direct: 100_000 },
  'units-minute': { unit: 'per minute', micro: 4_500, direct: 6_000 },
  'units-speech': { unit: 'per character', micro: 1, direct: 1 },
  'units-call': { unit: 'per request', micro: 37_500, direct: 50_000 },
  'units-mixed': { unit: 'per request', micro: 750, direct: 1_000 },
}
/** Every price beside those of plain tokens, at the discount and at the reference, in US dollars. */
const ALL: Readonly<Record<Name, readonly (readonly [unit: string, usd: number, direct: number])[]>> = {
  'units-tiers': [
    ['image', 0.03, 0.04],
    ['image_2k', 0.045, 0.06],
    ['image_4k', 0.09, 0.12],
  ],
  'units-area': [['megapixel', 0.01875, 0.025]],
  'units-film': [
    ['second', 0.075, 0.1],
    ['second_1080p', 0.225, 0.3],
    ['second_4k', 0.375, 0.5],
  ],
  'units-minute': [['minute', 0.0045, 0.006]],
  'units-speech': [['character', 0.0000006, 0.0000008]],
  'units-call': [['request', 0.0375, 0.05]],
  'units-mixed': [
    ['request', 0.00075, 0.001],
    ['image_output', 22.5, 30],
  ],
}
const effective = (name: Name) => ALL[name].map(([unit, usd]) => ({ unit, usd }))
const direct = (name: Name) => ALL[name].map(([unit, , usd]) => ({ unit, usd }))
/** Micro-USD of a million tokens. */
const tokens = (name: Name) => (name === 'units-mixed' ? { input: 225_000, output: 1_875_000 } : NO_TOKENS)
const NO_TOKENS = { input: null, output: null }

let network: Network
let provider: SampleProvider
let sellerKey: string
let place: { readonly api_key: string; readonly base_url: string }

const operator = async (name: string, input: object): Promise<unknown> => {
  const answer = await call('POST', `${network.sandbox.trpc_url}/${name}`, network.sandbox.management_key, input)
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`)
  return answer.json()
}

function call(method: string, path: string, key?: string, body?: object): Promise<Response> {
  return fetch(path.startsWith('http') ? path : network.sandbox.api_base_url + path, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': 'units' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** The JSON answer of a read, which has to be as the description says. */
async function read(path: string, key?: string): Promise<unknown> {
  const answer = await call('GET', path, key)
  const { status, headers } = answer
  const text = await answer.text()
  requireDescribed('GET', path.split('?')[0] ?? path, { status, headers, text })
  return JSON.parse(text)
}

const linesOf = (text: string): unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))

const Made = z.object({ result: z.object({ data: z.object({ sellerKey: z.string() }) }) })

beforeAll(async () => {
  network = await sharedNetwork()
  const models = NAMES.map((name) => textModel(name, { pricing: NO_PRICE, ...MODELS[name] }))
  await operator('catalog.import', { source: 'test', models })
  const wallet = `0x${'0'.repeat(34)}717175`
  sellerKey = Made.parse(await operator('user.create', { wallet, label: 'units', keys: ['seller'] })).result.data
    .sellerKey
  provider = await createSampleProvider({ host: '127.0.0.72', port: 0, name: 'units', models: NAMES })
  await operator('provider.put', { id: 'units', name: 'Units', baseUrl: provider.url, isTrusted: true })
  place = { api_key: 'sk-units-of-media', base_url: provider.url }
  const offers = NAMES.map((model) => ({ model, discount: SELLER_DISCOUNT }))
  const bulk = await call('POST', '/v1/seller/offers/bulk', sellerKey, { ...place, offers })
  const lines = z.array(z.object({ model: z.string(), status: z.string() })).parse(linesOf(await bulk.text()))
  expect(Object.fromEntries(lines.map(({ model, status }) => [model, status]))).toEqual(
    Object.fromEntries(NAMES.map((model) => [model, 'created'])),
  )
  await until('every model is on sale', 20_000, async () => {
    const rows = z.array(z.object({ model: z.string() })).parse(await read('/api/inference/markets'))
    return NAMES.every((name) => rows.some(({ model }) => model === name))
  })
}, 120_000)
afterAll(async () => {
  await provider.close()
  await network?.remove()
}, 60_000)

describe('the prices of what is not sold by the token', () => {
  it('stand in market rows, in micro-USD and in US dollars', async () => {
    for (const name of NAMES) {
      const { unit, micro, direct: reference } = MAIN[name]
      const row = {
        ...{ model: name, media_unit: unit },
        best_input_per_1m: tokens(name).input,
        best_output_per_1m: tokens(name).output,
        ...{ best_media_unit_price: micro, direct_media_unit_price: reference },
        ...{ best_unit_prices: effective(name), direct_unit_prices: direct(name) },
        best_discount_pct: SELLER_DISCOUNT,
        providers: [expect.objectContaining({ best_media_unit_price: micro })],
        untrusted: expect.objectContaining({ best_media_unit_price: null }),
      }
      expect(await read(`/api/markets?model=${name}`)).toEqual({ markets: [expect.objectContaining(row)] })
      const inDollars = (amount: number | null) => (amount === null ? null : amount / 1e6)
      expect(await read(`/api/inference/markets?model=${name}`)).toEqual([
        expect.objectContaining({
          best_input_per_1m: inDollars(tokens(name).input),
          best_media_unit_price: inDollars(micro),
          direct_media_unit_price: inDollars(reference),
          // These are dollars in either list.
          best_unit_prices: effective(name),
          providers: [expect.objectContaining({ best_media_unit_price: inDollars(micro) })],
        }),
      ])
    }
  })

  it('stand in books and beside the model itself', async () => {
    for (const name of NAMES) {
      const { unit, micro, direct: reference } = MAIN[name]
      expect(await read(`/api/markets/${name}`)).toMatchObject({
        canonical: { media_unit: unit, direct_media_unit_price: reference, direct_unit_prices: direct(name) },
        offers: [
          {
            ...{ rank: 1, discount_pct: SELLER_DISCOUNT, media_unit: unit, media_unit_price: micro },
            ...{ direct_media_unit_price: reference, unit_prices: effective(name) },
            effective_input_per_1m: tokens(name).input,
            effective_output_per_1m: tokens(name).output,
          },
        ],
      })
    }
  })

  it('stand in the price list by the names of their units, and in the catalogue as texts', async () => {
    const Prices = z.object({
      models: z.array(
        z.object({ model: z.string(), providers: z.array(z.object({ pricing: z.record(z.string(), z.unknown()) })) }),
      ),
    })
    const { models } = Prices.parse(await read('/v1/prices'))
    for (const name of NAMES) {
      const found = models.find(({ model }) => model === name)?.providers.map(({ pricing }) => pricing)
      const { input, output } = tokens(name)
      expect(found).toEqual([
        expect.objectContaining({
          ...Object.fromEntries(ALL[name].map(([unit, usd]) => [unit, usd])),
          ...{ input: input === null ? null : input / 1e6, output: output === null ? null : output / 1e6 },
        }),
      ])
    }
    const pricingOf = async (name: Name) =>
      z.object({ pricing: z.record(z.string(), z.string()) }).parse(await read(`/v1/models/${name}`)).pricing
    expect(await pricingOf('units-tiers')).toMatchObject({ image: '0.04', image_2k: '0.06', image_4k: '0.12' })
    expect(await pricingOf('units-area')).toEqual({ ...NO_PRICE, megapixel: '0.025' })
    expect(await pricingOf('units-minute')).toMatchObject({ second: '0.0001' })
    expect(await pricingOf('units-call')).toEqual({ ...NO_PRICE, request: '0.05' })
    expect(await pricingOf('units-mixed')).toMatchObject({ request: '0.001', image_output: '0.00003' })
  })
})

describe('the same prices', () => {
  it('stand on GraphQL and tRPC', async () => {
    const query = `query ($model: ID!) {
      market(model: $model) {
        mediaUnit bestMediaUnitPrice
        best { inputPer1m mediaUnitPrice unitPrices { unit usd } }
        direct { mediaUnitPrice unitPrices { unit usd } }
        providers { best { mediaUnitPrice } }
      }
      orderBook(model: $model, first: 1) {
        edges { node { mediaUnit mediaUnitPrice directMediaUnitPrice effective { unitPrices { unit usd } } } }
      }
    }`
    const trpc = createTRPCClient<AppRouter>({ links: [httpLink({ url: network.sandbox.trpc_url })] })
    for (const name of NAMES) {
      const { unit: mediaUnit, micro: mediaUnitPrice, direct: reference } = MAIN[name]
      const best = { inputPer1m: tokens(name).input, mediaUnitPrice, unitPrices: effective(name) }
      const market = {
        ...{ mediaUnit, bestMediaUnitPrice: mediaUnitPrice, best },
        direct: { mediaUnitPrice: reference, unitPrices: direct(name) },
        providers: [{ best: { mediaUnitPrice } }],
      }
      const entry = {
        mediaUnit,
        mediaUnitPrice,
        directMediaUnitPrice: reference,
        effective: { unitPrices: effective(name) },
      }
      const said = await call('POST', network.sandbox.graphql_url, undefined, { query, variables: { model: name } })
      expect(await said.json()).toEqual({ data: { market, orderBook: { edges: [{ node: entry }] } } })
      expect(await trpc.market.get.query({ model: name })).toMatchObject(market)
      expect((await trpc.market.book.query({ model: name })).items).toMatchObject([entry])
    }
  })

  it('stand in the seller’s own records of its offers', async () => {
    const { items } = z
      .object({ items: z.array(z.looseObject({ model: z.string() })) })
      .parse(await read('/v1/seller/offers', sellerKey))
    for (const name of NAMES) {
      const { unit, micro, direct: reference } = MAIN[name]
      expect(items.find(({ model }) => model === name)).toMatchObject({
        ...{ media_unit: unit, media_unit_price: micro, effective_media_unit_price: micro },
        ...{ direct_media_unit_price: reference, effective_unit_prices: effective(name) },
        ...{ direct_unit_prices: direct(name), effective_input_per_1m: tokens(name).input },
      })
    }
  })

  it(
    'are for people at the command line',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'market-units-'))
      const env = { MARKET_HOME: network.home, MARKET_CONFIG_DIR: folder, MARKET_SELLER_KEY: sellerKey }
      try {
        const run = async (...args: string[]) => {
          const { code, out, err } = await runMarket(args, { env })
          expect([code, err]).toEqual([0, ''])
          return out
        }
        const [models, book, offers] = await Promise.all([
          run('models', '--search', 'units-'),
          run('book', 'units-tiers'),
          run('offers', 'list'),
        ])
        expect(models).toMatch(/^units-tiers .* - +- +image \$0\.04, image_2k \$0\.06, image_4k \$0\.12$/m)
        expect(models).toMatch(/^units-speech .* - +- +character \$0\.0000008$/m)
        expect(models).toMatch(/^units-mixed .* \$0\.30 +\$2\.50 +request \$0\.001, image_output \$30\.00$/m)
        expect(book).toMatch(/ image \$0\.03, image_2k \$0\.045, image_4k \$0\.09 /)
        expect(offers).toMatch(/ units-minute .* minute \$0\.0045 /)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
    SLOW_MS,
  )
})
