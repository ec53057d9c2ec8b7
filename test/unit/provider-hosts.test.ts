import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHostList, doHostsOverlap, HOST_PATTERNS, isHostPattern } from '#shared/catalog/provider-hosts.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { baseUrlsOf, createProviderFinder, hostsOf, ProviderSchema } from '#shared/catalog/providers.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'
import { buildProvider } from '#test/support/bytes/build-market.ts'

const production = { allowsLoopback: false }
const every = createHostList(HOST_PATTERNS)

/** A host that matches each pattern. */
const SAMPLES: Readonly<Record<string, string>> = {
  '*.openai.azure.com': 'my-resource2.openai.azure.com',
  '*.services.ai.azure.com': 'r.services.ai.azure.com',
  '*.cognitiveservices.azure.com': 'my-resource.cognitiveservices.azure.com',
  'bedrock-runtime.*.amazonaws.com': 'bedrock-runtime.us-east-1.amazonaws.com',
  'bedrock-runtime-fips.*.amazonaws.com': 'bedrock-runtime-fips.us-gov-west-1.amazonaws.com',
  'bedrock-runtime.*.api.aws': 'bedrock-runtime.ap-southeast-2.api.aws',
  'bedrock-mantle.*.api.aws': 'bedrock-mantle.eu-central-1.api.aws',
  '*-aiplatform.googleapis.com': 'northamerica-northeast1-aiplatform.googleapis.com',
  'aiplatform.*.rep.googleapis.com': 'aiplatform.eu.rep.googleapis.com',
}

describe('a pattern of hosts', () => {
  it.each(HOST_PATTERNS)('matches hosts of the provider, and no host of another owner: %s', (pattern) => {
    const sample = SAMPLES[pattern] ?? ''
    const list = createHostList([pattern])
    expect(list.has(sample)).toBe(true)
    expect(checkOutboundUrl(`https://${sample}/v1`, list, production)?.host).toBe(sample)
    const [before = '', behind = ''] = pattern.split('*')
    const strange = [
      pattern,
      `${before}${behind}`,
      `${before}a.b${behind}`,
      `${before}-${behind}`,
      `${before}a_b${behind}`,
      `${before}${'a'.repeat(64)}${behind}`,
      `${sample}.evil.example`,
      `${sample}:8443`,
      `${sample}.`,
      `evil.example/${sample}`,
      `x${sample}.`,
      `evil-${before}us-east-1.evil.example`,
    ]
    for (const host of strange) {
      expect(list.has(host), host).toBe(false)
      expect(checkOutboundUrl(`https://${host}/v1`, list, production), host).toBeUndefined()
    }
    for (const url of [`http://${sample}/`, `https://u@${sample}/`, `https://${sample}\\@evil.example/`]) {
      expect(checkOutboundUrl(url, list, production), url).toBeUndefined()
    }
  })

  it('matches no bucket and no load balancer that a stranger can open under the same domain', () => {
    const strange = [
      'bedrock-runtime.s3.amazonaws.com',
      'bedrock-runtime.elb.amazonaws.com',
      'bedrock-runtime.s3-us-east-1.amazonaws.com',
      'bedrock-runtime.us-east-1.elb.amazonaws.com',
      'bedrock-runtime.us-east-1.amazonaws.com.evil.example',
      'us-east-1.amazonaws.com',
      'bucket.storage.googleapis.com',
      'storage.googleapis.com',
      'evil.azure.com',
      'openai.azure.com',
      'a.b.openai.azure.com',
      'notbedrock-runtime.us-east-1.amazonaws.com',
    ]
    for (const host of strange) expect(every.has(host), host).toBe(false)
  })

  it('is on the list of known patterns, and does not match every host', () => {
    for (const pattern of [
      '*',
      '*.com',
      '*.co.uk',
      '*.amazonaws.com',
      '*.s3.amazonaws.com',
      '*.github.io',
      '*.vercel.app',
      '*.azure.com',
      '*.*.openai.azure.com',
      'a*b.*.openai.azure.com',
      '**.openai.azure.com',
      'bedrock-runtime.*.*',
      'bedrock-runtime.*',
      '*.openai.azure.com:443',
      '*.OPENAI.azure.com',
    ]) {
      expect(isHostPattern(pattern), pattern).toBe(false)
      expect(createHostList([pattern]).has(pattern), pattern).toBe(false)
      expect(ProviderSchema.safeParse({ ...buildProvider('a'), hosts: [pattern] }).success, pattern).toBe(false)
      expect(ProviderSchema.safeParse({ ...buildProvider('a'), host: pattern }).success, pattern).toBe(false)
    }
  })

  it('has any single label in the place of its star', () => {
    const anyText = fc.string({ unit: fc.constantFrom(...'abz019-.*_:/@%A '), maxLength: 70 })
    const property = fc.property(fc.constantFrom(...HOST_PATTERNS), anyText, (pattern, star) => {
      const host = pattern.replace('*', star)
      if (!createHostList([pattern]).has(host)) return
      expect(star).toMatch(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/)
      expect(host.split('.')).toHaveLength(pattern.split('.').length)
    })
    fc.assert(property, { numRuns: 2_000 })
  })
})

describe('the hosts of a provider', () => {
  const azure: Provider = {
    ...buildProvider('azure'),
    baseUrl: 'https://*.openai.azure.com/openai/v1',
    host: '*.openai.azure.com',
    hosts: ['*.services.ai.azure.com', 'azure.example'],
    basePaths: ['/openai'],
  }

  it('all accept its base paths', () => {
    expect(hostsOf(azure)).toEqual(['*.openai.azure.com', '*.services.ai.azure.com', 'azure.example'])
    expect(baseUrlsOf(azure, ['x.openai.azure.com', 'azure.example'])).toEqual([
      'https://x.openai.azure.com/openai/v1',
      'https://x.openai.azure.com/openai',
      'https://azure.example/openai/v1',
      'https://azure.example/openai',
    ])
  })

  it('are accepted as names of the provider from a buyer', () => {
    const find = createProviderFinder([buildProvider('a'), azure])
    for (const hint of ['https://x.services.ai.azure.com/openai/v1', 'y.openai.azure.com', 'azure.example', 'azure']) {
      expect(find(hint)?.id, hint).toBe('azure')
    }
    expect(find('a.example')?.id).toBe('a')
    expect(find('evil.azure.com')).toBeUndefined()
  })

  it('belong to no other provider', () => {
    expect(doHostsOverlap(['*.openai.azure.com'], ['x.openai.azure.com'])).toBe(true)
    expect(doHostsOverlap(['x.openai.azure.com'], ['*.openai.azure.com'])).toBe(true)
    expect(doHostsOverlap(['*.openai.azure.com'], ['*.openai.azure.com'])).toBe(true)
    expect(doHostsOverlap(['a.example'], ['b.example', 'a.example'])).toBe(true)
    expect(doHostsOverlap(['*.openai.azure.com', 'a.example'], ['*.services.ai.azure.com', 'b.example'])).toBe(false)
  })
})
