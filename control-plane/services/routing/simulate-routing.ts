import { z } from 'zod'
import { listProviders } from '#control-plane/db/catalog.ts'
import { findPreferences } from '#control-plane/db/own-providers.ts'
import type { RoutedCall } from '#control-plane/db/routed-calls.ts'
import { listRoutedCalls } from '#control-plane/db/routed-calls.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MarketCtx } from '#control-plane/services/market/market-parts.ts'
import { readFigures, readLiveRows, readOffers } from '#control-plane/services/market/market-parts.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import type { FindProvider, Provider } from '#shared/catalog/providers.ts'
import { createProviderFinder, runsEndpoint } from '#shared/catalog/providers.ts'
import { DAY, periodStart } from '#shared/clock.ts'
import { byRank } from '#shared/market-view.ts'
import { providerIds, providerOrder, unsupportedProvider } from '#shared/routing/named-providers.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import { oneLine } from '#shared/texts.ts'
import { NO_PREFERENCES } from './account-policy.ts'
import type { PolicyRequirements, ReplayedCall, ReplayMarket } from './replay-calls.ts'
import { replayCalls } from './replay-calls.ts'

/** Most calls that are replayed: the newest of the window. */
const MAX_CALLS = 10_000
/** Most models that the answer names: the first in its order. */
const MODELS_SHOWN = 50
/** Most names in one list of a policy. */
const MAX_NAMES = 100

const Names = z.array(oneLine(300).min(1)).max(MAX_NAMES)

/** A policy with the names of a call's body: `provider`, `providers_blocked`, `provider_order` and so on. */
export const RoutingPolicySchema = z.strictObject({
  minDiscountPct: z.number().int().min(0).max(100).nullable().default(null),
  providersOnly: Names.default([]),
  providersBlocked: Names.default([]),
  providerOrder: Names.default([]),
  allowUntrusted: z.boolean().default(false),
  sort: z.enum(['price', 'latency', 'throughput']).default('price'),
})
type Policy = z.infer<typeof RoutingPolicySchema>

/** The result of a policy for the sample, on the present book. */
export const SimulatedSideSchema = z.object({
  /** Calls that an offer would serve, and calls that no offer would. */
  served: Count,
  unserved: Count,
  /** The share of calls without an offer, in percent with two decimals. Null without calls. */
  unservedPct: z.number().nullable(),
  /** The cost of the served calls, and their cost at the reference prices. */
  costMicro: WholeMicro,
  listMicro: WholeMicro,
  /**
   * Milliseconds: the median over the served calls of their provider's time to the first token of this model, as
   * measured over the last day. Null when none of them is measured.
   */
  ttftMs: z.number().nullable(),
  /** The served calls whose provider is measured. */
  timed: Count,
})
export type SimulatedSide = z.infer<typeof SimulatedSideSchema>

export const SimulatedModelSchema = z.object({
  model: z.string(),
  calls: Count,
  paidMicro: WholeMicro,
  presentMicro: WholeMicro,
  presentUnserved: Count,
  policyMicro: WholeMicro,
  policyUnserved: Count,
  /** The provider that would get most of the calls. Null when none would serve any. */
  policyProvider: z.string().nullable(),
})
export type SimulatedModel = z.infer<typeof SimulatedModelSchema>

export const RoutingSimulationSchema = z.object({
  from: UnixMs,
  /** Excluded. */
  to: UnixMs,
  calls: Count,
  /** False when the window has more calls than are replayed. */
  isWhole: z.boolean(),
  /** The real cost of the sample, its cost at the reference prices, and its measured median. */
  paidMicro: WholeMicro,
  listMicro: WholeMicro,
  paidTtftMs: z.number().nullable(),
  /** Under the account's present policy, and under the policy of the input. */
  present: SimulatedSideSchema,
  policy: SimulatedSideSchema,
  /** Calls that both policies serve, and their cost under each. Only these two sums compare. */
  comparedCalls: Count,
  comparedPresentMicro: WholeMicro,
  comparedPolicyMicro: WholeMicro,
  byModel: z.array(SimulatedModelSchema).readonly(),
  /** Names in the policy that match no provider. They have no effect. */
  unknownProviders: z.array(z.string()).readonly(),
})
export type RoutingSimulation = z.infer<typeof RoutingSimulationSchema>

/**
 * Replays the caller's calls of a window under a policy, beside the account's own. It is an estimate: prices, speeds
 * and health are those of the present book, daily caps begin full, and the settings of single calls and keys are left
 * out. Calls on a buyer's own key are left out, too. Throws `unsupported_provider` for an allow-list without a known
 * name.
 */
export const simulateRouting = defineOperation({
  name: 'routing.simulate',
  summary: 'Simulate calls under another routing policy',
  about:
    'The newest 10,000 calls of the last `24h`, or of `yesterday` in UTC, that sellers’ offers served. The answer is an estimate from current prices, speeds and health.',
  access: 'buyer',
  input: z.strictObject({ policy: RoutingPolicySchema, window: z.enum(['24h', 'yesterday']).default('24h') }),
  limit: 'read',
  idempotency: 'none',
  output: RoutingSimulationSchema,
  run: async (ctx, actor, input): Promise<RoutingSimulation> => {
    const window = windowOf(input.window, ctx.clock.now())
    const [newest, providers, preferences] = await Promise.all([
      listRoutedCalls(ctx.db, actor.account, { ...window, limit: MAX_CALLS + 1 }),
      listProviders(ctx.db),
      findPreferences(ctx.db, actor.account),
    ])
    const find = createProviderFinder(providers)
    checkAllowList(find, providers, input.policy)
    const calls = newest.slice(0, MAX_CALLS).reverse()
    const { market, ttftOf } = await readMarket(ctx, providers, [...new Set(calls.map(({ model }) => model))])
    const { allowsUntrusted, ...account } = preferences ?? NO_PREFERENCES
    const own = RoutingPolicySchema.parse({ ...account, allowUntrusted: allowsUntrusted })
    const present = replayCalls(market, requirementsOf(find, own), calls)
    const policy = replayCalls(market, requirementsOf(find, input.policy), calls)
    const { providersOnly, providersBlocked, providerOrder } = input.policy
    const providerNames = [...providersOnly, ...providersBlocked, ...providerOrder]
    return {
      ...window,
      calls: calls.length,
      isWhole: newest.length <= MAX_CALLS,
      paidMicro: sumOf(calls, ({ paidMicro }) => paidMicro),
      listMicro: sumOf(calls, ({ listMicro }) => listMicro),
      paidTtftMs: medianOf(calls.flatMap(({ ttftMs }) => ttftMs ?? [])),
      present: sideOf(calls, present, ttftOf),
      policy: sideOf(calls, policy, ttftOf),
      ...compare(present, policy),
      byModel: modelsOf(calls, present, policy),
      unknownProviders: [...new Set(providerNames.filter((name) => find(name) === undefined))],
    }
  },
})

function windowOf(window: '24h' | 'yesterday', now: number): { readonly from: number; readonly to: number } {
  if (window === '24h') return { from: periodStart(now, DAY), to: now }
  const to = Math.floor(now / DAY) * DAY
  return { from: to - DAY, to }
}

function checkAllowList(find: FindProvider, providers: readonly Provider[], { providersOnly }: Policy): void {
  if (providersOnly.length === 0 || providerIds(find, [providersOnly]) !== undefined) return
  throw unsupportedProvider(providers, providersOnly)
}

function requirementsOf(find: FindProvider, policy: Policy): PolicyRequirements {
  return {
    only: policy.providersOnly.length === 0 ? undefined : providerIds(find, [policy.providersOnly]),
    blocked: providerIds(find, [policy.providersBlocked]),
    order: policy.providerOrder.length === 0 ? undefined : providerOrder(find, policy.providerOrder),
    allowsUntrusted: policy.allowUntrusted,
    floorPercent: policy.minDiscountPct ?? undefined,
    // Both words of speed sort by the same figure, as in real calls.
    isFastestFirst: policy.sort !== 'price',
  }
}

type TtftOf = (model: string, provider: string) => number | null

async function readMarket(
  ctx: MarketCtx,
  providers: readonly Provider[],
  models: readonly string[],
): Promise<{ readonly market: ReplayMarket; readonly ttftOf: TtftOf }> {
  const [offers, figures] = await Promise.all([readOffers(ctx, models), readFigures(ctx, models)])
  const live = await readLiveRows(ctx, offers)
  const unable = new Map<Endpoint, ReadonlySet<string>>(
    ENDPOINTS.map((endpoint) => [
      endpoint,
      new Set(providers.filter((provider) => !runsEndpoint(provider, endpoint)).map(({ id }) => id)),
    ]),
  )
  const speeds = new Map(
    [...figures].flatMap(([model, row]) =>
      row.providers.map(({ provider, ttftP50Ms }) => [`${provider} ${model}`, ttftP50Ms] as const),
    ),
  )
  return {
    market: {
      books: new Map([...offers].map(([model, bookOffers]) => [model, createOfferBook([...bookOffers].sort(byRank))])),
      unable,
      isHealthy: (model, offer) => live.get(model)?.isHealthy(offer) ?? true,
    },
    ttftOf: (model, provider) => speeds.get(`${provider} ${model}`) ?? null,
  }
}

function sideOf(calls: readonly RoutedCall[], placed: readonly ReplayedCall[], ttftOf: TtftOf): SimulatedSide {
  const served = calls.flatMap((call, at) => {
    const place = placed[at]
    return place === undefined ? [] : [{ ...place, call }]
  })
  const waits = served.flatMap(({ call, offer }) => ttftOf(call.model, offer.provider) ?? [])
  const unserved = calls.length - served.length
  return {
    served: served.length,
    unserved,
    unservedPct: calls.length === 0 ? null : Math.round((unserved / calls.length) * 10_000) / 100,
    costMicro: sumOf(served, ({ costMicro }) => costMicro),
    listMicro: sumOf(served, ({ call }) => call.listMicro),
    ttftMs: medianOf(waits),
    timed: waits.length,
  }
}

function compare(present: readonly ReplayedCall[], policy: readonly ReplayedCall[]) {
  const both = present.flatMap((before, at) => {
    const after = policy[at]
    return before === undefined || after === undefined ? [] : [{ before, after }]
  })
  return {
    comparedCalls: both.length,
    comparedPresentMicro: sumOf(both, ({ before }) => before.costMicro),
    comparedPolicyMicro: sumOf(both, ({ after }) => after.costMicro),
  }
}

/** The models that the policy changes, then the others; each group by the number of calls, equal ones by name. */
function modelsOf(calls: readonly RoutedCall[], present: readonly ReplayedCall[], policy: readonly ReplayedCall[]) {
  const places = new Map<string, number[]>()
  for (const [at, { model }] of calls.entries()) {
    const place = places.get(model)
    if (place) place.push(at)
    else places.set(model, [at])
  }
  const isChanged = (at: readonly number[]) => at.some((one) => !isSamePlace(present[one], policy[one]))
  return [...places]
    .map(([model, at]) => ({ model, at, rank: isChanged(at) ? 0 : 1 }))
    .sort(
      (left, right) =>
        left.rank - right.rank || right.at.length - left.at.length || (left.model < right.model ? -1 : 1),
    )
    .slice(0, MODELS_SHOWN)
    .map(({ model, at }): SimulatedModel => {
      const [before, after] = [at.map((one) => present[one]), at.map((one) => policy[one])]
      return {
        model,
        calls: at.length,
        paidMicro: sumOf(at, (one) => calls[one]?.paidMicro ?? 0n),
        presentMicro: sumOf(before, (place) => place?.costMicro ?? 0n),
        presentUnserved: before.filter((place) => place === undefined).length,
        policyMicro: sumOf(after, (place) => place?.costMicro ?? 0n),
        policyUnserved: after.filter((place) => place === undefined).length,
        policyProvider: mostOf(after.flatMap((place) => place?.offer.provider ?? [])),
      }
    })
}

/** True when a buyer sees no difference: the same provider at the same cost, or no provider. */
function isSamePlace(before: ReplayedCall, after: ReplayedCall): boolean {
  return before?.offer.provider === after?.offer.provider && before?.costMicro === after?.costMicro
}

/** The most frequent word; the first of equal ones. */
function mostOf(words: readonly string[]): string | null {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].reduce<readonly [string | null, number]>(
    (most, one) => (one[1] > most[1] ? one : most),
    [null, 0],
  )[0]
}

/** A sum of micro-USD as a number: a day's calls of one account stay far below 2^53. */
function sumOf<Row>(rows: readonly Row[], amountOf: (row: Row) => bigint): number {
  return Number(rows.reduce((total, row) => total + amountOf(row), 0n))
}

/** The lower median. Null for an empty list. */
function medianOf(values: readonly number[]): number | null {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.ceil(sorted.length / 2) - 1] ?? null
}
