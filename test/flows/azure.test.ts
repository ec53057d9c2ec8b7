import { afterAll, beforeAll, expect } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'
import { askAsSeller, readAsBuyer, toolLoopSuite } from '#test/support/translation/tool-loop-suite.ts'

/** Models at a resource of Azure, each in one protocol and at a provider that has no other offer of it. */
const SOLD = [
  {
    title: 'a deployment of Azure',
    apiFormat: 'azuredeployments',
    path: '/openai',
    seller: 'sandbox-a',
    model: 'o1',
    providerModel: 'our-o1?api-version=2025-01-01-preview',
  },
  {
    title: 'the first version of Azure',
    apiFormat: 'azure',
    path: '/openai/v1',
    seller: 'sandbox-a',
    model: 'o3-mini',
    providerModel: 'our-o3-mini',
  },
  {
    title: 'the responses of Azure',
    apiFormat: 'azureresponses',
    path: '/openai/v1',
    seller: 'sandbox-a',
    model: 'gpt-5.6-luna',
    providerModel: 'our-gpt-5.6-luna',
  },
] as const
const DISCOUNT = 20
const Offer = z.object({ id: z.string() })

let network: Network
const offers: string[] = []

beforeAll(async () => {
  network = await sharedNetwork()
  const resource = new URL(network.sandbox.provider_url).origin
  for (const { apiFormat, path, model, providerModel, seller } of SOLD) {
    const made = await askAsSeller(network, 'POST', '/v1/seller/offers', {
      model,
      api_key: 'key-of-the-resource',
      api_format: apiFormat,
      provider_model: providerModel,
      seller_base_url: resource + path,
      discount: DISCOUNT,
    })
    expect(made).toMatchObject({ api_format: apiFormat, provider_model: providerModel })
    offers.push(Offer.parse(made).id)
    await until('the offer is on sale', 10_000, async () =>
      JSON.stringify(await readAsBuyer(network, `/api/markets/${model}`)).includes(seller),
    )
  }
})
afterAll(async () => {
  for (const offer of offers) await askAsSeller(network, 'DELETE', `/v1/seller/offers/${offer}`)
  await network?.remove()
})

for (const { title, seller, model } of SOLD) {
  toolLoopSuite({ title, network: () => network, seller, model, discount: DISCOUNT, countsThoughts: true })
}
