import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import { askAsSeller, readAsBuyer, toolLoopSuite } from '#test/support/tool-loop-suite.ts'
import { until } from '#test/support/until.ts'

/** The provider at which the test lists a model under a service account. It has no other offer of that model. */
const SELLER = 'sandbox-a'
const MODEL = 'claude-opus-4'
const DISCOUNT = 20
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
let offer = ''

beforeAll(async () => {
  network = await sharedNetwork()
  const made = await sell('POST', '/v1/seller/offers', wish(ACCOUNT))
  expect(made).toMatchObject({ id: expect.any(String) })
  offer = Offer.parse(made).id
  await until('the offer is on sale', 10_000, async () =>
    JSON.stringify(await readAsBuyer(network, `/api/markets/${MODEL}`)).includes(SELLER),
  )
})
afterAll(async () => {
  if (offer !== '') await sell('DELETE', `/v1/seller/offers/${offer}`)
  await network?.remove()
})

const Offer = z.object({ id: z.string() })
const wish = (apiKey: string) => ({
  model: MODEL,
  api_key: apiKey,
  api_format: 'vertexclaude',
  provider_model: `projects/sample/locations/global/publishers/anthropic/models/${MODEL}`,
  seller_base_url: `${network.sandbox.provider_url}/v1`,
  discount: DISCOUNT,
})

const sell = (method: string, path: string, body?: object) => askAsSeller(network, method, path, body)

toolLoopSuite({
  title: 'a seller of Claude on Vertex AI',
  network: () => network,
  seller: SELLER,
  model: MODEL,
  discount: DISCOUNT,
  showsThoughts: true,
})
