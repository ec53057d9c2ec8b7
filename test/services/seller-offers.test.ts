import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { collectLines } from '#control-plane/api/collect-lines.ts'
import type { SellerActor } from '#control-plane/operation/actor.ts'
import { openAudit } from '#control-plane/operation/audit.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { deleteConfig, listConfigs } from '#control-plane/services/offers/configs.ts'
import { discoverModels } from '#control-plane/services/offers/discovery.ts'
import { listHealthLog } from '#control-plane/services/offers/health-log.ts'
import { moveAsOperator } from '#control-plane/services/offers/operator-move.ts'
import { getOffer, listOffers } from '#control-plane/services/offers/read.ts'
import { resetHealth } from '#control-plane/services/offers/reset-health.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import {
  bulkCancelOffers,
  getSellerOperation,
  runSellerOperations,
} from '#control-plane/services/offers/seller-operations.ts'
import { testConnection, testHealth } from '#control-plane/services/offers/test-provider.ts'
import { createOwnProvider } from '#control-plane/services/routing/own-providers.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { byText } from '#shared/text-order.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey, offerInput } from '#test/support/doors/offers.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import { UNSAFE_BASE_URLS } from '#test/support/facts/unsafe-base-urls.ts'

let market: TestMarket
let ada: Person
let bob: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
})
afterAll(() => market.stop())

const inputWith = (changes: object = {}) => offerInput(market, changes)
const create = (actor: SellerActor, input: object) => listOffer(market, actor, input)
const behave = (model: string, behaviour: string | null) =>
  fetch(new URL('/__sandbox/behave', market.provider.url), {
    method: 'POST',
    body: JSON.stringify({ model, behaviour }),
  })
const asOperator = (move: Parameters<typeof moveAsOperator>[1]) =>
  moveAsOperator({ ...market.plane, ...openAudit(market.plane, operator, 'offer.delist') }, move)

describe('bulk cancel', () => {
  it('takes every active offer off the market once; a second request finds none', async () => {
    const eve = await market.person()
    const first = await create(eve.seller, inputWith())
    await create(eve.seller, inputWith({ model: 'claude-test' }))
    const paused = await create(eve.seller, inputWith())
    await invoke(market.plane, eve.seller, updateOffer, { id: paused.id, status: 'paused' })
    const [one, two] = await Promise.all([
      invoke(market.plane, eve.seller, bulkCancelOffers, {}),
      invoke(market.plane, eve.seller, bulkCancelOffers, {}),
    ])
    expect(new Set([one.total, two.total])).toEqual(new Set([0, 2]))
    const waiting = one.total === 2 ? one : two
    expect(waiting.status).toBe('pending')
    expect(
      (await refusalOf(invoke(market.plane, bob.seller, getSellerOperation, { id: waiting.operationId }))).code,
    ).toBe('not_found')
    await runSellerOperations(market.plane)
    expect(await invoke(market.plane, eve.seller, getSellerOperation, { id: waiting.operationId })).toMatchObject({
      status: 'succeeded',
      processed: 2,
      total: 2,
      failedCount: 0,
    })
    const states = (await invoke(market.plane, eve.seller, listOffers, {})).items
      .map(({ status }) => status)
      .sort(byText)
    expect(states).toEqual(['inactive', 'inactive', 'paused'])
    const third = await invoke(market.plane, eve.seller, bulkCancelOffers, {})
    expect([third.status, third.total]).toEqual(['succeeded', 0])
    // The place is free again.
    expect((await invoke(market.plane, eve.seller, updateOffer, { id: first.id, status: 'active' })).status).toBe(
      'active',
    )
  })
})

describe('listing an offer', () => {
  it.each([
    ['no-credit', 'the provider account has no credit or is suspended'],
    ['no-credit-in-200', 'the provider account has no credit or is suspended'],
    ['wrong-key-in-array', 'the provider refused the key'],
    ['quota-used-up', 'the quota of the provider account is used up'],
  ])('is refused where the list of models answers and the model answers %s', async (behaviour, reason) => {
    await behave('gpt-test', behaviour)
    const refused = await refusalOf(create(ada.seller, inputWith()))
    await behave('gpt-test', null)
    expect([refused.code, refused.detail['reason']]).toEqual(['provider_probe_failed', reason])
  })
})

describe('rotating a credential', () => {
  it('gives the offer a key that its provider accepts, and clears the failures of the old key', async () => {
    const offer = await create(ada.seller, inputWith())
    const until = market.plane.clock.now() + 60_000
    const record = { consecutiveFailures: 5, ejections: 1, backedOffUntil: until, errorClass: 'server_error' } as const
    await market.plane.liveOffers.setHealth(new Map([[offer.id, record]]))
    expect((await invoke(market.plane, ada.seller, getOffer, { id: offer.id })).healthy).toBe(false)
    const refused = await refusalOf(
      invoke(market.plane, ada.seller, rotateCredential, { id: offer.id, apiKey: 'sk-bad-canary-1' }),
    )
    expect(refused.code).toBe('provider_probe_failed')
    const after = await invoke(market.plane, ada.seller, rotateCredential, { id: offer.id, apiKey: newProviderKey() })
    expect(after).toMatchObject({ id: offer.id, status: 'active', healthy: true, consecutiveFailures: 0 })
    expect(after.keyFingerprint).not.toBe(offer.keyFingerprint)
    const log = await invoke(market.plane, ada.seller, listHealthLog, { offerId: offer.id })
    expect(log.items.map(({ actionTaken }) => actionTaken)).toEqual(['credential_rotated'])
  })

  it('is refused while the new key already serves the model there: for a paused offer too, and across sellers', async () => {
    const shared = newProviderKey()
    const standing = await create(ada.seller, inputWith({ apiKey: shared }))
    const active = await create(ada.seller, inputWith())
    const paused = await create(ada.seller, inputWith())
    await invoke(market.plane, ada.seller, updateOffer, { id: paused.id, status: 'paused' })
    for (const { id } of [active, paused]) {
      const own = await refusalOf(invoke(market.plane, ada.seller, rotateCredential, { id, apiKey: shared }))
      expect([own.code, own.detail['existing_offer_id']]).toEqual(['duplicate_offer_for_credential', standing.id])
    }
    const foreign = await create(bob.seller, inputWith())
    const other = await refusalOf(
      invoke(market.plane, bob.seller, rotateCredential, { id: foreign.id, apiKey: shared }),
    )
    expect([other.code, other.detail]).toEqual(['duplicate_offer_for_credential', {}])
    // The same key again changes nothing.
    const same = await invoke(market.plane, ada.seller, rotateCredential, { id: standing.id, apiKey: shared })
    expect(same.keyFingerprint).toBe(standing.keyFingerprint)
  })

  it('is refused for an inactive offer and for a stranger', async () => {
    const offer = await create(ada.seller, inputWith())
    const stranger = invoke(market.plane, bob.seller, rotateCredential, { id: offer.id, apiKey: newProviderKey() })
    expect((await refusalOf(stranger)).code).toBe('not_found')
    await invoke(market.plane, ada.seller, deleteOffer, { id: offer.id })
    const gone = invoke(market.plane, ada.seller, rotateCredential, { id: offer.id, apiKey: newProviderKey() })
    expect((await refusalOf(gone)).code).toBe('conflict')
  })
})

describe('health', () => {
  it('is cleared at the rotation at once, by the owner only', async () => {
    const offer = await create(ada.seller, inputWith())
    const record = {
      consecutiveFailures: 7,
      ejections: 3,
      backedOffUntil: market.plane.clock.now() + 600_000,
      errorClass: 'overloaded',
    } as const
    await market.plane.liveOffers.setHealth(new Map([[offer.id, record]]))
    expect((await refusalOf(invoke(market.plane, bob.seller, resetHealth, { id: offer.id }))).code).toBe('not_found')
    expect(await invoke(market.plane, ada.seller, resetHealth, { id: offer.id })).toEqual({
      healthy: true,
      status: 'active',
    })
    expect(await invoke(market.plane, ada.seller, getOffer, { id: offer.id })).toMatchObject({
      healthy: true,
      backedOffUntil: null,
    })
    await invoke(market.plane, ada.seller, deleteOffer, { id: offer.id })
    expect((await refusalOf(invoke(market.plane, ada.seller, resetHealth, { id: offer.id }))).code).toBe('conflict')
  })
})

describe('the operator', () => {
  it('delists an offer that its seller still sees and edits. No key brings the offer back; only the operator restores it', async () => {
    const offer = await create(ada.seller, inputWith())
    await asOperator({ id: offer.id, event: 'delist', reason: 'the endpoint cannot serve the model' })
    const shown = await invoke(market.plane, ada.seller, getOffer, { id: offer.id })
    expect(shown).toMatchObject({
      status: 'paused',
      delistedReason: 'the endpoint cannot serve the model',
    })
    expect((await invoke(market.plane, ada.seller, updateOffer, { id: offer.id, discount: 3 })).discount).toBe(3)
    await invoke(market.plane, ada.seller, rotateCredential, { id: offer.id, apiKey: newProviderKey() })
    const forced = await refusalOf(invoke(market.plane, ada.seller, updateOffer, { id: offer.id, status: 'active' }))
    expect([forced.code, forced.status]).toEqual(['offer_delisted_by_operator', 400])
    expect((await refusalOf(asOperator({ id: 'ofr_unknown', event: 'restore', reason: null }))).code).toBe('not_found')
    await asOperator({ id: offer.id, event: 'restore', reason: null })
    expect((await refusalOf(asOperator({ id: offer.id, event: 'restore', reason: null }))).code).toBe('conflict')
    const back = await invoke(market.plane, ada.seller, updateOffer, { id: offer.id, status: 'active' })
    expect(back).toMatchObject({ status: 'active', delistedReason: null })
    const log = await invoke(market.plane, ada.seller, listHealthLog, { offerId: offer.id, sortOrder: 'ASC' })
    const actions = log.items.map(({ actionTaken }) => actionTaken)
    expect(actions).toEqual(['delisted', 'credential_rotated', 'restored'])
  })
})

describe('saved keys', () => {
  it('are cards that show no part of the key, and can be deleted by their owner only', async () => {
    const eve = await market.person()
    const apiKey = 'sk-good-Zq8Xw2-unique-part-77'
    const offer = await create(eve.seller, inputWith({ apiKey, label: 'main' }))
    const [card, ...rest] = (await invoke(market.plane, eve.seller, listConfigs, {})).configs
    expect(rest).toEqual([])
    expect(card).toMatchObject({ label: 'main', baseUrl: market.provider.url, keyFingerprint: offer.keyFingerprint })
    const text = JSON.stringify(card)
    for (let at = 0; at + 4 <= apiKey.length; at++) expect(text).not.toContain(apiKey.slice(at, at + 4))
    expect((await invoke(market.plane, bob.seller, listConfigs, {})).configs.some(({ id }) => id === card?.id)).toBe(
      false,
    )
    const id = card?.id ?? ''
    expect((await refusalOf(invoke(market.plane, bob.seller, deleteConfig, { id }))).code).toBe('not_found')
    await invoke(market.plane, eve.seller, deleteConfig, { id })
    expect((await invoke(market.plane, eve.seller, listConfigs, {})).configs).toEqual([])
    const reuse = inputWith({ apiKey: undefined, reuseKeyFingerprint: offer.keyFingerprint, model: 'claude-test' })
    expect((await refusalOf(create(eve.seller, reuse))).code).toBe('not_found')
    expect((await refusalOf(invoke(market.plane, eve.seller, deleteConfig, { id }))).code).toBe('not_found')
    // The offer goes on. Entered again, the key is a saved key again.
    expect((await invoke(market.plane, eve.seller, getOffer, { id: offer.id })).status).toBe('active')
    await create(eve.seller, inputWith({ apiKey, model: 'claude-test' }))
    expect((await invoke(market.plane, eve.seller, listConfigs, {})).configs).toHaveLength(1)
  })
})

describe('a request to a provider', () => {
  const place = () => ({ apiKey: newProviderKey(), baseUrl: market.provider.url })

  it.each<[string, (at: { readonly baseUrl: string; readonly apiKey: string }) => Promise<unknown>]>([
    [
      'creates many offers',
      (at) =>
        invoke(market.plane, ada.seller, bulkCreateOffers, { ...at, offers: [{ model: 'gpt-test', discount: 10 }] }),
    ],
    ['tests a connection', (at) => invoke(market.plane, ada.seller, testConnection, at)],
    ['tests models', (at) => invoke(market.plane, ada.seller, testHealth, { ...at, models: ['gpt-test'] })],
    ['discovers models', (at) => invoke(market.plane, ada.seller, discoverModels, at)],
    ['adds a buyer’s own provider', (at) => invoke(market.plane, ada.buyer, createOwnProvider, { ...at, model: null })],
  ])('G6: dials nothing when it %s, though the host is on the allow-list', async (_what, ask) => {
    market.provider.requests.reset()
    for (const baseUrl of UNSAFE_BASE_URLS) {
      const { code } = await refusalOf(ask({ baseUrl, apiKey: newProviderKey() }))
      expect([baseUrl, code]).toEqual([baseUrl, expect.stringMatching(/^invalid_(base_url|request)$/)])
    }
    expect(market.provider.requests.count()).toBe(0)
  })

  it("discovers a provider's models, with the market's facts about them", async () => {
    const found = await collectLines(await invoke(market.plane, ada.seller, discoverModels, place()))
    expect(found.find(({ model }) => model === 'gpt-test')).toEqual({
      model: 'gpt-test',
      supported: true,
      pricing: {
        inputPer1m: 0.25,
        outputPer1m: 2,
        priceUnit: 'M',
        unitPrice: null,
        unitPrices: [],
        priceVariable: false,
      },
      metadata: { providerModelId: 'gpt-test', modelType: 'chat', availabilityStatus: 'available' },
    })
    const unknown = found.filter(({ supported }) => !supported)
    expect(unknown.length).toBeGreaterThan(0)
    expect(unknown.every(({ metadata }) => metadata.availabilityStatus === 'unknown_model')).toBe(true)
    const refused = invoke(market.plane, ada.seller, discoverModels, { ...place(), apiKey: 'sk-bad-canary-9' })
    expect((await refusalOf(refused)).code).toBe('provider_probe_failed')
  })

  it('tests a connection: a bad key is a normal answer, and the key is stored nowhere', async () => {
    const eve = await market.person()
    expect(await invoke(market.plane, eve.seller, testConnection, place())).toMatchObject({ ok: true })
    const model = { ...place(), model: 'gpt-test' }
    expect(await invoke(market.plane, eve.seller, testConnection, model)).toMatchObject({ ok: true })
    const bad = { ...place(), apiKey: 'sk-bad-canary-9' }
    expect(await invoke(market.plane, eve.seller, testConnection, bad)).toEqual({
      ok: false,
      error: 'the provider refused the key',
      status: 401,
    })
    expect((await invoke(market.plane, eve.seller, listConfigs, {})).configs).toEqual([])
    const elsewhere = { ...place(), baseUrl: 'https://elsewhere.example/v1' }
    expect((await refusalOf(invoke(market.plane, eve.seller, testConnection, elsewhere))).code).toBe('invalid_base_url')
  })

  it('tests the health of models one by one, each with an API token of its own', async () => {
    await behave('claude-test', 'server-error')
    market.provider.requests.reset()
    const models = ['gpt-test', 'claude-test', 'gpt-test']
    const lines = await collectLines(await invoke(market.plane, ada.seller, testHealth, { ...place(), models }))
    await behave('claude-test', null)
    expect(lines).toHaveLength(2)
    expect(lines.find(({ model }) => model === 'gpt-test')).toMatchObject({ ok: true })
    expect(lines.find(({ model }) => model === 'claude-test')).toMatchObject({
      ok: false,
      error: 'the provider did not serve the model (500)',
    })
    const asked = market.provider.requests.list().map(({ path }) => path)
    expect(asked).toEqual(['/v1/chat/completions', '/v1/chat/completions'])
    for (const bad of [[], Array.from({ length: 51 }, (_, at) => `m${at}`)]) {
      const call = invoke(market.plane, ada.seller, testHealth, { ...place(), models: bad })
      expect((await refusalOf(call)).code).toBe('invalid_request')
    }
  })
})

describe('providers of media', () => {
  const KINDS = {
    'picture-test': { endpoints: ['image'], unit_pricing: { images: '0.04', images_4k: '0.12' } },
    'voice-test': { endpoints: ['speech'], unit_pricing: { characters: '0.000015' } },
    'heard-test': { endpoints: ['transcription'], unit_pricing: { minutes: '0.006' } },
    'vector-test': { endpoints: ['embeddings'] },
    'gone-test': { endpoints: ['image'], unit_pricing: { images: '0.04' } },
  }
  const names = Object.keys(KINDS)
  let maker: SampleProvider
  const place = () => ({ apiKey: newProviderKey(), baseUrl: maker.url })

  beforeAll(async () => {
    const hasModel = (name: string) => name !== 'gone-test'
    maker = await createSampleProvider({
      host: '127.0.0.1',
      port: 0,
      name: 'maker',
      models: ['picture-test'],
      hasModel,
    })
    await invoke(market.plane, operator, putProvider, {
      id: 'maker',
      name: 'Maker',
      baseUrl: maker.url,
      isTrusted: true,
    })
    const pricing = { prompt: '0', completion: '0' }
    const models = Object.entries(KINDS).map(([name, kind]) => textModel(name, { pricing, ...kind }))
    await invoke(market.plane, operator, importCatalog, { source: 'test', models })
  })
  afterAll(() => maker.close())

  it('are tested with one embedded word and no billed work, and the answer names the models that fail', async () => {
    maker.requests.reset()
    const lines = await collectLines(await invoke(market.plane, ada.seller, testHealth, { ...place(), models: names }))
    expect(new Map(lines.map(({ model, ok, error }) => [model, [ok, error]]))).toEqual(
      new Map(names.map((name) => [name, name === 'gone-test' ? [false, REFUSED] : [true, undefined]])),
    )
    const asked = maker.requests.list()
    expect(asked.map(({ path }) => path).sort(byText)).toEqual([
      '/v1/audio/speech',
      '/v1/audio/transcriptions',
      '/v1/embeddings',
      '/v1/images/generations',
      '/v1/images/generations',
    ])
    for (const { path, body } of asked.filter(({ path: of }) => of !== '/v1/embeddings'))
      for (const made of ['prompt', 'input', 'file']) expect(body ?? {}, path).not.toHaveProperty(made)
  })
  const REFUSED = 'the provider did not serve the model (404)'

  it('are listed in bulk whether the provider’s list names them or not', async () => {
    const eve = await market.person()
    const offers = names.map((model) => ({ model, discount: 10 }))
    const { lines } = await invoke(market.plane, eve.seller, bulkCreateOffers, { ...place(), offers })
    const made = await collectLines(lines)
    expect(
      made
        .filter(({ status }) => status === 'created')
        .map(({ model }) => model)
        .sort(byText),
    ).toEqual(names.filter((name) => name !== 'gone-test').sort(byText))
    expect(made.find(({ model }) => model === 'gone-test')).toMatchObject({ code: 'provider_probe_failed' })
  })

  it('are discovered with their units: a floor only where a tier is more expensive, and on sale only where they run', async () => {
    const discover = async (more: object = {}) => {
      const input = { ...place(), ...more }
      const found = await collectLines(await invoke(market.plane, ada.seller, discoverModels, input))
      return found.find(({ model }) => model === 'picture-test')
    }
    const none = { inputPer1m: null, outputPer1m: null }
    const unitPrices = [
      { unit: 'image', usd: 0.04 },
      { unit: 'image_4k', usd: 0.12 },
    ]
    const pricing = { ...none, priceUnit: 'per image', unitPrice: 0.04, unitPrices, priceVariable: true }
    expect(await discover()).toMatchObject({ supported: true, pricing, metadata: { modelType: 'image' } })
    // The messages protocol has no pictures, so an offer there is refused.
    const elsewhere = await discover({ apiFormat: 'messages' })
    expect(elsewhere).toMatchObject({ supported: false, pricing, metadata: { availabilityStatus: 'not_run_there' } })
  })
})

describe('over REST', () => {
  it('streams bulk, discovery and health tests as NDJSON, whole to the last line', async () => {
    const eve = await market.person()
    const key = eve.sellerKey
    const place = { api_key: newProviderKey(), base_url: market.provider.url }
    const answers = [
      await market.rest('POST', '/v1/seller/offers/bulk', {
        key,
        body: { ...place, offers: [{ model: 'gpt-test', cost_multiplier: 0.5, cap_daily_usd: 1 }] },
      }),
      await market.rest('POST', '/v1/seller/discover', { key, body: place }),
      await market.rest('POST', '/v1/seller/test-health', { key, body: { ...place, models: ['gpt-test'] } }),
    ]
    for (const { status, headers, text } of answers) {
      expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
      expect(text.endsWith('\n')).toBe(true)
      for (const line of text.trimEnd().split('\n')) expect(z.object({ model: z.string() }).parse(JSON.parse(line)))
    }
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ status: 'created', offer_id: expect.any(String) })
    const cancelled = await market.rest('POST', '/v1/seller/offers/bulk-cancel', { key })
    expect([cancelled.status, cancelled.body]).toMatchObject([202, { status: 'pending', total: 1, failed_count: 0 }])
  })
})
