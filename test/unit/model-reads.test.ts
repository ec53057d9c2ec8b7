import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { listCompatModels } from '#data-plane/reads/compat-models.ts'
import {
  countModels,
  listEmbeddingModels,
  listInferenceModels,
  listModels,
  readModel,
} from '#data-plane/reads/models.ts'
import type { Read, ReadRequest, ReadSources } from '#data-plane/reads/read.ts'
import { createReadMemory } from '#data-plane/reads/read-memory.ts'
import { buildMarket, EMPTY_BODIES, rankOffers } from '#data-plane/store/market.ts'
import type { Model } from '#shared/catalog/model.ts'
import { systemClock } from '#shared/clock.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import type { OfferId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { keptBps, microUsd, picoUsd } from '#shared/money.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import { buildModel, buildOffer, buildPayer, buildProvider, PRICE } from '#test/support/bytes/build-market.ts'

const VECTORS = { endpoints: ['embeddings' as const], outputModalities: ['embeddings'] }
const MODELS: readonly Model[] = [
  buildModel({ id: 'well', created: 9 }),
  buildModel({ id: 'shady', created: 8, lab: 'other' }),
  buildModel({ id: 'resting', created: 7, parameters: ['tools'] }),
  buildModel({ id: 'spent', created: 6, contextLength: 200_000 }),
  buildModel({ id: 'unsold', created: 5 }),
  buildModel({ id: 'vectors', created: 4, ...VECTORS }),
  buildModel({ id: 'elsewhere', created: 3, endpoints: ['music'], outputModalities: ['audio'] }),
]
const offerOf = (model: string, given: Partial<OfferRow> = {}) =>
  buildOffer({ model, keptBps: keptBps(6_000), ...given })
const OFFERS: readonly OfferRow[] = [
  offerOf('well'),
  offerOf('shady', { isTrusted: false, keptBps: keptBps(2_000) }),
  offerOf('resting'),
  offerOf('spent', { capDailyMicro: microUsd(10) }),
  offerOf('vectors', { keptBps: keptBps(9_000) }),
  // The host of this offer speaks no protocol with music.
  offerOf('elsewhere'),
]

function sources(): ReadSources {
  const booksOf = (id: string) => createOfferBook(rankOffers(OFFERS.filter(({ model }) => model === id)))
  const cheaper = { ...PRICE, unitPrices: { input: picoUsd(100_000n), output: picoUsd(200_000n) } }
  const market = buildMarket({
    ...EMPTY_BODIES,
    models: MODELS,
    providers: [buildProvider('a')],
    prices: new Map(
      MODELS.map(({ id }) => [id, { ...(id === 'unsold' ? cheaper : PRICE), effectiveAt: 0, source: 'test' }]),
    ),
    offers: new Map(MODELS.map(({ id }) => [id, booksOf(id)])),
  })
  const isResting = ({ model }: OfferRow) => model === 'resting'
  const used = new Map<OfferId, MicroUsd>()
  for (const { id, model } of OFFERS) if (model === 'spent' && isId('ofr', id)) used.set(id, microUsd(10))
  return {
    market: () => market,
    health: {
      blockedUntil: (offer) => (isResting(offer) ? Number.MAX_VALUE : 0),
      restsUntil: () => 0,
      isAllWell: () => false,
    },
    caps: { usedToday: async () => used },
    feed: { latest: async () => [] },
    clock: systemClock,
    memory: createReadMemory(),
    version: '3.1.0',
    payments: { terms: () => undefined },
    addresses: { baseUrl: 'http://site.test', apiBaseUrl: 'http://api.test' },
  }
}

const Item = z.looseObject({ id: z.string(), available: z.boolean(), untrusted_available: z.boolean() })
const Page = z.looseObject({ data: z.array(Item) })

async function ask(read: Read, query = '', more: Partial<ReadRequest> = {}) {
  const answer = await read(sources(), { params: {}, query: new URLSearchParams(query), ...more })
  return { ...Page.parse(JSON.parse(answer.json)), ignored: answer.ignored }
}
const names = async (query: string, more: Partial<ReadRequest> = {}, read: Read = listModels) =>
  (await ask(read, query, more)).data.map(({ id }) => id)
const ALL = MODELS.map(({ id }) => id)

describe('lists of models', () => {
  it.each([
    ['of OpenRouter', listModels],
    ['that is plain', listInferenceModels],
    ['of the messages wire', listCompatModels],
  ])('show in the list %s which models can be bought now, and filter by it', async (_which, read) => {
    const { data } = await ask(read)
    expect(data.map(({ id, available, untrusted_available: untrusted }) => [id, available, untrusted])).toEqual([
      ['well', true, false],
      ['shady', false, true],
      ['resting', false, false],
      ['spent', false, false],
      ['unsold', false, false],
      ['vectors', true, false],
      ['elsewhere', false, false],
    ])
    expect(await names('available=true', {}, read)).toEqual(['well', 'vectors'])
    expect(await names('available=false', {}, read)).toEqual(ALL.filter((id) => id !== 'well' && id !== 'vectors'))
    expect(await names('available=true', { floorPercent: 40 }, read)).toEqual(['well'])
    expect(await names('available=true', { floorPercent: 41 }, read)).toEqual([])
    await expect(names('available=maybe', {}, read)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('show it for one model, with the floors of the path and the key, and the trust of the key', async () => {
    const standing = async (id: string, more: Partial<ReadRequest> = {}) => {
      const { json } = await readModel(sources(), { params: { id }, query: new URLSearchParams(), ...more })
      return Item.parse(JSON.parse(json)).available
    }
    expect([await standing('well'), await standing('unsold'), await standing('shady')]).toEqual([true, false, false])
    expect(await standing('well', { floorPercent: 50 })).toBe(false)
    expect(await standing('well', { payer: buildPayer({ floorPercents: [50] }) })).toBe(false)
    expect(await standing('shady', { payer: buildPayer({ allowsUntrusted: true }) })).toBe(true)
  })

  it('have pages with a count of the filtered models and a link to the next page', async () => {
    const first = await ask(listModels, 'limit=3&offset=0&available=false')
    expect(first.data.map(({ id }) => id)).toEqual(['shady', 'resting', 'spent'])
    expect(first).toMatchObject({
      total_count: 5,
      links: { next: '/v1/models?limit=3&offset=3&available=false' },
    })
    const last = await ask(listModels, 'limit=3&offset=3&available=false')
    expect(last.data.map(({ id }) => id)).toEqual(['unsold', 'elsewhere'])
    expect(last).toMatchObject({ total_count: 5, links: { next: null } })
    expect(await names('limit=500&offset=0')).toEqual(ALL)
    expect(await names('offset=9')).toEqual([])
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'offset=-1', 'context=many', `q=${'x'.repeat(1_001)}`]) {
      await expect(names(query)).rejects.toMatchObject({ code: 'invalid_request' })
    }
  })

  it.each([
    ['supported_parameters=tools,temperature', ALL.filter((id) => id !== 'resting')],
    ['output_modalities=embeddings', ['vectors']],
    ['output_modalities=all', ALL],
    ['input_modalities=image', []],
    ['model_authors=other', ['shady']],
    ['q=SOL', ['unsold']],
    ['context=200000', ['spent']],
    ['max_price=0.5', ['unsold']],
    ['min_output_price=5', ALL.filter((id) => id !== 'unsold')],
    ['sort=pricing-low-to-high&limit=1', ['unsold']],
    ['sort=context-high-to-low&limit=1', ['spent']],
    // Promises without a meaning here.
    ['zdr=true', []],
    ['region=eu', []],
    ['distillable=false', ALL],
  ])('heed %s', async (query, expected) => expect(await names(query)).toEqual(expected))

  it('name an unknown order as ignored', async () => {
    expect((await ask(listModels, 'sort=most-popular')).ignored).toEqual(['sort'])
    expect((await ask(listModels, 'sort=newest')).ignored).toEqual([])
  })

  it('count models, and list those that make embeddings', async () => {
    const { json } = await countModels(sources(), {
      params: {},
      query: new URLSearchParams('output_modalities=text'),
    })
    expect(JSON.parse(json)).toEqual({ data: { count: 5 } })
    expect(await names('', {}, listEmbeddingModels)).toEqual(['vectors'])
  })
})
