import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { HOUR } from '#shared/clock.ts'
import { grant } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { catalogItem, codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

let market: TestMarket
let staff: ReturnType<TestMarket['trpc']>

beforeAll(async () => {
  market = await startMarket()
  staff = market.trpc(await market.managementKey('operator'))
})
afterAll(() => market.stop())

/** A model in OpenRouter's list, with many members that the market does not read. */
const row = (id: string, changes: object = {}) => ({
  id,
  canonical_slug: `${id}-20260301`,
  hugging_face_id: null,
  name: `Lab: ${id}`,
  created: 1_770_000_000,
  description: 'A model.',
  context_length: 200_000,
  architecture: {
    modality: 'text+image->text',
    input_modalities: ['text', 'image'],
    output_modalities: ['text'],
    tokenizer: 'GPT',
    instruct_type: null,
  },
  pricing: { prompt: '0.000001', completion: '0.000005', request: '0', image: '0', web_search: '0.01' },
  top_provider: { context_length: 200_000, max_completion_tokens: 32_000, is_moderated: true },
  per_request_limits: null,
  supported_parameters: ['temperature', 'tools', 'reasoning'],
  default_parameters: {},
  ...changes,
})

const seed = (model: string) => staff.catalog.import.mutate({ source: 'seed', models: [catalogItem(model)] })

describe('a list of models in the shape of OpenRouter', () => {
  it('is compared first, then imported, with each change in the history and bad rows left out', async () => {
    const models = [
      row('lab/gpt-test', { pricing: { prompt: '0.0000005', completion: '0.000002' } }),
      row('acme/newcomer-1'),
      row('acme/newcomer-1:free'),
      row('acme/newcomer-1'),
      row('acme/auto', { pricing: { prompt: '-1', completion: '-1' } }),
      { id: 7 },
      'nonsense',
    ]
    const diff = await staff.catalog.diff.query({ models })
    expect(diff.models).toBe(2)
    expect(diff.changes.map(({ model, kind }) => [model, kind])).toEqual([
      ['gpt-test', 'changed'],
      ['newcomer-1', 'added'],
    ])
    expect(diff.rejected.map(({ index }) => index)).toEqual([2, 3, 4, 5, 6])
    const prices = diff.changes[0]?.fields.filter(({ field }) => field.startsWith('price.'))
    expect(prices).toEqual([{ field: 'price.input', before: '250000', after: '500000' }])
    expect(await staff.price.list.query({ model: 'gpt-test' })).toMatchObject({ versions: [{ source: 'test' }] })

    const report = await staff.catalog.import.mutate({ source: 'openrouter 2026-11', models })
    expect(report).toMatchObject({ models: 2, added: 1, changed: 1, repriced: 2, takenNames: [] })
    expect(report.rejected).toEqual(diff.rejected)
    expect(await staff.catalog.diff.query({ models })).toMatchObject({ changes: [], rejected: diff.rejected })
    const { items } = await staff.catalog.history.query({ model: 'gpt-test', limit: 50 })
    expect(items.find(({ field }) => field === 'price.input')).toMatchObject({
      before: '250000',
      after: '500000',
      source: 'openrouter 2026-11',
    })
    const added = await staff.catalog.history.query({ model: 'newcomer-1', limit: 1 })
    expect(added.nextToken).not.toBeNull()
    const rest = await staff.catalog.history.query({ model: 'newcomer-1', nextToken: added.nextToken ?? '' })
    expect(rest.items.map(({ field }) => field)).toContain('added')
    expect(JSON.stringify(rest.items)).not.toContain('hugging_face')
  })

  it('refuses a price list that cannot be charged, by its line', async () => {
    const plain = { prompt: '0.000001', completion: '0.000005' }
    const at = (min_prompt_tokens: number, more: object = {}) => ({ min_prompt_tokens, prompt: '0.000002', ...more })
    const bad: [pricing: object, field: string, message: RegExp][] = [
      [{ completion: '0.000005' }, 'pricing.prompt', /expected string/],
      [{ ...plain, prompt: '-0.000001' }, 'pricing.prompt', /decimal number/],
      [{ ...plain, prompt: '1' }, 'pricing.prompt', /not of a million/],
      [{ ...plain, completion: '0.0000000000001' }, 'pricing.completion', /1e-12/],
      [{ ...plain, web_search: '1001' }, 'pricing.web_search', /1,000/],
      [{ ...plain, completion: '0' }, 'pricing', /completion: a model that writes text/],
      [{ ...plain, input_video: '0.000012' }, 'pricing', /input_video/],
      [{ ...plain, overrides: [at(-1)] }, 'pricing', /overrides.0.when.minPromptTokens/],
      [{ ...plain, overrides: [{ min_prompt_tokens: 10 }] }, 'pricing', /needs a price/],
      [{ ...plain, overrides: [{ prompt: '0.000002' }] }, 'pricing', /overrides.0.*needs a condition/],
      [{ ...plain, overrides: [at(200_001), at(200_001)] }, 'pricing', /same conditions/],
      [{ ...plain, overrides: [at(200_001), at(100_001)] }, 'pricing', /overrides.0: a later override/],
      [{ ...plain, overrides: [at(10, { utc_start: 100 })] }, 'pricing.overrides.0', /needs a start and an end/],
      [{ ...plain, overrides: [at(10, { utc_start: 100, utc_end: 100 })] }, 'pricing', /utcWindow/],
      [
        { ...plain, overrides: [at(10, { utc_days: ['noday'] })] },
        'pricing.overrides.0.utc_days.0',
        /a day must be one of/,
      ],
      [{ ...plain, overrides: [at(10, { service_tier: 'slow' })] }, 'pricing.overrides.0.service_tier', /./],
      [{ ...plain, overrides: [at(10, { region: 'eu' })] }, 'pricing.overrides.0', /region/],
      [{ ...plain, overrides: [at(10, { regions: ['Eu'] })] }, 'pricing.overrides.0.regions.0', /./],
      [{ ...plain, overrides: [at(10), { regions: ['eu'], prompt: '0.000003' }] }, 'pricing', /overrides.0: a region/],
      [
        { ...plain, overrides: [at(10, { search_context_size: 'vast' })] },
        'pricing.overrides.0.search_context_size',
        /./,
      ],
      [{ ...plain, overrides: [{ image_sizes: ['big'], image: '0.08' }] }, 'pricing.overrides.0.image_sizes.0', /./],
      [{ ...plain, overrides: [{ image_quality: 'hd', image: '0.08' }] }, 'pricing', /overrides.0: a picture/],
      [{ ...plain, overrides: [{ image_quality: 'auto', image: '0.08' }] }, 'pricing.overrides.0.image_quality', /./],
    ]
    const rows = bad.map(([pricing], index) => row(`acme/bad-${index}`, { pricing }))
    const units: [units: object, field: string, message: RegExp, endpoints?: readonly string[]][] = [
      [{ pictures: '0.04' }, 'unit_pricing', /pictures/],
      [{ minimum_seconds: 10 }, 'unit_pricing', /needs a price of time/],
      [{ seconds: '0.001', minimum_seconds: 0 }, 'unit_pricing.minimum_seconds', /./],
      [{ seconds: '0.001', minimum_seconds: 1.5 }, 'unit_pricing.minimum_seconds', /./],
      [{ seconds: '0.001', minimum_seconds: 3_601 }, 'unit_pricing.minimum_seconds', /./],
      [{ seconds: '0.001', minimum_characters: 5 }, 'unit_pricing', /needs a price of characters/],
      [{ seconds: '0.001', minimum_seconds: 10 }, 'pricing', /minimum_seconds is missing/, ['video']],
    ]
    const sold = units.map(([unit_pricing, , , endpoints], index) =>
      row(`acme/unit-${index}`, { pricing: plain, unit_pricing, ...(endpoints && { endpoints }) }),
    )
    const report = await staff.catalog.import.mutate({ source: 'bad', models: [...rows, ...sold] })
    expect(report.models).toBe(0)
    expect(report.rejected.map(({ id, field, message }) => [id, field, message])).toEqual([
      ...bad.map(([, field, message], index) => [`acme/bad-${index}`, field, expect.stringMatching(message)]),
      ...units.map(([, field, message], index) => [`acme/unit-${index}`, field, expect.stringMatching(message)]),
    ])
  })

  it('refuses such a list of one model through every door', async () => {
    await seed('gpt-put')
    const key = await market.managementKey('operator')
    const query = `mutation Put($pricing: PricingInput!, $units: UnitPricingInput) {
      putPrices(model: "gpt-put", source: "bad", pricing: $pricing, unitPricing: $units) { version }
    }`
    const plain = { prompt: '0.000001', completion: '0.000005' }
    const us = { regions: ['us'], prompt: '0.000003' }
    const lists: [pricing: typeof plain & { overrides?: object[] }, units: object | undefined][] = [
      [{ ...plain, prompt: '-0.000001' }, undefined],
      [{ ...plain, overrides: [{ prompt: '0.000002' }] }, undefined],
      [{ ...plain, overrides: [{ min_prompt_tokens: 10, prompt: '0.000002' }, us] }, undefined],
      [{ ...plain, overrides: [{ image_quality: 'hd', image: '0.08' }] }, undefined],
      [{ ...plain, completion: '0' }, undefined],
      [plain, { minimum_seconds: 10 }],
      [plain, { seconds: '0.001', minimum_seconds: 3_601 }],
    ]
    for (const [pricing, units] of lists) {
      const put = { model: 'gpt-put', source: 'bad', pricing, ...(units && { unitPricing: units }) }
      expect(await trpcCodeOf(staff.price.put.mutate(put))).toBe('invalid_request')
      const graph = await market.graphql(key, query, { pricing, units })
      expect([graph.status, codeOf(graph)]).toEqual([200, 'invalid_request'])
    }
    const good = { pricing: plain, units: { minutes: '0.006', minimum_seconds: 10 } }
    expect(codeOf(await market.graphql(key, query, good))).toBeUndefined()
    const { versions } = await staff.price.list.query({ model: 'gpt-put' })
    expect(versions[0]).toMatchObject({ unitPrices: { milliseconds: '100000' }, minimums: { milliseconds: 10_000 } })
  })

  it('accepts conditions that each apply somewhere', async () => {
    const at = (prompt: string, more: object) => ({ prompt, completion: '0.000005', ...more })
    const overrides = [
      at('0.000002', { min_prompt_tokens: 100_001 }),
      at('0.000004', { min_prompt_tokens: 200_001 }),
      at('0.000001', { service_tier: 'flex' }),
      at('0.000002', { service_tier: 'flex', min_prompt_tokens: 100_001 }),
      at('0.000003', { utc_start: 100, utc_end: 400 }),
      at('0.000006', { utc_start: 100, utc_end: 400, min_prompt_tokens: 100_001 }),
    ]
    const pricing = { prompt: '0.000001', completion: '0.000005', overrides, image: '0.001', discount: 0 }
    expect((await staff.catalog.diff.query({ models: [row('acme/tiered-1', { pricing })] })).rejected).toEqual([])
  })

  it('reads a price of 0 for usage that belongs to another class as no price, so that thinking is not free', async () => {
    const pricing = { prompt: '0.000001', completion: '0.000005', request: '0', internal_reasoning: '0' }
    const cached = { input_cache_read: '0', input_cache_write: '0', audio: '0' }
    const models = [row('acme/thinker-1', { pricing: { ...pricing, ...cached } })]
    const { changes } = await staff.catalog.diff.query({ models })
    const prices = changes[0]?.fields.filter(({ field }) => field.startsWith('price.'))
    expect(prices?.map(({ field }) => field)).toEqual(['price.input', 'price.output'])
  })

  it('keeps everything that it does not mention: endpoints, names, prices of media', async () => {
    const speech = { ...catalogItem('speech-test'), endpoints: ['speech'], unit_pricing: { characters: '0.000015' } }
    await staff.catalog.import.mutate({ source: 'seed', models: [speech] })
    const after = await staff.catalog.diff.query({ models: [row('lab/speech-test', { name: 'Speech' })] })
    const fields = after.changes.flatMap((change) => change.fields.map(({ field }) => field))
    expect(fields).toContain('name')
    for (const kept of ['endpoints', 'lab', 'mediaUnit', 'price.characters']) expect(fields).not.toContain(kept)
  })

  it('applies its prices at their time, and never in the past', async () => {
    const models = [row('lab/claude-test', { pricing: { prompt: '0.000009', completion: '0.000009' } })]
    const effectiveAt = market.plane.clock.now() + HOUR
    await staff.catalog.import.mutate({ source: 'later', models, effectiveAt })
    const { versions } = await staff.price.list.query({ model: 'claude-test' })
    expect(versions.map(({ state, source }) => [state, source])).toEqual([
      ['scheduled', 'later'],
      ['current', 'test'],
    ])
    const late = staff.catalog.import.mutate({ source: 'past', models, effectiveAt: effectiveAt - 2 * HOUR })
    expect(await trpcCodeOf(late)).toBe('invalid_request')
  })

  it('accepts at most five thousand rows', async () => {
    const models = Array.from({ length: 5_001 }, (_, index) => index)
    // Such a long query is sent as a body.
    const key = await market.managementKey('operator')
    const answer = await market.rest('POST', '/trpc/catalog.diff', { key, body: { models } })
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('"models"')])
  })
})

describe('changes of names and prices by hand', () => {
  it('give a model a name that outlives imports, and remove it', async () => {
    await seed('named-test')
    expect(await staff.alias.put.mutate({ alias: 'My-GPT', model: 'lab/named-test' })).toMatchObject({
      model: 'named-test',
    })
    await staff.catalog.import.mutate({ source: 'again', models: [{ ...catalogItem('named-test'), name: 'Named' }] })
    const names = await staff.alias.list.query({ model: 'my-gpt' })
    expect(names).toContainEqual({ alias: 'my-gpt', model: 'named-test', isManual: true })
    expect(await trpcCodeOf(staff.alias.put.mutate({ alias: 'my-gpt', model: 'claude-test' }))).toBe('conflict')
    expect(await trpcCodeOf(staff.alias.remove.mutate({ alias: 'named-test' }))).toBe('conflict')
    await staff.alias.remove.mutate({ alias: 'my-gpt' })
    expect(await trpcCodeOf(staff.alias.list.query({ model: 'my-gpt' }))).toBe('not_found')
  })

  it('are previewed with the numbers of affected offers, sellers and buyers, and a preview changes nothing', async () => {
    await seed('seen-test')
    const seller = await market.person()
    await listOffer(market, seller.seller, { model: 'seen-test' })
    const pricing = { prompt: '0.0000005', completion: '0.000002' }
    const look = () => staff.price.preview.query({ model: 'seen-test', pricing })
    const { effectiveAt: _, ...seen } = await look()
    expect(seen).toEqual({
      model: 'seen-test',
      fields: [{ field: 'input', before: '250000', after: '500000', changePct: 100 }],
      impact: { model: 'seen-test', offers: 1, sellers: 1, buyers: 0 },
    })
    const call = { account: seller.buyer.account, sellerAccount: seller.seller.account, model: 'seen-test', charge: 10 }
    await grant(market.plane.db, seller.buyer.account, 1_000)
    await postBatch(market.plane, { events: [eventText({ ...call, rid: market.plane.ids.ulid() })], source: 'test' })
    expect((await look()).impact.buyers).toBe(1)
    const { versions } = await staff.price.list.query({ model: 'seen-test' })
    expect(versions.map(({ unitPrices }) => unitPrices['input'])).toEqual(['250000'])
    await staff.price.put.mutate({ model: 'seen-test', pricing, source: 'as seen' })
    expect((await look()).fields).toEqual([])
    const models = [row('lab/seen-test', { pricing: { prompt: '0.0000001', completion: '0.000002' } })]
    expect((await staff.catalog.diff.query({ models })).impacts).toEqual([
      { model: 'seen-test', offers: 1, sellers: 1, buyers: 1 },
    ])
    expect(await trpcCodeOf(staff.price.preview.query({ model: 'nothing', pricing }))).toBe('not_found')
  })

  it('set reference prices, which are shown with their source', async () => {
    await seed('priced-test')
    const pricing = { prompt: '0.000003', completion: '0.000004' }
    const put = await staff.price.put.mutate({ model: 'priced-test', pricing, source: 'vendor page' })
    expect(put.version).not.toBeNull()
    const { versions } = await staff.price.list.query({ model: 'priced-test' })
    const unitPrices = { input: '3000000', output: '4000000' }
    expect(versions[0]).toMatchObject({ state: 'current', source: 'vendor page', unitPrices })
    const again = await staff.price.put.mutate({ model: 'priced-test', pricing, source: 'vendor page' })
    expect(again.version).toBeNull()
  })
})
