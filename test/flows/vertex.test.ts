import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'
import { askAsSeller, readAsBuyer, toolLoopSuite } from '#test/support/translation/tool-loop-suite.ts'

/** The provider at which the test lists models under a service account. It has no other offer of them. */
const SELLER = 'sandbox-a'
const CLAUDE = { model: 'claude-opus-4', format: 'vertexclaude', publisher: 'anthropic', discount: 20 }
const GEMINI = { model: 'gemini-3.6-flash', format: 'vertex', publisher: 'google', discount: 15 }
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const ACCOUNT = JSON.stringify({
  type: 'service_account',
  project_id: 'sample',
  private_key: privateKey,
  client_email: 'flow@sample.iam.gserviceaccount.com',
  token_uri: 'https://tokens.example/token',
})

let network: Network
const offers: string[] = []

beforeAll(async () => {
  network = await sharedNetwork()
  for (const sold of [CLAUDE, GEMINI]) {
    const made = await askAsSeller(network, 'POST', '/v1/seller/offers', inputWith(sold))
    expect(made).toMatchObject({ id: expect.any(String) })
    offers.push(Offer.parse(made).id)
    await until('the offer is on sale', 10_000, async () =>
      JSON.stringify(await readAsBuyer(network, `/api/markets/${sold.model}`)).includes(SELLER),
    )
  }
})
afterAll(async () => {
  for (const id of offers) await askAsSeller(network, 'DELETE', `/v1/seller/offers/${id}`)
  await network?.remove()
})

const Offer = z.object({ id: z.string() })
const inputWith = ({ model, format, publisher, discount }: typeof CLAUDE) => ({
  model,
  api_key: ACCOUNT,
  api_format: format,
  provider_model: `projects/sample/locations/global/publishers/${publisher}/models/${model}`,
  seller_base_url: `${network.sandbox.provider_url}/v1`,
  discount,
})

toolLoopSuite({
  title: 'a seller of Claude on Vertex AI',
  network: () => network,
  seller: SELLER,
  model: CLAUDE.model,
  discount: CLAUDE.discount,
  showsThoughts: true,
})

toolLoopSuite({
  title: 'a seller of Gemini on Vertex AI',
  network: () => network,
  seller: SELLER,
  model: GEMINI.model,
  discount: GEMINI.discount,
  countsThoughts: true,
})
