import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelDemand } from '#data-plane/call.ts'
import type { AccountPayer } from '#data-plane/payment.ts'
import { capRefusal } from '#data-plane/pipeline/plan/cap-refusal.ts'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import type { Model } from '#shared/catalog/model.ts'
import { systemClock } from '#shared/clock.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import type { Explanation } from '#shared/contract/usage-event.ts'
import { MAX_EXPLAINED_OFFERS } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { keptBps, MAX_MICRO_USD, microUsd } from '#shared/money.ts'
import { MAX_CANDIDATES } from '#shared/routing/walk-offers.ts'
import {
  buildDemand,
  buildModel,
  buildOffer,
  buildPayer,
  buildTarget,
  buildTestMarket,
  NO_RATES,
  providersOf,
} from '#test/support/bytes/build-market.ts'

const NOW = Date.UTC(2026, 10, 21, 12)

type Setting = {
  demand?: Partial<ModelDemand>
  payer?: Partial<AccountPayer>
  model?: Model
  /** Providers or offers with a back-off of a minute; the next member names those whose cap is used up. */
  down?: readonly string[]
  spent?: readonly string[]
  rid?: RequestId
}

function select(offers: readonly OfferRow[], { demand, payer, model, down = [], spent = [], rid }: Setting = {}) {
  const market = buildTestMarket(offers, model)
  const caps = createSpentCaps()
  for (const offer of offers) if (spent.includes(offer.provider) || spent.includes(offer.id)) caps.mark(offer.id, NOW)
  const health = {
    isAllWell: () => down.length === 0,
    blockedUntil: ({ provider, id }: OfferRow) => (down.includes(provider) || down.includes(id) ? NOW + 60_000 : 0),
  }
  const choice = readChoice(market, buildDemand(demand), buildPayer(payer), rid)
  return selectOffers({ market, health, caps, rates: NO_RATES, now: NOW }, buildTarget(model ?? buildModel()), choice)
}

function refused(offers: readonly OfferRow[], setting: Setting): AppError {
  try {
    select(offers, setting)
  } catch (error) {
    if (error instanceof AppError) return error
  }
  throw new Error('it was not refused')
}

const hints = (given: Partial<ModelDemand['hints']>) => ({
  demand: { hints: { only: [], blocked: [], order: [], allowsUntrusted: undefined, ...given } },
})
const a = buildOffer({ provider: 'a', keptBps: keptBps(6_000) })
const b = buildOffer({ provider: 'b', keptBps: keptBps(7_000) })
const c = buildOffer({ provider: 'c', keptBps: keptBps(8_000), capDailyMicro: microUsd(1_000_000) })
const shady = buildOffer({ provider: 'shady', keptBps: keptBps(1_000), isTrusted: false })

describe('selecting offers', () => {
  it('takes the lowest-priced trusted offers first, whatever the order of the list', () => {
    const { candidates, excluded } = select([c, shady, b, a])
    expect(providersOf(candidates)).toEqual(['a', 'b', 'c'])
    expect(excluded).toEqual([{ offer: shady.id, reason: 'trusted' }])
  })

  it('puts measured speed before price where the call asks for it, after every filter', () => {
    const fast = buildOffer({ provider: 'fast', keptBps: keptBps(9_900), ttftMs: 100 })
    const slow = buildOffer({ provider: 'slow', keptBps: keptBps(5_000), ttftMs: 900 })
    const all = [a, b, shady, slow, fast]
    expect(providersOf(select(all, hints({ isFastestFirst: true })).candidates)).toEqual(['fast', 'slow', 'a', 'b'])
    expect(providersOf(select(all).candidates)).toEqual(['slow', 'a', 'b', 'fast'])
    const { candidates } = select(all, { demand: { ...hints({ isFastestFirst: true }).demand, floorPercents: [40] } })
    expect(providersOf(candidates)).toEqual(['slow', 'a'])
    const many = Array.from({ length: 40 }, (_, at) => buildOffer({ keptBps: keptBps(9_900), ttftMs: at }))
    const floor = { demand: { ...hints({ isFastestFirst: true }).demand, floorPercents: [40] } }
    expect(providersOf(select([...many, a], floor).candidates)).toEqual(['a'])
  })

  it('reads the order from a suffix of the model name, and refuses two different orders', () => {
    const fast = buildOffer({ provider: 'fast', keptBps: keptBps(9_900), ttftMs: 100 })
    const byName = (ending: string, isFastestFirst?: boolean) => {
      const { demand } = hints(isFastestFirst === undefined ? {} : { isFastestFirst })
      return providersOf(select([a, fast], { demand: { ...demand, model: `gpt-5-mini${ending}` } }).candidates)
    }
    expect([byName(''), byName(':floor'), byName(':nitro')]).toEqual([
      ['a', 'fast'],
      ['a', 'fast'],
      ['fast', 'a'],
    ])
    expect([byName(':nitro', true), byName(':floor', false)]).toEqual([
      ['fast', 'a'],
      ['a', 'fast'],
    ])
    expect(() => byName(':nitro', false)).toThrow('different orders')
    expect(() => byName(':floor', true)).toThrow('different orders')
  })

  it('breaks ties in price by measured speed, then by id', () => {
    const slow = buildOffer({ provider: 'slow', ttftMs: 900 })
    const fast = buildOffer({ provider: 'fast', ttftMs: 100 })
    const unknown = buildOffer({ provider: 'unknown' })
    expect(providersOf(select([unknown, slow, fast]).candidates)).toEqual(['fast', 'slow', 'unknown'])
  })

  it('shares the load among equal offers by request, and continues with the next of them', () => {
    const equal = ['e1', 'e2', 'e3', 'e4'].map((provider) => buildOffer({ provider }))
    const first = new Map<string, number>()
    const ids = createIds(systemClock)
    for (let call = 0; call < 400; call++) {
      const { candidates } = select([...equal, b], { rid: ids.requestId() })
      expect(providersOf(candidates).slice(4)).toEqual(['b'])
      expect(new Set(providersOf(candidates)).size).toBe(5)
      const chosen = candidates[0]?.provider ?? ''
      first.set(chosen, (first.get(chosen) ?? 0) + 1)
    }
    for (const { provider } of equal) expect(first.get(provider)).toBeGreaterThan(50)
  })

  it('keeps the best of thousands under an order, as a full sort would', () => {
    const many = Array.from({ length: 2_000 }, (_, index) =>
      buildOffer({
        provider: `p${index % 7}`,
        keptBps: keptBps(1_000 + 4 * index),
        isTrusted: index % 3 > 0,
        capDailyMicro: index % 5 === 0 ? microUsd(1_000_000) : null,
      }),
    )
    const setting = {
      ...hints({ only: [['p1', 'p2', 'p4', 'p5']], blocked: ['p4'], order: ['p5', 'p2'] }),
      down: [many[12]?.id ?? ''],
      spent: [many[5]?.id ?? ''],
    }
    const rank = ({ provider }: OfferRow) => ['p5', 'p2', 'p1'].indexOf(provider)
    const wanted = many
      .filter((offer, index) => rank(offer) >= 0 && offer.isTrusted && index !== 12 && index !== 5)
      .sort((left, right) => rank(left) - rank(right) || Number(left.keptBps - right.keptBps))
    const chosen = select(many, setting)
    expect(chosen.candidates.map(({ id }) => id)).toEqual(wanted.slice(0, MAX_CANDIDATES).map(({ id }) => id))
    expect(chosen.excluded.length + MAX_CANDIDATES).toBe(MAX_EXPLAINED_OFFERS)
  })

  it('stops at the first offer where the buyer switches fallback off', () => {
    expect(providersOf(select([a, b, c], hints({ isFirstOnly: true })).candidates)).toEqual(['a'])
  })

  it('admits untrusted offers by the request, which overrides the key', () => {
    expect(providersOf(select([shady, a], hints({ allowsUntrusted: true })).candidates)).toEqual(['shady', 'a'])
    const payer = { allowsUntrusted: true }
    expect(providersOf(select([shady, a], { payer }).candidates)).toEqual(['shady', 'a'])
    expect(providersOf(select([shady, a], { payer, ...hints({ allowsUntrusted: false }) }).candidates)).toEqual(['a'])
  })

  it('ignores unknown names in a list, and accepts any spelling of known names', () => {
    for (const name of ['b', 'B', 'Provider b', 'b.example', 'https://b.example/v1/x', 'b.example.']) {
      expect(providersOf(select([a, b, c], hints({ only: [['nope', name]] })).candidates), name).toEqual(['b'])
    }
  })

  it('intersects allow-lists', () => {
    expect(
      providersOf(
        select(
          [a, b, c],
          hints({
            only: [
              ['a', 'b'],
              ['b', 'c'],
            ],
          }),
        ).candidates,
      ),
    ).toEqual(['b'])
  })

  it('reorders by provider_order only the offers that passed the filters', () => {
    const { candidates } = select([a, b, c, shady], hints({ order: ['c', 'nope', 'shady', 'b'] }))
    expect(providersOf(candidates)).toEqual(['c', 'b', 'a'])
  })

  it('reads no more offers than a call may try', () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      buildOffer({ provider: 'a', keptBps: keptBps(5_000 + index) }),
    )
    expect(select(many).candidates).toHaveLength(MAX_CANDIDATES)
  })

  it('writes a record of twenty offers in two kilobytes, with the longest names and amounts', () => {
    const [offered, vague] = ['a'.repeat(64), 'b'.repeat(64)]
    const many = Array.from({ length: 40 }, (_, index) =>
      buildOffer({ provider: index < 20 ? vague : offered, isTrusted: index >= 20, keptBps: keptBps(5_000 + index) }),
    )
    const { candidates, excluded } = select(many)
    expect(candidates.length + excluded.length).toBe(MAX_EXPLAINED_OFFERS)
    const most = microUsd(MAX_MICRO_USD - 1n)
    const record: Explanation = {
      ranked: candidates.map(({ id: offer, provider }) => ({ offer, provider, estimateMicro: most })),
      excluded: excluded.map(({ offer }) => ({ offer, reason: 'capability' })),
      affinity: { offer: a.id, savingMicro: most },
    }
    const text = JSON.stringify(record, (_name, value) => (typeof value === 'bigint' ? String(value) : value))
    expect(text.length).toBeLessThanOrEqual(2_048)
  })

  it('applies the stricter floor of request and key', () => {
    const setting = { demand: { floorPercents: [5, undefined, 35] }, payer: { floorPercents: [20] } }
    expect(providersOf(select([a, b, c], setting).candidates)).toEqual(['a'])
  })
})

describe('which refusal', () => {
  it('no offer of the model: no_sellers_for_model', () => {
    expect(refused([], {}).code).toBe('no_sellers_for_model')
    expect(refused([a], { model: buildModel({ endpoints: ['embeddings'] }) }).code).toBe('no_sellers_for_model')
    const onlyMessages = [buildOffer({ apiFormat: 'messages' })]
    expect(select(onlyMessages).candidates).toHaveLength(1)
    expect(refused(onlyMessages, { demand: { needs: { imageInput: false, openAiFormat: true } } }).code).toBe(
      'no_sellers_for_model',
    )
  })

  it('only unknown hints: unsupported_provider, with their names and the supported names', () => {
    const { code, message, detail } = refused([a], hints({ only: [['nope', 'nada']] }))
    expect(code).toBe('unsupported_provider')
    expect(message).toContain('nope, nada')
    expect(detail['supported_providers']).toEqual(['a', 'unused'])
  })

  it('an unknown provider of a model without offers: no_sellers_for_model, because that filter comes first', () => {
    expect(refused([], hints({ only: [['nope']] })).code).toBe('no_sellers_for_model')
  })

  it('an unknown allow-list beside a known one: unsupported_provider, with its entries', () => {
    const { code, detail } = refused([a], hints({ only: [['a'], ['https://nope.example/v1']] }))
    expect([code, detail['unknown_providers']]).toEqual(['unsupported_provider', ['https://nope.example/v1']])
  })

  it('a known provider without an offer, or with a backed-off one: no_sellers_for_model', () => {
    expect(refused([a], hints({ only: [['unused']] })).code).toBe('no_sellers_for_model')
    expect(refused([a, b], { ...hints({ only: [['a']] }), down: ['a'] }).code).toBe('no_sellers_for_model')
  })

  it('a block list that leaves no offer, also among the allowed: no_healthy_sellers', () => {
    expect(refused([a, b], hints({ blocked: ['a', 'b'] })).code).toBe('no_healthy_sellers')
    expect(refused([a, b], hints({ only: [['a']], blocked: ['a'] })).code).toBe('no_healthy_sellers')
    expect(refused([a], { payer: { providersBlocked: ['a'] } }).detail['limit_source']).toBe('providers_blocked')
  })

  it('only untrusted offers: no_sellers_for_model, with that reason', () => {
    const { code, detail } = refused([shady], {})
    expect(code).toBe('no_sellers_for_model')
    expect(detail['detail']).toEqual({ untrusted_available: true })
  })

  it('no offer that meets the floor: the refusal names the best discount', () => {
    const error = refused([a, b, c, shady], { demand: { floorPercents: [90] }, down: ['a'] })
    expect(error.code).toBe('minimum_discount_not_met')
    expect(error.message).toMatch(/\. Best otherwise-eligible discount: \d+(\.\d+)?%\.$/)
    expect(error.detail['best_discount_pct']).toBe(30)
    expect(error.message).toContain('30%')
  })

  it('every cap used up: no_healthy_sellers until midnight UTC', () => {
    const { code, detail, retryAfterSeconds } = refused([c], { spent: ['c'] })
    expect(code).toBe('no_healthy_sellers')
    expect(detail).toMatchObject({ limit_source: 'seller_cap', resets_at: Date.UTC(2026, 10, 22) / 1_000 })
    expect(retryAfterSeconds).toBe(12 * 3_600)
  })

  it('a cap used up at the end of the day: the offer is back at midnight, and Retry-After is a second, not a day', () => {
    const midnight = Date.UTC(2026, 10, 22)
    const caps = createSpentCaps()
    const offer = { ...c, id: createIds(systemClock).make('ofr'), servedBy: 'marketplace' } as const
    caps.mark(offer.id, midnight - 500, microUsd(900_000))
    expect([-1, 0].map((after) => caps.isSpent(offer.id, midnight + after))).toEqual([true, false])
    caps.mark(offer.id, midnight - 1, microUsd(900_000))
    const ports = { caps, now: midnight + 20 }
    const { detail, retryAfterSeconds } = capRefusal(buildTarget(buildModel()), [offer], ports, '')
    expect(detail).toMatchObject({ limit_usdc: '1000000', spent_usdc: '900000', resets_at: midnight / 1_000 })
    expect(retryAfterSeconds).toBe(1)
  })

  it('counts caps and back-offs only of offers that passed the earlier filters', () => {
    const dear = buildOffer({ provider: 'dear', keptBps: keptBps(9_900), capDailyMicro: microUsd(7_000_000) })
    const cap = refused([c, dear], { demand: { floorPercents: [10] }, spent: ['c', 'dear'] })
    expect(cap.detail['limit_usdc']).toBe('1000000')
    const health = refused([a, shady], { down: ['a', 'shady'] })
    expect([health.code, health.retryAfterSeconds]).toEqual(['no_healthy_sellers', 60])
  })

  it('every offer backed off: Retry-After is the end of the next back-off', () => {
    const { code, detail, retryAfterSeconds } = refused([a, b], { down: ['a', 'b'] })
    expect([code, detail['limit_source'], retryAfterSeconds]).toEqual(['no_healthy_sellers', 'seller_health', 60])
  })

  it('the filter that empties the list decides, not the first that removes an offer', () => {
    const { code, detail } = refused([shady, a, c], { down: ['a'], spent: ['c'] })
    expect([code, detail['limit_source']]).toEqual(['no_healthy_sellers', 'seller_health'])
  })
})

describe('the refusals, in both envelopes', () => {
  const all = { down: ['a', 'b', 'c'] }
  type Shown = { readonly v1: unknown[]; readonly compat: unknown[] }
  const ROWS: [filter: string, offers: OfferRow[], setting: Setting, shown: Shown][] = [
    ['not sold', [], {}, { v1: [404, 'no_sellers_for_model'], compat: [404, 'not_found_error'] }],
    [
      'hint unknown',
      [a],
      hints({ only: [['x']] }),
      { v1: [400, 'unsupported_provider'], compat: [400, 'invalid_request_error'] },
    ],
    [
      'hint leaves none',
      [a],
      hints({ only: [['unused']] }),
      { v1: [404, 'no_sellers_for_model'], compat: [404, 'not_found_error'] },
    ],
    ['blocked', [a], hints({ blocked: ['a'] }), { v1: [503, 'no_healthy_sellers'], compat: [503, 'overloaded_error'] }],
    ['trusted only', [shady], {}, { v1: [404, 'no_sellers_for_model'], compat: [404, 'not_found_error'] }],
    [
      'minimum discount',
      [a],
      { demand: { floorPercents: [99] } },
      { v1: [503, 'minimum_discount_not_met'], compat: [404, 'not_found_error'] },
    ],
    ['caps spent', [c], { spent: ['c'] }, { v1: [503, 'no_healthy_sellers'], compat: [503, 'overloaded_error'] }],
    ['backed off', [a, b, c], all, { v1: [503, 'no_healthy_sellers'], compat: [503, 'overloaded_error'] }],
  ]
  it.each(ROWS)('%s', (_filter, offers, setting, { v1, compat }) => {
    const error = refused(offers, setting)
    const rid = createIds(systemClock).requestId()
    const Body = z.object({ error: z.object({ code: z.string(), type: z.string() }) })
    const shown = [openAiEnvelope, messagesEnvelope].map((envelope) => envelope(error, rid))
    const [first, second] = shown.map(({ body }) => Body.parse(JSON.parse(body)).error)
    expect([shown[0]?.status, first?.code]).toEqual(v1)
    expect([shown[1]?.status, second?.type]).toEqual(compat)
  })
})
