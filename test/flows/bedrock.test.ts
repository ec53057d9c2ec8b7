import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sampleSecret } from '#dev/provider/bedrock-call.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'
import { askAsSeller, readAsBuyer, toolLoopSuite } from '#test/support/translation/tool-loop-suite.ts'

/** The provider at which the test lists a model with an access key. It has no other offer of that model. */
const SELLER = 'sandbox-a'
const MODEL = 'claude-opus-4'
const DISCOUNT = 20
const ACCESS_KEY = 'AKIASANDBOXEXAMPLE01'
const PAIR = JSON.stringify({ secret_access_key: sampleSecret(ACCESS_KEY), access_key_id: ACCESS_KEY }, null, 2)

let network: Network
let offer = ''

beforeAll(async () => {
  network = await sharedNetwork()
  const made = await sell('POST', '/v1/seller/offers', inputWith(PAIR))
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
const inputWith = (apiKey: string) => ({
  model: MODEL,
  api_key: apiKey,
  api_format: 'bedrock',
  seller_base_url: `${network.sandbox.provider_url}/v1`,
  discount: DISCOUNT,
})

const sell = (method: string, path: string, body?: object) => askAsSeller(network, method, path, body)

toolLoopSuite({
  title: 'a seller of Bedrock',
  network: () => network,
  seller: SELLER,
  model: MODEL,
  discount: DISCOUNT,
  showsThoughts: true,
})

describe('a credential of Bedrock', () => {
  it('has one normal form for every spelling, and no part of it is repeated in errors', async () => {
    const again = JSON.stringify({ access_key_id: ACCESS_KEY, secret_access_key: sampleSecret(ACCESS_KEY) })
    expect(await sell('POST', '/v1/seller/offers', inputWith(again))).toMatchObject({
      error: { code: 'duplicate_offer_for_credential' },
    })
    const strange = JSON.stringify({ access_key_id: ACCESS_KEY, secret: 'wJalrXUtnFEMI-very-secret' })
    const refused = await sell('POST', '/v1/seller/offers', inputWith(strange))
    expect(refused).toMatchObject({ error: { code: 'invalid_request', message: expect.stringContaining('api_key') } })
    expect(JSON.stringify(refused)).not.toMatch(/wJalrXUtnFEMI|AKIASANDBOX/)
    const wrong = JSON.stringify({ access_key_id: 'AKIASANDBOXEXAMPLE02', secret_access_key: sampleSecret(ACCESS_KEY) })
    const unproven = await sell('POST', '/v1/seller/offers', inputWith(wrong))
    expect(unproven).toMatchObject({ error: { code: 'provider_probe_failed', detail: { provider_status: 403 } } })
    expect(JSON.stringify(unproven)).toContain('the provider refused the key')
  })

  it('works without a list of models: the seller names them', async () => {
    const { model: _, discount: __, ...place } = inputWith(PAIR)
    const discovered = await sell('POST', '/v1/seller/discover', place)
    expect(discovered).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('Name the models') },
    })
  })
})
