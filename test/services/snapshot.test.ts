import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listOfferSources } from '#control-plane/db/listed-offers.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { getOffer } from '#control-plane/services/offers/read.ts'
import { createPublication } from '#control-plane/services/snapshot/publication.ts'
import { HOUR } from '#shared/clock.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema, OffersDocumentSchema } from '#shared/contract/snapshot.ts'
import { keptToPercent } from '#shared/discount.ts'
import { openCredential } from '#shared/seal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { catalogItem, operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  // A model that was once sold keeps its document, so the index is the same before every test.
  const { id } = await create({ model: 'claude-test' })
  await invoke(market.plane, ada.seller, deleteOffer, { id })
  await market.plane.publication.reconcile()
})
afterAll(() => market.stop())

const create = (changes: object = {}) => listOffer(market, ada.seller, { discount: 10, ...changes })

async function documentOf(name: string) {
  const text = await market.world.redis.get(`snap:doc:${name}`)
  return DocumentEnvelopeSchema.parse(JSON.parse(text ?? 'null'))
}
const offersOf = async (model: string) => OffersDocumentSchema.parse((await documentOf(`offers:${model}`)).body).offers

describe('a published snapshot', () => {
  it('has every document in the form of the contract, in the version of the index', async () => {
    await create()
    const index = await market.world.redis.hgetall(cacheKeys.snapshotIndex)
    const fixed = ['limits', 'markets', 'models', 'prices', 'providers', 'resources', 'sold', 'trades']
    expect(new Set(Object.keys(index))).toEqual(new Set([...fixed, 'offers:claude-test', 'offers:gpt-test']))
    for (const [name, version] of Object.entries(index)) {
      const envelope = await documentOf(name)
      expect([envelope.name, envelope.version]).toEqual([name, Number(version)])
      const schema = Object.entries(DOCUMENT_SCHEMAS).find(([known]) => known === name)?.[1] ?? OffersDocumentSchema
      schema.parse(envelope.body)
    }
    const markets = DOCUMENT_SCHEMAS.markets.parse((await documentOf('markets')).body)
    expect(markets.rows.map((row) => row.model)).toEqual(['claude-test', 'gpt-test'])
  })

  it('has an offer whose credential only the key ring opens', async () => {
    const offer = await create({ apiKey: 'sk-good-openable', capDailyUsd: 2, discount: 33.33 })
    const row = (await offersOf('gpt-test')).find(({ id }) => id === offer.id)
    if (!row) return expect.fail('the offer is not on sale')
    expect([row.keptBps, row.capDailyMicro, row.isTrusted]).toEqual([6_667n, 2_000_000n, true])
    expect(openCredential(market.plane.settings.keyRing, row.credential).reveal()).toBe('sk-good-openable')
    const moved = { ...row.credential, host: 'evil.example' }
    expect(() => openCredential(market.plane.settings.keyRing, moved)).toThrow()
    expect(row.sellerAlias).not.toContain(ada.seller.account)
  })

  it('names the members that an offer allows, and nothing where it allows none', async () => {
    const { id } = await create({ apiKey: 'sk-good-passing', passes: ['unknown', 'service_tier'] })
    const rowOf = async () => (await offersOf('gpt-test')).find((row) => row.id === id)
    expect((await rowOf())?.passes).toEqual(['unknown', 'service_tier'])
    await invoke(market.plane, ada.seller, updateOffer, { id, passes: null })
    expect(await rowOf()).not.toHaveProperty('passes')
  })

  it('announces a change of an offer, and only that document', async () => {
    const offer = await create()
    const listener = market.world.redis.duplicate()
    const heard: string[] = []
    await listener.subscribe(CHANNELS.snapshot)
    listener.on('message', (_channel, message) => heard.push(message))
    await invoke(market.plane, ada.seller, updateOffer, { id: offer.id, discount: 77 })
    await until('the change is announced', 2_000, () => heard.length > 0)
    expect(heard).toEqual(['["offers:gpt-test"]'])
    expect((await offersOf('gpt-test')).find(({ id }) => id === offer.id)?.keptBps).toBe(2_300n)
    listener.disconnect()
  })

  it('publishes no unchanged document', async () => {
    await market.plane.publication.reconcile()
    const before = await market.world.redis.hgetall(cacheKeys.snapshotIndex)
    expect(await market.plane.publication.reconcile()).toEqual([])
    expect(await market.world.redis.hgetall(cacheKeys.snapshotIndex)).toEqual(before)
  })

  it('builds the offers of a model again only after a write to one of their sources', async () => {
    const offer = await create()
    await market.plane.publication.reconcile()
    expect(await market.plane.publication.reconcile()).toEqual([])
    // The change is found, although its writer did not announce it.
    await sql`update offer set kept_bps = 1234 where id = ${offer.id}`.execute(market.plane.db)
    expect(await market.plane.publication.reconcile()).toEqual(['offers:gpt-test'])
    expect((await offersOf('gpt-test')).find(({ id }) => id === offer.id)?.keptBps).toBe(1_234n)
    // A change that leaves the document equal is checked at once.
    await sql`update offer set label = 'new' where id = ${offer.id}`.execute(market.plane.db)
    expect(await market.plane.publication.reconcile()).toEqual([])
    const { source } = await market.plane.db
      .selectFrom('snapshot_document')
      .select('source')
      .where('name', '=', 'offers:gpt-test')
      .executeTakeFirstOrThrow()
    expect(source).toBe((await listOfferSources(market.plane.db, 'gpt-test')).get('gpt-test'))
  })

  it('keeps an empty document for a model whose last offer is gone', async () => {
    const offer = await create({ model: 'claude-test' })
    expect(await offersOf('claude-test')).toHaveLength(1)
    await invoke(market.plane, ada.seller, deleteOffer, { id: offer.id })
    expect(await offersOf('claude-test')).toEqual([])
  })

  it('ends in the last state, with versions that only rise, whichever processes publish at once', async () => {
    const offer = await create({ model: 'claude-test' })
    const discounts = Array.from({ length: 25 }, (_, index) => index + 1)
    await Promise.all(
      discounts.map((discount) => invoke(market.plane, ada.seller, updateOffer, { id: offer.id, discount })),
    )
    const stored = await invoke(market.plane, ada.seller, getOffer, { id: offer.id })
    const [row] = await offersOf('claude-test')
    expect(row && keptToPercent(row.keptBps)).toBe(stored.discount)
    expect(await market.plane.publication.isWhole()).toBe(true)
    await invoke(market.plane, ada.seller, deleteOffer, { id: offer.id })
  })

  it('follows trust: a provider that loses it changes its offers too', async () => {
    await create()
    const provider = { id: 'test', name: 'Test', baseUrl: market.provider.url, isTrusted: false }
    await invoke(market.plane, operator, putProvider, provider)
    expect((await offersOf('gpt-test')).every((row) => !row.isTrusted)).toBe(true)
    await invoke(market.plane, operator, putProvider, { ...provider, isTrusted: true })
    expect((await offersOf('gpt-test')).every((row) => row.isTrusted)).toBe(true)
  })

  it('changes prices at their time, each with its version and source', async () => {
    const pricesNow = async () => DOCUMENT_SCHEMAS.prices.parse((await documentOf('prices')).body).prices['gpt-test']
    const before = await pricesNow()
    expect(before).toMatchObject({ source: 'test', unitPrices: { input: 250_000n, output: 2_000_000n } })
    const item = { ...catalogItem('gpt-test'), pricing: { prompt: '0.000001', completion: '0.000004' } }
    const effectiveAt = market.plane.clock.now() + HOUR
    await invoke(market.plane, operator, importCatalog, { source: 'later', models: [item], effectiveAt })
    expect(await pricesNow()).toEqual(before)
    market.advance(HOUR)
    expect(await market.plane.publication.reconcile()).toEqual(['prices'])
    expect(await pricesNow()).toMatchObject({ source: 'later', unitPrices: { input: 1_000_000n } })
  })
})

describe('a store that lost documents', () => {
  it('is filled again in one step: no reader sees a market of one document', async () => {
    await create()
    const index = Object.keys(await market.world.redis.hgetall(cacheKeys.snapshotIndex))
    const sizes = new Set<number>()
    const listener = market.world.redis.duplicate()
    await listener.subscribe(CHANNELS.snapshot)
    listener.on('message', (_channel, message) => sizes.add(JSON.parse(message).length))
    await market.world.redis.del(cacheKeys.snapshotIndex, ...index.map((name) => `snap:doc:${name}`))
    expect(await market.plane.publication.isWhole()).toBe(false)
    await market.plane.publication.publishChanged(['offers:gpt-test'])
    const after = Object.keys(await market.world.redis.hgetall(cacheKeys.snapshotIndex))
    expect(new Set(after)).toEqual(new Set(index))
    await until('the announcement is heard', 2_000, () => sizes.size > 0)
    expect([...sizes]).toEqual([index.length])
    expect(await market.plane.publication.isWhole()).toBe(true)
    listener.disconnect()
  })

  it('receives the documents of a failed publication', async () => {
    const offer = await create()
    const publish = () => Promise.reject(new Error('away'))
    const publisher = { ...market.plane.publisher, publish }
    const away = { ...market.plane, publication: createPublication({ ...market.plane, publisher }) }
    const changed = await invoke(away, ada.seller, updateOffer, { id: offer.id, discount: 91 })
    expect(changed.discount).toBe(91)
    const kept = async () => (await offersOf('gpt-test')).find(({ id }) => id === offer.id)?.keptBps
    expect(await kept()).toBe(9_000n)
    expect(await market.plane.publication.reconcile()).toEqual(['offers:gpt-test'])
    expect(await kept()).toBe(900n)
  })
})

describe('a storm of changes', () => {
  it('is published a few models at a time with pauses in between, completely, and without a wait for its callers', async () => {
    await market.plane.publication.reconcile()
    const turns: string[][] = []
    const rests: number[] = []
    const clock = { ...market.plane.clock, sleep: async (ms: number) => void rests.push(ms) }
    const versions: TestMarket['plane']['publisher']['versions'] = async (names = []) => {
      turns.push([...names])
      return new Map(names.map((name) => [name, 1]))
    }
    const publisher = { ...market.plane.publisher, versions, publish: async () => undefined }
    const publication = createPublication({ ...market.plane, clock, publisher })
    const models = Array.from({ length: 20 }, (_, at) => `storm-${at}`)
    await publication.publishOffers(models)
    expect(turns.flat().length).toBeLessThan(models.length)
    await until('all models are published', 10_000, () => turns.flat().length === models.length)
    expect(turns.map((turn) => turn.length)).toEqual([8, 8, 4])
    expect(turns.flat()).toEqual(models.map((model) => `offers:${model}`))
    expect(rests).toHaveLength(1)
    // After few changes, each one is published before its caller goes on.
    await publication.publishOffers(['storm-1'])
    expect(turns.at(-1)).toEqual(['offers:storm-1'])
    // Otherwise the next publisher finds the documents missing from the store.
    await sql`delete from snapshot_document where name like 'offers:storm-%'`.execute(market.plane.db)
  })
})
