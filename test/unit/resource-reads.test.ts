import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Read, ReadSources } from '#data-plane/reads/read.ts'
import { readHeaders } from '#data-plane/reads/read.ts'
import { createReadMemory } from '#data-plane/reads/read-memory.ts'
import {
  listResourceCapabilities,
  listResourceMarkets,
  listResourceTraits,
  readResourceAnalytics,
  readResourceBook,
} from '#data-plane/reads/resources.ts'
import { buildMarket, EMPTY_BODIES } from '#data-plane/store/market.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import { systemClock } from '#shared/clock.ts'
import type { LentOffer } from '#shared/contract/lent-offers.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { keptBps, microUsd } from '#shared/money.ts'
import { compileResource } from '#shared/resources/compile-resource.ts'
import { refusedByScope } from '#shared/resources/lent-scope.ts'

const Seeds = z.object({ resources: z.array(ResourceSchema) })
const { resources } = Seeds.parse(JSON.parse(readFileSync('dev/seed/resources.json', 'utf8')))

/** Texts of members that no reader may see. */
const HIDDEN = { account: 'acc_hidden_seller', alias: 'hidden-alias', sealed: 'hidden-ciphertext' }

const lent = (id: string, discount: number, changes: Partial<LentOffer> = {}): LentOffer => ({
  id: `ofr_${id}`,
  resource: 'provider-p1',
  sellerAccount: HIDDEN.account,
  sellerAlias: HIDDEN.alias,
  keptBps: keptBps(10_000 - discount * 100),
  capDailyMicro: null,
  createdAt: 1,
  credential: {
    v: 1,
    id: 'crd_hidden',
    tenant: HIDDEN.account,
    host: 'provider-p1',
    purpose: 'resource',
    ringKeyId: 'k',
    wrapIv: 'hidden-iv',
    wrappedKey: 'hidden-key',
    iv: 'hidden-iv',
    ciphertext: HIDDEN.sealed,
  },
  scope: { models: null, methods: null, paths: null },
  ratePerMinute: null,
  buyerSharePct: null,
  traits: [],
  ...changes,
})

const OFFERS: readonly LentOffer[] = [
  lent('deep', 40, { scope: { models: ['canvas-1'], methods: ['POST'], paths: ['/v1/images'] } }),
  lent('spent', 35, { capDailyMicro: microUsd(1_000_000) }),
  lent('tier', 30, { traits: [{ name: 'account.tier2', provenance: 'probed' }] }),
  lent('ill', 20),
]

function sources(offers: readonly LentOffer[] = OFFERS): ReadSources {
  const market = buildMarket({
    ...EMPTY_BODIES,
    resources: new Map(resources.map((record) => [record.id, compileResource(record, 1)])),
    lent: new Map([['provider-p1', offers]]),
    sold: [
      {
        name: 'resource/provider-p1',
        calls24h: 2,
        volume24hMicro: microUsd(60),
        list24hMicro: microUsd(100),
        calls7d: 5,
        volume7dMicro: microUsd(90),
        list7dMicro: microUsd(80),
      },
    ],
  })
  return {
    market: () => market,
    health: { blockedUntil: () => 0, restsUntil: (id) => (id === 'ofr_ill' ? 9e15 : 0), isAllWell: () => false },
    caps: {
      usedToday: async (ids) => new Map(ids.filter((id) => isId('ofr', id)).map((id) => [id, microUsd(1_000_000)])),
    },
    feed: { read: () => Promise.reject(new Error('not asked')) } as never,
    clock: systemClock,
    memory: createReadMemory(),
    version: '3.1.0',
    payments: { terms: () => undefined },
    addresses: { baseUrl: 'http://site', apiBaseUrl: 'http://api' },
  }
}

async function answer(read: Read, query = '', params: Record<string, string> = {}) {
  const made = await read(sources(), { params, query: new URLSearchParams(query) })
  return { ...made, body: JSON.parse(made.json) as Record<string, unknown> }
}
const book = async (query = '', provider = 'provider-p1') => {
  const { body } = await answer(readResourceBook, query, { provider })
  const Lines = z.object({ offers: z.array(z.looseObject({ id: z.string(), why_not: z.string().nullable() })) })
  return Lines.parse(body).offers.map(({ id, why_not }) => [id.slice(4), why_not])
}

describe('the market of lent keys', () => {
  it('counts healthy offers, and shows their best and median discount', async () => {
    const { body, maxAgeSeconds } = await answer(listResourceMarkets)
    expect(body['markets']).toContainEqual({
      resource_id: 'provider-p1',
      kind: 'resource',
      display_name: 'Provider P1',
      unit: 'per image or second of video',
      live_offers: 3,
      best_discount_pct: 40,
      median_discount_pct: 35,
    })
    expect(body['markets']).toContainEqual(
      expect.objectContaining({ resource_id: 'provider-h', live_offers: 0, best_discount_pct: null }),
    )
    expect(maxAgeSeconds).toBe(300)
  })

  it('lists the callable resources and the traits that a call can require, cached for five minutes with an ETag', async () => {
    const { body, ...made } = await answer(listResourceCapabilities)
    expect(JSON.stringify(body)).toContain('"id":"images"')
    expect(readHeaders(made)).toEqual({ 'cache-control': 'public, max-age=300', etag: expect.stringMatching(/^".+"$/) })
    const traits = (await answer(listResourceTraits)).body['traits']
    expect(traits).toContainEqual(
      expect.objectContaining({
        name: 'account.tier2',
        resources: expect.arrayContaining([{ resource_id: 'provider-p1', provenance: 'probed', live_offers: 1 }]),
      }),
    )
  })

  it('shows volume and savings; savings are never negative', async () => {
    expect((await answer(readResourceAnalytics)).body['resources']).toContainEqual({
      resource_id: 'provider-p1',
      calls_24h: 2,
      volume_24h: 60,
      saved_24h: 40,
      calls_7d: 5,
      volume_7d: 90,
      saved_7d: 0,
    })
  })

  it('shows no zero while the sales are unknown', async () => {
    const known = sources()
    const unknown = { ...known, market: () => ({ ...known.market(), sold: null }) }
    const { json } = await readResourceAnalytics(unknown, { params: {}, query: new URLSearchParams() })
    expect(JSON.parse(json).resources).toContainEqual({
      resource_id: 'provider-p1',
      calls_24h: null,
      volume_24h: null,
      saved_24h: null,
      calls_7d: null,
      volume_7d: null,
      saved_7d: null,
    })
  })
})

describe('the book of a resource', () => {
  it('shows for each offer whether it can serve a call, and the first reason why not', async () => {
    expect(await book()).toEqual([
      ['deep', null],
      ['spent', 'cap'],
      ['tier', null],
      ['ill', 'health'],
    ])
    expect(await book('model=reel-1&method=POST&path=/v1/videos')).toEqual([
      ['deep', 'models'],
      ['spent', 'cap'],
      ['tier', null],
      ['ill', 'health'],
    ])
    expect((await book('model=canvas-1&method=PUT'))[0]).toEqual(['deep', 'methods'])
    expect((await book('model=canvas-1&path=/v1/images'))[0]).toEqual(['deep', null])
    expect((await book('path=/v1/models'))[0]).toEqual(['deep', 'paths'])
    expect(await book('require=account.tier2&min_discount_pct=30')).toEqual([
      ['deep', 'traits'],
      ['spent', 'traits'],
      ['tier', null],
      ['ill', 'discount'],
    ])
  })

  it('is made once a second for all readers, and separately for other keys and for a described call', async () => {
    const given = sources()
    let { market } = given
    let now = 5_000
    let asked = 0
    const caps: ReadSources['caps'] = {
      usedToday(ids) {
        asked++
        return given.caps.usedToday(ids)
      },
    }
    const ask = async (query = '') => {
      const current = { ...given, caps, market: () => market(), clock: { ...systemClock, now: () => now } }
      return readResourceBook(current, { params: { provider: 'provider-p1' }, query: new URLSearchParams(query) })
    }
    const [first, same] = await Promise.all([ask(), ask()])
    expect([same, asked]).toEqual([first, 1])
    expect(first.etag).toBe(readHeaders({ json: first.json, maxAgeSeconds: 5 }).etag)
    now += 999
    await ask()
    expect(asked).toBe(1)
    await ask('model=canvas-1')
    expect(asked).toBe(2)
    now += 1
    await ask()
    expect(asked).toBe(3)
    market = sources(OFFERS.slice(1)).market
    expect(JSON.parse((await ask()).json).offers).toHaveLength(3)
    expect(asked).toBe(4)
  })

  it('refuses unreadable queries, and an unknown resource by name', async () => {
    const rows = [
      ['method=DELETE', 'invalid_request'],
      ['path=/a/../b', 'invalid_request'],
      ['require=nodot', 'invalid_request'],
      ['min_discount_pct=05', 'invalid_minimum_discount'],
      ['min_discount_pct=101', 'invalid_minimum_discount'],
    ] as const
    for (const [query, code] of rows) {
      const error = await book(query).catch((thrown: unknown) => thrown)
      expect([query, error instanceof AppError && error.code]).toEqual([query, code])
    }
    for (const name of ['nowhere', '__proto__', '']) {
      await expect(book('', name)).rejects.toMatchObject({ code: 'not_found' })
    }
  })

  it('shows neither the lender nor anything of the key', async () => {
    for (const read of [listResourceMarkets, listResourceCapabilities, listResourceTraits, readResourceAnalytics]) {
      expect((await answer(read)).json).not.toMatch(/hidden|acc_|crd_/)
    }
    const { json } = await answer(readResourceBook, '', { provider: 'provider-p1' })
    expect(json).toContain('ofr_deep')
    expect(json).not.toMatch(/hidden|acc_|crd_|alias/)
  })
})

describe('the scope of a lent key', () => {
  it('refuses by its first matching rule, and allows calls that buy nothing', () => {
    const scope = { models: ['a'], methods: ['POST' as const], paths: ['/v1/{all+}'] }
    expect(refusedByScope(scope, { good: 'b', method: 'GET', path: '/x' })).toBe('models')
    expect(refusedByScope(scope, { good: 'a', method: 'GET', path: '/x' })).toBe('methods')
    expect(refusedByScope(scope, { good: 'a', method: 'POST', path: '/x' })).toBe('paths')
    expect(refusedByScope(scope, { good: 'a', method: 'POST', path: '/v1/../x' })).toBe('paths')
    expect(refusedByScope(scope, { method: 'POST', path: '/v1/models' })).toBeUndefined()
  })
})
