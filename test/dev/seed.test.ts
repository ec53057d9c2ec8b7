import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { priceLinesOf, storedLines } from '#control-plane/services/catalog/catalog-items.ts'
import { readKeptProviders } from '#control-plane/services/catalog/kept/kept-providers.ts'
import { modelsOf, readCatalog } from '#dev/seed/catalog.ts'
import { readSandboxProviders, readSellers } from '#dev/seed/sellers.ts'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { createHostList } from '#shared/catalog/provider-hosts.ts'
import { baseUrlsOf, hostsOf, ProviderSchema } from '#shared/catalog/providers.ts'
import { createResolver } from '#shared/catalog/resolve.ts'
import { percentToKept } from '#shared/discount.ts'
import type { ImageQuality } from '#shared/images.ts'
import { IMAGE_QUALITIES, likelyImageTokens, mostImageTokens, readSize } from '#shared/images.ts'

const catalog = await readCatalog()
const models = modelsOf(catalog)
const real = models.filter((model) => !model.isSandbox)
const pricesOf = (id: string) =>
  [...catalog.real, ...catalog.sandbox]
    .filter(({ canonical }) => canonical === id)
    .map((item) => storedLines(priceLinesOf(item)).unitPrices)[0]

/** The default models of Claude Code, Codex, opencode, and the examples of the official SDKs. */
const DEFAULTS = [
  'claude-opus-5-5',
  'claude-sonnet-5-5',
  'claude-sonnet-5',
  'claude-haiku-4-5-20251001',
  'claude-haiku-5-5',
  'gpt-5.3-codex',
  'gpt-5.5',
  'gpt-5.4',
  'gpt-6.1-sol',
  'gemini-3.8-flash',
  'openai/gpt-5.4',
  'anthropic/claude-opus-4.6',
]

describe('the seeds', () => {
  it('have real models of many makers, each valid and with a unique name', () => {
    expect(real.length).toBeGreaterThanOrEqual(200)
    expect(new Set(real.map((model) => model.lab)).size).toBeGreaterThanOrEqual(9)
    for (const model of models) expect(ModelSchema.safeParse(model).error).toBeUndefined()
    const names = models.flatMap((model) => [model.id, `${model.lab}/${model.id}`, ...model.aliases])
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('have a price for every real model, and none for the sandbox models', () => {
    for (const model of models) {
      const costsSomething = Object.values(pricesOf(model.id) ?? {}).some((price) => price !== '0')
      expect(costsSomething, model.id).toBe(!model.isSandbox)
    }
    expect(pricesOf('claude-sonnet-4.5')).toEqual({
      input: '3000000',
      output: '15000000',
      cacheRead: '300000',
      cacheWrite: '3750000',
      cacheWriteLong: '6000000',
      searches: '10000000000',
    })
    expect(pricesOf('flux-1-schnell')?.['pixels']).toBe('3000')
    expect(pricesOf('whisper-1')?.['milliseconds']).toBe('100000')
  })

  it('have the number of tokens of a picture, by size and quality, wherever pictures are sold by tokens', () => {
    const isByToken = ({ id, endpoints }: Model) =>
      endpoints.includes('image') && pricesOf(id)?.['images'] === undefined && pricesOf(id)?.['pixels'] === undefined
    const tables = real.filter(isByToken).map(({ id, imageOutput }) => ({ id, imageOutput }))
    expect(tables.map(({ id }) => id)).toEqual(['gpt-image-1', 'gemini-2.5-flash-image'])
    for (const { id, imageOutput } of tables) {
      // The figures have a source and the day on which they were read.
      expect(imageOutput, id).toMatchObject({
        source: expect.stringMatching(/^https:/),
        date: expect.stringMatching(/^\d{4}-/),
      })
      for (const quality of IMAGE_QUALITIES) {
        for (const name of ['1024x1024', '1024x1536', '1536x1024', '2048x2048', '64x64']) {
          const shape = { size: readSize(name)?.size, resolution: undefined, quality }
          const likely = likelyImageTokens(imageOutput, shape)
          expect(likely).toBeGreaterThan(0)
          expect([id, quality, name, likely <= mostImageTokens(imageOutput, shape)]).toEqual([id, quality, name, true])
        }
      }
    }
    // As platform.openai.com/docs/guides/image-generation has them.
    const [table = null] = tables.map(({ imageOutput }) => imageOutput)
    const tokens = (quality: ImageQuality, name: string) =>
      likelyImageTokens(table, { size: readSize(name)?.size, resolution: undefined, quality })
    const sizes = ['1024x1024', '1024x1536', '1536x1024']
    expect((['low', 'medium', 'high'] as const).map((quality) => sizes.map((size) => tokens(quality, size)))).toEqual([
      [272, 408, 400],
      [1_056, 1_584, 1_568],
      [4_160, 6_240, 6_208],
    ])
  })

  it.each([
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4.5'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4.5'],
    ['claude-sonnet-latest', 'claude-sonnet-5.5'],
    ['gpt-5-mini-2025-08-07', 'gpt-5-mini'],
    ['deepseek-r1', 'deepseek-r1-0528'],
    ['sandbox/echo', 'sandbox/echo'],
  ])('resolve %s to %s', (name, id) => {
    const resolve = createResolver(models)
    expect(resolve(name)?.id).toBe(id)
  })

  it('list trusted and untrusted providers', () => {
    const providers = readKeptProviders()
    for (const provider of providers) expect(ProviderSchema.safeParse(provider).error).toBeUndefined()
    expect(providers.length).toBeGreaterThanOrEqual(12)
    const endpointsOf = (id: string) => providers.find((provider) => provider.id === id)?.endpoints
    expect(endpointsOf('anthropic')).toEqual(['chat'])
    expect(endpointsOf('groq')).toEqual(['chat', 'speech', 'transcription'])
    expect(endpointsOf('openrouter')).toBeNull()
    expect(new Set(providers.map(({ isTrusted }) => isTrusted)).size).toBe(2)
    expect(readSandboxProviders().map(({ id }) => id)).toEqual([
      'sandbox-a',
      'sandbox-b',
      'sandbox-c',
      'sandbox-d',
      'sandbox-e',
    ])
  })

  it('allow every address on the page for sellers', () => {
    const page = readFileSync(new URL('../../docs/sell.md', import.meta.url), 'utf8')
    const named = [...page.matchAll(/(?:--provider |\| `)(https:[^\s`]+)/g)].map(([, url = '']) => url)
    expect(named.length).toBeGreaterThan(10)
    const providers = readKeptProviders()
    for (const url of named) {
      const { host } = new URL(url)
      const provider = providers.find((one) => createHostList(hostsOf(one)).has(host))
      expect(provider && baseUrlsOf(provider, [host]), url).toContain(url)
    }
  })

  it('give three sellers many offers at valid and different discounts', () => {
    const sellers = readSellers(models, catalog.packaged)
    expect(sellers).toHaveLength(3)
    const known = new Set(models.map((model) => model.id))
    for (const { books } of sellers) {
      expect(books[0]?.offers.filter(({ model }) => !model.startsWith('sandbox/')).length).toBeGreaterThanOrEqual(30)
      for (const offer of books.flatMap((book) => book.offers)) {
        expect(known).toContain(offer.model)
        expect(() => percentToKept(offer.discountPercent)).not.toThrow()
      }
    }
    // Every maker's models are sold at more than one price.
    const made = [
      'gpt-image-1',
      'dall-e-3',
      'flux-1-dev',
      'sora-2',
      'veo-3.0-generate-001',
      'kling-v2.1-master',
      'music-1.5',
    ]
    for (const name of made) {
      const discounts = sellers.flatMap(({ books }) =>
        books.flatMap(({ offers }) =>
          offers.filter(({ model }) => model === name).map((offer) => offer.discountPercent),
        ),
      )
      expect([name, new Set(discounts).size > 1]).toEqual([name, true])
    }
    const sold = new Set(
      sellers.flatMap(({ books }) => books.flatMap(({ offers }) => offers.map(({ model }) => model))),
    )
    expect(real.map(({ id }) => id).filter((id) => !sold.has(id) && !catalog.packaged.has(id))).toEqual([])
    // The models that coding agents and the official SDKs use by default.
    const resolve = createResolver(models)
    for (const name of DEFAULTS) expect([name, sold.has(resolve(name)?.id ?? '')]).toEqual([name, true])
    const labs = new Set(real.filter(({ endpoints }) => endpoints.includes('chat')).map(({ lab }) => lab))
    for (const lab of labs)
      expect([lab, real.some((model) => model.lab === lab && sold.has(model.id))]).toEqual([lab, true])
    const mini = sellers.map(({ books }) => books[0]?.offers.find(({ model }) => model === 'gpt-5-mini'))
    expect(mini.map((offer) => offer?.discountPercent)).toEqual([40, 30, 20])
  })
})
