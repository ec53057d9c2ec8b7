import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findCredential } from '#control-plane/db/credentials.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ProbeTarget } from '#control-plane/ports/provider/probe.ts'
import { putProvider } from '#control-plane/services/catalog/catalog.ts'
import { listProviders, removeProvider } from '#control-plane/services/catalog/provider-list.ts'
import { listConfigs } from '#control-plane/services/offers/configs.ts'
import { discoverModels } from '#control-plane/services/offers/discovery.ts'
import { DOCUMENT_SCHEMAS, DocumentEnvelopeSchema } from '#shared/contract/snapshot.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer, newProviderKey } from '#test/support/doors/offers.ts'

let market: TestMarket
let ada: Person
const asked: ProbeTarget[] = []

beforeAll(async () => {
  market = await startMarket({
    overrides: {
      // Tests reach no provider's real host.
      probe: async (target) => {
        asked.push(target)
        // Some deployments answer on responses alone, and Azure reports that.
        const isOther = target.providerModel === 'my-codex' && target.apiFormat === 'azure'
        if (isOther) return { isAccepted: false, status: 400, reason: 'not on chats', speaks: 'azureresponses' }
        return { isAccepted: true, latencyMs: 1, usage: {} }
      },
    },
  })
  ada = await market.person()
})
beforeEach(() => asked.splice(0))
afterAll(() => market.stop())

const AZURE = {
  id: 'azure',
  name: 'Azure',
  baseUrl: 'https://*.openai.azure.com/openai/v1',
  hosts: ['*.services.ai.azure.com'],
  isTrusted: true,
}
const put = (changes: object = {}) => invoke(market.plane, operator, putProvider, { ...AZURE, ...changes })

describe('a provider whose hosts are patterns', () => {
  it('is stored, listed and published with them', async () => {
    expect(await put()).toMatchObject({ ...AZURE, host: '*.openai.azure.com' })
    const row = (await invoke(market.plane, operator, listProviders, {})).find(({ id }) => id === 'azure')
    expect(row).toMatchObject({ ...AZURE, host: '*.openai.azure.com' })
    const text = await market.world.redis.get('snap:doc:providers')
    const { body } = DocumentEnvelopeSchema.parse(JSON.parse(text ?? 'null'))
    const { providers } = DOCUMENT_SCHEMAS.providers.parse(body)
    expect(providers.find(({ id }) => id === 'azure')).toMatchObject({ ...AZURE, host: '*.openai.azure.com' })
  })

  it('has only known patterns, and names of public hosts', async () => {
    for (const baseUrl of [
      'https://*.com/v1',
      'https://*.amazonaws.com',
      'https://*.co.uk/v1',
      'http://*.openai.azure.com/v1',
      'https://*.openai.azure.com:8443/v1',
      'https://a.example/*',
      'https://*.openai.azure.com/*',
      'https://*@a.example/v1',
    ]) {
      const refused = await refusalOf(put({ baseUrl }))
      expect([refused.code, refused.param], baseUrl).toEqual(['invalid_base_url', 'baseUrl'])
      expect(refused.message, baseUrl).toContain('or one of *.openai.azure.com')
    }
    for (const host of ['*.com', '*.evil.example', '*', 'A.example', 'https://a.example', 'nas.local', '10.0.0.1']) {
      const refused = await refusalOf(put({ hosts: [host] }))
      expect([refused.code, refused.param?.split('.')[0]], host).toEqual(['invalid_request', 'hosts'])
    }
  })

  it('shares no host with another provider, by name or by pattern', async () => {
    await put()
    const other = { id: 'other', name: 'Other', isTrusted: false }
    for (const { holder = 'azure', ...given } of [
      { baseUrl: 'https://acme.openai.azure.com/openai/v1' },
      { baseUrl: 'https://*.openai.azure.com/openai' },
      { baseUrl: 'https://other.example/v1', hosts: ['acme.services.ai.azure.com'] },
      { baseUrl: 'https://other.example/v1', hosts: ['allowed.example'], holder: 'public' },
    ]) {
      const refused = await refusalOf(invoke(market.plane, operator, putProvider, { ...other, ...given }))
      expect([refused.code, refused.message]).toEqual(['conflict', `The provider ${holder} has this host.`])
    }
    const twins = ['one', 'two'].map((id) =>
      invoke(market.plane, operator, putProvider, {
        ...other,
        id,
        baseUrl: `https://${id}.example/v1`,
        hosts: ['shared.example'],
      }),
    )
    const outcomes = await Promise.allSettled(twins)
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    for (const id of ['one', 'two']) {
      await invoke(market.plane, operator, removeProvider, { id, reason: 'test' }).catch(() => undefined)
    }
  })
})

describe('an offer at a host under a pattern', () => {
  it('is listed at a base path of the record, and its key is bound to exactly that host', async () => {
    await put()
    const sellerBaseUrl = 'https://acme.services.ai.azure.com/openai/v1'
    const apiKey = newProviderKey()
    const offer = await listOffer(market, ada.seller, { sellerBaseUrl, apiKey })
    expect([offer.provider, offer.sellerBaseUrl]).toEqual(['azure', sellerBaseUrl])
    expect(asked.map(({ baseUrl }) => baseUrl.href)).toEqual([sellerBaseUrl])
    const { configs } = await invoke(market.plane, ada.seller, listConfigs, {})
    const [saved] = configs
    expect(saved?.hint).toMatch(/^Azure, saved/)
    const reuseKeyFingerprint = saved?.keyFingerprint ?? ''
    expect((await findCredential(market.plane.db, ada.seller.account, reuseKeyFingerprint))?.host).toBe(
      'acme.services.ai.azure.com',
    )
    for (const host of ['other.services.ai.azure.com', 'acme.openai.azure.com']) {
      const elsewhere = { sellerBaseUrl: `https://${host}/openai/v1`, apiKey: undefined, reuseKeyFingerprint }
      const refused = await refusalOf(listOffer(market, ada.seller, { ...elsewhere, model: 'claude-test' }))
      expect([refused.code, refused.param]).toEqual(['invalid_request', 'reuseKeyFingerprint'])
    }
    // The same key at another host is another credential.
    await listOffer(market, ada.seller, { sellerBaseUrl: 'https://acme.openai.azure.com/openai/v1', apiKey })
  })

  it('lists a deployment by its name, in the protocol in which it answers, and requests no list', async () => {
    const place = { sellerBaseUrl: 'https://acme.openai.azure.com/openai/v1', apiKey: newProviderKey() }
    const input = { ...place, apiFormat: 'azure' as const }
    const offer = await listOffer(market, ada.seller, { ...input, model: 'gpt-test', providerModel: 'my-gpt' })
    const other = await listOffer(market, ada.seller, { ...input, model: 'claude-test', providerModel: 'my-codex' })
    expect([offer.apiFormat, other.apiFormat]).toEqual(['azure', 'azureresponses'])
    expect(asked.map(({ apiFormat, providerModel }) => [apiFormat, providerModel])).toEqual([
      ['azure', 'my-gpt'],
      ['azure', 'my-codex'],
      ['azureresponses', 'my-codex'],
    ])
    const refused = await refusalOf(invoke(market.plane, ada.seller, discoverModels, input))
    expect(refused.message).toContain('azure')
  })

  it('keeps the record from losing a host', async () => {
    for (const changes of [{ hosts: [] }, { baseUrl: 'https://azure.example/openai/v1' }]) {
      expect((await refusalOf(put(changes))).code).toBe('conflict')
    }
    expect((await put({ hosts: [...AZURE.hosts, '*.cognitiveservices.azure.com'] })).hosts).toHaveLength(2)
  })

  it('is refused at a stranger’s host and at another path', async () => {
    asked.splice(0)
    for (const sellerBaseUrl of [
      'https://acme.services.ai.azure.com.evil.example/openai/v1',
      'https://a.b.services.ai.azure.com/openai/v1',
      'https://evil.azure.com/openai/v1',
      'https://*.openai.azure.com/openai/v1',
      'https://acme.services.ai.azure.com/v1',
      'http://acme.services.ai.azure.com/openai/v1',
    ]) {
      const refused = await refusalOf(listOffer(market, ada.seller, { sellerBaseUrl }))
      expect(refused.code, sellerBaseUrl).toBe('invalid_base_url')
    }
    expect(asked).toHaveLength(0)
  })
})
