import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collectLines } from '#control-plane/api/collect-lines.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog } from '#control-plane/services/catalog/catalog.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { createOwnProvider } from '#control-plane/services/routing/own-providers.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey, offerInput } from '#test/support/doors/offers.ts'
import { textModel } from '#test/support/facts/text-model.ts'

let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market.stop())

describe('a model that calls tools while it thinks on responses alone', () => {
  const MODEL = 'thinks-test'
  const asked = (from: number) =>
    market.provider.requests
      .list()
      .slice(from)
      .map(({ path }) => path)

  beforeAll(async () => {
    const facts = { supported_parameters: ['tools', 'reasoning_effort'], supported_features: ['tools', 'reasoning'] }
    await invoke(market.plane, operator, importCatalog, { source: 'test', models: [textModel(MODEL, facts)] })
  })

  it('is listed there, singly, in bulk and for the buyer’s own key, after a request with a tool', async () => {
    const eve = await market.person()
    const listed = await listOffer(
      market,
      eve.seller,
      offerInput(market, { model: MODEL, providerModel: 'gpt-5.6-terra' }),
    )
    expect(listed.apiFormat).toBe('responses')
    const row = { model: MODEL, providerModel: 'gpt-5.6-terra', discount: 10 }
    const place = { apiKey: newProviderKey(), sellerBaseUrl: market.provider.url }
    const { lines } = await invoke(market.plane, eve.seller, bulkCreateOffers, { ...place, offers: [row] })
    expect(await collectLines(lines)).toMatchObject([{ status: 'created' }])
    const own = { model: MODEL, providerModel: 'gpt-5.6-terra', apiKey: newProviderKey(), baseUrl: market.provider.url }
    expect((await invoke(market.plane, eve.buyer, createOwnProvider, own)).apiFormat).toBe('responses')
  })

  it('is listed as a chat, by one request, where the provider accepts tools with thoughts', async () => {
    const eve = await market.person()
    const from = market.provider.requests.list().length
    const listed = await listOffer(market, eve.seller, offerInput(market, { model: MODEL, providerModel: 'gpt-5' }))
    expect([listed.apiFormat, asked(from)]).toEqual(['openai', ['/v1/chat/completions']])
  })

  it('is listed as a chat where the provider accepts no tools', async () => {
    const eve = await market.person()
    const once = { model: 'gpt-5-plain', behaviour: 'sandbox/unknown-member', times: 1 }
    await fetch(new URL('/__sandbox/behave', market.provider.url), { method: 'POST', body: JSON.stringify(once) })
    const listed = await listOffer(
      market,
      eve.seller,
      offerInput(market, { model: MODEL, providerModel: 'gpt-5-plain' }),
    )
    expect(listed.apiFormat).toBe('openai')
  })
})
