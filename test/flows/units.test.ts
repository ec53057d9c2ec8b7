import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTRPCClient, httpLink } from '@trpc/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AppRouter } from '#control-plane/api/trpc/router.ts'
import { wavTone } from '#dev/provider/media/sound.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { requireDescribed } from '#test/support/facts/description.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import type { Name } from '#test/support/facts/units-of-media.ts'
import {
  ALL,
  direct,
  earned,
  effective,
  Figures,
  LINE,
  MAIN,
  MODELS,
  NAMES,
  NO_PRICE,
  NONE,
  numbersOf,
  recordsOf,
  SOLD,
  sumOf,
  tokens,
  total,
} from '#test/support/facts/units-of-media.ts'
import { runMarket } from '#test/support/market/command-line.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const SELLER_DISCOUNT = 25

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

/** The JSON answer of a read, which must agree with its description. */
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
})
afterAll(async () => {
  await provider.close()
  await network?.remove()
})

describe('prices per units other than the token', () => {
  it('are in market rows, in micro-USD and in US dollars', async () => {
    for (const name of NAMES) {
      const { unit, micro, direct: reference } = MAIN[name]
      const row = {
        model: name,
        media_unit: unit,
        best_input_per_1m: tokens(name).input,
        best_output_per_1m: tokens(name).output,
        best_media_unit_price: micro,
        direct_media_unit_price: reference,
        best_unit_prices: effective(name),
        direct_unit_prices: direct(name),
        best_discount_pct: SELLER_DISCOUNT,
        providers: [expect.objectContaining({ best_media_unit_price: micro })],
        untrusted: expect.objectContaining({ best_media_unit_price: null }),
      }
      expect(await read(`/api/markets?model=${name}`)).toEqual({ markets: [expect.objectContaining(row)] })
      const isWhole = tokens(name).input !== null && tokens(name).output !== null
      const strict = { markets: isWhole ? [expect.objectContaining(row)] : [] }
      expect(await read(`/api/markets?model=${name}&priced_by=tokens`)).toEqual(strict)
      const inDollars = (amount: number | null) => (amount === null ? null : amount / 1e6)
      expect(await read(`/api/inference/markets?model=${name}`)).toEqual([
        expect.objectContaining({
          best_input_per_1m: inDollars(tokens(name).input),
          best_media_unit_price: inDollars(micro),
          direct_media_unit_price: inDollars(reference),
          // Both lists have dollars.
          best_unit_prices: effective(name),
          providers: [expect.objectContaining({ best_media_unit_price: inDollars(micro) })],
          providerBreakdown: [expect.objectContaining({ best_media_unit_price: inDollars(micro) })],
        }),
      ])
    }
  })

  it('are in order books and beside the model itself', async () => {
    for (const name of NAMES) {
      const { unit, micro, direct: reference } = MAIN[name]
      expect(await read(`/api/markets/${name}`)).toMatchObject({
        canonical: { media_unit: unit, direct_media_unit_price: reference, direct_unit_prices: direct(name) },
        offers: [
          {
            rank: 1,
            discount_pct: SELLER_DISCOUNT,
            media_unit: unit,
            media_unit_price: micro,
            direct_media_unit_price: reference,
            unit_prices: effective(name),
            effective_input_per_1m: tokens(name).input,
            effective_output_per_1m: tokens(name).output,
          },
        ],
      })
    }
  })

  it('are in the price list under the names of their units, and in the catalogue as texts', async () => {
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
          input: input === null ? null : input / 1e6,
          output: output === null ? null : output / 1e6,
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
  it('are the same on GraphQL and tRPC', async () => {
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
        mediaUnit,
        bestMediaUnitPrice: mediaUnitPrice,
        best,
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

  it('are in the seller’s own records of its offers', async () => {
    const { items } = z
      .object({ items: z.array(z.looseObject({ model: z.string() })) })
      .parse(await read('/v1/seller/offers', sellerKey))
    for (const name of NAMES) {
      const { unit, micro, direct: reference } = MAIN[name]
      expect(items.find(({ model }) => model === name)).toMatchObject({
        media_unit: unit,
        media_unit_price: micro,
        effective_media_unit_price: micro,
        direct_media_unit_price: reference,
        effective_unit_prices: effective(name),
        direct_unit_prices: direct(name),
        effective_input_per_1m: tokens(name).input,
      })
    }
  })

  it('are readable at the command line', async () => {
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
      expect(models).toMatch(/^units-mixed .* \$0\.30 +\$2\.50 +request \$0\.001, image_output \$30\.00\/1M$/m)
      expect(book).toMatch(/ image \$0\.03, image_2k \$0\.045, image_4k \$0\.09 /)
      expect(offers).toMatch(/ units-minute .* minute \$0\.0045 /)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('the usage of calls in these units', () => {
  let ids: string[]
  let buyerKey: string

  beforeAll(async () => {
    buyerKey = network.sandbox.buyer_key
    const picture = (model: Name, size: string, n = 1) =>
      call('POST', '/v1/images/generations', buyerKey, { model, prompt: 'a cat', size, n })
    const form = new FormData()
    form.append('model', 'units-minute')
    form.append('file', new Blob([new Uint8Array(wavTone(3))]), 'talk.wav')
    const answers = [
      await picture('units-tiers', '1024x1024', 2),
      await picture('units-tiers', '2048x2048'),
      await picture('units-area', '512x512'),
      await fetch(`${network.sandbox.api_base_url}/v1/audio/transcriptions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${buyerKey}` },
        body: form,
      }),
      await call('POST', '/v1/audio/speech', buyerKey, { model: 'units-speech', input: LINE, voice: 'alloy' }),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      await answer.arrayBuffer()
    }
    ids = answers.map((answer) => answer.headers.get('x-request-id') ?? '')
    await until('every call is booked', 30_000, async () => {
      const { recent_sales: sales } = z
        .object({ recent_sales: z.array(z.unknown()) })
        .parse(await read('/v1/seller/earnings', sellerKey))
      return sales.length === SOLD.length
    })
  })

  it('is in the look-up of each call, at either plane', async () => {
    for (const [at, { name, units, paid, list }] of SOLD.entries()) {
      const whole = { ...NONE, ...units, model: name, buyer_cost_micro: paid, list_cost_micro: list }
      expect(await read(`/v1/requests/${ids[at]}`, buyerKey)).toMatchObject(whole)
      const direct = await call('GET', `${network.sandbox.control_plane_url}/v1/requests/${ids[at]}`, buyerKey)
      expect(await direct.json()).toMatchObject(whole)
    }
    const tiers = { data: { num_media_completion: 2, total_cost: 0.06 } }
    expect(await read(`/v1/generation?id=${ids[0]}`, buyerKey)).toMatchObject(tiers)
  })

  it('adds up for the buyer: calls, hours, days, file, and the account', async () => {
    for (const name of new Set(SOLD.map((sold) => sold.name))) {
      const sold = SOLD.filter((row) => row.name === name)
      const paid = sold.reduce((sum, row) => sum + row.paid, 0)
      const { items } = z
        .object({ items: z.array(Figures) })
        .parse(await read(`/v1/buyer/usage?model=${name}`, buyerKey))
      expect(sumOf(items)).toEqual(total(sold))
      for (const interval of ['hour', 'day', 'month']) {
        const path = `/v1/buyer/usage/buckets?model=${name}&interval=${interval}`
        const { buckets } = z.object({ buckets: z.array(Figures) }).parse(await read(path, buyerKey))
        expect([interval, sumOf(buckets)]).toEqual([interval, total(sold)])
        expect(buckets.reduce((sum, bucket) => sum + Number(bucket['buyer_cost_micro']), 0)).toBe(paid)
      }
      const file = await (await call('GET', `/v1/buyer/usage/export?model=${name}`, buyerKey)).text()
      expect(sumOf(recordsOf(file).map((row) => Figures.parse(numbersOf(row))))).toEqual(total(sold))
    }
    const me = z.object({ model_breakdown: z.array(z.looseObject({ model: z.string() })) })
    const { model_breakdown: models } = me.parse(await read('/v1/buyer/me', buyerKey))
    const byModel = (name: Name) => models.find(({ model }) => model === name)
    expect(byModel('units-tiers')).toMatchObject({ total_images: 3, total_spent: 105_000 })
    expect(byModel('units-area')).toMatchObject({ total_megapixels: 0.262144, total_input_tokens: 0 })
    expect(byModel('units-minute')).toMatchObject({ total_seconds: 3 })
    expect(byModel('units-speech')).toMatchObject({ total_characters: LINE.length })
  })

  it('adds up for the seller: days, models, sales, and file', async () => {
    const Earnings = z.object({
      total_earned_usdc: z.string(),
      daily: z.array(Figures),
      by_model: z.array(Figures),
      recent_sales: z.array(Figures),
    })
    const earnings = Earnings.parse(await read('/v1/seller/earnings', sellerKey))
    expect(earnings.total_earned_usdc).toBe(String(earned(SOLD)))
    for (const rows of [earnings.daily, earnings.by_model, earnings.recent_sales]) {
      expect(sumOf(rows)).toEqual(total(SOLD))
    }
    const tiers = SOLD.filter(({ name }) => name === 'units-tiers')
    expect(earnings.by_model.find((row) => row['model'] === 'units-tiers')).toMatchObject({
      images: 3,
      images_2k: 1,
      images_4k: 0,
      requests: 2,
      earned_micro: earned(tiers),
    })
    expect(earnings.recent_sales.find((row) => row['id'] === ids[1])).toMatchObject({
      images: 1,
      images_2k: 1,
      media_unit: 'per image',
      effective_media_unit_price: 30_000,
      effective_unit_prices: effective('units-tiers'),
      effective_input_per_1m: null,
    })
    const file = await (await call('GET', '/v1/seller/usage/export', sellerKey)).text()
    const rows = recordsOf(file).map((row) => Figures.parse(numbersOf(row)))
    expect(sumOf(rows)).toEqual(total(SOLD))
    expect(rows.reduce((sum, row) => sum + Number(row['seller_earned_micro']), 0)).toBe(earned(SOLD))
  })

  it('is among the latest trades', async () => {
    const { items } = z
      .object({ items: z.array(z.looseObject({ model: z.string(), images: z.number() })) })
      .parse(await read('/api/markets/feed?limit=100'))
    // Calls that end together may be posted in two batches, so their order is not fixed.
    const counts = items.filter(({ model }) => model === 'units-tiers').map(({ images }) => images)
    expect(counts.sort()).toEqual([1, 2])
    const query = '{ trades(limit: 100, model: "units-minute") { seconds images costMicro } }'
    const said = await call('POST', network.sandbox.graphql_url, undefined, { query })
    expect(await said.json()).toEqual({ data: { trades: [{ seconds: 3, images: 0, costMicro: '225' }] } })
  })
})
