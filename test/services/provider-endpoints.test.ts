import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collectLines } from '#control-plane/api/collect-lines.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { listProviders, trustProvider } from '#control-plane/services/catalog/provider-list.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema } from '#shared/contract/snapshot.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey } from '#test/support/doors/offers.ts'
import { textModel } from '#test/support/facts/text-model.ts'

const VECTORS = 'vectors-test'
const SONGS = 'songs-test'
let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  const models = [textModel(VECTORS, { endpoints: ['embeddings'] }), textModel(SONGS, { endpoints: ['music'] })]
  await invoke(market.plane, operator, importCatalog, { source: 'test', models })
})
afterAll(() => market.stop())

const put = (changes: object) =>
  invoke(market.plane, operator, putProvider, {
    id: 'test',
    name: 'Test',
    baseUrl: market.provider.url,
    isTrusted: true,
    ...changes,
  })
const stored = async () =>
  (await invoke(market.plane, operator, listProviders, {})).find(({ id }) => id === 'test')?.endpoints

describe('the endpoints of a provider', () => {
  it('are all endpoints by default, and stay through a change of trust', async () => {
    expect(await stored()).toBeNull()
    await put({ endpoints: ['chat', 'image-edit'] })
    expect(await stored()).toEqual(['chat', 'image-edit'])
    await invoke(market.plane, operator, trustProvider, { id: 'test', isTrusted: false, reason: 'test' })
    expect(await stored()).toEqual(['chat', 'image-edit'])
    await put({})
    expect(await stored()).toBeNull()
  })

  it('may be each endpoint that a model can have, and no other, in the operation and in the table', async () => {
    for (const endpoint of ENDPOINTS) {
      await put({ endpoints: [endpoint] })
      expect(await stored()).toEqual([endpoint])
    }
    await put({ endpoints: [...ENDPOINTS] })
    for (const endpoints of [[], ['chats'], ['chat', 'chat'], 'chat']) {
      expect((await refusalOf(put({ endpoints }))).code).toBe('invalid_request')
    }
    for (const endpoints of ['{}', '{chats}', '{chat,null}']) {
      const update = sql`update provider set endpoints = ${endpoints}::text[] where id = 'test'`
      await expect(update.execute(market.plane.db)).rejects.toThrow('provider_endpoints')
    }
    await put({})
  })

  it('are in the published document, whose older form reads as all endpoints', async () => {
    await put({ endpoints: ['chat'] })
    const text = await market.world.redis.get('snap:doc:providers')
    const { body } = DocumentEnvelopeSchema.parse(JSON.parse(text ?? 'null'))
    const { providers } = DOCUMENT_SCHEMAS.providers.parse(body)
    expect(providers.find(({ id }) => id === 'test')?.endpoints).toEqual(['chat'])
    const { endpoints: _, ...older } = await put({})
    expect(DOCUMENT_SCHEMAS.providers.parse({ providers: [older] }).providers[0]?.endpoints).toBeNull()
  })
})

describe('an offer of a model none of whose endpoints the host runs', () => {
  it('is refused before the provider is asked', async () => {
    await put({ endpoints: ['chat', 'speech'] })
    market.provider.requests.reset()
    const refused = await refusalOf(listOffer(market, ada.seller, { model: VECTORS }))
    expect([refused.code, refused.status, refused.detail]).toEqual([
      'model_capability_unsupported',
      400,
      { provider: 'test', provider_endpoints: ['chat', 'speech'], model_endpoints: ['embeddings'] },
    ])
    expect(refused.message).toBe('The host of Test runs chat, speech. The model needs embeddings.')
    expect(market.provider.requests.count()).toBe(0)
    expect((await listOffer(market, ada.seller)).model).toBe('gpt-test')
    await put({ endpoints: ['embeddings'] })
    expect((await refusalOf(listOffer(market, ada.seller))).code).toBe('model_capability_unsupported')
    const given = { model: VECTORS, providerModel: 'gpt-test' }
    expect((await listOffer(market, ada.seller, given)).model).toBe(VECTORS)
  })

  it('is refused in the line of its row in a bulk creation, and spoils no other row', async () => {
    await put({ endpoints: ['chat'] })
    const offers = [
      { model: VECTORS, discount: 10 },
      { model: 'gpt-test', discount: 10 },
    ]
    const input = { apiKey: newProviderKey(), baseUrl: market.provider.url, offers }
    const run = await invoke(market.plane, ada.seller, bulkCreateOffers, input)
    const lines = await collectLines(run.lines)
    expect(lines.find(({ model }) => model === VECTORS)).toEqual({
      model: VECTORS,
      status: 'error',
      code: 'model_capability_unsupported',
      error: 'The host of Test runs chat. The model needs embeddings.',
    })
    expect(lines.find(({ model }) => model === 'gpt-test')?.status).toBe('created')
  })
})

describe('an offer of music in a protocol without music', () => {
  it('is refused with that reason before the provider is asked, whatever its host runs', async () => {
    for (const endpoints of [null, ['music']]) {
      await put({ endpoints })
      market.provider.requests.reset()
      const refused = await refusalOf(listOffer(market, ada.seller, { model: SONGS, providerModel: 'gpt-test' }))
      expect([refused.code, refused.status, refused.detail]).toEqual([
        'model_capability_unsupported',
        400,
        { api_format: 'openai', model_endpoints: ['music'] },
      ])
      expect(refused.message).toBe('The protocol openai cannot serve music, which the model needs.')
      expect(market.provider.requests.count()).toBe(0)
    }
    await put({})
  })
})

describe('an offer in a protocol that has no endpoint of the model', () => {
  it.each(['messages', 'fal'] as const)('is refused before the provider is asked: %s', async (apiFormat) => {
    await put({ endpoints: null })
    const refused = refusalOf(listOffer(market, ada.seller, { model: VECTORS, apiFormat }))
    expect(await refused).toMatchObject({
      code: 'model_capability_unsupported',
      param: 'apiFormat',
      detail: { api_format: apiFormat, model_endpoints: ['embeddings'] },
    })
  })
})

describe('the hosts of a provider’s files', () => {
  it('are public names, each in one spelling', async () => {
    const withHosts = (fileHosts: string[]) => put({ fileHosts })
    const hosts = ['cdn.example.com', 'v3.files.example', '127.0.0.1:9000']
    expect((await withHosts(hosts)).fileHosts).toEqual(hosts)
    const bad = ['Cdn.example.com', 'https://cdn.example.com', 'cdn.example.com/', 'cdn.example.com:443', '10.0.0.1']
    const inner = ['localhost.', '*.example.com', 'files', 'files.internal', 'printer.local', '', 'a@b.example']
    for (const host of [...bad, ...inner, 'é.example']) {
      expect((await refusalOf(withHosts([host]))).code, host).toBe('invalid_request')
    }
    expect((await refusalOf(withHosts(['a.example', 'a.example']))).code).toBe('invalid_request')
    expect((await put({})).fileHosts).toEqual([])
  })
})
