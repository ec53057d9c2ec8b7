import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { insertPrices } from '#control-plane/db/catalog.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { listCatalogHistory } from '#control-plane/services/catalog/catalog-history.ts'
import { readKeptProviders } from '#control-plane/services/catalog/kept/kept-providers.ts'
import { compareProviders } from '#control-plane/services/catalog/provider-list.ts'
import { listPrices, putPrices } from '#control-plane/services/catalog/reference-prices.ts'
import { compareCatalog, movesOf, refreshCatalog } from '#control-plane/services/catalog/refresh.ts'
import { watchCatalog } from '#control-plane/services/catalog/watch-catalog.ts'
import { picoUsd } from '#shared/money.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { catalogItem, operator, startMarket } from '#test/support/doors/control-plane.ts'
import { runMarket } from '#test/support/market/command-line.ts'

const NEW_YEAR = Date.parse('2027-01-01T00:00:00Z')
let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market.stop())

const compare = (terms: object = {}) => invoke(market.plane, operator, compareCatalog, terms)
const refresh = (terms: object = {}) => invoke(market.plane, operator, refreshCatalog, terms)
const pricesOf = (model: string) => invoke(market.plane, operator, listPrices, { model })

/** A version of prices that an earlier refresh wrote: the present version with another input price. */
async function wroteEarlier(model: string, input: string): Promise<void> {
  const { versions } = await pricesOf(model)
  const [current] = versions.filter(({ state }) => state === 'current')
  if (current === undefined) return expect.fail(`${model} has no price`)
  await insertPrices(market.plane.db as never, [
    {
      version: market.plane.ids.ulid(),
      model,
      effectiveAt: new Date(market.plane.clock.now()),
      source: 'release data: an earlier release',
      unitPrices: { ...current.unitPrices, input },
      overrides: current.overrides.map(({ when, unitPrices }) => ({ when, unitPrices })),
      minimums: current.minimums,
    },
  ])
}

describe('a refresh of the catalogue', () => {
  it('shows its changes, and writes nothing without a confirmation', async () => {
    const report = await compare()
    expect(report.added.length).toBe(report.models)
    expect(report.added).toContainEqual({
      model: 'claude-opus-5.5',
      source: expect.stringContaining('genai-prices 0.1.8, anthropic, 2026-09-22'),
    })
    expect([report.unread, report.rejected, report.waiting]).toEqual([[], [], []])
    expect((await compare()).added.length).toBe(report.models)
  })

  it('fills an empty catalogue, schedules future prices, and changes nothing when repeated', async () => {
    const report = await refresh()
    expect(report.added.length).toBe(report.models)
    const { versions } = await pricesOf('gemini-3.8-flash')
    expect(versions.map(({ state, effectiveAt, unitPrices }) => [state, effectiveAt > 0, unitPrices['input']])).toEqual(
      [
        ['scheduled', true, '1500000'],
        ['current', true, '750000'],
      ],
    )
    expect(versions[0]?.effectiveAt).toBe(NEW_YEAR)
    expect(versions.every(({ source }) => source.includes('genai-prices 0.1.8, google, 2026-09-22'))).toBe(true)
    const again = await refresh()
    expect(again).toMatchObject({ added: [], changes: [], moved: [], waiting: [], gone: [] })
    expect((await pricesOf('gemini-3.8-flash')).versions).toEqual(versions)
    const { items } = await invoke(market.plane, operator, listCatalogHistory, { model: 'gemini-3.8-flash' })
    expect(items.filter(({ effectiveAt }) => effectiveAt === NEW_YEAR).map(({ field }) => field)).toContain(
      'price.input',
    )
  })

  it('shows each price change, from the old price to the new one', async () => {
    await wroteEarlier('gpt-5.4-mini', '1000000')
    const { moved } = await compare()
    expect(moved).toEqual([
      {
        model: 'gpt-5.4-mini',
        line: 'input',
        before: '1000000',
        after: '750000',
        percent: -25,
        effectiveAt: null,
        source: expect.stringContaining('genai-prices'),
        isLarge: false,
      },
    ])
    expect((await refresh()).moved).toEqual(moved)
    expect((await compare()).moved).toEqual([])
  })

  it('skips a price that changes by more than a factor of two, until its model is named', async () => {
    await wroteEarlier('gpt-5.4-nano', '400001')
    const waits = await refresh()
    expect(waits.waiting).toMatchObject([{ model: 'gpt-5.4-nano', why: 'large_move' }])
    expect(waits.moved).toMatchObject([{ before: '400001', after: '200000', isLarge: true }])
    expect((await pricesOf('gpt-5.4-nano')).versions[0]?.unitPrices['input']).toBe('400001')
    expect((await refresh({ accept: ['gpt-5.4-nano'] })).waiting).toEqual([])
    expect((await pricesOf('gpt-5.4-nano')).versions[0]?.unitPrices['input']).toBe('200000')
  })

  it('keeps prices that an operator set, now or for later, until the operator replaces them', async () => {
    const pricing = { prompt: '0.000001', completion: '0.000002' }
    await invoke(market.plane, operator, putPrices, { model: 'o3-pro', pricing, source: 'ours' })
    const later = { model: 'o3-mini', pricing, source: 'ours', effectiveAt: market.plane.clock.now() + 60_000 }
    await invoke(market.plane, operator, putPrices, later)
    const kept = await refresh({ accept: 'all' })
    expect(kept.waiting).toEqual([
      { model: 'o3-mini', why: 'own_prices', source: 'ours' },
      { model: 'o3-pro', why: 'own_prices', source: 'ours' },
    ])
    expect((await pricesOf('o3-pro')).versions[0]?.unitPrices['input']).toBe('1000000')
    await refresh({ overwrite: true, accept: 'all' })
    expect((await pricesOf('o3-pro')).versions[0]?.unitPrices['input']).toBe('20000000')
  })

  it('names models of an earlier refresh that no list has any more', async () => {
    await invoke(market.plane, operator, importCatalog, {
      source: 'release data: an old list',
      models: [catalogItem('gone-test')],
    })
    expect((await compare()).gone).toEqual([{ model: 'gone-test', source: 'release data: an old list' }])
  })
})

describe('the watch over the catalogue', () => {
  it('reports newer data, and prices that change by more than a fifth', async () => {
    const found = new Map<string, number>()
    const told: object[] = []
    const ctx = {
      ...market.plane,
      metrics: { ...market.plane.metrics, findings: (kind: string, count: number) => found.set(kind, count) },
      log: { ...market.plane.log, warn: (facts: object) => told.push(facts) } as never,
    }
    await refresh({ overwrite: true, accept: 'all' })
    await watchCatalog(ctx)
    expect([Object.fromEntries(found), told]).toEqual([{ catalog_outdated: 0, catalog_moved: 0 }, []])
    await wroteEarlier('gpt-5.4-mini', '1000000')
    await wroteEarlier('gpt-5.4-nano', '190000')
    await watchCatalog(ctx)
    expect(Object.fromEntries(found)).toEqual({ catalog_outdated: 2, catalog_moved: 1 })
    expect(told).toMatchObject([{ models: 2, moved: [{ model: 'gpt-5.4-mini', percent: -25 }] }])
  })
})

describe('moves of prices', () => {
  const facts = { model: 'm', source: 's', effectiveAt: null }
  const lines = (input: bigint, more: object = {}) => ({ unitPrices: { input: picoUsd(input), ...more } })

  it('are large above a factor of two, up and down, and not at two', () => {
    const isLarge = (before: bigint, after: bigint) =>
      movesOf(lines(before), lines(after), facts).map((move) => move.isLarge)
    expect([isLarge(100n, 200n), isLarge(100n, 201n), isLarge(200n, 100n), isLarge(201n, 100n)]).toEqual([
      [false],
      [true],
      [false],
      [true],
    ])
  })

  it('compare a removed price with the price that applies instead', () => {
    const before = lines(100n, { cacheRead: picoUsd(10n) })
    expect(movesOf(before, lines(100n), facts)).toMatchObject([
      { line: 'cacheRead', before: '10', after: '100', percent: 900, isLarge: true },
    ])
  })
})

describe('one command', () => {
  const Done = z.looseObject({
    done: z.looseObject({ providers: z.array(z.string()), catalog: z.looseObject({ models: z.number() }) }).nullable(),
  })

  it('fills an empty market, shows the difference first, and changes nothing when repeated', async () => {
    const empty = await startMarket()
    try {
      const env = { MARKET_OPERATOR_KEY: await empty.managementKey('operator'), MARKET_URL: empty.url }
      const setUp = (...args: string[]) => runMarket(['operator', 'setup', ...args], { env })
      const dry = await setUp('--dry-run')
      expect([dry.code, dry.err]).toEqual([0, ''])
      expect(dry.out).toMatch(/^openai +https:\/\/api\.openai\.com\/v1 +yes +new/m)
      expect(dry.out).toMatch(/^claude-opus-5\.5 +release data: genai-prices/m)
      const unasked = await setUp()
      expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining('Add --yes')])
      const { done } = Done.parse(JSON.parse((await setUp('--yes', '--json')).out))
      expect(done?.providers).toEqual(readKeptProviders().map(({ id }) => id))
      expect(done?.catalog.models).toBeGreaterThan(200)
      expect(Done.parse(JSON.parse((await setUp('--yes', '--json')).out)).done).toBeNull()
      const again = await runMarket(['operator', 'catalog', 'refresh', '--yes'], { env })
      expect([again.code, again.out]).toEqual([0, expect.stringContaining('0 new, 0 changed, 0 prices moved')])
    } finally {
      await empty.stop()
    }
  })

  it('adds the models of a list that the release does not know', async () => {
    const env = { MARKET_OPERATOR_KEY: await market.managementKey('operator'), MARKET_URL: market.url }
    const { id: _id, canonical: _canonical, ...item } = catalogItem('beside-1')
    const rows = [
      { ...item, id: 'acme/beside-1' },
      { ...item, id: 'openai/gpt-5.5' },
    ]
    const args = ['operator', 'catalog', 'refresh', '--list', '-', '--source', 'a list', '--yes', '--json']
    const { code, out } = await runMarket(args, { env, input: JSON.stringify({ data: rows }) })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ list: { models: 1, imported: { added: 1 } } })
    expect((await pricesOf('beside-1')).versions).toMatchObject([{ source: 'a list' }])
    expect((await pricesOf('gpt-5.5')).versions).not.toContainEqual(expect.objectContaining({ source: 'a list' }))
  })
})

describe('the allow-list of this release', () => {
  it("is new, the same, or the operator's own", async () => {
    const [openai, groq] = ['openai', 'groq'].map((id) => readKeptProviders().find((provider) => provider.id === id))
    const put = ({ host: _host, ...input }: NonNullable<typeof openai>, changes: object = {}) =>
      invoke(market.plane, operator, putProvider, { ...input, ...changes })
    if (openai === undefined || groq === undefined) return expect.fail('no such providers')
    await put(openai)
    await put(groq, { isTrusted: false })
    const states = await invoke(market.plane, operator, compareProviders, {})
    const of = (id: string) => states.find(({ provider }) => provider.id === id)
    expect([of('openai')?.state, of('groq')?.state, of('mistral')?.state]).toEqual(['same', 'own', 'missing'])
    expect(of('groq')?.differs).toEqual(['isTrusted'])
  })

  it('can be imported as it is', async () => {
    for (const { host: _host, ...provider } of readKeptProviders()) {
      await invoke(market.plane, operator, putProvider, provider)
    }
    const states = await invoke(market.plane, operator, compareProviders, {})
    expect(states.filter(({ state }) => state !== 'same')).toEqual([])
  })
})
